//! Which reporter shows a run: JSON lines, or the log as the terminal can show it.

use std::ffi::OsString;
use std::io::IsTerminal;

use jiff::tz::TimeZone;

use super::context::Context;
use super::flags::RunArguments;
use super::output;
use super::terminal::{is_dumb, width};
use crate::ui::Face;
use crate::ui::bell::Bell;
use crate::ui::json::Json;
use crate::ui::plain::{Look, NextSteps, Plain, Screen, Verbosity};
use ralph_run::records::notify::Listener;

/// The face the flags and the terminal ask for.
pub(super) fn face(arguments: &RunArguments, context: &Context) -> Box<dyn Face + Send> {
    if arguments.json {
        return Box::new(Json::new(output::stdout()));
    }
    plain(arguments.verbosity(), NextSteps::Told, context)
}

/// The face, which also calls the user where it is on a terminal that can.
pub(super) fn with_bell(
    face: Box<dyn Face + Send>,
    caller: Option<Listener>,
    arguments: &RunArguments,
    context: &Context,
) -> Box<dyn Face + Send> {
    let can_call = std::io::stdout().is_terminal() && !is_dumb(&context.environment);
    match caller.filter(|_| can_call && !arguments.json) {
        Some(caller) => Box::new(Bell::new(face, caller, output::stdout())),
        None => face,
    }
}

/// The log, as the terminal can show it.
pub(super) fn plain(
    verbosity: Verbosity,
    next: NextSteps,
    context: &Context,
) -> Box<dyn Face + Send> {
    let stdout = std::io::stdout();
    let look = Look {
        screen: screen(stdout.is_terminal(), &context.environment),
        paint: context.paint_for(&stdout),
        verbosity,
        next,
        zone: TimeZone::system(),
    };
    Box::new(Plain::new(output::stdout(), look))
}

fn screen(is_terminal: bool, environment: &[(OsString, OsString)]) -> Screen {
    match is_terminal {
        false => Screen::Pipe,
        true if is_dumb(environment) => Screen::DumbTerminal,
        true => Screen::Terminal(Box::new(width)),
    }
}
