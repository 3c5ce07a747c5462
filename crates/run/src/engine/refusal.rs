//! Why no run can start, in words for the user.

use super::chain;
use crate::failure::Failure;
use ralph_vault::CheckpointError;

/// Before anything was touched, every failure is a refusal, except for faults of the system.
pub(crate) fn refusal(error: &CheckpointError) -> Failure {
    let failure = if error.is_refusal() {
        Failure::refused(chain(error))
    } else {
        Failure::system(chain(error))
    };
    with_hint(failure, error)
}

/// What an interrupted run left could not be repaired.
pub(super) fn not_repaired(error: &CheckpointError) -> Failure {
    with_hint(
        Failure::system(format!(
            "what an interrupted run left could not be repaired: {}",
            chain(error)
        )),
        error,
    )
}

fn with_hint(failure: Failure, error: &CheckpointError) -> Failure {
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

pub(crate) fn other_run(change: &str) -> Failure {
    interrupted(&format!("a run of `{change}` was interrupted in this tree"))
}

pub(super) fn interrupted(message: &str) -> Failure {
    Failure::refused(message)
        .hint("resume it with `ralphtool resume`, or end it with `ralphtool finish`")
        .hint("to keep its branch and start this one, pass `--fresh`")
}
