//! `ralphtool learnings`: the notes agents keep for a change.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::repository_to_read;
use crate::launch::only_change;
use crate::ui::text::clean;
use crate::ui::words::shell;
use ralph_base::files::FileError;
use ralph_process::lines::FileLines;
use ralph_run::failure::Failure;
use ralph_run::learnings::file;
use ralph_vault::store::{VaultFolder, holder};

/// More of a line is not shown on a terminal.
const LINE_CAP: usize = 16 << 10;

const EXAMPLES: &str = "\
Examples:
  ralphtool learnings               what was learnt in the one change with work left
  ralphtool learnings add-retry     the same for this change
  ralphtool learnings edit          add to them, or remove what is wrong";

/// Flags of `learnings`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct LearningsArguments {
    #[command(subcommand)]
    command: Option<LearningsCommand>,
    #[command(flatten)]
    which: WhichChange,
}

/// What to do with the notes.
#[derive(Debug, Subcommand)]
enum LearningsCommand {
    /// Edit the notes with `$VISUAL`, `$EDITOR` or vi
    ///
    /// The file is edited in place, and an agent at work may add to it at the same time: most
    /// editors say so when the file has changed meanwhile.
    Edit(WhichChange),
    /// Print the path of the notes
    Path(WhichChange),
    /// Move the notes into the vault's trash
    Clear(WhichChange),
}

/// The change the notes are of.
#[derive(Debug, Args)]
struct WhichChange {
    /// The change; not needed if only one has work left
    change: Option<String>,
}

/// Prints, edits or clears the notes.
pub(super) fn run(arguments: &LearningsArguments, context: &Context) -> Result<ExitCode, Failure> {
    match &arguments.command {
        None => print(&find(&arguments.which, context)?),
        Some(LearningsCommand::Edit(which)) => edit(&find(which, context)?, context),
        Some(LearningsCommand::Path(which)) => {
            let path = find(which, context)?.path;
            output::present(|out| writeln!(out, "{}", path.display()))
        }
        Some(LearningsCommand::Clear(which)) => clear(&find(which, context)?),
    }
}

/// The notes of one change.
struct Notes {
    change: String,
    vault: PathBuf,
    path: PathBuf,
}

fn find(which: &WhichChange, context: &Context) -> Result<Notes, Failure> {
    let repository = repository_to_read(context)?;
    let vault = context.vault(&repository)?;
    let is_ours = VaultFolder::unlocked(&vault).belongs_to(&repository);
    if !is_ours.unwrap_or(true) {
        let message = "the notes here are of another repository that was at this path";
        return Err(Failure::refused(message)
            .hint("the next run moves their vault aside and begins a new one"));
    }
    let change = name(which.change.as_deref(), &vault, context)?;
    Ok(Notes {
        path: file::path(&vault, &change),
        change,
        vault,
    })
}

/// The name of the change; notes outlive a change that is archived.
fn name(asked: Option<&str>, vault: &Path, context: &Context) -> Result<String, Failure> {
    let known = file::changes(vault);
    let found = match asked {
        Some(target) => context.change(target),
        None => only_change(&context.surroundings()?),
    };
    match (found, asked, known.as_slice()) {
        (Ok(change), ..) => Ok(change.name),
        (Err(_), Some(asked), known) if known.iter().any(|it| it == asked) => Ok(asked.to_owned()),
        (Err(_), None, [only]) => Ok(only.clone()),
        (Err(failure), _, []) => Err(failure),
        (Err(failure), _, known) => {
            Err(failure.hint(format!("notes exist for: {}", known.join(", "))))
        }
    }
}

fn print(notes: &Notes) -> Result<ExitCode, Failure> {
    let Some((mut file, length)) = file::open(&notes.path).map_err(unread)? else {
        return Ok(say_none(notes));
    };
    if length == 0 {
        return Ok(say_none(notes));
    }
    if !std::io::stdout().is_terminal() {
        return output::present(|out| std::io::copy(&mut file, out).map(drop));
    }
    output::present(|out| {
        let mut write = |line: &[u8]| writeln!(out, "{}", clean(&String::from_utf8_lossy(line)));
        let mut written = Ok(());
        let mut lines = FileLines::at(0, LINE_CAP);
        lines.read(&file, usize::MAX, |line| {
            written = write(line.bytes);
            if written.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        written?;
        lines.unfinished().map_or(Ok(()), |rest| write(rest.bytes))
    })
}

fn say_none(notes: &Notes) -> ExitCode {
    // Not to stdout: there is nothing to print.
    let mut stderr = std::io::stderr();
    let _ = writeln!(
        stderr,
        "no notes are kept for `{}` yet; agents add to {}",
        clean(&notes.change),
        clean(&notes.path.display().to_string())
    );
    ExitCode::SUCCESS
}

fn edit(notes: &Notes, context: &Context) -> Result<ExitCode, Failure> {
    if matches!(holder(&notes.vault), Ok(Some(_))) {
        let text = "a run is at work: its agent may add notes while you edit them";
        output::warn(context, [text]);
    }
    let editor = editor(context);
    let status = file::edit(&notes.path, &editor).map_err(|error| {
        Failure::system(format!("could not start `{}`", editor.display())).because(error)
    })?;
    if status.success() {
        return Ok(ExitCode::SUCCESS);
    }
    let message = format!("`{}` failed: {status}", editor.display());
    Err(Failure::system(message)
        .hint("the notes are as the editor left them")
        .hint("`VISUAL` or `EDITOR` names another editor"))
}

fn editor(context: &Context) -> OsString {
    let values = ["VISUAL", "EDITOR"].map(|name| context.variable(name));
    let found = values.into_iter().flatten().find(|it| !it.is_empty());
    found.map_or_else(|| "vi".into(), OsString::from)
}

fn clear(notes: &Notes) -> Result<ExitCode, Failure> {
    let moved = file::clear(&notes.vault, &notes.path)
        .map_err(|error| Failure::system("could not move the notes").because(error))?;
    let Some(place) = moved else {
        return Ok(say_none(notes));
    };
    output::present(|out| {
        writeln!(
            out,
            "the notes of `{}` are in the trash now; `mv {} {}` restores them",
            clean(&notes.change),
            shell(&place.display().to_string()),
            shell(&notes.path.display().to_string())
        )
    })
}

fn unread(error: FileError) -> Failure {
    Failure::system("could not read the notes").because(error)
}
