//! One walk a story: a look at the tree holds for as long as nobody but this program can have been
//! there. Somebody is there while an agent or a gate runs, and whenever the loop waits for anything.

use std::sync::Arc;

use crate::error::Result;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::scan::Tree;
use crate::stat::now_ns;
use crate::tree::manifest::Changes;
use crate::tree::scanned::{Known, Taken};
use crate::tree::walk::{Walk, look};

/// What is known of the tree without looking again.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    /// The tree is what the checkpoint says.
    pub(crate) as_left: bool,
    /// What the last walk showed against a checkpoint.
    taken: Option<(String, Taken)>,
    /// Files this program wrote since.
    pub(crate) ours: Vec<Vec<u8>>,
}

impl Tree {
    /// The tree against the checkpoint, walked only where somebody may have been there since the
    /// last walk.
    pub(crate) fn look(&mut self, repo: &Repo, base: &Arc<Snapshot>) -> Result<Taken> {
        let latest = std::mem::take(&mut self.latest);
        let known = latest.taken.filter(|(against, _)| *against == base.id);
        let taken = match known {
            Some((_, taken)) if latest.ours.is_empty() => taken,
            Some((_, taken)) => self.look_again(repo, base, taken, &latest.ours)?,
            None => {
                let index = Snapshot::index(&repo.places.vault, &base.id);
                let known = Known::of(&base.submodules);
                self.take(repo, &base.manifest, known, &index)?
            }
        };
        self.latest.taken = Some((base.id.clone(), taken.clone()));
        Ok(taken)
    }

    /// The tree is what the checkpoint says, and nobody had the time to change it.
    pub(crate) fn nobody_was_here(&mut self) {
        self.latest = Latest {
            as_left: true,
            ..Latest::default()
        };
    }

    /// Nobody can have changed the tree since it was what the checkpoint says.
    pub(crate) fn is_as_left(&self) -> bool {
        self.latest.as_left
    }

    /// The same look, but for a few files that were written since.
    fn look_again(
        &self,
        repo: &Repo,
        base: &Arc<Snapshot>,
        taken: Taken,
        paths: &[Vec<u8>],
    ) -> Result<Taken> {
        let index = Snapshot::index(&repo.places.vault, &base.id);
        let top = &repo.places.repository.work_tree;
        let mut walk = Walk::default();
        for path in paths {
            let found = look(top, path)?;
            match (found, taken.manifest.entries.contains_key(path)) {
                (Some(found), true) => walk.suspects.touched.push(found),
                (None, false) => {}
                // It is not the small change it was said to be.
                _ => {
                    return self.take(repo, &base.manifest, Known::of(&base.submodules), &index);
                }
            }
        }
        let git = repo.work.patient().with_index(&index);
        let began_ns = taken.manifest.taken_ns.min(now_ns());
        let known = Known::of(&base.submodules);
        let again = self.keep_found(repo, &git, (began_ns, walk), &taken.manifest, known)?;
        let mut notices = taken.notices;
        notices.extend(again.notices);
        let mut changes = without(taken.changes, paths);
        for path in paths {
            let before = base.manifest.entries.get(path);
            let now = again.manifest.entries.get(path);
            match (before, now) {
                (None, Some(_)) => changes.created.push(path.clone()),
                (Some(_), None) => changes.removed.push(path.clone()),
                (Some(before), Some(now)) if !before.same_state(now) => {
                    changes.modified.push(path.clone());
                }
                _ => {}
            }
        }
        Ok(Taken {
            manifest: again.manifest,
            changes,
            notices,
            ..taken
        })
    }
}

fn without(mut changes: Changes, paths: &[Vec<u8>]) -> Changes {
    for list in [
        &mut changes.created,
        &mut changes.modified,
        &mut changes.removed,
    ] {
        list.retain(|path| !paths.contains(path));
    }
    changes
}
