//! Why a checkpoint step did not work.

use crate::git::process::GitError;
use crate::git::repository::RepositoryError;
use crate::store::VaultError;
use ralph_base::files::FileError;

/// What to do about a filter of git that fails.
const FILTER_FAILED: &str = "a filter of git failed: install its program (Git LFS for the filter `lfs`), or repair \
                             `filter.NAME` in the git configuration, then try again";

/// Why a checkpoint step did not work, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It cannot work here; nothing was touched.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What to do.
        hint: String,
    },
    /// Something on the way failed.
    #[error("{what}")]
    Failed {
        /// What was tried.
        what: String,
        /// What to do.
        hint: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A checkpoint would lack changed files, because git cannot store them.
    #[error("{message}")]
    Unstorable {
        /// Which, and why.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The repository cannot be used.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// Git did not work.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The file system did not work.
    #[error(transparent)]
    File(#[from] FileError),
}

impl CheckpointError {
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            hint: hint.into(),
        }
    }

    pub fn failed(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed {
            what: what.into(),
            hint: hint.into(),
            source: None,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { hint, .. }
            | Self::Failed { hint, .. }
            | Self::Unstorable { hint, .. } => Some(hint.clone()),
            Self::Repository(RepositoryError::NotARepository(_)) => {
                Some("run `git init` first, or pass `-C DIR`".to_owned())
            }
            Self::Repository(RepositoryError::Bare(_)) => {
                Some("clone it, or add a work tree with `git worktree add DIR`".to_owned())
            }
            Self::Vault(VaultError::Locked { .. }) => {
                Some("wait until it ends, or stop it with Ctrl-C there".to_owned())
            }
            Self::Vault(VaultError::OtherRepository { vault, .. }) => Some(format!(
                "the run's work is safe in `{}`; move that folder away to start over",
                vault.display()
            )),
            Self::File(error) if error.kind() == std::io::ErrorKind::InvalidData => error
                .path()
                .parent()
                .map(crate::journal::steps::damaged_journal),
            Self::Git(error) if error.is_about_content() => Some(FILTER_FAILED.to_owned()),
            _ => None,
        }
    }

    /// True where nothing was touched because it cannot work here.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. }
                | Self::Repository(_)
                | Self::Vault(VaultError::Locked { .. } | VaultError::OtherRepository { .. })
        )
    }
}

/// A result of this module.
pub(crate) type Result<T, E = CheckpointError> = std::result::Result<T, E>;

/// Something that is reported to the user; the run continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Stable name.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

impl Notice {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
