//! What can follow on a half-typed command line, for the completion scripts of the shells: commands,
//! options, and the changes, stories, runs and attempts that are there.
//!
//! A shell asks at every press of Tab: nothing here fails, and what is slow to find is left out.

mod values;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command};

use crate::console::context::Context;
use crate::console::flags::GlobalArguments;
use values::values_of;

/// The hidden word that scripts call. What follows are the words of the command line after the name
/// of the program, up to the one at the cursor, which may be empty.
pub(super) const WORD: &str = "__complete";

/// Something to type, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    value: String,
    about: String,
}

impl Candidate {
    fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            about: about.into(),
        }
    }
}

/// Prints what can follow if the arguments, the program's name first, ask for it.
pub(super) fn dispatch(args: &[OsString], whole: impl FnOnce() -> Command) -> Option<ExitCode> {
    if args.get(1)? != WORD {
        return None;
    }
    let words = args.iter().skip(2).map(|it| it.to_string_lossy().into());
    let line = Line::read(words.collect(), whole());
    let mut out = std::io::stdout().lock();
    for found in candidates(&line) {
        let about = found.about.lines().next().unwrap_or_default();
        // Without a reader there is nothing to do.
        let _ = writeln!(out, "{}\t{about}", found.value);
    }
    Some(ExitCode::SUCCESS)
}

/// A half-typed command line.
#[derive(Debug)]
struct Line {
    /// The whole program.
    program: Command,
    /// The command that is typed.
    command: Command,
    /// Its arguments that are no options.
    positional: Vec<String>,
    /// The option whose value is typed.
    option: Option<Arg>,
    /// What is typed of the word at the cursor.
    current: String,
    context: Context,
}

impl Line {
    fn read(mut words: Vec<String>, mut command: Command) -> Self {
        command.build();
        let current = words.pop().unwrap_or_default();
        // Bash makes a word of its own of the `=` in `--story=2`.
        let current = if current == "=" {
            String::new()
        } else {
            current
        };
        words.retain(|word| word != "=");
        let mut line = Self {
            program: command.clone(),
            command,
            positional: Vec::new(),
            option: None,
            current,
            context: Context::new(&GlobalArguments::default()),
        };
        for word in words {
            line.add(word);
        }
        line
    }

    fn add(&mut self, word: String) {
        if let Some(option) = self.option.take() {
            if option.get_short() == Some('C') {
                self.context = self.context.in_directory(word.into());
            }
            return;
        }
        if word.starts_with('-') {
            self.option = find_option(&self.command, &word);
        } else if let Some(inner) = self.command.find_subcommand(&word).cloned()
            && self.positional.is_empty()
        {
            self.command = inner;
        } else {
            self.positional.push(word);
        }
    }
}

/// The option with this name, if it needs a value that is not there yet.
fn find_option(command: &Command, word: &str) -> Option<Arg> {
    let mut options = command
        .get_arguments()
        .filter(|it| it.get_action().takes_values());
    let is_named = |it: &&Arg| {
        let long = it
            .get_long()
            .is_some_and(|long| word == format!("--{long}"));
        long || it
            .get_short()
            .is_some_and(|short| word == format!("-{short}"))
    };
    options.find(is_named).cloned()
}

fn candidates(line: &Line) -> Vec<Candidate> {
    if let Some(option) = &line.option {
        return matching(line, values_of(option, line));
    }
    if let Some((name, _)) = line.current.split_once('=')
        && let Some(option) = find_option(&line.command, name)
    {
        let values = values_of(&option, line).into_iter();
        let whole = values.map(|it| Candidate::new(format!("{name}={}", it.value), it.about));
        return matching(line, whole.collect());
    }
    if line.current.starts_with('-') {
        return matching(line, options(&line.command));
    }
    let mut found = Vec::new();
    if line.positional.is_empty() {
        found.extend(commands(&line.command));
    }
    if let Some(argument) = next_positional(line) {
        found.extend(values_of(argument, line));
    }
    matching(line, found)
}

/// The argument that the word at the cursor is for; the last one if that takes several.
fn next_positional(line: &Line) -> Option<&Arg> {
    let arguments: Vec<&Arg> = line.command.get_positionals().collect();
    let last = arguments.last().copied();
    let takes_several = |it: &&Arg| matches!(it.get_action(), ArgAction::Append);
    let next = arguments.get(line.positional.len()).copied();
    next.or(last.filter(takes_several))
}

fn matching(line: &Line, mut found: Vec<Candidate>) -> Vec<Candidate> {
    found.retain(|it| it.value.starts_with(&line.current));
    found
}

fn commands(command: &Command) -> impl Iterator<Item = Candidate> {
    command
        .get_subcommands()
        .filter(|it| !it.is_hide_set())
        .flat_map(|inner| {
            let about = inner
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            let names = inner.get_name_and_visible_aliases();
            names
                .into_iter()
                .map(move |name| Candidate::new(name, &about))
        })
}

fn options(command: &Command) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|it| !it.is_hide_set());
    shown
        .filter_map(|it| {
            let help = it.get_help().map(ToString::to_string);
            let long = format!("--{}", it.get_long()?);
            Some(Candidate::new(long, help.unwrap_or_default()))
        })
        .collect()
}
