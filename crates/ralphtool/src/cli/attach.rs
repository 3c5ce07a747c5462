//! `ralphtool attach`: the screen of a run in another terminal.

use std::process::ExitCode;

use clap::Args;
use jiff::{Timestamp, Zoned};

use super::status;
use crate::console::context::Context;
use crate::console::runtime::on_runtime;
use crate::tui::session;
use ralph_run::failure::Failure;
use ralph_run::records::state::RunState;

/// Flags of `attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool attach                  the run of this repository
  ralphtool -C ~/code/api attach    the run of another one

Where there is no terminal, `ralphtool status --watch` follows the run line by line.")]
pub(super) struct AttachArguments {}

pub(super) fn run(_: &AttachArguments, context: &Context) -> Result<ExitCode, Failure> {
    if !context.has_screen() {
        return Err(Failure::refused("there is no terminal to show the run on")
            .hint("`ralphtool status --watch` follows it line by line"));
    }
    on_runtime(async {
        let mut watch = status::open(context)?;
        let so_far = watch.refresh(Timestamp::now())?;
        let status = watch.status(&Zoned::now());
        if status.is_live() {
            return Box::pin(session::attach(watch, so_far, context)).await;
        }
        let failure = Failure::refused("no run is at work in this repository");
        Err(match status.state {
            None => failure.hint("start one with `ralphtool run CHANGE`"),
            Some(RunState::Interrupted) => failure
                .hint("one was interrupted: `ralphtool resume` continues it")
                .hint("`ralphtool log last --tui` shows how far it came"),
            Some(_) => failure.hint("`ralphtool log last --tui` shows the last one"),
        })
    })
}
