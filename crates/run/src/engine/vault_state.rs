//! The vault in the state that the last step left it in. The machine asks for steps in an order that
//! the states allow; a step that does not fit is a fault of this program, and ends the run.

use super::Engine;
use super::step::StepError;
use crate::machine::NO_ANSWER_HINT;
use ralph_vault::Vault;
use ralph_vault::{
    AtCheckpoint, Attempt, Failed, GateOnCheckpoint, Opened, Parked, Reopening, Session, Settled,
    StepResult,
};

/// The vault, by its state.
pub(super) enum VaultState {
    /// A finish is half done.
    Opened(Session<Opened>),
    /// Before the run begins, and after it is finished.
    Settled(Session<Settled>),
    AtCheckpoint(Session<AtCheckpoint>),
    Attempt(Session<Attempt>),
    Parked(Session<Parked>),
    GateOnCheckpoint(Session<GateOnCheckpoint>),
    Reopening(Session<Reopening>),
}

/// A state that a [`VaultState`] can be in.
pub(super) trait State: Sized {
    fn into_vault_state(session: Session<Self>) -> VaultState;
    fn from_vault_state(state: VaultState) -> Option<Session<Self>>;
    fn borrow(state: &mut VaultState) -> Option<&mut Session<Self>>;
}

macro_rules! states {
    ($($state:ident),+) => {
        impl VaultState {
            pub(super) fn vault(&self) -> &Vault {
                match self {
                    $(Self::$state(session) => session.vault(),)+
                }
            }

            /// The user, an agent or a gate may change the tree from now on.
            pub(super) fn invalidate_scan(&mut self) {
                match self {
                    $(Self::$state(session) => session.invalidate_scan(),)+
                }
            }
        }

        $(impl State for $state {
            fn into_vault_state(session: Session<Self>) -> VaultState {
                VaultState::$state(session)
            }

            fn from_vault_state(state: VaultState) -> Option<Session<Self>> {
                match state {
                    VaultState::$state(session) => Some(session),
                    _ => None,
                }
            }

            fn borrow(state: &mut VaultState) -> Option<&mut Session<Self>> {
                match state {
                    VaultState::$state(session) => Some(session),
                    _ => None,
                }
            }
        })+
    };
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

impl Engine {
    /// What can be read of the vault in every state.
    pub(super) fn vault(&self) -> Result<&Vault, StepError> {
        let state = self.vault_state.as_ref().ok_or_else(wrong_state)?;
        Ok(state.vault())
    }

    /// The vault, which must be in this state.
    pub(super) fn session<S: State>(&mut self) -> Result<&mut Session<S>, StepError> {
        self.vault_state
            .as_mut()
            .and_then(S::borrow)
            .ok_or_else(wrong_state)
    }

    /// Takes the vault for a step from this state; [`Self::put_session`] puts it back.
    pub(super) fn take_session<S: State>(&mut self) -> Result<Session<S>, StepError> {
        self.session::<S>()?;
        self.vault_state
            .take()
            .and_then(S::from_vault_state)
            .ok_or_else(wrong_state)
    }

    /// Puts the vault back after a step, in the state that it ended in.
    pub(super) fn put_session<S: State, N: State, T>(
        &mut self,
        what: &str,
        step: StepResult<(Session<N>, T), S>,
    ) -> Result<T, StepError> {
        match step {
            Ok((session, done)) => {
                self.vault_state = Some(N::into_vault_state(session));
                Ok(done)
            }
            Err(failed) => Err(self.put_failed(what, *failed)),
        }
    }

    /// Puts the vault back after a step that failed.
    pub(super) fn put_failed<S: State>(&mut self, what: &str, failed: Failed<S>) -> StepError {
        self.vault_state = Some(S::into_vault_state(failed.session));
        StepError::vault(what, &failed.error)
    }
}

pub(super) fn wrong_state() -> StepError {
    StepError::new(
        "internal error: a step of the loop came in the wrong order",
        "the vault is not in the state that it needs",
        NO_ANSWER_HINT,
    )
}
