//! What an agent's end means: its promise counts, or the attempt failed.

use super::io::{AgentEnd, AgentExit};
use crate::policy;
use crate::records::event::FailureKind;
use ralph_agents::agent_event::Refusal;
use ralph_agents::dialect::{Limit, Trouble};
use ralph_agents::promise::{Promise, PromiseScanner};

/// How many lines of a red gate go into the next prompt.
const TAIL_LINES: usize = 60;
/// How an attempt without a promise is explained.
const LAST_LINE: &str = "the agent's last line was: ";
/// What the next prompt says after an attempt ran out of context.
const SMALLER_STEPS: &str = "the conversation outgrew the model's context window; read only what \
you need, keep the output of commands short, and work in small steps";

/// Whether and why the agent is about to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// It works.
    Open,
    /// It gave its final message and may exit by itself.
    Grace,
    /// It did not exit after its final message and is ended.
    AfterFinal,
    /// It is ended because the user stopped the run.
    Stop,
    /// It is ended because the user skipped the story.
    Skip,
    /// It is ended and the attempt counts as this failure.
    Failed(AttemptFailure),
}

/// Why an attempt did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttemptFailure {
    pub(super) kind: FailureKind,
    /// For the user.
    pub(super) reason: String,
    /// What the prompt of the next attempt says about it.
    pub(super) prompt_reason: Option<String>,
    /// The limit that has to end first.
    pub(super) limit: Option<Box<Limit>>,
    /// The gate that failed it.
    pub(super) gate: Option<String>,
    /// What an agent lacks that may not work.
    pub(super) refusal: Refusal,
}

impl AttemptFailure {
    pub(super) fn new(kind: FailureKind, reason: String) -> Self {
        let prompt_reason = policy::is_in_prompt(kind).then(|| reason.clone());
        Self {
            kind,
            reason,
            prompt_reason,
            limit: None,
            gate: None,
            refusal: Refusal::Other,
        }
    }

    /// The agent may not work at all.
    pub(super) fn refused(refusal: Refusal, message: String) -> Self {
        Self {
            refusal,
            ..Self::new(FailureKind::Auth, message)
        }
    }

    pub(super) fn stopped() -> Self {
        Self::new(FailureKind::Stopped, "the run was stopped".to_owned())
    }

    pub(super) fn skipped() -> Self {
        Self::new(FailureKind::Skipped, "the story was skipped".to_owned())
    }

    pub(super) fn budget(reason: String) -> Self {
        Self::new(FailureKind::Budget, reason)
    }

    /// Too long silent, or too long altogether.
    pub(super) fn timeout(kind: FailureKind, how: &str, place: Option<&str>) -> Self {
        let reason = match place {
            Some(place) => format!("{how}; the last thing it did: {place}"),
            None => format!("{how}; it said nothing"),
        };
        Self::new(kind, reason)
    }

    /// The agent asks a question.
    pub(super) fn blocked(question: &str) -> Self {
        let question = question.trim();
        if question.is_empty() {
            let reason = "the agent said BLOCKED and asked nothing".to_owned();
            return Self::new(FailureKind::Failed, reason);
        }
        let prompt_reason = format!("the agent asked a question, and got no answer: {question}");
        Self {
            prompt_reason: Some(prompt_reason),
            ..Self::new(FailureKind::Blocked, question.to_owned())
        }
    }

    /// A gate is red.
    pub(super) fn gate(name: &str, how: &str, tail: &str) -> Self {
        Self {
            gate: Some(name.to_owned()),
            ..Self::new(FailureKind::Gate, gate_reason(name, how, tail))
        }
    }

    /// Whether nothing but figures of time tells it from another failure: to repair it again would
    /// not help.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.gate == other.gate
            && without_times(&self.reason) == without_times(&other.reason)
    }

    /// This failure, which ended a round that was to repair another one. The next prompt has both.
    pub(super) fn after(self, open: &Self) -> Self {
        let reasons = [&open.prompt_reason, &self.prompt_reason];
        let reasons: Vec<&str> = reasons.into_iter().flatten().map(String::as_str).collect();
        Self {
            prompt_reason: Some(reasons.join("\n\nWhen the agent was asked to fix that: ")),
            ..self
        }
    }

    /// A review found something not met.
    pub(super) fn review(reason: String) -> Self {
        Self::new(FailureKind::Review, reason)
    }

    fn limit(limit: &Limit) -> Self {
        Self {
            limit: Some(Box::new(limit.clone())),
            ..Self::new(FailureKind::Limit, limit.message.clone())
        }
    }

    /// The next prompt says what to do differently; the agent's words are for the user.
    fn overflow(message: &str) -> Self {
        Self {
            prompt_reason: Some(SMALLER_STEPS.to_owned()),
            ..Self::new(FailureKind::Overflow, message.to_owned())
        }
    }

    fn failed(reason: &str) -> Self {
        if reason.trim().is_empty() {
            let reason = "the agent said FAILED and gave no reason".to_owned();
            return Self {
                prompt_reason: None,
                ..Self::new(FailureKind::Failed, reason)
            };
        }
        Self::new(FailureKind::Failed, reason.to_owned())
    }

    fn no_signal(last_line: Option<&str>) -> Self {
        let reason = match last_line {
            None => "the agent ended without a promise".to_owned(),
            Some(line) if line.contains("<promise>") => {
                format!("{LAST_LINE}{line}\n{}", why_void(line))
            }
            Some(line) => format!("{LAST_LINE}{line}"),
        };
        Self::new(FailureKind::NoSignal, reason)
    }

    fn crashed(end: &AgentEnd) -> Self {
        let how = match end.exit {
            AgentExit::Code(0) | AgentExit::StoppedByUs => {
                "the agent's turn ended with an error".to_owned()
            }
            exit => format!("the agent ended with {}", exit_in_words(exit)),
        };
        let words = match &end.trouble {
            Some(Trouble::Other(message)) => message.trim(),
            _ => end.last_words.trim(),
        };
        let reason = if words.is_empty() {
            how
        } else {
            format!("{how}\n{words}")
        };
        Self::new(FailureKind::Crashed, reason)
    }
}

/// A text without its times, such as `0.04s`, `12 ms` or `10:31:07`, which differ from run to run.
fn without_times(text: &str) -> String {
    const UNITS: [&str; 8] = ["s", "ms", "us", "µs", "ns", "m", "sec", "seconds"];
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || ".:,".contains(c))
    };
    let is_time = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let unit = bare.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        (is_number(bare) && bare.matches(':').count() > 1)
            || (unit.len() < bare.len() && UNITS.contains(&unit))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_before_unit = |place: usize| {
        let next = words
            .get(place + 1)
            .map(|next| next.trim_matches(|c: char| !c.is_alphanumeric()));
        is_number(words[place]) && next.is_some_and(|next| UNITS.contains(&next))
    };
    let kept = (0..words.len()).filter(|place| !is_time(words[*place]) && !is_before_unit(*place));
    kept.map(|place| words[place]).collect::<Vec<_>>().join(" ")
}

/// Why a promise in the last line does not count.
fn why_void(line: &str) -> &'static str {
    let mut scanner = PromiseScanner::default();
    scanner.feed(line);
    match scanner.found() {
        Some(_) => "a promise counts only in the agent's final message",
        None => "a promise counts only alone on its line",
    }
}

/// Whether the agent completed its story; a success may come with a warning.
pub(super) fn judge(end: &AgentEnd, ending: Ending) -> Result<Option<String>, AttemptFailure> {
    match ending {
        Ending::Stop => return Err(AttemptFailure::stopped()),
        Ending::Skip => return Err(AttemptFailure::skipped()),
        Ending::Failed(failure) => return Err(waited_at_a_limit(end, &failure).unwrap_or(failure)),
        Ending::Open | Ending::Grace | Ending::AfterFinal => {}
    }
    // A promise counts in final words only, and an error in the final message voids it.
    let promise = end.promise.as_ref().filter(|_| end.final_seen);
    match promise {
        Some(Promise::Complete) if !end.is_error => Ok(odd_exit(end.exit)),
        Some(Promise::Failed(reason)) if !end.is_error => Err(AttemptFailure::failed(reason)),
        Some(Promise::Blocked(question)) if !end.is_error => Err(AttemptFailure::blocked(question)),
        promise => Err(broken_off(end, promise)),
    }
}

/// An agent that was ended while it waited for a limit to end was not idle.
fn waited_at_a_limit(end: &AgentEnd, failure: &AttemptFailure) -> Option<AttemptFailure> {
    let Some(Trouble::Limit(limit)) = &end.trouble else {
        return None;
    };
    matches!(failure.kind, FailureKind::Silent | FailureKind::Timeout)
        .then(|| AttemptFailure::limit(limit))
}

fn broken_off(end: &AgentEnd, promise: Option<&Promise>) -> AttemptFailure {
    match (&end.trouble, promise) {
        (Some(Trouble::Refused { cause, message }), _) => {
            return AttemptFailure::refused(*cause, message.clone());
        }
        (Some(Trouble::Limit(limit)), _) => return AttemptFailure::limit(limit),
        (Some(Trouble::Overflow(message)), _) => return AttemptFailure::overflow(message),
        (_, Some(Promise::Failed(reason))) => return AttemptFailure::failed(reason),
        (_, Some(Promise::Blocked(question))) => return AttemptFailure::blocked(question),
        _ => {}
    }
    let ended_well = match end.exit {
        AgentExit::Code(code) => code == 0,
        AgentExit::Signal(_) => false,
        AgentExit::StoppedByUs => end.final_seen,
    };
    if ended_well && !end.is_error {
        return AttemptFailure::no_signal(end.last_line.as_deref());
    }
    AttemptFailure::crashed(end)
}

fn odd_exit(exit: AgentExit) -> Option<String> {
    match exit {
        // That it had to be ended was said when it was.
        AgentExit::Code(0) | AgentExit::StoppedByUs => None,
        exit @ (AgentExit::Code(_) | AgentExit::Signal(_)) => Some(format!(
            "the agent promised COMPLETE but ended with {}",
            exit_in_words(exit)
        )),
    }
}

pub(super) fn exit_in_words(exit: AgentExit) -> String {
    match exit {
        AgentExit::Code(code) => format!("exit code {code}"),
        AgentExit::Signal(signal) => format!("signal {signal}"),
        AgentExit::StoppedByUs => "a stop".to_owned(),
    }
}

/// Why an attempt failed at a gate.
pub(super) fn gate_reason(name: &str, how: &str, tail: &str) -> String {
    format!("gate `{name}` failed: {}", how_and_tail(how, tail))
}

/// How a gate ended, and below it the last lines that it printed.
pub(super) fn how_and_tail(how: &str, tail: &str) -> String {
    let lines: Vec<&str> = tail.lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    if last.is_empty() {
        return how.to_owned();
    }
    format!("{how}\n{}", last.join("\n"))
}
