//! What a check of the surroundings found, and what that means for a run.

pub(crate) mod agent;
pub mod checks;

use self::agent::AgentHealth;
use serde::Serialize;

/// How good or bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All is well.
    Good,
    /// Worth knowing; a run can start.
    Warning,
    /// A run would refuse to start.
    Refusal,
    /// Git or the system does not work.
    Fault,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How good or bad it is.
    pub level: Level,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// Something that is well.
    pub fn good(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Good, message)
    }

    /// Something worth knowing.
    pub fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Warning, message)
    }

    /// Something that keeps a run from starting.
    pub fn refusal(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Refusal, message)
    }

    /// Something that does not work.
    pub fn fault(check: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Level::Fault, message)
    }

    fn new(check: &'static str, level: Level, message: impl Into<String>) -> Self {
        Self {
            check,
            level,
            message: message.into(),
            hint: None,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// A run can start.
    pub can_run: bool,
    /// What the checks found, in order.
    pub findings: Vec<Finding>,
    /// The agents that were looked at: those the settings name, then the others that are built in.
    pub agents: Vec<AgentHealth>,
}

impl Diagnosis {
    /// Sums findings up.
    pub fn of(findings: Vec<Finding>) -> Self {
        Self {
            can_run: findings.iter().all(|it| it.level <= Level::Warning),
            findings,
            agents: Vec::new(),
        }
    }

    /// Adds what is known about the agents.
    #[must_use]
    pub fn with(mut self, agents: Vec<AgentHealth>) -> Self {
        self.agents = agents;
        self
    }

    /// The exit code: what a run would end with that cannot start.
    pub fn exit_code(&self) -> u8 {
        match self.findings.iter().map(|it| it.level).max() {
            None | Some(Level::Good | Level::Warning) => 0,
            Some(Level::Refusal) => 2,
            Some(Level::Fault) => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_keeps_a_run_from_starting_is_an_error() {
        let good = || Finding::good("a", "well");
        let cases = [
            (vec![good()], 0, true),
            (vec![Finding::warning("b", "look"), good()], 0, true),
            (vec![Finding::refusal("c", "no"), good()], 2, false),
            (
                vec![Finding::fault("d", "broken"), Finding::refusal("c", "no")],
                4,
                false,
            ),
        ];
        for (findings, code, can_run) in cases {
            let diagnosis = Diagnosis::of(findings);
            assert_eq!((diagnosis.exit_code(), diagnosis.can_run), (code, can_run));
        }
    }
}
