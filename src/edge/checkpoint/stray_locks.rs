//! Lock files that a killed git left in the git directory under names that nothing waits for, such as
//! `AUTO_MERGE.lock` and `next-index-PID.lock`: nothing of a failed attempt may stay there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::switch::is_held;
use super::{Checkpoints, Notice, Result, blocking};
use crate::edge::files::move_away;

impl Checkpoints {
    /// Moves every lock file aside that no process holds; one that is held is left alone.
    pub(super) async fn free_stray_locks(&self, trash: &Path) -> Result<Vec<Notice>> {
        let (places, trash) = (Arc::clone(&self.places), trash.to_owned());
        blocking(move || {
            let repository = &places.repository;
            let mut notices = Vec::new();
            for folder in [&repository.git_dir, &repository.common_dir] {
                for lock in [locks_in(folder), locks_in(&folder.join("info"))].concat() {
                    if is_held(&lock, &repository.work_tree) {
                        continue;
                    }
                    let name = lock.file_name().unwrap_or_default();
                    move_away(&lock, &trash.join("locks").join(name))?;
                    notices.push(Notice::new(
                        "stale_lock",
                        format!("moved `{}` aside: no process held it", lock.display()),
                    ));
                }
            }
            Ok(notices)
        })
        .await
    }
}

fn locks_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "lock"))
        .collect()
}
