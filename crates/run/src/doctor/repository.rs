//! Git itself, the repository, and what would keep a run from beginning in it.

use super::{Finding, Place, Scope, TIMEOUT};
use crate::failure::chain;
use ralph_vault::git::process;
use ralph_vault::git::repository::Repository;
use ralph_vault::{describe_damage, obstacles as find_obstacles, unfinished_at};

/// The oldest git that has all we use: `merge-tree --write-tree` came with it.
const OLDEST_GIT: (u32, u32) = (2, 38);

/// Checks git and finds the repository.
pub(super) fn check(scope: &Scope) -> (Vec<Finding>, Option<Repository>) {
    let version = match process::version() {
        Ok(version) => version,
        Err(error) => {
            let finding = Finding::refusal("git", chain(&error));
            return (vec![finding.hint("install git 2.38 or later")], None);
        }
    };
    let mut findings = vec![judge(&version)];
    match Repository::discover(&scope.directory) {
        Ok(repository) => {
            let folder = repository.work_tree.display();
            findings.push(Finding::good("repository", format!("`{folder}`")));
            (findings, Some(repository))
        }
        Err(error) => {
            let state = scope.state.as_ref().ok();
            let unfinished = state.and_then(|state| unfinished_at(&scope.directory, state));
            findings.push(match unfinished {
                Some(repository) => {
                    let (what, hint) = describe_damage(&repository);
                    Finding::refusal("repository", what).hint(hint)
                }
                None => Finding::error("repository", &error.into()),
            });
            (findings, None)
        }
    }
}

/// What would keep a run from beginning.
pub(super) fn obstacles(place: &Place<'_>) -> Vec<Finding> {
    let git = place.repository.git(TIMEOUT);
    let found = find_obstacles(place.repository, &git, &place.vault);
    found
        .iter()
        .map(|error| Finding::error("repository", error))
        .collect()
}

fn judge(version: &str) -> Finding {
    let number = version.strip_prefix("git version ").unwrap_or(version);
    match parse(number) {
        Some(found) if found < OLDEST_GIT => {
            Finding::refusal("git", format!("git {number} is too old"))
                .hint("install git 2.38 or later")
        }
        Some(_) => Finding::good("git", format!("git {number}")),
        None => Finding::warning("git", format!("git calls its version `{number}`"))
            .hint("git 2.38 or later is needed"),
    }
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_old_git_is_distinguished_from_a_new_one() {
        let cases = [
            ("git version 2.47.3", Level::Good),
            ("git version 2.38.0.windows.1", Level::Good),
            ("git version 2.39.5 (Apple Git-154)", Level::Good),
            ("git version 10.0", Level::Good),
            ("git version 2.37.9", Level::Refusal),
            ("git version 1.99", Level::Refusal),
            ("git version next", Level::Warning),
        ];
        for (version, want) in cases {
            assert_eq!(judge(version).level, want, "{version}");
        }
    }
}
