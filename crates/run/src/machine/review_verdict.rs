//! What the end of a reviewer means: its verdicts count, or there are none.

use super::io::{AgentEnd, AgentExit, ReviewEnd};
use super::verdict::exit_in_words;
use crate::records::review::{JudgedItem, ReviewResult, Verdict};
use ralph_agents::dialect::Trouble;

/// Whether and why the reviewer is about to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// It works.
    Open,
    /// It gave its final message and may exit by itself.
    Grace,
    /// It did not exit after its final message and is ended.
    AfterFinal,
    /// It is ended without a verdict, for this reason.
    NoVerdict(String),
}

/// Why a review gave no verdict.
pub(super) struct NoVerdict {
    pub(super) reason: String,
    /// Another try may well give one.
    pub(super) may_help_again: bool,
}

/// The verdicts of a reviewer, or why there are none.
pub(super) fn judge(end: ReviewEnd, ending: &Ending) -> Result<Vec<JudgedItem>, NoVerdict> {
    let hopeless = |reason: String| NoVerdict {
        reason,
        may_help_again: false,
    };
    if let Ending::NoVerdict(reason) = ending {
        return Err(hopeless(reason.clone()));
    }
    let ReviewEnd { agent, verdicts } = end;
    match &agent.trouble {
        Some(Trouble::Refused { message, .. }) => return Err(hopeless(refused(message))),
        Some(Trouble::Limit(limit)) => {
            return Err(hopeless(format!("it hit a limit: {}", limit.message)));
        }
        Some(Trouble::Overflow(_)) => {
            let reason = "the conversation outgrew the model's context";
            return Err(hopeless(reason.to_owned()));
        }
        Some(Trouble::Other(_)) | None => {}
    }
    match verdicts {
        // An error in the final message voids what it said.
        Ok(items) if agent.final_seen && !agent.is_error => Ok(items),
        verdicts => Err(NoVerdict {
            reason: why_not(&agent, verdicts.err()),
            may_help_again: true,
        }),
    }
}

/// Why there is no answer that counts.
fn why_not(end: &AgentEnd, unusable: Option<String>) -> String {
    let ended_well = match end.exit {
        AgentExit::Code(code) => code == 0,
        AgentExit::Signal(_) => false,
        AgentExit::StoppedByUs => end.final_seen,
    };
    if ended_well
        && !end.is_error
        && let Some(unusable) = unusable
    {
        return unusable;
    }
    let how = match end.exit {
        AgentExit::Code(0) | AgentExit::StoppedByUs => "its turn ended with an error".to_owned(),
        exit => format!("it ended with {}", exit_in_words(exit)),
    };
    let words = match &end.trouble {
        Some(Trouble::Other(message)) => message.as_str(),
        _ => end.last_words.as_str(),
    };
    let last = words.lines().rfind(|line| !line.trim().is_empty());
    last.map_or_else(|| how.clone(), |last| format!("{how}: {}", last.trim()))
}

pub(super) fn refused(message: &str) -> String {
    format!("it was refused: {message}")
}

/// What a review found not met, for the user and for the next prompt.
pub(super) fn findings(name: &str, result: &ReviewResult) -> String {
    let lines: Vec<String> = result.with(Verdict::NotMet).map(JudgedItem::line).collect();
    format!(
        "review `{name}`: {} of {} not met\n{}",
        lines.len(),
        result.items().len(),
        lines.join("\n")
    )
}
