//! `ralphtool init`: writes a commented `ralphtool.toml` with the gates it finds.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::output;
use super::repository::no_repository;
use crate::ui::init;
use ralph_base::files::write_new;
use ralph_run::failure::Failure;
use ralph_run::init::survey;
use ralph_run::init::text::{self, AgentFound};
use ralph_run::init::{candidates, decide};
use ralph_run::settings::files::REPOSITORY_FILE;
use ralph_run::settings::trusted::Allowance;
use ralph_vault::git::repository::Repository;
use ralph_vault::store::state_directory;

const EXAMPLES: &str = "\
Examples:
  ralphtool init                    write `ralphtool.toml` in the top folder
  ralphtool init --print            just show what would be written";

/// Flags of `init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InitArguments {
    /// Print the file instead of writing it
    #[arg(long)]
    print: bool,
}

/// Writes the file, or prints it.
pub(super) fn run(arguments: &InitArguments, context: &Context) -> Result<ExitCode, Failure> {
    write(arguments, context)
}

fn write(arguments: &InitArguments, context: &Context) -> Result<ExitCode, Failure> {
    let repository =
        Repository::discover(&context.folder()?).map_err(|error| no_repository(&error))?;
    let top = &repository.work_tree;
    let unread = |error| Failure::system("could not look at the repository").because(error);
    let found = candidates(&survey::folders(top).map_err(unread)?);
    let path = path_variable(context);
    let gates = decide(&found, &survey::installed(&found, path, top));
    let agent = AgentFound::of(survey::agents(path, top));
    let page = text::write(&agent, &gates);
    if arguments.print {
        return output::print(page.as_bytes());
    }
    let file = top.join(REPOSITORY_FILE);
    let unwritten = |error| Failure::system("could not write the configuration").because(error);
    if !write_new(&file, page.as_bytes(), 0o644).map_err(unwritten)? {
        let message = format!("`{}` is there already, and was left alone", file.display());
        return Err(Failure::refused(message)
            .hint("`ralphtool init --print` shows what a new one would say"));
    }
    trust_own(context, &file, page.as_bytes());
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| init::write(out, paint, &file, &agent, &gates))
}

/// Allows what `init` has just written: the user asked for it. Where that cannot be remembered, the
/// first run asks.
fn trust_own(context: &Context, file: &Path, page: &[u8]) {
    if let Ok(state) = state_directory(&context.environment) {
        let _ = Allowance::of(file, page).give(&state);
    }
}

fn path_variable(context: &Context) -> Option<&OsStr> {
    let found = context.environment.iter().find(|(name, _)| name == "PATH");
    found.map(|(_, value)| value.as_os_str())
}
