//! Why a run ended, and the headline that says so in every command and on every screen.

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use super::counts::StoryCounts;
use super::review::Unreviewed;
use crate::policy::budget::UsedUp;
use crate::words::{and_list, clock_time, count, quoted};
use ralph_agents::agent_event::Refusal;
use ralph_base::ids::StoryId;
pub use ralph_vault::outcome::FailureKind;

pub use super::failed_story::FailedStory;
use super::failed_story::headline;
pub use super::failure_words::{failure, reason_beside};

/// What to do about a gate that cannot run.
const GATE_BROKEN_HINT: &str = "correct its `run`, install the program, or activate the environment that has it; if a \
                                story is to write it, set `baseline = false` on the gate";

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Outcome {
    /// Every story is done or deferred.
    AllDone,
    /// The one story that was asked for is done.
    StoryDone {
        /// The story; none in records of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        story: Option<StoryId>,
    },
    /// The work is done, but gates that were red before it are still red, or a review gave no
    /// verdict.
    Unverified {
        /// Names of the gates.
        gates: Vec<String>,
        /// The reviews that gave no verdict.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reviews: Vec<Unreviewed>,
    },
    /// Every story is done or deferred, except those the user skipped and those that depend on them.
    Skipped {
        /// The stories that were skipped and are open.
        stories: Vec<StoryId>,
        /// The stories that were not run because they depend on one of those.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_run: Vec<StoryId>,
    },
    /// A story used up its retries, or several did.
    Exhausted {
        /// The story.
        story: StoryId,
        /// Kind of its last failure.
        kind: FailureKind,
        /// Reason of its last failure.
        reason: String,
        /// How many attempts were made; 0 if that was not recorded.
        #[serde(default)]
        attempts: u32,
        /// The gate that failed the last attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gate: Option<String>,
        /// The run continued with other stories.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        continued: bool,
        /// Other stories that used up their retries as well.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<FailedStory>,
        /// The stories that were not run because they depend on one that is open.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_run: Vec<StoryId>,
    },
    /// Agents asked questions that only the user can answer, and there is no answer.
    Blocked {
        /// The stories and their questions.
        questions: Vec<OpenQuestion>,
        /// The stories that were not run because they depend on one that is open.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_run: Vec<StoryId>,
    },
    /// A gate cannot run: its program is missing. Nothing was checked.
    GateBroken {
        /// The gate.
        gate: String,
        /// How it ended, and the last lines that it printed.
        reason: String,
    },
    /// The user stopped it.
    Stopped,
    /// Its terminal was closed (SIGHUP).
    TerminalClosed,
    /// A signal ended it (SIGTERM).
    Terminated,
    /// The budget of the run or of a story is used up.
    BudgetUsedUp {
        /// The story whose budget it is; none if it is the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        story: Option<StoryId>,
        /// What was used: `$0.31`, `1.2M tokens`, `2h05m`.
        used: String,
        /// What may be used.
        limit: String,
        /// The flags of `resume` that raise it.
        flags: String,
    },
    /// No agent may work: none is logged in, has credit, or has the model.
    NotLoggedIn {
        /// The agent that is asked first.
        agent: String,
        /// What it lacks; none in records of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Refusal>,
        /// What the agents said.
        reason: String,
    },
    /// A usage limit lasts longer than the run may wait.
    UsageLimit {
        /// When it ends.
        #[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))]
        until: Timestamp,
        /// What the agent said, and how long the run may wait.
        reason: String,
    },
    /// A limit ended the run. Only in records of older versions.
    Limited {
        /// The reason, in words.
        reason: String,
    },
    /// Git or the system failed; the hint says what to do.
    Broken {
        /// What was tried and what happened.
        reason: String,
        /// What to do next.
        hint: String,
    },
}

/// Groups of outcomes that are shown, and can be continued, in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The work is done.
    Done,
    /// The work is done, with something to look at.
    DoneWithWarning,
    /// The run was stopped from outside.
    Stopped,
    /// A budget, a login or a usage limit ended it.
    Limited,
    /// A story or a step failed.
    Failed,
}

impl From<UsedUp> for Outcome {
    fn from(used_up: UsedUp) -> Self {
        Self::BudgetUsedUp {
            story: used_up.story,
            used: used_up.used,
            limit: used_up.limit,
            flags: used_up.flags,
        }
    }
}

/// What keeps work that is done from being verified.
pub fn red_since_before(gates: &[String]) -> String {
    let noun = if gates.len() == 1 { "gate" } else { "gates" };
    format!("{noun} {} red since before the run", quoted(gates))
}

/// The same, with the reviews that gave no verdict.
fn not_verified(gates: &[String], reviews: &[Unreviewed]) -> String {
    let red = (!gates.is_empty()).then(|| red_since_before(gates));
    let reasons = red.into_iter().chain(reviews.iter().map(Unreviewed::words));
    let reasons: Vec<String> = reasons.collect();
    reasons.join("; ")
}

/// What an agent asked about a story, without an answer so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct OpenQuestion {
    pub story: StoryId,
    pub question: String,
}

impl Outcome {
    /// The run stopped because a story used up its retries.
    pub fn stopped_at(failed: FailedStory) -> Self {
        Self::exhausted(failed, false, Vec::new(), Vec::new())
    }

    /// The run continued after the first of these stories had used up its retries; none where there is
    /// no such story.
    pub(crate) fn continued_after(failed: Vec<FailedStory>, not_run: Vec<StoryId>) -> Option<Self> {
        let mut failed = failed.into_iter();
        let first = failed.next()?;
        Some(Self::exhausted(first, true, failed.collect(), not_run))
    }

    fn exhausted(
        first: FailedStory,
        continued: bool,
        others: Vec<FailedStory>,
        not_run: Vec<StoryId>,
    ) -> Self {
        Self::Exhausted {
            story: first.story,
            kind: first.kind,
            reason: first.reason,
            attempts: first.attempts,
            gate: first.gate,
            continued,
            others,
            not_run,
        }
    }

    /// The stories that used up their retries.
    pub fn failed_stories(&self) -> Vec<FailedStory> {
        let Self::Exhausted {
            story,
            kind,
            reason,
            attempts,
            gate,
            others,
            ..
        } = self
        else {
            return Vec::new();
        };
        let first = FailedStory {
            story: story.clone(),
            kind: *kind,
            reason: reason.clone(),
            attempts: *attempts,
            gate: gate.clone(),
        };
        std::iter::once(first)
            .chain(others.iter().cloned())
            .collect()
    }

    /// Whether a run that ended like this, and was not finished, can be resumed.
    pub const fn can_go_on(&self) -> bool {
        match self.kind() {
            OutcomeKind::Stopped | OutcomeKind::Limited => true,
            OutcomeKind::Done => false,
            OutcomeKind::DoneWithWarning => matches!(self, Self::Skipped { .. }),
            OutcomeKind::Failed => matches!(
                self,
                Self::Exhausted { .. } | Self::Blocked { .. } | Self::GateBroken { .. }
            ),
        }
    }

    /// Whether the work that was asked for is done, verified or not.
    pub const fn is_done(&self) -> bool {
        matches!(
            self,
            Self::AllDone | Self::StoryDone { .. } | Self::Unverified { .. }
        )
    }

    /// Whether its headline says that work is done.
    pub const fn says_done(&self) -> bool {
        matches!(
            self.kind(),
            OutcomeKind::Done | OutcomeKind::DoneWithWarning
        )
    }

    /// The exit code of a run that ended like this.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::AllDone | Self::StoryDone { .. } => 0,
            Self::Unverified { .. }
            | Self::Exhausted { .. }
            | Self::Blocked { .. }
            | Self::Skipped { .. } => 1,
            Self::GateBroken { .. } => 2,
            Self::BudgetUsedUp { .. }
            | Self::NotLoggedIn { .. }
            | Self::UsageLimit { .. }
            | Self::Limited { .. } => 3,
            Self::Broken { .. } => 4,
            Self::Stopped => 130,
            Self::TerminalClosed | Self::Terminated => 143,
        }
    }

    /// The group it belongs to.
    pub const fn kind(&self) -> OutcomeKind {
        match self {
            Self::AllDone | Self::StoryDone { .. } => OutcomeKind::Done,
            Self::Unverified { .. } | Self::Skipped { .. } => OutcomeKind::DoneWithWarning,
            Self::Stopped | Self::TerminalClosed | Self::Terminated => OutcomeKind::Stopped,
            Self::BudgetUsedUp { .. }
            | Self::NotLoggedIn { .. }
            | Self::UsageLimit { .. }
            | Self::Limited { .. } => OutcomeKind::Limited,
            Self::Exhausted { .. }
            | Self::Blocked { .. }
            | Self::GateBroken { .. }
            | Self::Broken { .. } => OutcomeKind::Failed,
        }
    }

    /// The cause in one line; `ended` is when and where the run ended.
    pub fn headline(&self, stories: &StoryCounts, ended: &Zoned) -> String {
        match self {
            Self::AllDone => all_done(stories),
            Self::StoryDone { story: Some(story) } => format!("story {story} is done"),
            Self::StoryDone { story: None } => "the story is done".to_owned(),
            Self::Unverified { gates, reviews } => {
                format!("done, but not verified: {}", not_verified(gates, reviews))
            }
            Self::Skipped {
                stories: skipped,
                not_run,
            } => {
                let skipped = count(skipped.len(), "story");
                let not_run = match not_run.len() {
                    0 => String::new(),
                    count => format!(", {count} not run"),
                };
                format!("done, except {skipped} you skipped{not_run}")
            }
            Self::Exhausted { continued, .. } => {
                let failed = self.failed_stories();
                let failed: Vec<&FailedStory> = failed.iter().collect();
                match failed.as_slice() {
                    [only] if !continued => only.words(),
                    several => headline(several, stories),
                }
            }
            Self::Blocked { questions, .. } => {
                let ids = questions.iter().map(|it| it.story.0.clone());
                let ids = and_list(&ids.collect::<Vec<_>>());
                let what = match questions.len() {
                    1 => format!("story {ids} needs an answer"),
                    _ => format!("stories {ids} need answers"),
                };
                [stories.done_in_words(), what].join(", ")
            }
            Self::GateBroken { gate, .. } => format!("gate `{gate}` cannot run"),
            Self::Stopped => "stopped by you".to_owned(),
            Self::TerminalClosed => "stopped: the terminal was closed (SIGHUP)".to_owned(),
            Self::Terminated => "stopped by a signal (SIGTERM)".to_owned(),
            Self::BudgetUsedUp {
                story, used, limit, ..
            } => match story {
                None => format!("budget used up: {used} of {limit}"),
                Some(story) => format!("budget of story {story} used up: {used} of {limit}"),
            },
            Self::NotLoggedIn {
                agent,
                cause,
                reason,
            } => {
                let said = reason.lines().next().unwrap_or_default();
                let refused = || format!("agent `{agent}` was refused: {said}");
                let lacks = refusal(*cause).map(|word| format!("{word}: agent `{agent}`"));
                lacks.unwrap_or_else(refused)
            }
            Self::UsageLimit { until, .. } => {
                format!("usage limit until {}", clock_time(*until, ended))
            }
            Self::Limited { .. } => "stopped at a limit".to_owned(),
            Self::Broken { .. } => "git or the system failed".to_owned(),
        }
    }

    /// The lines below the headline.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::AllDone
            | Self::StoryDone { .. }
            | Self::Unverified { .. }
            | Self::Skipped { .. }
            | Self::Stopped
            | Self::TerminalClosed
            | Self::Terminated
            | Self::BudgetUsedUp { .. } => None,
            Self::Exhausted { reason, .. }
            | Self::GateBroken { reason, .. }
            | Self::NotLoggedIn { reason, .. }
            | Self::UsageLimit { reason, .. }
            | Self::Limited { reason }
            | Self::Broken { reason, .. } => Some(reason),
            Self::Blocked { questions, .. } => questions.first().map(|it| it.question.as_str()),
        }
    }

    /// What to do about it, where the run said so.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::BudgetUsedUp { flags, .. } => Some(format!(
                "resume with a higher budget: `ralphtool resume {flags}`"
            )),
            Self::GateBroken { .. } => Some(GATE_BROKEN_HINT.to_owned()),
            Self::Broken { hint, .. } => Some(hint.clone()),
            _ => None,
        }
    }
}

fn all_done(stories: &StoryCounts) -> String {
    match stories.deferred_in_words() {
        None => "all stories are done".to_owned(),
        Some(deferred) if stories.deferred > 0 || stories.done < stories.total => {
            format!("done, {deferred}")
        }
        Some(deferred) => format!("all stories are done, {deferred}"),
    }
}

/// What an agent lacks that may not work, in the words of headline and state; none where only the
/// agent's words say it.
pub(super) const fn refusal(cause: Option<Refusal>) -> Option<&'static str> {
    match cause {
        Some(Refusal::Login) => Some("not logged in"),
        Some(Refusal::Credit) => Some("no credit"),
        Some(Refusal::Model) => Some("model not available"),
        Some(Refusal::Other) | None => None,
    }
}

/// What must be true before such an agent can work.
pub(super) const fn once_allowed(cause: Option<Refusal>) -> &'static str {
    match cause {
        Some(Refusal::Login) => "once the agent is logged in",
        Some(Refusal::Credit) => "once the agent's account has credit",
        Some(Refusal::Model) => "once the agent has a model that it may use",
        Some(Refusal::Other) | None => "once the agent may work",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn headline(outcome: &Outcome) -> String {
        let ended: Zoned = "2026-11-15T23:10:00+00:00[UTC]".parse().unwrap();
        let stories = StoryCounts {
            total: 3,
            done: 3,
            ..StoryCounts::default()
        };
        outcome.headline(&stories, &ended)
    }

    fn exhausted(kind: FailureKind, attempts: u32, gate: Option<&str>) -> Outcome {
        Outcome::Exhausted {
            story: StoryId("2".to_owned()),
            kind,
            reason: "why".to_owned(),
            attempts,
            gate: gate.map(str::to_owned),
            continued: false,
            others: Vec::new(),
            not_run: Vec::new(),
        }
    }

    fn refused(cause: Option<Refusal>, reason: &str) -> Outcome {
        Outcome::NotLoggedIn {
            agent: "claude".to_owned(),
            cause,
            reason: reason.to_owned(),
        }
    }

    fn limit(until: &str) -> Outcome {
        Outcome::UsageLimit {
            until: until.parse().unwrap(),
            reason: "limit".to_owned(),
        }
    }

    #[test]
    fn a_headline_names_the_cause() {
        let budget = |story: Option<&str>| Outcome::BudgetUsedUp {
            story: story.map(|it| StoryId(it.to_owned())),
            used: "$0.31".to_owned(),
            limit: "$0.30".to_owned(),
            flags: "--max-cost 0.60".to_owned(),
        };
        let cases = [
            (Outcome::AllDone, "all stories are done"),
            (
                exhausted(FailureKind::Gate, 3, Some("tests")),
                "story 2 failed after 3 attempts (gate `tests`)",
            ),
            (
                exhausted(FailureKind::Failed, 1, None),
                "story 2 failed after 1 attempt (the agent reported failure)",
            ),
            (Outcome::Stopped, "stopped by you"),
            (
                Outcome::TerminalClosed,
                "stopped: the terminal was closed (SIGHUP)",
            ),
            (budget(None), "budget used up: $0.31 of $0.30"),
            (
                budget(Some("2")),
                "budget of story 2 used up: $0.31 of $0.30",
            ),
            (
                refused(Some(Refusal::Login), "Please run /login"),
                "not logged in: agent `claude`",
            ),
            (
                refused(
                    Some(Refusal::Credit),
                    "Credit balance is too low\nor log in",
                ),
                "no credit: agent `claude`",
            ),
            (
                refused(Some(Refusal::Model), "no model `x`"),
                "model not available: agent `claude`",
            ),
            (
                refused(Some(Refusal::Other), "Your account is on hold\nwhy"),
                "agent `claude` was refused: Your account is on hold",
            ),
            (limit("2026-11-15T23:40:00Z"), "usage limit until 23:40"),
            (
                limit("2026-11-16T03:40:00Z"),
                "usage limit until Nov 16 03:40",
            ),
        ];
        for (outcome, want) in cases {
            assert_eq!(headline(&outcome), want);
        }
    }

    #[test]
    fn deferred_work_is_part_of_the_headline() {
        let ended: Zoned = "2026-11-15T23:10:00+00:00[UTC]".parse().unwrap();
        let line = |done, deferred, tasks_deferred| {
            let stories = StoryCounts {
                total: done + deferred,
                done,
                deferred,
                tasks_deferred,
                ..StoryCounts::default()
            };
            Outcome::AllDone.headline(&stories, &ended)
        };
        assert_eq!(line(2, 0, 0), "all stories are done");
        assert_eq!(line(2, 0, 3), "all stories are done, 3 tasks deferred");
        assert_eq!(line(2, 1, 3), "done, 1 story and 3 tasks deferred");
        assert_eq!(line(0, 1, 0), "done, 1 story deferred");
    }

    #[test]
    fn outcomes_of_older_records_are_read() {
        let read = |text: &str| serde_json::from_str::<Outcome>(text).unwrap();
        assert_eq!(read(r#"{"why":"stopped"}"#), Outcome::Stopped);
        assert_eq!(
            read(r#"{"why":"skipped","stories":["2"]}"#),
            Outcome::Skipped {
                stories: vec![StoryId("2".to_owned())],
                not_run: Vec::new()
            }
        );
        assert_eq!(
            read(r#"{"why":"limited","reason":"r"}"#),
            Outcome::Limited {
                reason: "r".to_owned()
            }
        );
        assert_eq!(
            headline(&read(
                r#"{"why":"exhausted","story":"2","kind":"gate","reason":"r"}"#
            )),
            "story 2 failed after all its attempts (a gate failed)"
        );
    }
}
