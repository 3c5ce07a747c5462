//! The repository a command works in, and what to say where there is none.

use super::context::Context;
use super::output;
use jiff::tz::TimeZone;
use ralph_run::failure::Failure;
use ralph_run::history::listed::{LastRuns, last_runs};
use ralph_vault::git::repository::{Repository, RepositoryError};
use ralph_vault::store::VaultFolder;
use ralph_vault::{describe_damage, unfinished_at};

/// The repository the command works in.
pub(crate) fn repository(context: &Context) -> Result<Repository, Failure> {
    Repository::discover(&context.folder()?).map_err(|error| no_repository(&error))
}

/// The repository the command works in, for commands that only read what the vault has of it.
pub(crate) fn repository_to_read(context: &Context) -> Result<Repository, Failure> {
    let (repository, warning) = readable_repository(context)?;
    output::warn(context, warning);
    Ok(repository)
}

/// The same, and a warning where an interrupted attempt left a git directory that git cannot use:
/// the vault can be read nevertheless.
pub(crate) fn readable_repository(
    context: &Context,
) -> Result<(Repository, Option<String>), Failure> {
    let directory = context.folder()?;
    let error = match Repository::discover(&directory) {
        Ok(repository) => return Ok((repository, None)),
        Err(error) => error,
    };
    let state = context.state()?;
    let Some(repository) = unfinished_at(&directory, &state) else {
        return Err(no_repository(&error));
    };
    let (what, hint) = describe_damage(&repository);
    let vault = VaultFolder::unlocked(&context.vault(&repository)?);
    if !vault.belongs_to(&repository).unwrap_or(false) {
        // What shows that the two belong together is gone.
        return Err(Failure::refused(what).hint(hint));
    }
    Ok((repository, Some(format!("{what}; {hint}"))))
}

/// The last run of each change; none without a repository, in which no run can take place.
pub(crate) fn last_runs_of(context: &Context) -> Result<LastRuns, Failure> {
    match readable_repository(context) {
        Ok((repository, _)) => {
            let vault = context.vault(&repository)?;
            last_runs(&repository, &vault, &TimeZone::system())
        }
        Err(_) => Ok(LastRuns::default()),
    }
}

/// The repository a run would work in. The failure names what an interrupted attempt damaged, if
/// that is why git cannot use it.
pub(crate) fn usable_repository(context: &Context) -> Result<Repository, Failure> {
    let directory = context.folder()?;
    Repository::discover(&directory).map_err(|error| {
        let state = context.state().ok();
        let Some(repository) = state.and_then(|state| unfinished_at(&directory, &state)) else {
            return no_repository(&error);
        };
        let (what, hint) = describe_damage(&repository);
        Failure::refused(what).hint(hint)
    })
}

pub(crate) fn no_repository(error: &RepositoryError) -> Failure {
    let hint = match error {
        RepositoryError::NotARepository(_) => Some("run `git init` first, or pass `-C DIR`"),
        RepositoryError::Bare(_) => {
            Some("clone it, or add a work tree with `git worktree add DIR`")
        }
        RepositoryError::InsideGitDir(_) => Some("go to the work tree"),
        RepositoryError::Pipe(_) => {
            Some("run `ralphtool resume` where a run was interrupted; it moves the pipe aside")
        }
        RepositoryError::Refused { .. } | RepositoryError::Git(_) => None,
    };
    hint.into_iter()
        .fold(Failure::refused(error.to_string()), Failure::hint)
}
