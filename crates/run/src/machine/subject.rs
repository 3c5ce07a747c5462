//! What gates and reviewers judge: an attempt, or the whole change.

use std::collections::BTreeMap;

use super::Verdict;
use super::io::JudgedGate;
use super::session::Attempt;
use crate::policy::When;
use crate::records::event::Outcome;
use crate::test_report::TestReport;
use ralph_base::ids::{AttemptNumber, StoryId};

/// An attempt that passed its checks so far.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) attempt: Attempt,
    pub(super) verdicts: Verdicts,
    /// Reviews that gave no verdict.
    pub(super) unreviewed: Vec<String>,
}

/// What the gates said so far, in order.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    pub(super) gates: Vec<Verdict>,
    /// What the output of red gates said of their tests.
    pub(super) tests: BTreeMap<usize, TestReport>,
    /// Places of gates that passed, but not at their first try.
    pub(super) flaky: Vec<usize>,
}

/// The whole change, with every story done, while it is judged.
#[derive(Debug)]
pub(super) struct Whole {
    /// How the run ends if all of them pass.
    pub(super) outcome: Outcome,
    /// The story that is opened again if not.
    pub(super) story: StoryId,
    /// Gates that have paths in which the whole change changed files.
    pub(super) touched: Vec<usize>,
    /// What the gates said, for those who review it.
    pub(super) judged: Vec<JudgedGate>,
}

/// What is reviewed.
#[derive(Debug)]
pub(super) enum Subject {
    /// An attempt that passed the gates.
    Attempt(Box<Passed>),
    /// The whole change.
    Whole(Whole),
}

/// An attempt that passed the gates.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) verified: Verified,
    /// What the gates said of it.
    pub(super) gates: Vec<JudgedGate>,
}

impl Subject {
    pub(super) fn story(&self) -> &StoryId {
        match self {
            Self::Attempt(passed) => &passed.verified.attempt.id.story,
            Self::Whole(whole) => &whole.story,
        }
    }

    /// The story that what a review uses is counted for.
    pub(super) fn billed(&self) -> Option<&StoryId> {
        match self {
            Self::Attempt(_) => Some(self.story()),
            Self::Whole(_) => None,
        }
    }

    pub(super) fn attempt(&self) -> Option<AttemptNumber> {
        match self {
            Self::Attempt(passed) => Some(passed.verified.attempt.id.attempt),
            Self::Whole(_) => None,
        }
    }

    pub(super) const fn when(&self) -> When {
        match self {
            Self::Attempt(_) => When::Story,
            Self::Whole(_) => When::End,
        }
    }
}
