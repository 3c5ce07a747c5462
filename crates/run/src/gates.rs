//! Gates: the user's own checks, and what they said on which tree.

pub(crate) mod gate;
pub(crate) mod verdicts;
