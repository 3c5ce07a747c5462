//! Taking the state of the work tree: one walk, and what it says against the last manifest.

use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::guarding::list;
use super::keeping::Keeper;
use super::modules::{is_module_path, walk_modules};
use crate::git::index::Staged;
use crate::git::object_id::ObjectId;
use crate::git::process::Git;
use crate::repo::visible::check_ignore;
use crate::session::{Notice, Result, lock};
use crate::tree::manifest::{Changes, Entries, Entry, Manifest};
use crate::tree::walk::{Found, Ground, Walk, look, walk};
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

/// A tracked file whose bytes may be those of its object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clean {
    /// The object.
    pub id: ObjectId,
    /// What the index says of the file, where nobody has compared the two.
    pub staged: Option<Staged>,
}

/// Files that git does not read, because they have the fields its index has of them.
#[derive(Debug, Default)]
pub(crate) struct CleanToGit(BTreeMap<Vec<u8>, Staged>);

impl CleanToGit {
    /// True where a file has the fields the index has.
    pub(crate) fn is_clean(&self, path: &[u8], manifest: &Manifest) -> bool {
        let (Some(staged), Some(entry)) = (self.0.get(path), manifest.entries.get(path)) else {
            return false;
        };
        staged.stat.is_of(&entry.stat)
            && (staged.mode == 0o100_755) == (entry.stat.mode & 0o100 != 0)
    }
}

/// How a file stands to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// It has the same bytes.
    Same(ObjectId),
    /// It has the same bytes if they have this id.
    Perhaps(ObjectId),
    /// It has others, or another mode.
    Other,
}

/// The work tree now, against a base.
#[derive(Debug, Clone)]
pub struct Taken {
    /// Everything.
    pub manifest: Arc<Manifest>,
    /// What differs from the base.
    pub changes: Changes,
    /// Folders that were passed over.
    pub passed_over: Vec<Vec<u8>>,
    /// Folders that could not be read.
    pub unreadable: Vec<Vec<u8>>,
    /// What the user should hear.
    pub notices: Vec<Notice>,
}

/// What is known before the walk.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Tracked files that are not converted, and may be clean.
    pub clean: BTreeMap<Vec<u8>, Clean>,
    /// When git compared them, or they were about to be.
    pub clean_ns: i64,
    /// The second in which the index was written: what was touched in it may differ unseen.
    pub index_second: i64,
    /// Git may have converted files when it wrote them, and does not any more: that a file is clean to
    /// git then says nothing about its bytes.
    pub may_be_converted: bool,
    /// All tracked paths.
    pub tracked: BTreeSet<Vec<u8>>,
    /// Submodules.
    pub submodules: BTreeSet<Vec<u8>>,
}

impl Known {
    /// What later walks need to know of a checkpoint.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        Self {
            submodules: snapshot.submodules.iter().cloned().collect(),
            ..Self::default()
        }
    }

    /// There is a checkpoint to compare with. Before the first one, that something is a git object
    /// says that the index knows it.
    pub(crate) fn is_of_a_checkpoint(&self) -> bool {
        self.clean_ns == 0
    }

    /// The files whose fields git trusts though their bytes may be others than those of their objects.
    pub(crate) fn clean_to_git(&self) -> CleanToGit {
        if !self.may_be_converted {
            return CleanToGit::default();
        }
        let is_trusted = |staged: &Staged| staged.stat.is_before(self.index_second);
        let trusted = self.clean.iter().filter_map(|(path, clean)| {
            let staged = clean.staged.filter(is_trusted)?;
            Some((path.clone(), staged))
        });
        CleanToGit(trusted.collect())
    }

    /// How a file that was looked at stands to the object the index names. The rules are git's, but
    /// stricter: times count to the nanosecond, and where git would read the file, it is read here.
    pub(crate) fn likeness(&self, found: &Found) -> Likeness {
        let Some(clean) = self.clean.get(&found.path) else {
            return Likeness::Other;
        };
        // A file that changed since git looked at it is not what git saw; and a file system may
        // keep time in whole seconds.
        let is_older = !self.may_be_converted
            && found.stat.modified_ns.max(found.stat.changed_ns) < self.clean_ns;
        let Some(staged) = clean.staged else {
            return if is_older {
                Likeness::Same(clean.id)
            } else if self.may_be_converted {
                Likeness::Perhaps(clean.id)
            } else {
                Likeness::Other
            };
        };
        let is_executable = found.stat.mode & 0o100 != 0;
        if (staged.mode == 0o100_755) != is_executable {
            return Likeness::Other;
        }
        if is_older && staged.stat.is_of(&found.stat) && staged.stat.is_before(self.index_second) {
            return Likeness::Same(clean.id);
        }
        // Git writes no size where it wants the file to be read.
        match staged.stat.size {
            0 => Likeness::Perhaps(clean.id),
            _ if staged.stat.has_size(found.stat.size) => Likeness::Perhaps(clean.id),
            _ => Likeness::Other,
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

/// Folders with a repository of their own that is not a submodule and holds nothing tracked.
pub(crate) fn nested_repositories(walk: &Walk, base: &Manifest, known: &Known) -> Vec<Vec<u8>> {
    let mut nested: Vec<Vec<u8>> = known.submodules.iter().cloned().collect();
    for folder in &walk.repositories {
        let holds_visible = any_below(&known.tracked, folder)
            || below(&base.entries, folder).any(|(_, entry)| entry.is_visible());
        if !holds_visible {
            nested.push(folder.clone());
        }
    }
    nested
}

/// True where `path` is one of the folders or below one.
pub(crate) fn under_any(path: &[u8], folders: &[Vec<u8>]) -> bool {
    folders.iter().any(|folder| is_below(path, folder))
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn any_below(paths: &BTreeSet<Vec<u8>>, folder: &[u8]) -> bool {
    let start = [folder, b"/"].concat();
    paths
        .range(start.clone()..)
        .next()
        .is_some_and(|path| path.starts_with(&start))
}

/// The entries below a folder.
pub(crate) fn below<'a>(
    entries: &'a Entries,
    folder: &[u8],
) -> impl Iterator<Item = (&'a Vec<u8>, &'a Entry)> {
    let start = [folder, b"/"].concat();
    entries
        .range(start.clone()..)
        .take_while(move |(path, _)| path.starts_with(&start))
}

/// A path for people.
pub(crate) fn show(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

pub(crate) fn now_ns() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}
