//! Before a save, the git directories of submodules are made usable again: git would fail on them, or
//! wait without end.

use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use crate::error::{Notice, Result};
use crate::paths::show;
use crate::repair::content::repaired_notice;
use crate::repo::snapshot::Snapshot;
use crate::scan::modules::module_entries;
use crate::vault::Vault;
use ralph_base::files::{free_name, move_away};
use ralph_base::sparse::is_mostly_holes;

impl Vault {
    /// Restores git directories of submodules that git cannot use, and says so.
    pub(crate) fn repair_modules(&mut self, base: &Snapshot, trash: &Path) -> Result<Vec<Notice>> {
        let lost = self.repo.restore_lost_modules(base, trash)?;
        let mut notices = Vec::new();
        if !lost.is_empty() {
            self.tree.invalidate_scan();
            notices.push(repaired_notice(&self.repo.places, &lost));
        }
        notices.extend(self.restore_spoiled_modules(base, trash)?);
        Ok(notices)
    }

    /// Restores files of submodules that became a pipe or one long hole: git would wait for the pipe,
    /// and read all of the hole.
    fn restore_spoiled_modules(&mut self, base: &Snapshot, trash: &Path) -> Result<Option<Notice>> {
        let is_spoiled = |path: &[u8]| {
            let found = std::fs::symlink_metadata(self.repo.places.full(path));
            found.is_ok_and(|it| it.file_type().is_fifo() || it.is_file() && is_mostly_holes(&it))
        };
        let spoiled: Vec<_> = module_entries(&base.manifest)
            .filter(|(path, _)| is_spoiled(path))
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect();
        if spoiled.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = spoiled.iter().map(|(path, _)| show(path)).collect();
        let aside = trash.join("spoiled");
        for (path, _) in &spoiled {
            move_away(
                &self.repo.places.full(path),
                &free_name(&aside.join("file")),
            )?;
        }
        self.repo.write_whole_paths(spoiled, trash)?;
        self.tree.invalidate_scan();
        let message = format!(
            "a pipe or one long hole, which git cannot read, and restored: {}",
            names.join(", ")
        );
        Ok(Some(Notice::new("git_files_restored", message)))
    }
}
