//! `ralphtool run`: work through a change; `ralphtool resume`: resume the last run.

use std::process::ExitCode;

use clap::Args;

use super::start;
use crate::console::context::Context;
use crate::console::flags::{EXIT_CODES, RunArguments};
use crate::launch::{ChangeSelector, RunRequest};
use ralph_run::engine::entry::StartMode;
use ralph_run::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  ralphtool run                              the only change with work left
  ralphtool run add-retry --max-retries 1    at most two attempts per story
  ralphtool run add-retry --gate 'cargo test' --gate 'cargo clippy'
  ralphtool run add-retry --story 3          just this story
  ralphtool run add-retry --fresh            start over; `ralphtool undo` restores the last run
  ralphtool run add-retry --dry-run          show what would be done
  ralphtool run specs/001-albums             a feature of spec-kit; Kiro's specs alike
  ralphtool run prd.json                     a `prd.json`, or any checklist in Markdown";

/// Flags of `run`.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct LoopArguments {
    /// The change to work through: its name in `list`, or the path of its folder or file; not needed
    /// if only one has work left
    #[arg(value_name = "CHANGE|PATH")]
    pub(super) change: Option<String>,
    #[command(flatten)]
    pub(super) run: RunArguments,
    /// Resume an unfinished or kept run of the change, if there is one; this is the default
    #[arg(long, conflicts_with = "fresh")]
    #[allow(dead_code, reason = "says what is done anyway, and excludes `--fresh`")]
    pub(super) resume: bool,
    /// Start over from where the last run began; `ralphtool undo` restores that run and its branch
    #[arg(long)]
    pub(super) fresh: bool,
    /// Build on the branch of another run, if HEAD is on one
    #[arg(long)]
    pub(super) on_top: bool,
}

pub(super) fn run(arguments: &LoopArguments, context: &Context) -> Result<ExitCode, Failure> {
    let change = arguments.change.as_deref();
    let change = change.map_or(ChangeSelector::OnlyOpen, ChangeSelector::Named);
    let mode = StartMode {
        fresh: arguments.fresh,
        on_top: arguments.on_top,
    };
    let request = RunRequest::of(change, mode, &arguments.run, context);
    start::run(&request, context)
}

const RESUME_EXAMPLES: &str = "\
Examples:
  ralphtool resume                    resumes where the last run stopped
  ralphtool resume --max-retries 5    with more retries than before
  ralphtool resume --dry-run          show what would be done";

/// Flags of `resume`: those of `run`.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES, after_long_help = format!("{RESUME_EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct ResumeArguments {
    #[command(flatten)]
    run: RunArguments,
}

pub(super) fn resume(arguments: &ResumeArguments, context: &Context) -> Result<ExitCode, Failure> {
    let request = RunRequest::of(
        ChangeSelector::LastRun,
        StartMode::default(),
        &arguments.run,
        context,
    );
    start::run(&request, context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use pretty_assertions::assert_eq;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        arguments: LoopArguments,
    }

    #[test]
    fn resume_and_fresh_exclude_each_other() {
        let parsed = CommandLine::try_parse_from(["loop", "add-retry", "--resume", "--fresh"]);
        let kind = parsed.map_err(|error| error.kind()).unwrap_err();
        assert_eq!(kind, clap::error::ErrorKind::ArgumentConflict);
        let given = CommandLine::try_parse_from(["loop", "add-retry"]).unwrap();
        assert_eq!(given.arguments.change.as_deref(), Some("add-retry"));
    }
}
