//! What changed between two states of a git directory, applied to a third one: what the user changed
//! after an attempt stays when an earlier state is restored.

use std::collections::{BTreeMap, BTreeSet};

use super::{Control, ControlFile, Place};
use crate::journal::steps::STASH;
use crate::repo::config_changes::with_changes as config_with_changes;

/// The log of the stash, which goes with its ref.
const STASH_LOG: &str = "logs/refs/stash";

/// Where a file of the git directory is.
type Name<'a> = (Place, &'a str);

impl Control {
    /// This state with everything that differs between `from` and `to` as `to` has it. HEAD and branches
    /// are not part of it. Where this state differs from both, a configuration is merged key by key, the
    /// stash stays as it is here, and any other file is as in `to`.
    #[must_use]
    pub fn with_changes(&self, from: &Self, to: &Self) -> Self {
        let (ours, before, after) = (self.by_name(), from.by_name(), to.by_name());
        let names: BTreeSet<&Name<'_>> = ours.keys().chain(after.keys()).collect();
        let files = names.into_iter().filter_map(|name| {
            let [ours, before, after] = [&ours, &before, &after].map(|it| it.get(name).copied());
            merged(ours, before, after)
        });
        let pointer = if from.pointer == to.pointer {
            &self.pointer
        } else {
            &to.pointer
        };
        let mut merged = Self {
            head: self.head.clone(),
            refs: self.refs.clone(),
            files: files.collect(),
            pointer: pointer.clone(),
            shape: self.shape.with_changes(&from.shape, &to.shape),
        };
        merged.follow_refs(from, to);
        merged
    }

    fn by_name(&self) -> BTreeMap<Name<'_>, &ControlFile> {
        let files = self.files.iter();
        files
            .map(|file| ((file.place, file.path.as_str()), file))
            .collect()
    }

    /// Changes the refs that are restored with the files: replacements, and that of the stash where its
    /// log is the one of `to`.
    fn follow_refs(&mut self, from: &Self, to: &Self) {
        let names: BTreeSet<&String> = from.refs.keys().chain(to.refs.keys()).collect();
        let follows = |name: &str| match name {
            STASH => self.find(Place::Shared, STASH_LOG) == to.find(Place::Shared, STASH_LOG),
            other => other.starts_with("refs/replace/"),
        };
        let changed = names
            .into_iter()
            .filter(|name| follows(name) && from.refs.get(*name) != to.refs.get(*name));
        let changed: Vec<&String> = changed.collect();
        for name in changed {
            match to.refs.get(name) {
                Some(id) => self.refs.insert(name.clone(), *id),
                None => self.refs.remove(name),
            };
        }
    }
}

/// A file of `ours` after the change from `before` to `after`.
fn merged(
    ours: Option<&ControlFile>,
    before: Option<&ControlFile>,
    after: Option<&ControlFile>,
) -> Option<ControlFile> {
    if before == after {
        return ours.cloned();
    }
    let is_stash = |file: &ControlFile| file.place == Place::Shared && file.path == STASH_LOG;
    let (Some(ours), Some(after)) = (ours, after) else {
        let stays = ours.is_some_and(|ours| Some(ours) != before && is_stash(ours));
        return if stays { ours } else { after }.cloned();
    };
    if Some(ours) == before {
        return Some(after.clone());
    }
    if is_stash(ours) {
        return Some(ours.clone());
    }
    let mut merged = after.clone();
    if ["config", "config.worktree"].contains(&after.path.as_str()) {
        let before = before.map(|file| file.bytes.as_slice()).unwrap_or_default();
        if let Some(bytes) = config_with_changes(&ours.bytes, before, &after.bytes) {
            merged.bytes = bytes;
        }
    }
    Some(merged)
}
