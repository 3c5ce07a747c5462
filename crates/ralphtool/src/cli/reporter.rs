//! Which reporter shows a run: JSON lines, or the log as the terminal can show it.

use std::io::IsTerminal;

use jiff::tz::TimeZone;

use super::context::Context;
use super::flags::RunArguments;
use super::output;
use super::terminal::{is_dumb, width};
use crate::ui::Reporter;
use crate::ui::bell::Bell;
use crate::ui::json::Json;
use crate::ui::plain::{NextSteps, Plain, PlainOptions, Screen, Verbosity};
use ralph_run::records::notify::Listener;

/// The reporter of a run, as flags and terminal ask for. With a `listener` it also notifies the
/// user, on a terminal that can.
pub(super) fn of_run(
    arguments: &RunArguments,
    listener: Option<Listener>,
    context: &Context,
) -> Box<dyn Reporter + Send> {
    if arguments.json {
        return Box::new(Json::new(output::stdout()));
    }
    let reporter = plain(arguments.verbosity(), NextSteps::Shown, context);
    match (listener, screen(context)) {
        (Some(listener), Screen::Terminal(_)) => {
            Box::new(Bell::new(reporter, listener, output::stdout()))
        }
        _ => reporter,
    }
}

/// The log, as the terminal can show it.
pub(super) fn plain(
    verbosity: Verbosity,
    next: NextSteps,
    context: &Context,
) -> Box<dyn Reporter + Send> {
    Box::new(plain_on(screen(context), verbosity, next, context))
}

/// The reporter of a past run, or of one in another terminal: nothing is drawn again.
pub(super) fn of_past(json: bool, context: &Context) -> Box<dyn Reporter> {
    if json {
        return Box::new(Json::new(output::stdout()));
    }
    let next = NextSteps::Hidden;
    Box::new(plain_on(Screen::Pipe, Verbosity::Normal, next, context))
}

fn plain_on(screen: Screen, verbosity: Verbosity, next: NextSteps, context: &Context) -> Plain {
    let options = PlainOptions {
        screen,
        paint: context.paint_for(&std::io::stdout()),
        verbosity,
        next,
        zone: TimeZone::system(),
    };
    Plain::new(output::stdout(), options)
}

fn screen(context: &Context) -> Screen {
    match std::io::stdout().is_terminal() {
        false => Screen::Pipe,
        true if is_dumb(&context.environment) => Screen::DumbTerminal,
        true => Screen::Terminal(Box::new(width)),
    }
}
