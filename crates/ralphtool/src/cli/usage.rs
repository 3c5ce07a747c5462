//! What is wrong with a command line, in the form of all other errors: `error:` and `hint:`.

use std::error::Error as _;
use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::ui::words::shell;
use ralph_run::failure::Failure;
use ralph_run::settings::nearest;

/// The command that runs a change.
const RUN: &str = "run";

/// What people type for a command of another name, and the command.
const OTHER_NAMES: [(&str, &str); 14] = [
    ("start", "ralphtool run"),
    ("continue", "ralphtool resume"),
    ("restart", "ralphtool run --fresh"),
    ("watch", "ralphtool attach"),
    ("history", "ralphtool log"),
    ("runs", "ralphtool log"),
    ("report", "ralphtool log last"),
    ("changes", "ralphtool list"),
    ("diff", "ralphtool attempts diff"),
    ("restore", "ralphtool attempts restore"),
    ("transcript", "ralphtool attempts transcript"),
    ("abandon", "ralphtool finish --abandon"),
    ("clean", "ralphtool gc"),
    ("cleanup", "ralphtool finish --cleanup"),
];

/// Keys of the run screen, which people look for among the commands.
const ON_THE_SCREEN: [(&str, &str); 4] =
    [("pause", "p"), ("stop", "s"), ("skip", "x"), ("note", ":")];

/// The failure to report for an error of clap.
pub(super) fn failure(error: &clap::Error, args: &[OsString], whole: &Command) -> Failure {
    let path = command_path(args, whole);
    let text = |kind| context(error, kind).into_iter().next();
    let option = text(ContextKind::InvalidArg).map(|name| option_name(&name));
    let option = option.as_deref().unwrap_or_default();
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    let help = format!("`{path} --help` shows how it is used");
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(
            &text(ContextKind::InvalidSubcommand).unwrap_or_default(),
            whole,
        ),
        ErrorKind::UnknownArgument => {
            let failure = Failure::refused(if option.starts_with('-') {
                format!("`{path}` has no option `{option}`")
            } else {
                format!("`{path}` does not take `{option}`")
            });
            let near = text(ContextKind::SuggestedArg).map(|near| option_name(&near));
            match near.or_else(|| of_run(option, args, whole)) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint(help),
            }
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            Failure::refused(format!("`{option}` needs a value")).hint(help)
        }
        ErrorKind::InvalidValue => {
            let failure = Failure::refused(format!("`{option}` cannot be `{value}`"));
            match context(error, ContextKind::ValidValue) {
                values if values.is_empty() => failure.hint(help),
                values => failure.hint(format!("it is one of `{}`", values.join("`, `"))),
            }
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string);
            let why = why.unwrap_or_else(|| format!("`{value}` cannot be used"));
            Failure::refused(format!("`{option}`: {why}")).hint(help)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = context(error, ContextKind::InvalidArg);
            Failure::refused(format!("`{path}` needs {}", missing.join(" "))).hint(help)
        }
        ErrorKind::ArgumentConflict => {
            let others = context(error, ContextKind::PriorArg);
            let others: Vec<String> = others.iter().map(|it| option_name(it)).collect();
            let others = others.join("`, `");
            Failure::refused(format!("`{option}` cannot be used with `{others}`")).hint(help)
        }
        _ => Failure::refused(first_line(error)).hint(help),
    }
}

/// The command line with `run` in it, where that has the option and no command is named.
fn of_run(option: &str, args: &[OsString], whole: &Command) -> Option<String> {
    let long = option.strip_prefix("--")?;
    let run = whole.find_subcommand(RUN)?;
    let is_of_run = run.get_arguments().any(|it| it.get_long() == Some(long));
    let words: Option<Vec<&str>> = args.iter().skip(1).map(|word| word.to_str()).collect();
    let words =
        words.filter(|words| !words.iter().any(|it| whole.find_subcommand(it).is_some()))?;
    let words: Vec<String> = words.into_iter().map(shell).collect();
    is_of_run.then(|| format!("ralphtool {RUN} {}", words.join(" ")))
}

pub(super) fn unknown_command(name: &str, whole: &Command) -> Failure {
    let failure = Failure::refused(format!("there is no command `{name}`"));
    if let Some((_, key)) = ON_THE_SCREEN.iter().find(|(it, _)| *it == name) {
        return failure.hint(format!("press `{key}` on the screen of the run"));
    }
    let known: Vec<&str> = whole
        .get_subcommands()
        .flat_map(Command::get_name_and_visible_aliases)
        .collect();
    let near = transposed(name, &known).or_else(|| nearest(name, &known));
    let near = near.map(|near| format!("ralphtool {near}"));
    let other = OTHER_NAMES.iter().find(|(it, _)| *it == name);
    match other.map(|(_, command)| (*command).to_owned()).or(near) {
        Some(command) => failure.hint(format!("did you mean `{command}`?")),
        None => failure.hint("`ralphtool help` lists the commands"),
    }
}

/// The command with two of its neighbouring letters exchanged; short names are not alike otherwise.
fn transposed<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let exchanged = |at: usize| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.swap(at - 1, at);
        letters.into_iter().collect::<String>()
    };
    let mut meant = (1..name.chars().count()).map(exchanged);
    meant.find_map(|meant| known.iter().find(|it| **it == meant).copied())
}

/// The command that the arguments name, such as `ralphtool attempts show`.
fn command_path(args: &[OsString], whole: &Command) -> String {
    let mut command = whole;
    let mut path = vec!["ralphtool"];
    for word in args.iter().skip(1).filter_map(|it| it.to_str()) {
        if let Some(inner) = command.find_subcommand(word) {
            path.push(inner.get_name());
            command = inner;
        }
    }
    path.join(" ")
}

/// `--timeout` of `--timeout <DURATION>`; what is not an option stays as it is.
fn option_name(shown: &str) -> String {
    match shown.split_once(' ') {
        Some((option, _)) if option.starts_with('-') => option.to_owned(),
        _ => shown.to_owned(),
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// What clap says first, without its label.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").replace('\'', "`")
}
