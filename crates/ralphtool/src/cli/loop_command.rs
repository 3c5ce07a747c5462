//! `ralphtool loop`: work through a change.

use std::process::ExitCode;

use clap::Args;
use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};

use super::arguments::EXIT_CODES;
use super::context::Context;
use super::launch::{self, Consent, Which, Wish};
use super::tui;
use crate::ui::plain::Verbosity;
use ralph_base::allowance::{CostLimit, TokenLimit};
use ralph_base::duration::TimeLimit;
use ralph_run::failure::Failure;
use ralph_run::settings::{AgentList, GateSettings, OnFinish, PartialSettings, Sourced};

const EXAMPLES: &str = "\
Examples:
  ralphtool loop                              the only change with work left
  ralphtool loop add-retry --max-retries 1    at most two attempts a story
  ralphtool loop add-retry --gate 'cargo test' --gate 'cargo clippy'
  ralphtool loop add-retry --story 3          just this story
  ralphtool loop add-retry --dry-run          what would be done; touches nothing
  ralphtool loop specs/001-albums             a feature of spec-kit; Kiro's specs alike
  ralphtool loop prd.json                     a `prd.json`, or any checklist in Markdown

";

/// Flags of `loop`.
#[derive(Debug, Default, Args)]
#[command(after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
pub(super) struct LoopArguments {
    /// The change to work through: its name in `list`, or the path of its folder or file; may be left
    /// out when just one has work left
    #[arg(value_name = "CHANGE|PATH")]
    pub(super) change: Option<String>,
    #[command(flatten)]
    pub(super) run: RunArguments,
    /// Go on with an interrupted run, if there is one; this is the default
    #[arg(long, conflicts_with = "fresh")]
    #[allow(dead_code, reason = "says what is done anyway, and excludes `--fresh`")]
    pub(super) resume: bool,
    /// Start anew where a run was interrupted; its branch is put aside, never dropped
    #[arg(long)]
    pub(super) fresh: bool,
}

/// Flags of every command that runs agents.
#[derive(Debug, Default, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct RunArguments {
    /// How often a story may be retried after its first attempt [default: 3]
    #[arg(long, value_name = "N")]
    pub(super) max_retries: Option<u32>,
    /// The agent, or several with commas between them: where one is limited or logged out the next
    /// takes over [default: claude]
    #[arg(long, value_name = "NAME")]
    pub(super) agent: Option<AgentList>,
    /// The model to ask the (first) agent for
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub(super) model: Option<String>,
    /// Work on just this story
    #[arg(long, value_name = "ID")]
    pub(super) story: Option<String>,
    /// Check each attempt with this shell line, instead of the configured gates; repeatable
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub(super) gate: Vec<String>,
    /// End an agent that is silent for so long; `off` for never [default: 15m]
    #[arg(long, value_name = "DURATION")]
    pub(super) idle_timeout: Option<TimeLimit>,
    /// End an attempt that takes so long; `off` for never [default: off]
    #[arg(long, value_name = "DURATION")]
    pub(super) timeout: Option<TimeLimit>,
    /// End git and other short commands that take so long [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub(super) command_timeout: Option<TimeLimit>,
    /// Wait at most so long for a limit of the agent to end; `off` for no cap [default: off]
    #[arg(long, value_name = "DURATION")]
    pub(super) max_wait: Option<TimeLimit>,
    /// End the run once it has cost so many US dollars; `off` for no cap [default: off]
    #[arg(long, value_name = "USD")]
    pub(super) max_cost: Option<CostLimit>,
    /// End the run once it has used so many tokens, such as `500k`; `off` for no cap [default: off]
    #[arg(long, value_name = "N")]
    pub(super) max_tokens: Option<TokenLimit>,
    /// End the run after so long; `off` for no cap [default: off]
    #[arg(long, value_name = "DURATION")]
    pub(super) max_time: Option<TimeLimit>,
    /// End the run once one story has cost so many US dollars; `off` for no cap [default: off]
    #[arg(long, value_name = "USD")]
    pub(super) max_story_cost: Option<CostLimit>,
    /// End the run once one story has used so many tokens; `off` for no cap [default: off]
    #[arg(long, value_name = "N")]
    pub(super) max_story_tokens: Option<TokenLimit>,
    /// End the run once one story has taken so long; `off` for no cap [default: off]
    #[arg(long, value_name = "DURATION")]
    pub(super) max_story_time: Option<TimeLimit>,
    /// What happens to the branch at the end; `ask` keeps it where nobody can answer
    #[arg(long, value_name = "CHOICE", value_parser = on_finish())]
    pub(super) on_finish: Option<OnFinish>,
    /// Write a plain log, also on a terminal, where a screen is the default
    #[arg(long)]
    pub(super) no_tui: bool,
    /// Write one JSON object a line to stdout, and nothing else
    #[arg(long)]
    pub(super) json: bool,
    /// Say what would be done, and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Allow what the repository's `ralphtool.toml` asks for, this once and without a question
    #[arg(long)]
    pub(super) trust: bool,
    /// Show what the agent says and does, too; a plain log
    #[arg(short, long, conflicts_with = "quiet")]
    pub(super) verbose: bool,
    /// Show only warnings, failures and the summary; a plain log
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl RunArguments {
    /// Whether the run is shown on a screen, and its user can be asked.
    pub(super) fn is_attended(&self, context: &Context) -> bool {
        let wants_log = self.no_tui || self.json || self.dry_run || self.verbose || self.quiet;
        !wants_log && tui::is_possible(context)
    }

    /// What the flags say, as a layer over all others.
    pub(super) fn settings(&self) -> PartialSettings {
        let gates = self.gate.iter().map(|line| GateSettings::from_line(line));
        let gates: Vec<GateSettings> = gates.collect();
        PartialSettings {
            agent: flag(self.agent.clone(), "--agent"),
            model: flag(self.model.clone(), "--model"),
            max_retries: flag(self.max_retries, "--max-retries"),
            on_finish: flag(self.on_finish, "--on-finish"),
            idle_timeout: flag(self.idle_timeout, "--idle-timeout"),
            total_timeout: flag(self.timeout, "--timeout"),
            command_timeout: flag(self.command_timeout, "--command-timeout"),
            max_wait: flag(self.max_wait, "--max-wait"),
            max_cost: flag(self.max_cost, "--max-cost"),
            max_tokens: flag(self.max_tokens, "--max-tokens"),
            max_time: flag(self.max_time, "--max-time"),
            max_story_cost: flag(self.max_story_cost, "--max-story-cost"),
            max_story_tokens: flag(self.max_story_tokens, "--max-story-tokens"),
            max_story_time: flag(self.max_story_time, "--max-story-time"),
            gates: flag((!gates.is_empty()).then_some(gates), "--gate"),
            ..PartialSettings::default()
        }
    }

    /// How much the log says.
    pub(super) const fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// The choices of `--on-finish`; the long help says what each does.
fn on_finish() -> impl TypedValueParser<Value = OnFinish> {
    let choices = OnFinish::NAMES.map(|(name, choice)| {
        PossibleValue::new(name).help(match choice {
            OnFinish::Ask => "Ask",
            OnFinish::Cleanup => "Back to the original branch, the work as uncommitted changes",
            OnFinish::Keep => "Stay on the checkpoint branch",
        })
    });
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<OnFinish>())
}

fn flag<T>(value: Option<T>, name: &'static str) -> Option<Sourced<T>> {
    value.map(|value| Sourced::flag(value, name))
}

/// Runs the loop.
pub(super) fn run(arguments: &LoopArguments, context: &Context) -> Result<ExitCode, Failure> {
    let wish = Wish {
        which: arguments
            .change
            .as_deref()
            .map_or(Which::Only, Which::Named),
        fresh: arguments.fresh,
        flags: &arguments.run,
        chosen: None,
        attended: arguments.run.is_attended(context),
        consent: Consent::of(&arguments.run),
    };
    launch::run(&wish, context)
}

#[cfg(test)]
mod tests {
    use super::super::arguments::{Arguments, Command};
    use super::*;
    use clap::Parser as _;
    use pretty_assertions::assert_eq;

    fn parse(line: &[&str]) -> Result<LoopArguments, clap::error::ErrorKind> {
        let line = ["ralphtool", "loop"].iter().chain(line);
        match Arguments::try_parse_from(line)
            .map_err(|error| error.kind())?
            .command
        {
            Some(Command::Loop(arguments)) => Ok(arguments),
            other => panic!("not a loop: {other:?}"),
        }
    }

    #[test]
    fn every_flag_becomes_a_setting_with_its_name() {
        let given = parse(&[
            "add-retry",
            "--max-retries=0",
            "--agent=demo",
            "--model=opus",
            "--gate=cargo test",
            "--gate=cargo clippy",
            "--idle-timeout=off",
            "--timeout=1h30m",
            "--command-timeout=5s",
            "--max-wait=2h",
            "--max-cost=2.50",
            "--max-tokens=500k",
            "--max-time=8h",
            "--max-story-cost=1",
            "--max-story-tokens=100k",
            "--max-story-time=1h",
            "--on-finish=cleanup",
            "--story=2",
        ])
        .unwrap();
        let gates = vec![
            GateSettings::from_line("cargo test"),
            GateSettings::from_line("cargo clippy"),
        ];
        let want = PartialSettings {
            agent: flag(Some(AgentList::one("demo")), "--agent"),
            model: flag(Some("opus".to_owned()), "--model"),
            max_retries: flag(Some(0), "--max-retries"),
            on_finish: flag(Some(OnFinish::Cleanup), "--on-finish"),
            idle_timeout: flag(Some(TimeLimit::OFF), "--idle-timeout"),
            total_timeout: flag(Some(TimeLimit::seconds(5400)), "--timeout"),
            command_timeout: flag(Some(TimeLimit::seconds(5)), "--command-timeout"),
            max_wait: flag(Some(TimeLimit::seconds(7200)), "--max-wait"),
            max_cost: flag(Some(CostLimit::cents(250)), "--max-cost"),
            max_tokens: flag(Some(TokenLimit(Some(500_000))), "--max-tokens"),
            max_time: flag(Some(TimeLimit::seconds(28_800)), "--max-time"),
            max_story_cost: flag(Some(CostLimit::cents(100)), "--max-story-cost"),
            max_story_tokens: flag(Some(TokenLimit(Some(100_000))), "--max-story-tokens"),
            max_story_time: flag(Some(TimeLimit::seconds(3600)), "--max-story-time"),
            gates: flag(Some(gates), "--gate"),
            ..PartialSettings::default()
        };
        assert_eq!(given.run.settings(), want);
        assert_eq!(given.change.as_deref(), Some("add-retry"));
        assert_eq!(
            parse(&[]).unwrap().run.settings(),
            PartialSettings::default()
        );
    }

    #[test]
    fn flags_that_exclude_each_other_are_refused() {
        use clap::error::ErrorKind;
        let refused = |line: &[&str]| parse(line).map(|_| ()).unwrap_err();
        assert_eq!(
            refused(&["--resume", "--fresh"]),
            ErrorKind::ArgumentConflict
        );
        assert_eq!(refused(&["-v", "-q"]), ErrorKind::ArgumentConflict);
        assert_eq!(refused(&["--timeout=15"]), ErrorKind::ValueValidation);
        assert_eq!(refused(&["--on-finish=merge"]), ErrorKind::InvalidValue);
        assert_eq!(refused(&["--max-retries=-1"]), ErrorKind::ValueValidation);
        assert_eq!(refused(&["--gate="]), ErrorKind::InvalidValue);
        assert_eq!(refused(&["--max-cost=much"]), ErrorKind::ValueValidation);
        assert_eq!(refused(&["--max-tokens=1.5"]), ErrorKind::ValueValidation);
    }

    #[test]
    fn verbosity_follows_the_flags() {
        assert_eq!(parse(&["-v"]).unwrap().run.verbosity(), Verbosity::Verbose);
        assert_eq!(parse(&["-q"]).unwrap().run.verbosity(), Verbosity::Quiet);
        assert_eq!(parse(&[]).unwrap().run.verbosity(), Verbosity::Normal);
    }
}
