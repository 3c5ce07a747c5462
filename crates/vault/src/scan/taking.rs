//! Taking the state of the work tree: one walk, and what it says against the last manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::keeping::Keeper;
use super::modules::walk_modules;
use crate::error::{Notice, Result};
use crate::git::process::Git;
use crate::paths::{is_module_path, list, show};
use crate::repo::Repo;
use crate::repo::visible::check_ignore;
use crate::scan::Tree;
use crate::stat::now_ns;
use crate::tree::lock;
use crate::tree::manifest::Manifest;
use crate::tree::scanned::{Known, Taken, any_below, below, under_any};
use crate::tree::walk::{Ground, Walk, look, walk};
use ralph_base::files::shortened;

/// Folders that tools fill and can fill again; not looked into where git ignores them.
const CACHE_FOLDERS: &[&str] = &[
    "target",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".cache",
    ".parcel-cache",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".pnpm-store",
    ".yarn",
    ".terraform",
    ".dart_tool",
    "_build",
    "deps",
    "build",
    "dist",
    "out",
    "coverage",
    "Pods",
    "DerivedData",
    "vendor",
];

/// No call takes a longer path.
const LONGEST_PATH: usize = 4095;

/// No name in a folder is longer, with what is added to one.
const LONGEST_NAME: usize = 320;

/// What paths in the vault have before that of a file in the tree.
const LONGEST_IN_VAULT: usize = 160;

/// Cache folders: which were looked at, and whether they are passed over.
#[derive(Debug, Default)]
pub(crate) struct Opaque {
    decided: BTreeMap<Vec<u8>, bool>,
}

impl Opaque {
    /// The folders that are passed over.
    pub(crate) fn folders(&self) -> Vec<Vec<u8>> {
        self.decided
            .iter()
            .filter(|(_, opaque)| **opaque)
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Takes over what an earlier process decided.
    pub(crate) fn adopt(&mut self, folders: &[Vec<u8>]) {
        for folder in folders {
            self.decided.insert(folder.clone(), true);
        }
    }
}

impl Tree {
    /// Takes the work tree against `base`. `known` is only needed for the first time.
    pub(crate) fn take(
        &self,
        repo: &Repo,
        base: &Arc<Manifest>,
        known: Known,
        index: &Path,
    ) -> Result<Taken> {
        // An agent may have removed the repository with its objects; the vault has them too.
        let objects = repo.places.vault.store().join("objects");
        let git = repo.work.patient().with_index(index);
        let git = git.with_objects(&objects, None);
        let began_ns = now_ns();
        let mut walk = self.walk(repo, &git, &known.tracked, base)?;
        let (unreadable, not_entered) = (&walk.unreadable, &walk.not_entered);
        // A folder that cannot be read or is passed over now has not lost its files.
        walk.suspects
            .gone
            .retain(|path| !under_any(path, unreadable) && !under_any(path, not_entered));
        self.keep_found(repo, &git, (began_ns, walk), base, known)
    }

    /// Reads and keeps what a walk that began at the given time found.
    pub(crate) fn keep_found(
        &self,
        repo: &Repo,
        git: &Git,
        (began_ns, walk): (i64, Walk),
        base: &Arc<Manifest>,
        known: Known,
    ) -> Result<Taken> {
        let mut notices: Vec<Notice> = self.tell_too_deep(repo, &walk).into_iter().collect();
        for folder in &walk.unreadable {
            notices.push(Notice::new(
                "unreadable",
                format!("`{}` cannot be read and is left alone", show(folder)),
            ));
        }
        let lanes = self.lanes(repo, git, &walk, &known, base)?;
        let keeper = Keeper {
            places: &repo.places,
            base: Arc::clone(base),
            known,
            lanes,
            seen: &self.seen_large,
            least_free: self.limits.least_free,
        };
        let (mut manifest, changes, kept) = keeper.keep(walk.suspects)?;
        manifest.taken_ns = began_ns;
        notices.extend(kept);
        Ok(Taken {
            manifest: Arc::new(manifest),
            changes,
            passed_over: walk.not_entered,
            unreadable: walk.unreadable,
            notices,
        })
    }

    /// Names folders that were not entered because they are nested too deep.
    fn tell_too_deep(&self, repo: &Repo, walk: &Walk) -> Option<Notice> {
        let longest = repo.longest_folder();
        let deep = walk.not_entered.iter().filter(|path| path.len() > longest);
        let new = deep.filter(|path| self.told.borrow_mut().insert((*path).clone()));
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

    /// Walks the tree against a manifest; cache folders seen for the first time are decided by
    /// git's ignore rules and by what the base has in them.
    fn walk(
        &self,
        repo: &Repo,
        git: &Git,
        tracked: &BTreeSet<Vec<u8>>,
        base: &Manifest,
    ) -> Result<Walk> {
        let mut whole = Walk::default();
        let mut starts = vec![Vec::new()];
        while !starts.is_empty() {
            let folders = std::mem::take(&mut starts);
            let (part, undecided) = self.walk_part(repo, &folders, base)?;
            whole.extend(part);
            if undecided.is_empty() {
                break;
            }
            let ignored = check_ignore(git, &undecided)?;
            for folder in undecided {
                let tracked = any_below(tracked, &folder)
                    || below(&base.entries, &folder).any(|(_, entry)| entry.is_visible());
                let pass_over = ignored.contains(&folder) && !tracked;
                lock(&self.opaque).decided.insert(folder.clone(), pass_over);
                if pass_over {
                    whole.not_entered.push(folder);
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

    /// Walks the given folders, not entering cache folders that are passed over or undecided.
    fn walk_part(
        &self,
        repo: &Repo,
        starts: &[Vec<u8>],
        base: &Manifest,
    ) -> Result<(Walk, Vec<Vec<u8>>)> {
        let top = &repo.places.repository.work_tree;
        let longest = repo.longest_folder();
        let undecided = Mutex::new(Vec::new());
        let opaque = &self.opaque;
        let decided = |path: &[u8]| lock(opaque).decided.get(path).copied();
        let enter = |path: &[u8], on_disk: &Path| match decided(path) {
            Some(pass_over) => !pass_over,
            // What is in it has paths that no call takes.
            None if path.len() > longest => {
                lock(opaque).decided.insert(path.to_vec(), true);
                false
            }
            None if is_cache(path, on_disk) => {
                lock(&undecided).push(path.to_vec());
                false
            }
            None => true,
        };
        let ground = Ground {
            folder: top,
            name: b"",
            base,
            enter: &enter,
        };
        let mut whole = Walk::default();
        for start in starts {
            whole.extend(walk(ground, start)?);
            if !start.is_empty() {
                base.suspect(start, look(top, start)?, &mut whole.suspects);
            }
        }
        let undecided = std::mem::take(&mut *lock(&undecided));
        whole
            .not_entered
            .retain(|folder| !undecided.contains(folder));
        Ok((whole, undecided))
    }
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

fn is_cache(relative: &[u8], path: &Path) -> bool {
    let name = relative
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    CACHE_FOLDERS.iter().any(|known| known.as_bytes() == name) || path.join("CACHEDIR.TAG").exists()
}
