//! What the program is asked to do: which checks it makes, and what it does when one is red.

/// What checks an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Nothing: no gate, no tamper check.
    None,
    /// The tests the agent writes are a gate, and have to stay as they are.
    OwnTests,
    /// The same, and the user's own acceptance is a gate, story by story and at the end.
    Acceptance,
}

/// One way to run all changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Its name on the command line and in figures.
    pub(crate) name: &'static str,
    pub(crate) checks: Checks,
    /// The agent may repair what a check found, in the same session.
    pub(crate) repairs: bool,
    /// Another agent reads the work of each story.
    pub(crate) review: bool,
    /// A red gate runs once more on the same tree.
    pub(crate) gate_retry: bool,
}

const fn plain(name: &'static str, checks: Checks) -> Setup {
    Setup {
        name,
        checks,
        repairs: false,
        review: false,
        gate_retry: false,
    }
}

/// No gates: the agent's word is the only check.
pub(crate) const OFF: Setup = plain("off", Checks::None);
/// Only tests that the agent itself writes.
pub(crate) const OWN: Setup = plain("own", Checks::OwnTests);
/// The same, with a reviewer.
pub(crate) const OWN_REVIEW: Setup = Setup {
    review: true,
    ..plain("own+review", Checks::OwnTests)
};
/// Gates, parked attempts and fresh retries: nothing else.
pub(crate) const RETRY: Setup = plain("retry", Checks::Acceptance);
/// The same, and repairs.
pub(crate) const REPAIR: Setup = Setup {
    repairs: true,
    ..plain("+repair", Checks::Acceptance)
};
/// The same, and a reviewer.
pub(crate) const REVIEW: Setup = Setup {
    review: true,
    name: "+review",
    ..REPAIR
};
/// The same, and gates that run again when they are red.
pub(crate) const ALL: Setup = Setup {
    gate_retry: true,
    name: "all",
    ..REVIEW
};

impl Setup {
    /// Every one there is.
    pub(crate) const EVERY: [Self; 7] = [OFF, OWN, OWN_REVIEW, RETRY, REPAIR, REVIEW, ALL];

    /// Those that are compared unless others are asked for.
    pub(crate) const COMPARED: [Self; 4] = [RETRY, REPAIR, REVIEW, ALL];

    /// The one with a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|setup| setup.name == name)
    }

    /// Whether nothing that is not done may pass.
    pub(crate) fn is_watertight(&self) -> bool {
        self.checks == Checks::Acceptance
    }
}
