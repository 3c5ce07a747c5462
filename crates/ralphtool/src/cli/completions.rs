//! `ralphtool completions`: a script for the user's shell.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::console::output;
use ralph_run::failure::Failure;

/// Scripts that ask the program what can follow, so that they know changes, stories, runs and attempts.
const BASH: &str = include_str!("complete/ralphtool.bash");
const ZSH: &str = include_str!("complete/ralphtool.zsh");
const FISH: &str = include_str!("complete/ralphtool.fish");

/// Flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool completions bash > ~/.local/share/bash-completion/completions/ralphtool
  ralphtool completions zsh > ~/.zfunc/_ralphtool
  ralphtool completions fish > ~/.config/fish/completions/ralphtool.fish

In bash, zsh and fish they complete changes, stories, runs and attempts too.")]
pub(super) struct CompletionsArguments {
    /// The shell
    pub(super) shell: Shell,
}

/// Prints the script for the `whole` program.
pub(super) fn run(
    arguments: &CompletionsArguments,
    mut whole: clap::Command,
) -> Result<ExitCode, Failure> {
    match arguments.shell {
        Shell::Bash => output::print(BASH.as_bytes()),
        Shell::Zsh => output::print(ZSH.as_bytes()),
        Shell::Fish => output::print(FISH.as_bytes()),
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut whole, "ralphtool", &mut script);
            output::print(&script)
        }
    }
}
