//! Filters of git that tracked files need: whether their programs are there.

use std::ffi::OsString;

use super::{Finding, TIMEOUT};
use crate::gate::GatePlace;
use ralph_vault::git::repository::Repository;
use ralph_vault::{RequiredFilter, required_filters};

/// Names filters that surely fail. Files that were edited already are checked with the repository.
pub(super) fn check(repository: &Repository, environment: &[(OsString, OsString)]) -> Vec<Finding> {
    let place = GatePlace {
        root: &repository.work_tree,
        environment,
    };
    match required_filters(repository, &repository.git(TIMEOUT)) {
        Ok(filters) => filters.iter().filter_map(|it| missing(it, place)).collect(),
        Err(error) => vec![Finding::error("filters", &error)],
    }
}

fn missing(filter: &RequiredFilter, place: GatePlace<'_>) -> Option<Finding> {
    let RequiredFilter {
        name,
        command,
        file,
    } = filter;
    let why = match command {
        Some(command) => place.check(command).err()?.reason(),
        None => format!("`filter.{name}.clean` is not set"),
    };
    let install = if name == "lfs" {
        "install Git LFS".to_owned()
    } else {
        format!("install its program, or correct `filter.{name}` in the git configuration")
    };
    let message = format!("the git filter `{name}` cannot run: {why}");
    let hint = format!("{install}: a story that changes a file like `{file}` cannot be committed");
    Some(Finding::warning("filters", message).hint(hint))
}
