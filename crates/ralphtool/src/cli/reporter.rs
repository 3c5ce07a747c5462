//! Which reporter shows a run: JSON lines, or the log as the terminal can show it.

use std::io::IsTerminal;

use jiff::tz::TimeZone;

use crate::console::context::{Context, width};
use crate::console::flags::RunArguments;
use crate::console::output;
use crate::ui::Reporter;
use crate::ui::json::Json;
use crate::ui::plain::{NextSteps, Plain, PlainOptions, Screen, Verbosity};

/// The reporter of a run, as flags and terminal ask for.
pub(super) fn of_run(arguments: &RunArguments, context: &Context) -> Box<dyn Reporter + Send> {
    if arguments.json {
        return Box::new(Json::new(output::stdout()));
    }
    plain(arguments.verbosity(), NextSteps::Shown, context)
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
        true if context.can_redraw() => Screen::Terminal(Box::new(width)),
        true => Screen::DumbTerminal,
    }
}
