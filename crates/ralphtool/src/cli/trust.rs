//! `ralphtool trust`: allows what the repository's own settings file asks for.

use std::process::ExitCode;

use clap::Args;

use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::repository;
use crate::launch::trust;
use crate::ui::text::clean;
use ralph_run::failure::Failure;
use ralph_run::settings::files::REPOSITORY_FILE;
use ralph_run::settings::trust::revoke;

const EXAMPLES: &str = "\
Examples:
  ralphtool trust                   show what `ralphtool.toml` asks for, and ask
  ralphtool trust --show            just show it
  ralphtool trust --yes             allow it without a question, in a script
  ralphtool trust --revoke          revoke the permission

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
    /// Revoke every permission of this file
    #[arg(long)]
    revoke: bool,
}

/// Allows what the repository's own file asks for.
pub(super) fn run(arguments: &TrustArguments, context: &Context) -> Result<ExitCode, Failure> {
    let repository = repository(context)?;
    let state = context.state()?;
    if arguments.revoke {
        let file = match &context.config {
            Some(path) => context.directory.join(path),
            None => repository.work_tree.join(REPOSITORY_FILE),
        };
        let count = revoke(&state, &file)
            .map_err(|error| Failure::system("could not revoke the permission").because(error))?;
        let shown = file.display();
        return say(&match count {
            0 => format!("`{shown}` had no permissions"),
            _ => format!("`{shown}` has no permissions now"),
        });
    }
    let loaded = context.load(&repository.work_tree, false)?;
    let Some(file) = loaded.repository_file() else {
        return say("nothing to allow: this repository has no settings file of its own");
    };
    if file.claims.is_empty() {
        let text = "runs nothing and sets no variables";
        return say(&format!("nothing to allow: `{}` {text}", file.name));
    }
    let unread = |error| Failure::system("could not read the permissions").because(error);
    let is_given = file.allowance.is_given(&state).map_err(unread)?;
    output::page(context, |page| {
        trust::write_claims(page, &file.name, &file.claims);
    })?;
    if arguments.show || is_given {
        let (is, way, then) = if is_given {
            ("allowed", "trust --revoke", "revokes the permission")
        } else {
            ("not allowed", "trust", "allows it")
        };
        let way = context.typed(way);
        return say(&format!("It is {is}; `{way}` {then}."));
    }
    if !arguments.yes {
        if !output::can_ask() {
            let hint = format!("to allow it, run `{}`", context.typed("trust --yes"));
            let message = "nothing was allowed: there is no terminal to ask on";
            return Err(Failure::refused(message).hint(hint));
        }
        trust::must_be_yes()?;
    }
    trust::give(file, context)?;
    say("Allowed until the file changes.")
}

fn say(text: &str) -> Result<ExitCode, Failure> {
    output::print(format!("{}\n", clean(text)).as_bytes())
}
