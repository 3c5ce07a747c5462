//! What to do with the branch at the end.

use super::value::choices;

/// What to do with the branch at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFinish {
    /// Ask if the user can answer, else keep.
    Ask,
    /// Back to the original branch, the work as uncommitted changes.
    Cleanup,
    /// Stay on the checkpoint branch.
    Keep,
}

impl OnFinish {
    /// Every choice by the name users write.
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("ask", Self::Ask),
        ("cleanup", Self::Cleanup),
        ("keep", Self::Keep),
    ];
}

choices!(OnFinish);
