//! The answer to a step the machine asked for. Every step has one: what it came to, or why it failed.
//! Only a loop that cannot write its own record ends without.

use std::fmt::Display;

use ralph_plan::source::SourceError;
use ralph_vault::CheckpointError;
use ralph_vault::error::Notice;

use super::{Engine, EngineError, chain};
use crate::failure::Failure;
use crate::machine::{Answer, Input, NO_ANSWER_HINT, StepFailure, Ticket};

/// What to do where a step failed and nothing better is known.
const NOTHING_LOST: &str = "no work was lost: fix the cause and run `ralphtool resume`";

/// The same where the run has not begun: there is nothing to resume.
const NOT_BEGUN: &str = "nothing was changed: fix the cause, then start again";

/// What failed if the changes of a gate could not be undone.
pub(super) const NOT_UNDONE: &str = "could not undo what a gate changed";

/// Why a step did not succeed.
pub(super) enum StepError {
    /// The machine gets it, and decides what follows.
    Failed { reason: String, hint: String },
    /// The loop itself cannot go on.
    Engine(EngineError),
}

impl From<EngineError> for StepError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl StepError {
    pub(super) fn new(what: &str, reason: impl Display, hint: impl Into<String>) -> Self {
        Self::Failed {
            reason: format!("{what}: {reason}"),
            hint: hint.into(),
        }
    }

    pub(super) fn vault(what: &str, error: &CheckpointError) -> Self {
        let hint = error.hint().unwrap_or_else(|| NOTHING_LOST.to_owned());
        Self::new(what, chain(error), hint)
    }

    pub(super) fn failure(what: &str, failure: &Failure) -> Self {
        let hint = failure.hints().first();
        let hint = hint.map_or(NOTHING_LOST, String::as_str);
        Self::new(what, chain(failure), hint)
    }

    pub(super) fn source(what: &str, error: &SourceError) -> Self {
        let hint = error.hint();
        let hint = hint.unwrap_or_else(|| "fix the file, then run `ralphtool resume`".to_owned());
        Self::new(what, chain(error), hint)
    }

    /// The same for a run that could not begin.
    pub(super) fn of_begin(self) -> Self {
        match self {
            Self::Failed { reason, hint } if hint == NOTHING_LOST => Self::Failed {
                reason,
                hint: NOT_BEGUN.to_owned(),
            },
            other => other,
        }
    }

    /// A fault of this program, which must end the run and not leave it waiting.
    pub(super) fn internal(reason: impl Display) -> Self {
        let what = "internal error: a step of the loop got no answer";
        Self::new(what, reason, NO_ANSWER_HINT)
    }
}

impl Engine {
    /// Gives the machine the answer to a step; none if it comes later.
    pub(super) fn answer(
        &mut self,
        ticket: Ticket,
        answer: Result<Option<Answer>, StepError>,
    ) -> Result<(), EngineError> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(StepError::Engine(error)) => return Err(error),
            Err(StepError::Failed { reason, hint }) => Some(Answer::Failed(StepFailure {
                reason,
                hint: self.vault_gone().unwrap_or(hint),
                begun: self.vault().is_ok_and(|it| it.unfinished_move().is_some()),
            })),
        };
        let input = answer.map(|answer| Input::Answer(ticket, answer));
        self.ready.extend(input);
        Ok(())
    }

    /// Reports what was restored after a gate.
    pub(super) async fn report_restore(
        &mut self,
        restored: Result<Vec<Notice>, CheckpointError>,
    ) -> Result<(), StepError> {
        let notices = restored.map_err(|error| StepError::vault(NOT_UNDONE, &error))?;
        Ok(self.warn(notices).await?)
    }
}
