//! `ralphtool completions`: a script for the user's shell.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::console::output;
use ralph_run::failure::Failure;

/// Flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool completions bash > ~/.local/share/bash-completion/completions/ralphtool
  ralphtool completions zsh > ~/.zfunc/_ralphtool
  ralphtool completions fish > ~/.config/fish/completions/ralphtool.fish")]
pub(super) struct CompletionsArguments {
    /// The shell
    pub(super) shell: Shell,
}

/// Prints the script for the `whole` program.
pub(super) fn run(
    arguments: &CompletionsArguments,
    mut whole: clap::Command,
) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut whole, "ralphtool", &mut script);
    output::print(&script)
}
