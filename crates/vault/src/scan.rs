//! Scans of the work tree: what changed since a manifest, and where its bytes are kept.

pub mod changed;
pub(crate) mod guarding;
pub(crate) mod keeping;
pub(crate) mod last_scan;
pub(crate) mod modules;
pub(crate) mod room;
pub(crate) mod skipped;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use keeping::Keeper;
use keeping::large::LargeCopies;
use last_scan::LastScan;
use modules::walk_modules;
use skipped::SkippedFolders;

use crate::error::{Notice, Result};
use crate::git::process::Git;
use crate::paths::{is_module_path, list, show};
use crate::repo::Repo;
use crate::stat::now_ns;
use crate::tree::guard::Limits;
use crate::tree::manifest::Manifest;
use crate::tree::scanned::{Known, Scanned, any_below, below, under_any};
use crate::tree::walk::{Walk, WalkRoot, stat_path, walk};
use ralph_base::files::shortened;

/// No call takes a longer path.
const LONGEST_PATH: usize = 4095;

/// No name in a folder is longer, with what is added to one.
const LONGEST_NAME: usize = 320;

/// What paths in the vault have before that of a file in the tree.
const LONGEST_IN_VAULT: usize = 160;

/// What is known of the work tree between two scans of it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) skipped: RefCell<SkippedFolders>,
    large_copies: RefCell<LargeCopies>,
    /// What may be committed, and what must stay free.
    pub(crate) limits: Limits,
    /// Paths that a notice of this run named as kept out of commits.
    reported: RefCell<HashSet<Vec<u8>>>,
    /// Paths that a notice of this run named as secrets in the branch.
    reported_secrets: RefCell<HashSet<Vec<u8>>>,
    pub(crate) last_scan: LastScan,
}

impl Tree {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            skipped: RefCell::default(),
            large_copies: RefCell::default(),
            limits,
            reported: RefCell::default(),
            reported_secrets: RefCell::default(),
            last_scan: LastScan::Unknown,
        }
    }

    /// Scans the work tree against `base`.
    pub(crate) fn scan_against(
        &self,
        repo: &Repo,
        base: &Manifest,
        known: &Known,
        index: &Path,
    ) -> Result<Scanned> {
        // An agent may have removed the repository with its objects; the vault has them too.
        let objects = repo.places.vault.objects();
        let git = repo.gits.work.patient().with_index(index);
        let git = git.with_objects(&objects, None);
        let mut walk = self.walk(repo, &git, known.tracked(), base)?;
        let (unreadable, skipped) = (&walk.unreadable, &walk.skipped);
        // A folder that cannot be read or is skipped now has not lost its files.
        walk.suspects
            .gone
            .retain(|path| !under_any(path, unreadable) && !under_any(path, skipped));
        self.keep_found(repo, &git, walk, base, known)
    }

    /// Reads and keeps what a walk found.
    pub(crate) fn keep_found(
        &self,
        repo: &Repo,
        git: &Git,
        walk: Walk,
        base: &Manifest,
        known: &Known,
    ) -> Result<Scanned> {
        let mut notices: Vec<Notice> = self.report_too_deep(repo, &walk).into_iter().collect();
        for folder in &walk.unreadable {
            notices.push(Notice::new(
                "unreadable",
                format!("`{}` cannot be read and is not touched", show(folder)),
            ));
        }
        let lanes = self.lanes(repo, git, &walk, known, base)?;
        let mut keeper = Keeper {
            places: &repo.places,
            base,
            index: known.index.as_ref(),
            lanes,
            large_copies: &mut self.large_copies.borrow_mut(),
            least_free: self.limits.least_free,
        };
        let (mut manifest, changes, kept) = keeper.keep(walk.suspects)?;
        manifest.scanned_ns = walk.began_ns;
        notices.extend(kept);
        Ok(Scanned {
            manifest: Arc::new(manifest),
            changes,
            skipped: walk.skipped,
            unreadable: walk.unreadable,
            notices,
        })
    }

    /// Names folders that were not entered because they are nested too deep.
    fn report_too_deep(&self, repo: &Repo, walk: &Walk) -> Option<Notice> {
        let longest = repo.longest_folder();
        let deep = walk.skipped.iter().filter(|path| path.len() > longest);
        let new = deep.filter(|path| self.reported.borrow_mut().insert((*path).clone()));
        let named: Vec<String> = new
            .map(|path| format!("`{}`", shortened(&show(path))))
            .collect();
        let named = list(&named)?;
        Some(Notice::new(
            "too_deep",
            format!(
                "nested too deep, so what is in it is in no commit and not restored: {named}; where a \
                 failed attempt made it, it goes to the vault's trash as a whole"
            ),
        ))
    }

    /// Walks the tree against a manifest. Whether a new cache folder is entered depends on git's ignore
    /// rules and on what the base has in it.
    fn walk(
        &self,
        repo: &Repo,
        git: &Git,
        tracked: &BTreeSet<Vec<u8>>,
        base: &Manifest,
    ) -> Result<Walk> {
        let mut whole = Walk {
            began_ns: now_ns(),
            ..Walk::default()
        };
        let longest = repo.longest_folder();
        let skipped = &mut *self.skipped.borrow_mut();
        let mut starts = vec![Vec::new()];
        while !starts.is_empty() {
            // What is in a folder with a longer path has paths that no call takes.
            let enter = |path: &[u8], on_disk: &Path| {
                path.len() <= longest && skipped.may_enter(path, on_disk)
            };
            let mut part = walk_folders(repo, &starts, base, &enter)?;
            starts.clear();
            let undecided: Vec<Vec<u8>> = part
                .skipped
                .extract_if(.., |folder| {
                    folder.len() <= longest && !skipped.is_decided(folder)
                })
                .collect();
            skipped.adopt(&part.skipped);
            whole.extend(part);
            if undecided.is_empty() {
                break;
            }
            let ignored = repo.check_ignore(git, &undecided)?;
            for folder in undecided {
                let holds_visible = any_below(tracked, &folder)
                    || below(&base.entries, &folder).any(|(_, entry)| entry.is_visible());
                let is_skipped = ignored.contains(&folder) && !holds_visible;
                skipped.decide(folder.clone(), is_skipped);
                if is_skipped {
                    whole.skipped.push(folder);
                } else {
                    starts.push(folder);
                }
            }
        }
        // They may be anywhere; the top of the tree says nothing of them.
        whole.suspects.gone.retain(|path| !is_module_path(path));
        whole.extend(walk_modules(&repo.places, base)?);
        whole.sort();
        Ok(whole)
    }
}

/// Walks some folders, the top of the tree or below it.
fn walk_folders(
    repo: &Repo,
    starts: &[Vec<u8>],
    base: &Manifest,
    enter: &(dyn Fn(&[u8], &Path) -> bool + Sync),
) -> Result<Walk> {
    let top = &repo.places.repository.work_tree;
    let root = WalkRoot {
        folder: top,
        name: b"",
        base,
        enter,
    };
    let mut whole = Walk::default();
    for start in starts {
        whole.extend(walk(root, start)?);
        if !start.is_empty() {
            base.suspect(start, stat_path(top, start)?, &mut whole.suspects);
        }
    }
    Ok(whole)
}

impl Repo {
    /// The longest path of a folder that is entered: what is in it must have a path short enough to
    /// name it in the tree and in the trash.
    fn longest_folder(&self) -> usize {
        let vault = self.places.vault.folder().as_os_str().len() + LONGEST_IN_VAULT;
        let tree = self.places.repository.work_tree.as_os_str().len();
        let prefix = tree.max(vault);
        LONGEST_PATH.saturating_sub(prefix + LONGEST_NAME)
    }
}
