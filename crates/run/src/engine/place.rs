//! The vault in the state that the last step left it in. The machine asks for steps in the right
//! order; a step that does not fit is a fault of this program, which ends the run.

use super::Engine;
use super::step::StepError;
use ralph_vault::session::Checkpoints;
use ralph_vault::{
    AtCheckpoint, Attempt, CheckpointError, Failed, GateOnCheckpoint, Opened, Parked, Reopening,
    Session, Settled, StepResult,
};

/// The vault, by its state.
pub(super) enum Place {
    /// A finish failed midway.
    Opened(Session<Opened>),
    /// Before the run begins, and after it is finished.
    Settled(Session<Settled>),
    AtCheckpoint(Session<AtCheckpoint>),
    Attempt(Session<Attempt>),
    Parked(Session<Parked>),
    GateOnCheckpoint(Session<GateOnCheckpoint>),
    Reopening(Session<Reopening>),
}

/// A state that a [`Place`] can be in.
pub(super) trait State: Sized {
    fn into_place(session: Session<Self>) -> Place;
    fn from_place(place: Place) -> Option<Session<Self>>;
    fn of(place: &mut Place) -> Option<&mut Session<Self>>;
}

macro_rules! states {
    ($($state:ident),+) => {$(
        impl State for $state {
            fn into_place(session: Session<Self>) -> Place {
                Place::$state(session)
            }

            fn from_place(place: Place) -> Option<Session<Self>> {
                match place {
                    Place::$state(session) => Some(session),
                    _ => None,
                }
            }

            fn of(place: &mut Place) -> Option<&mut Session<Self>> {
                match place {
                    Place::$state(session) => Some(session),
                    _ => None,
                }
            }
        }
    )+};
}

states!(
    Opened,
    Settled,
    AtCheckpoint,
    Attempt,
    Parked,
    GateOnCheckpoint,
    Reopening
);

impl Place {
    pub(super) fn vault(&self) -> &Checkpoints {
        match self {
            Self::Opened(session) => session.vault(),
            Self::Settled(session) => session.vault(),
            Self::AtCheckpoint(session) => session.vault(),
            Self::Attempt(session) => session.vault(),
            Self::Parked(session) => session.vault(),
            Self::GateOnCheckpoint(session) => session.vault(),
            Self::Reopening(session) => session.vault(),
        }
    }

    /// The user, an agent or a gate may change the tree from now on.
    pub(super) fn invalidate_scan(&mut self) {
        match self {
            Self::AtCheckpoint(session) => session.invalidate_scan(),
            Self::Attempt(session) => session.invalidate_scan(),
            Self::GateOnCheckpoint(session) => session.invalidate_scan(),
            Self::Opened(_) | Self::Settled(_) | Self::Parked(_) | Self::Reopening(_) => {}
        }
    }
}

impl Engine {
    /// What can be read of the vault in every state.
    pub(super) fn vault(&self) -> Result<&Checkpoints, StepError> {
        let place = self.place.as_ref().ok_or_else(wrong_state)?;
        Ok(place.vault())
    }

    /// The vault, which must be in this state.
    pub(super) fn session<S: State>(&mut self) -> Result<&mut Session<S>, StepError> {
        self.place.as_mut().and_then(S::of).ok_or_else(wrong_state)
    }

    /// Takes the vault for a step from this state; [`Self::arrive`] puts it back.
    pub(super) fn leave<S: State>(&mut self) -> Result<Session<S>, StepError> {
        self.session::<S>()?;
        self.place
            .take()
            .and_then(S::from_place)
            .ok_or_else(wrong_state)
    }

    /// Puts the vault back after a step, in the state that it ended in.
    pub(super) fn arrive<S: State, N: State, T>(
        &mut self,
        what: &str,
        step: StepResult<(Session<N>, T), S>,
    ) -> Result<T, StepError> {
        match step {
            Ok((session, done)) => {
                self.place = Some(N::into_place(session));
                Ok(done)
            }
            Err(failed) => {
                let error = self.back(*failed);
                Err(self.failed(what, &error))
            }
        }
    }

    /// Puts the vault back after a step that failed.
    pub(super) fn back<S: State>(&mut self, failed: Failed<S>) -> CheckpointError {
        self.place = Some(S::into_place(failed.session));
        failed.error
    }
}

fn wrong_state() -> StepError {
    StepError::internal("the vault is not in the state that the step needs")
}
