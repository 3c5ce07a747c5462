//! `ralphtool new`: writes a small `OpenSpec` change from a template.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::console::context::Context;
use crate::console::output;
use crate::ui::page::Page;
use crate::ui::style::{DIM, GOOD, NAME};
use crate::ui::text::{clean, columns, pad};
use crate::ui::words::shell;
use ralph_plan::source::{self, NewChange};
use ralph_run::failure::Failure;
use ralph_run::settings::files::REPOSITORY_FILE;
use ralph_vault::git::repository::Repository;

/// What each file of a new change is for, in their order.
const PURPOSES: [&str; 3] = [
    "why, and what changes",
    "what the program does when it is done, as scenarios",
    "the stories: each becomes one commit",
];

/// Flags of `new`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool new add-retry           write openspec/changes/add-retry

Next: edit the files it names, then `ralphtool run add-retry`.")]
pub(super) struct NewArguments {
    /// The name of the change, such as `add-retry`: lowercase words joined by hyphens
    name: String,
}

/// Writes the change, and says what to edit and what to type next.
pub(super) fn run(arguments: &NewArguments, context: &Context) -> Result<ExitCode, Failure> {
    let new = source::create(&arguments.name, &context.surroundings()?)?;
    let folder = context.folder()?;
    let top = Repository::discover(&folder).ok().map(|it| it.work_tree);
    let next = NextCommands {
        needs_git: top.is_none(),
        needs_settings: !top.unwrap_or_default().join(REPOSITORY_FILE).exists(),
    };
    output::page(context, |page| write(page, &new, &folder, &next, context))
}

/// What is missing before the change can be run.
struct NextCommands {
    needs_git: bool,
    needs_settings: bool,
}

fn write(page: &mut Page, new: &NewChange, start: &Path, next: &NextCommands, context: &Context) {
    let shown = |path: &Path| {
        let inner = path.strip_prefix(start).unwrap_or(path);
        clean(&inner.display().to_string())
    };
    page.line(format!(
        "{} {}",
        page.paint(GOOD, "wrote"),
        shown(&new.folder)
    ));
    page.heading("edit: replace each TODO");
    let paths: Vec<String> = new
        .files
        .iter()
        .map(|file| shown(&new.folder.join(file)))
        .collect();
    let widest = paths.iter().map(|path| columns(path)).max().unwrap_or(0);
    for (path, purpose) in paths.iter().zip(PURPOSES) {
        let path = page.paint(NAME, pad(path, widest));
        page.line(format!("  {path}  {}", page.paint(DIM, purpose)));
    }
    page.heading("next");
    let name = shell(&new.name);
    let mut commands = vec![(
        context.typed(&format!("show {name}")),
        "the stories, as ralphtool reads them",
    )];
    if next.needs_git {
        commands.push(("git init".to_owned(), "a run needs a repository"));
    }
    if next.needs_settings {
        commands.push((
            context.typed("init"),
            "writes `ralphtool.toml`, with your tests as gates",
        ));
    }
    commands.push((
        context.typed(&format!("run {name}")),
        "works through it, one commit per story",
    ));
    page.commands(&commands);
}
