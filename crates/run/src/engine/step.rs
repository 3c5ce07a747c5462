//! The answer to a step the machine asked for. Every step has one: what it came to, or why it failed.
//! Only a loop that cannot write its own record ends without.

use ralph_plan::source::SourceError;
use ralph_vault::CheckpointError;
use ralph_vault::error::Notice;

use super::{Engine, EngineError, chain};
use crate::machine::{Input, NO_ANSWER_HINT, Ticket};

/// What failed if the changes of a gate could not be undone.
pub(super) const NOT_UNDONE: &str = "could not undo what a gate changed";

pub(super) type Answer = Result<Input, StepError>;

/// Why a step did not succeed.
pub(super) enum StepError {
    /// The machine gets it, and decides what follows.
    Failed {
        what: String,
        reason: String,
        hint: String,
    },
    /// The loop itself cannot go on.
    Engine(EngineError),
}

impl From<EngineError> for StepError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl StepError {
    pub(super) fn new(
        what: impl Into<String>,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Failed {
            what: what.into(),
            reason: reason.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn source(what: &str, error: &SourceError) -> Self {
        let hint = error.hint();
        let hint = hint.unwrap_or_else(|| "fix the file, then run `ralphtool resume`".to_owned());
        Self::new(what, chain(error), hint)
    }

    /// A fault of this program, which must end the run and not leave it waiting.
    pub(super) fn internal(reason: impl Into<String>) -> Self {
        let what = "internal error: a step of the loop got no answer";
        Self::new(what, reason, NO_ANSWER_HINT)
    }
}

impl Engine {
    /// Gives the machine the answer to a step.
    pub(super) fn answer(&mut self, ticket: Ticket, answer: Answer) -> Result<(), EngineError> {
        let input = match answer {
            Ok(input) => input,
            Err(StepError::Engine(error)) => return Err(error),
            Err(StepError::Failed { what, reason, hint }) => Input::StepFailed {
                ticket,
                what,
                reason,
                hint: self.vault_gone().unwrap_or(hint),
            },
        };
        self.ready.push_back(input);
        Ok(())
    }

    pub(super) fn failed(&self, what: &str, error: &CheckpointError) -> StepError {
        StepError::new(what, chain(error), self.hint_about(error))
    }

    /// Reports what was restored after a gate.
    pub(super) async fn report_restore(
        &mut self,
        restored: Result<Vec<Notice>, CheckpointError>,
    ) -> Result<(), StepError> {
        let notices = restored.map_err(|error| self.failed(NOT_UNDONE, &error))?;
        Ok(self.warn(notices).await?)
    }
}
