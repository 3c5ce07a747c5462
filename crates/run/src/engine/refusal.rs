//! Refusals of a run because another one was interrupted in the same tree.

use crate::failure::Failure;

pub(crate) fn other_run(change: &str) -> Failure {
    interrupted(&format!("a run of `{change}` was interrupted in this tree"))
}

pub(super) fn interrupted(message: &str) -> Failure {
    Failure::refused(message)
        .hint("resume it with `ralphtool resume`, or end it with `ralphtool finish`")
        .hint("to keep its branch and start this one, pass `--fresh`")
}
