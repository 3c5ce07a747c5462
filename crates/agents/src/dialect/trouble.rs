//! Why an agent's turn could not continue: in the agent's words, and sorted by what follows from it.

use jiff::Timestamp;

use crate::agent_event::{AgentEvent, Refusal};

/// A rate or usage limit, or an API that is down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// In the agent's words.
    pub message: String,
    /// When it ends, where the agent says so.
    pub resets_at: Option<Timestamp>,
    /// The API is down, and it is unknown for how long.
    pub is_outage: bool,
}

/// Why a turn could not continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It can continue later.
    Limit(Limit),
    /// The agent may not work at all (login, credit, model): its message, and what to do about it.
    Refused { cause: Refusal, message: String },
    /// The conversation outgrew the model's context.
    Overflow(String),
    /// Anything else.
    Other(String),
}

impl Trouble {
    /// A limit of the account.
    pub fn limit(message: impl Into<String>, resets_at: Option<Timestamp>) -> Self {
        Self::Limit(Limit {
            message: message.into(),
            resets_at,
            is_outage: false,
        })
    }

    /// An API that is down.
    pub fn outage(message: impl Into<String>) -> Self {
        Self::Limit(Limit {
            message: message.into(),
            resets_at: None,
            is_outage: true,
        })
    }

    /// An answer that broke off for this reason.
    pub(crate) fn ended_early(reason: &str) -> Self {
        Self::Other(format!("the answer ended early: {reason}"))
    }

    /// What keeps the agent from working at all, with what to do about it.
    pub fn refused(cause: Refusal, message: &str, fix: &str) -> Self {
        Self::Refused {
            cause,
            message: format!("{message}\n{fix}"),
        }
    }

    /// The event that reports it.
    pub fn event(&self) -> AgentEvent {
        match self.clone() {
            Self::Limit(limit) => AgentEvent::Limit {
                message: limit.message,
                resets_at: limit.resets_at,
            },
            Self::Refused { cause, message } => AgentEvent::Auth { cause, message },
            Self::Overflow(message) => AgentEvent::Overflow { message },
            Self::Other(message) => AgentEvent::Error { message },
        }
    }
}
