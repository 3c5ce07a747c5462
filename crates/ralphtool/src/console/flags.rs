//! Flags that several commands share. Nothing here knows a command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use clap::{Args, ValueEnum};

use crate::ui::plain::Verbosity;
use ralph_base::allowance::{CostLimit, TokenLimit};
use ralph_base::duration::TimeLimit;
use ralph_run::settings::{
    AgentList, GateSettings, OnBlocked, OnExhausted, OnFinish, PartialSettings, Sourced,
};

/// Exit codes, shown below the help of every command that can have them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    all stories are done, or there was nothing left to do
  1    a story used up its retries or was skipped, or a gate is red as before the run
  2    bad usage, or refused to start; nothing was touched
  3    the run stopped early: budget used up, usage limit reached, or not logged in
  4    git or the system failed; no work is lost, the message says what to do
  130  stopped by SIGINT (Ctrl-C)
  143  stopped by SIGTERM";

/// Flags of every command.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArguments {
    /// Work in this directory instead of the current one
    #[arg(
        short = 'C',
        value_name = "DIR",
        value_hint = clap::ValueHint::DirPath,
        global = true,
        hide_short_help = true
    )]
    pub(crate) directory: Option<PathBuf>,
    /// Read this configuration file instead of `ralphtool.toml` and your own `config.toml`
    #[arg(
        long,
        value_name = "FILE",
        value_hint = clap::ValueHint::FilePath,
        global = true,
        hide_short_help = true
    )]
    pub(crate) config: Option<PathBuf>,
    /// When to use colours
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        hide_short_help = true
    )]
    pub(crate) color: ColorArgument,
}

/// When to colour the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArgument {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorArgument {
    /// What the arguments ask for, found before they are parsed: errors have colours too.
    pub(crate) fn find(args: &[OsString]) -> Self {
        let words = args.iter().map(|arg| arg.to_str().unwrap_or_default());
        let mut found = Self::Auto;
        let mut expecting = false;
        for word in words.take_while(|word| *word != "--") {
            let value = match word.strip_prefix("--color=") {
                Some(value) => value,
                None if expecting => word,
                None => "",
            };
            found = Self::from_str(value, false).unwrap_or(found);
            expecting = word == "--color";
        }
        found
    }
}

impl From<ColorArgument> for clap::ColorChoice {
    fn from(color: ColorArgument) -> Self {
        match color {
            ColorArgument::Auto => Self::Auto,
            ColorArgument::Always => Self::Always,
            ColorArgument::Never => Self::Never,
        }
    }
}

/// Flags of every command that runs agents.
#[derive(Debug, Default, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct RunArguments {
    /// How many times a failed story is tried again [default: 3]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) max_retries: Option<u32>,
    /// How many times the agent of an attempt may repair what a check found, in the same session [default: 2]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub(crate) repairs: Option<u32>,
    /// The agent, or a list with commas: when one is unavailable, the next takes over [default: claude]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<AgentList>,
    /// The model of the first agent
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// Work on this story only
    #[arg(long, value_name = "ID")]
    pub(crate) story: Option<String>,
    /// Check each attempt with this shell command instead of the configured gates (repeatable)
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) gate: Vec<String>,
    /// Stop an agent that prints nothing for this long; `off` for never [default: 15m]
    #[arg(long, value_name = "DURATION", hide_short_help = true)]
    pub(crate) idle_timeout: Option<TimeLimit>,
    /// Stop an attempt that takes longer than this; `off` for never [default: off]
    #[arg(long, value_name = "DURATION", hide_short_help = true)]
    pub(crate) timeout: Option<TimeLimit>,
    /// Stop git and other short commands that take longer than this [default: 30s]
    #[arg(long, value_name = "DURATION", hide_short_help = true)]
    pub(crate) command_timeout: Option<TimeLimit>,
    /// Wait at most this long for a usage limit to end, or for an answer; `off` for no maximum [default: off]
    #[arg(long, value_name = "DURATION", hide_short_help = true)]
    pub(crate) max_wait: Option<TimeLimit>,
    /// Stop the run when it has cost this much, in US dollars; `off` for no maximum [default: off]
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<CostLimit>,
    /// Stop the run when it has used this many tokens, such as `500k`; `off` for no maximum [default:
    /// off]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) max_tokens: Option<TokenLimit>,
    /// Stop the run after this long, such as `8h`; `off` for no maximum [default: off]
    #[arg(long, value_name = "DURATION")]
    pub(crate) max_time: Option<TimeLimit>,
    /// Stop the run when one story has cost this much, in US dollars; `off` for no maximum [default:
    /// off]
    #[arg(
        long,
        value_name = "USD",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) max_story_cost: Option<CostLimit>,
    /// Stop the run when one story has used this many tokens; `off` for no maximum [default: off]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub(crate) max_story_tokens: Option<TokenLimit>,
    /// Stop the run when one story has taken this long; `off` for no maximum [default: off]
    #[arg(long, value_name = "DURATION", hide_short_help = true)]
    pub(crate) max_story_time: Option<TimeLimit>,
    /// What to do when a story has used up its retries
    #[arg(long, value_name = "CHOICE", value_parser = on_exhausted())]
    pub(crate) on_exhausted: Option<OnExhausted>,
    /// What to do with the branch at the end; without a terminal, `ask` keeps it
    #[arg(long, value_name = "CHOICE", value_parser = on_finish())]
    pub(crate) on_finish: Option<OnFinish>,
    /// What to do when an agent asks a question [default: wait on the run screen]
    #[arg(long, value_name = "CHOICE", value_parser = on_blocked(), hide_short_help = true)]
    pub(crate) on_blocked: Option<OnBlocked>,
    /// Print a plain log instead of showing the screen
    #[arg(long)]
    pub(crate) no_tui: bool,
    /// Print one JSON object per line, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what would be done, without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Allow the commands of the repository's `ralphtool.toml` this once, without asking
    #[arg(long)]
    pub(crate) trust: bool,
    /// Print a plain log that includes what the agent says and does
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Print a plain log of warnings, failures and the summary only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl RunArguments {
    /// Whether the flags leave room for a screen; each of these asks for something else.
    pub(crate) const fn allow_screen(&self) -> bool {
        !(self.no_tui || self.json || self.dry_run || self.verbose || self.quiet)
    }

    /// What the flags say, as a layer over all others.
    pub(crate) fn settings(&self) -> PartialSettings {
        let gates = self.gate.iter().map(|line| GateSettings::from_line(line));
        let gates: Vec<GateSettings> = gates.collect();
        PartialSettings {
            agent: flag(self.agent.clone(), "--agent"),
            model: flag(self.model.clone(), "--model"),
            max_retries: flag(self.max_retries, "--max-retries"),
            repairs: flag(self.repairs, "--repairs"),
            on_exhausted: flag(self.on_exhausted, "--on-exhausted"),
            on_finish: flag(self.on_finish, "--on-finish"),
            on_blocked: flag(self.on_blocked, "--on-blocked"),
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
    pub(crate) const fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// The choices of `--on-exhausted`; the long help says what each does.
fn on_exhausted() -> impl TypedValueParser<Value = OnExhausted> {
    let choices = OnExhausted::NAMES.map(|(name, choice)| {
        PossibleValue::new(name).help(match choice {
            OnExhausted::Stop => "Stop the run",
            OnExhausted::Continue => "Continue with every story that is not known to depend on it",
        })
    });
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<OnExhausted>())
}

/// The choices of `--on-finish`; the long help says what each does.
fn on_finish() -> impl TypedValueParser<Value = OnFinish> {
    let choices = OnFinish::NAMES.map(|(name, choice)| {
        PossibleValue::new(name).help(match choice {
            OnFinish::Ask => "Ask on the terminal",
            OnFinish::Cleanup => {
                "Return to the original branch, with the work as uncommitted changes"
            }
            OnFinish::Keep => "Stay on the branch of the run",
        })
    });
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<OnFinish>())
}

/// The choices of `--on-blocked`; the long help says what each does.
fn on_blocked() -> impl TypedValueParser<Value = OnBlocked> {
    let choices = OnBlocked::NAMES.map(|(name, choice)| {
        PossibleValue::new(name).help(match choice {
            OnBlocked::Wait => "Wait for the answer, with the work of the agent kept",
            OnBlocked::Skip => "Continue with other stories until there is an answer",
            OnBlocked::Stop => "End the run",
        })
    });
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<OnBlocked>())
}

/// Reads a count, such as of retries.
fn whole_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        let most = u32::MAX;
        format!("`{text}` is not a whole number from 0 to {most}")
    })
}

fn flag<T>(value: Option<T>, name: &'static str) -> Option<Sourced<T>> {
    value.map(|value| Sourced::flag(value, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use pretty_assertions::assert_eq;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        run: RunArguments,
    }

    fn parse(line: &[&str]) -> Result<RunArguments, clap::error::ErrorKind> {
        let line = ["ralphtool"].iter().chain(line);
        let parsed = CommandLine::try_parse_from(line).map_err(|error| error.kind())?;
        Ok(parsed.run)
    }

    #[test]
    fn the_colour_is_found_before_parsing() {
        #[track_caller]
        fn case(args: &[&str], want: ColorArgument) {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            assert_eq!(ColorArgument::find(&args), want);
        }
        case(&["ralphtool", "list"], ColorArgument::Auto);
        case(&["ralphtool", "--color", "never"], ColorArgument::Never);
        case(&["ralphtool", "x", "--color=always"], ColorArgument::Always);
        case(&["ralphtool", "--", "--color=always"], ColorArgument::Auto);
        case(&["ralphtool", "--color", "purple"], ColorArgument::Auto);
    }

    #[test]
    fn every_flag_becomes_a_setting_with_its_name() {
        let given = parse(&[
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
            "--on-exhausted=continue",
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
            on_exhausted: flag(Some(OnExhausted::Continue), "--on-exhausted"),
            on_finish: flag(Some(OnFinish::Cleanup), "--on-finish"),
            idle_timeout: flag(Some(TimeLimit::OFF), "--idle-timeout"),
            total_timeout: flag(Some(TimeLimit::seconds(5400)), "--timeout"),
            command_timeout: flag(Some(TimeLimit::seconds(5)), "--command-timeout"),
            max_wait: flag(Some(TimeLimit::seconds(7200)), "--max-wait"),
            max_cost: flag(Some(CostLimit(Some(2_500_000))), "--max-cost"),
            max_tokens: flag(Some(TokenLimit(Some(500_000))), "--max-tokens"),
            max_time: flag(Some(TimeLimit::seconds(28_800)), "--max-time"),
            max_story_cost: flag(Some(CostLimit(Some(1_000_000))), "--max-story-cost"),
            max_story_tokens: flag(Some(TokenLimit(Some(100_000))), "--max-story-tokens"),
            max_story_time: flag(Some(TimeLimit::seconds(3600)), "--max-story-time"),
            gates: flag(Some(gates), "--gate"),
            ..PartialSettings::default()
        };
        assert_eq!(given.settings(), want);
        assert_eq!(parse(&[]).unwrap().settings(), PartialSettings::default());
    }

    #[test]
    fn flags_that_exclude_each_other_are_refused() {
        use clap::error::ErrorKind;
        let refused = |line: &[&str]| parse(line).map(|_| ()).unwrap_err();
        assert_eq!(refused(&["-v", "-q"]), ErrorKind::ArgumentConflict);
        assert_eq!(refused(&["--timeout=15"]), ErrorKind::ValueValidation);
        assert_eq!(refused(&["--on-finish=merge"]), ErrorKind::InvalidValue);
        assert_eq!(refused(&["--on-exhausted=skip"]), ErrorKind::InvalidValue);
        assert_eq!(refused(&["--max-retries=-1"]), ErrorKind::ValueValidation);
        assert_eq!(refused(&["--gate="]), ErrorKind::InvalidValue);
        assert_eq!(refused(&["--max-cost=much"]), ErrorKind::ValueValidation);
        assert_eq!(refused(&["--max-tokens=1.5"]), ErrorKind::ValueValidation);
    }

    #[test]
    fn verbosity_follows_the_flags() {
        assert_eq!(parse(&["-v"]).unwrap().verbosity(), Verbosity::Verbose);
        assert_eq!(parse(&["-q"]).unwrap().verbosity(), Verbosity::Quiet);
        assert_eq!(parse(&[]).unwrap().verbosity(), Verbosity::Normal);
    }
}
