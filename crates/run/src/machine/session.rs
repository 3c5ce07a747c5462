//! An attempt, and the session that its agent processes share.

use std::time::Duration;

use jiff::Timestamp;

use super::Message;
use super::stories::Current;
use super::verdict::AttemptFailure;
use crate::policy::roster::Choice;
use crate::records::event::FailureKind;
use ralph_agents::agent_event::Usage;
use ralph_base::ids::AttemptId;

/// One attempt at the story at hand.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) story: Box<Current>,
    pub(super) id: AttemptId,
    /// Who makes it.
    pub(super) choice: Choice,
    pub(super) started: Timestamp,
    /// What the agent process at hand used, or the last one.
    pub(super) usage: Usage,
    /// The session its agent processes share.
    pub(super) session: Session,
    /// The model the agent says it uses.
    pub(super) model: Option<String>,
    /// The prices its cost is computed from.
    pub(super) prices: Option<String>,
}

impl Attempt {
    /// What all of its agent processes used.
    pub(super) fn total_usage(&self) -> Usage {
        let mut total = self.session.used;
        total.add(&self.usage);
        total
    }
}

/// The session that the agent processes of an attempt share. Each process is a round.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The id it can be continued with; none where the agent cannot do that.
    pub(super) id: Option<String>,
    /// Repairs so far, the one at hand included.
    pub(super) repairs: u32,
    /// What the rounds before the one at hand used.
    pub(super) used: Usage,
    /// How long the agent worked in all rounds that are over.
    pub(super) worked: Duration,
    /// Rounds before the one at hand.
    pub(super) earlier: u32,
    /// What the round at hand is to get past; none in the first one.
    pub(super) open: Option<AttemptFailure>,
    /// Why the round at hand, or the next one, continues the session; none in the first one.
    pub(super) cause: Option<Cause>,
}

/// Why a session goes on.
#[derive(Debug, Clone)]
pub(super) enum Cause {
    /// To repair this.
    Repair(AttemptFailure),
    /// The limit that interrupted it is over.
    LimitOver,
    /// The user answered what it asked; the answer is among the notes.
    Answered,
}

impl Cause {
    pub(super) fn message(&self) -> Message {
        match self {
            Self::LimitOver => Message::LimitOver,
            Self::Answered => Message::Answered,
            Self::Repair(failure) if failure.kind == FailureKind::NoSignal => Message::NoPromise,
            Self::Repair(failure)
                if matches!(failure.kind, FailureKind::Crashed | FailureKind::Silent) =>
            {
                Message::Interrupted(failure.reason.clone())
            }
            Self::Repair(failure) => {
                let reason = failure.prompt_reason.as_ref();
                Message::Repair(reason.unwrap_or(&failure.reason).clone())
            }
        }
    }
}
