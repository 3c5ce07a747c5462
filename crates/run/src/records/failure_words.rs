//! What kinds of failures are called, everywhere.

use ralph_vault::outcome::FailureKind;

/// The reason of a failure, where it says more than its kind.
pub fn reason_beside(kind: FailureKind, reason: &str) -> Option<&str> {
    (reason != failure(kind) && !reason.trim().is_empty()).then_some(reason)
}

/// What ended an attempt.
pub const fn failure(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Failed => "the agent reported failure",
        FailureKind::Gate => "a gate failed",
        FailureKind::Review => "a review failed",
        FailureKind::Tasks => "tasks are missing or still open",
        FailureKind::Tamper => "the agent changed tests, the plan or gates",
        FailureKind::Submodule => "work left uncommitted in a submodule",
        FailureKind::NoSignal => "the agent ended without a promise",
        FailureKind::Crashed => "the agent crashed",
        FailureKind::Silent => "the agent was silent for too long",
        FailureKind::Timeout => "the agent took too long",
        FailureKind::Overflow => "the conversation outgrew the model's context",
        FailureKind::Blocked => "the agent has a question",
        FailureKind::Limit => "the agent hit a limit",
        FailureKind::Auth => "the agent's login, API key, credit or model was rejected",
        FailureKind::Budget => "the budget is used up",
        FailureKind::Stopped => "the run was stopped",
        FailureKind::Interrupted => "the program was interrupted",
        FailureKind::Skipped => "you skipped the story",
    }
}
