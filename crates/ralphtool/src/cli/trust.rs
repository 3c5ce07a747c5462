//! `ralphtool trust`: allows what the repository's own settings file asks for; and the question that
//! `loop` and `resume` ask before they run any of it.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::output;
use super::output::ask;
use super::repository::no_repository;
use crate::ui::text::clean;
use crate::ui::trust as words;
use ralph_run::failure::Failure;
use ralph_run::settings::files::{REPOSITORY_FILE, RepositoryFile};
use ralph_run::settings::trusted::revoke;
use ralph_vault::git::repository::Repository;
use ralph_vault::store::state_directory;

const EXAMPLES: &str = "\
Examples:
  ralphtool trust                   show what `ralphtool.toml` asks for, and ask
  ralphtool trust --show            just show it
  ralphtool trust --yes             allow it without a question, in a script
  ralphtool trust --revoke          take it back

";

const EXIT_CODES: &str = "\
Exit codes:
  0    it is allowed, or there is nothing to allow
  2    it was not allowed
  4    the system failed";

/// Flags of `trust`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
#[group(multiple = false)]
pub(super) struct TrustArguments {
    /// Allow it without a question
    #[arg(long)]
    yes: bool,
    /// Show what the file asks for, and change nothing
    #[arg(long)]
    show: bool,
    /// Take back every permission of this file
    #[arg(long)]
    revoke: bool,
}

/// Allows what the repository's own file asks for.
pub(super) fn run(arguments: &TrustArguments, context: &Context) -> Result<ExitCode, Failure> {
    let repository =
        Repository::discover(&context.folder()?).map_err(|error| no_repository(&error))?;
    let state = state_directory(&context.environment)?;
    if arguments.revoke {
        let file = match &context.config {
            Some(path) => context.directory.join(path),
            None => repository.work_tree.join(REPOSITORY_FILE),
        };
        let count = revoke(&state, &file).map_err(|error| {
            Failure::system("could not take the permission back").because(error)
        })?;
        let shown = file.display();
        return say(&match count {
            0 => format!("`{shown}` had no permissions"),
            _ => format!("`{shown}` has no permissions any more"),
        });
    }
    let loaded = context.load(&repository.work_tree, false)?;
    let Some(file) = loaded.repository_file() else {
        return say("nothing to allow: this repository has no settings file of its own");
    };
    if file.claims.is_empty() {
        return say(&format!(
            "nothing to allow: `{}` runs nothing and sets no variables",
            file.name
        ));
    }
    let unread = |error| Failure::system("could not read the permissions").because(error);
    let is_given = file.allowance.is_given(&state).map_err(unread)?;
    output::page(context, |page| {
        words::write_claims(page, &file.name, &file.claims);
    })?;
    if arguments.show || is_given {
        let (is, way, then) = if is_given {
            ("allowed", "trust --revoke", "takes it back")
        } else {
            ("not allowed", "trust", "allows it")
        };
        let way = context.typed(way);
        return say(&format!("It is {is}; `{way}` {then}."));
    }
    if !arguments.yes {
        if !can_ask() {
            return Err(
                Failure::refused("nothing was allowed: there is no terminal to ask on").hint(
                    format!("to allow it, run `{}`", context.typed("trust --yes")),
                ),
            );
        }
        must_be_yes()?;
    }
    give(file, context)?;
    say("Allowed until the file changes.")
}

/// Whether there is a terminal to ask on.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Shows what a file asks for, asks the user, and remembers a yes; anything else is a refusal.
pub(super) fn ask_for(file: &RepositoryFile, context: &Context) -> Result<(), Failure> {
    output::page(context, |page| {
        words::write_claims(page, &file.name, &file.claims);
    })?;
    must_be_yes()?;
    give(file, context)
}

/// Remembers that the user has allowed this very content.
pub(super) fn give(file: &RepositoryFile, context: &Context) -> Result<(), Failure> {
    let state = state_directory(&context.environment)?;
    let given = file.allowance.give(&state);
    given.map_err(|error| Failure::system("could not remember the permission").because(error))
}

/// The refusal where the user cannot be asked.
pub(super) fn refusal(file: &RepositoryFile, context: &Context) -> Failure {
    let heading = words::heading(&file.name, &file.claims);
    let lines = words::lines(&file.claims).join("\n");
    Failure::refused(format!("{heading} that you have not given\n{lines}"))
        .hint(format!(
            "to read and allow them, run `{}`",
            context.typed("trust")
        ))
        .hint("to allow them for one run only, add `--trust` or set `RALPHTOOL_TRUST=1`")
}

/// What is said where nothing is run.
pub(super) fn warning(file: &RepositoryFile) -> String {
    let heading = words::heading(&file.name, &file.claims);
    format!("{heading} that you have not given; a run asks first")
}

fn must_be_yes() -> Result<(), Failure> {
    match ask(words::QUESTION)?.as_deref() {
        Some("y" | "yes") => Ok(()),
        _ => Err(Failure::refused("not allowed: nothing was run")),
    }
}

fn say(text: &str) -> Result<ExitCode, Failure> {
    output::print(format!("{}\n", clean(text)).as_bytes())
}
