//! The command line: what the user types, and which part of ralphtool does it.
//!
//! Each command has a file of its own, with its clap arguments, a function `run` and its text.
//! `arguments` lists the commands; `start` runs what `launch` prepared and shows it, with the
//! terminal UI or a `reporter`.

mod answer;
mod arguments;
mod attach;
mod attempts;
mod check;
mod complete;
mod completions;
mod crash;
mod demo;
mod doctor;
mod finish;
mod gc;
mod help;
mod init;
mod learnings;
mod list;
mod log;
mod loop_command;
mod man;
mod new;
mod prompt;
mod reporter;
mod show;
mod start;
mod status;
mod trust;
mod usage;

use std::ffi::OsString;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::console::context::{Context, unfit};
use crate::console::flags::{ColorArgument, GlobalArguments};
use crate::tui::session;
use crate::ui::failure::write_failure;
use crate::ui::page::Page;
use arguments::{Arguments, Command};
use ralph_base::os;
use ralph_run::failure::{Failure, FailureKind};
use ralph_run::settings::SettingsProblem;

/// Parses the arguments and runs the command.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    // Before anything else: the supervisor must start quickly and have no other effects.
    if let Some(code) = ralph_process::dispatch(&args) {
        return code;
    }
    if let Some(code) = demo::agent::dispatch(&args) {
        return code;
    }
    if let Some(code) = complete::dispatch(&args, Arguments::command) {
        return code;
    }
    crash::install();
    os::started();
    // The hook has shown the message by then; what is left is the exit code.
    catch_unwind(AssertUnwindSafe(|| parse_and_run(&args)))
        .unwrap_or_else(|_| FailureKind::System.exit_code().into())
}

fn parse_and_run(args: &[OsString]) -> ExitCode {
    let color = ColorArgument::find(args);
    let global = GlobalArguments {
        color,
        ..GlobalArguments::default()
    };
    let command = help::shorten(Arguments::command().color(color.into()), args);
    let parsed = command
        .try_get_matches_from(args)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(message) if asks_to_isolate(&message) => {
            let problem = SettingsProblem::isolate_removed("--isolate");
            return report(&unfit(problem), &Context::new(&global));
        }
        Err(message) if message.use_stderr() => {
            let failure = usage::failure(&message, args, &Arguments::command());
            return report(&failure, &Context::new(&global));
        }
        Err(message) => return explain(&message),
    };
    let context = Context::new(&arguments.global);
    let done = context
        .check_config()
        .and_then(|()| dispatch(&arguments, &context));
    done.unwrap_or_else(|failure| report(&failure, &context))
}

fn dispatch(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    match &arguments.command {
        None if context.has_screen() => session::pick(context),
        None => list::run(&list::ListArguments::default(), context),
        Some(Command::Loop(given)) => loop_command::run(given, context),
        Some(Command::Resume(given)) => loop_command::resume(given, context),
        Some(Command::Finish(given)) => finish::run(given, context),
        Some(Command::Undo(given)) => finish::undo(given, context),
        Some(Command::Rewind(given)) => finish::rewind(given, context),
        Some(Command::Attempts(given)) => attempts::run(given, context),
        Some(Command::Log(given)) => log::run(given, context),
        Some(Command::New(given)) => new::run(given, context),
        Some(Command::List(given)) => list::run(given, context),
        Some(Command::Show(given)) => show::run(given, context),
        Some(Command::Check(given)) => check::run(given, context),
        Some(Command::Prompt(given)) => prompt::run(given, context),
        Some(Command::Demo(given)) => demo::run(given, context),
        Some(Command::Doctor(given)) => doctor::run(given, context),
        Some(Command::Learnings(given)) => learnings::run(given, context),
        Some(Command::Answer(given)) => answer::run(given, context),
        Some(Command::Attach(given)) => attach::run(given, context),
        Some(Command::Status(given)) => status::run(given, context),
        Some(Command::Init(given)) => init::run(given, context),
        Some(Command::Trust(given)) => trust::run(given, context),
        Some(Command::Gc(given)) => gc::run(given, context),
        Some(Command::Completions(given)) => completions::run(given, Arguments::command()),
        Some(Command::Man(given)) => man::run(given, Arguments::command()),
        Some(Command::Help(given)) => help::run(given, Arguments::command(), context),
    }
}

/// Whether a usage error is about the removed flag `--isolate`.
fn asks_to_isolate(message: &clap::Error) -> bool {
    let flag = ContextValue::String("--isolate".to_owned());
    message.kind() == ErrorKind::UnknownArgument
        && message.get(ContextKind::InvalidArg) == Some(&flag)
}

/// Help or version, as clap writes it.
fn explain(message: &clap::Error) -> ExitCode {
    // Only a closed pipe can make this fail, and then there is no reader.
    let _ = message.print();
    u8::try_from(message.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Shows the failure on stderr.
fn report(failure: &Failure, context: &Context) -> ExitCode {
    let mut stderr = std::io::stderr().lock();
    // There is nowhere else to report a failure.
    let mut page = Page::new(context.paint_for(&std::io::stderr()));
    write_failure(&mut page, failure);
    let _ = stderr.write_all(page.text.as_bytes());
    let _ = stderr.flush();
    failure.kind.exit_code().into()
}
