//! `ralphtool help`, and the short help of `ralphtool -h`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Command};

use super::usage;
use crate::console::context::Context;
use crate::console::output;
use crate::ui::style::Paint;
use ralph_run::failure::Failure;

/// The commands a new user needs, in the order of use.
const SHORT: &str = "\
{about}

{usage-heading} {usage}

Set up:
  demo           Try everything on a temporary repository, with a built-in agent
  new NAME       Write a small change from a template
  init           Write `ralphtool.toml`, with your tests as gates
  doctor         Check everything a run needs
Run:
  list           List the changes and their progress
  run CHANGE     Work through a change, story by story (also: `loop`)
  status         Show the progress of the run (`attach` shows its screen)
  resume         Resume the last run
Review:
  log last       Show what the last run did
  attempts       List, show and restore failed attempts
  finish         Choose what to do with the branch of the run
  undo           Undo the last finish, rewind or restore

`ralphtool` alone opens the screen. `ralphtool help COMMAND` explains a command,
`ralphtool --help` lists all commands, options and exit codes.
";

/// Flags of `help`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool help                    all commands, options and exit codes
  ralphtool help loop               one command
  ralphtool help attempts restore   a command of a command")]
pub(super) struct HelpArguments {
    /// The command to explain
    pub(super) command: Vec<String>,
}

/// Prints the help of a command of the `whole` program.
pub(super) fn run(
    arguments: &HelpArguments,
    mut whole: Command,
    context: &Context,
) -> Result<ExitCode, Failure> {
    whole.build();
    for name in &arguments.command {
        whole = match whole.find_subcommand(name) {
            Some(inner) => inner.clone(),
            None => return Err(usage::unknown_command(name, &whole)),
        };
    }
    let text = whole.render_long_help();
    let text = match context.paint_for(&std::io::stdout()) {
        Paint::Colored => text.ansi().to_string(),
        Paint::Plain => text.to_string(),
    };
    output::print(text.as_bytes())
}

/// Gives the program its short help, if the arguments ask for that.
pub(super) fn shorten(whole: Command, args: &[OsString]) -> Command {
    let words = args.iter().skip(1).take_while(|word| *word != "--");
    match words.last() {
        Some(word) if word == "-h" => whole.help_template(SHORT),
        _ => whole,
    }
}
