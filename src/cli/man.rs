//! `ralphtool man`: manual pages.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};

use super::arguments::Arguments;
use super::output;
use crate::failure::Failure;

/// Flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool man | man -l -
  ralphtool man loop > ralphtool-loop.1")]
pub(super) struct ManArguments {
    /// The command whose page to print, instead of the page of the whole
    pub(super) command: Option<String>,
}

/// Prints the page.
pub(super) fn run(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let mut whole = Arguments::command();
    whole.build();
    let command = match &arguments.command {
        None => whole,
        Some(name) => {
            let Some(found) = whole.find_subcommand(name) else {
                let known: Vec<&str> = whole
                    .get_subcommands()
                    .map(clap::Command::get_name)
                    .collect();
                let failure = Failure::refused(format!("there is no command `{name}`"));
                return Err(failure.hint(format!("the commands are {}", known.join(", "))));
            };
            found.clone()
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .source(concat!("ralphtool ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)
        .map_err(|error| Failure::system("could not make the manual page").because(error))?;
    output::print(&page)
}
