//! The index when a run begins: what is in it, and which files have the bytes it names. Compared here
//! where all of it is plain; else git is asked.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::settings::{Converted, Folders, LineEndings};
use super::visible::nul_joined;
use crate::error::{CheckpointError, Result};
use crate::git::access::{Direct, Reason};
use crate::git::index::{Listed, Staged, list};
use crate::git::process::{Git, nul_separated};
use crate::paths::{absolute, show};
use crate::repo::Repo;
use crate::stat::now_ns;
use crate::tree::manifest::RACY_NS;
use crate::tree::scanned::{Clean, FirstIndex, Known};
use ralph_base::files::read_if_present;

/// What an index says a path is: the bits that tell, a file, and a submodule.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const SUBMODULE: u32 = 0o160_000;

/// How many files are read to see whether lines end with a carriage return.
const SAMPLE: usize = 64;

impl Repo {
    /// Reads a private index copied from the user's: which paths are tracked, which are clean.
    pub(crate) fn read_index(&self, index: &Path, listed: &[Listed]) -> Result<Known> {
        let git = self.gits.work.patient().with_index(index);
        let mut submodules = BTreeSet::new();
        let mut first = FirstIndex {
            // A file system may keep time in whole seconds.
            clean_ns: now_ns() - RACY_NS,
            index_second: fs::metadata(index).map_or(0, |metadata| metadata.mtime()),
            ..FirstIndex::default()
        };
        let mut files = Vec::new();
        for Listed {
            staged,
            path,
            flags,
        } in listed
        {
            if staged.mode == SUBMODULE {
                submodules.insert(path.clone());
            } else {
                first.tracked.insert(path.clone());
                if staged.mode & KIND == FILE && !flags.is_intended() {
                    files.push((path.clone(), *staged));
                }
            }
        }
        let ordinary = self.ordinary();
        let is_compared_here = ordinary.is_ok();
        first.may_be_converted = self.was_converting(&first.tracked);
        let mut unclean = self.converted(&git, &first.tracked)?;
        let modified = self.reasons.or_git(
            "find changed files",
            ordinary.map(|_| BTreeSet::new()),
            || Ok(modified(&git, &first.tracked)),
        )?;
        unclean.extend(modified);
        let clean = |(path, staged): (Vec<u8>, Staged)| {
            let clean = Clean {
                id: staged.id,
                staged: is_compared_here.then_some(staged),
            };
            (path, clean)
        };
        files.retain(|(path, _)| !unclean.contains(path));
        first.clean = files.into_iter().map(clean).collect();
        Ok(Known {
            submodules,
            index: Some(first),
        })
    }

    /// True where something says that git converted files when it wrote them. The settings it had then
    /// are not known: they leave line endings, objects of Git LFS, or attributes that were edited.
    fn was_converting(&self, tracked: &BTreeSet<Vec<u8>>) -> bool {
        let repository = &self.places.repository;
        if self.settings().line_endings != LineEndings::Unsaid
            || repository.common_dir.join("lfs").exists()
        {
            return true;
        }
        let top = &repository.work_tree;
        let step = tracked.len().div_ceil(SAMPLE).max(1);
        let mut sample = tracked.iter().step_by(step);
        sample.any(|path| starts_with_returns(&absolute(top, path)))
    }

    /// Everything in a private index, in which no flag hides edits from git any more.
    pub(crate) fn list_index(&self, index: &Path) -> Result<Vec<Listed>> {
        let git = self.gits.work.patient().with_index(index);
        let unreadable = |_| {
            CheckpointError::failed(
                "the index cannot be read",
                "`git status` says what is wrong with it",
            )
        };
        let listed = self
            .reasons
            .or_git("list the index", self.read_entries(index), || {
                // Half of it is elsewhere; git makes it whole.
                git.run(["update-index", "--no-split-index", "--force-write-index"])?;
                self.read_entries(index).map_err(unreadable)
            })?;
        let paths = |is_meant: &dyn Fn(&Listed) -> bool| {
            let paths = listed.iter().filter(|it| is_meant(it));
            paths.map(|it| it.path.clone()).collect::<Vec<_>>()
        };
        let assumed = paths(&|it| it.flags.is_assumed());
        // Files outside a sparse checkout are not on disk and must stay as they are.
        let skipped = paths(&|it| it.flags.is_skipped() && self.is_on_disk(&it.path));
        if assumed.is_empty() && skipped.is_empty() {
            return Ok(listed);
        }
        for (flag, paths) in [
            ("--no-assume-unchanged", assumed),
            ("--no-skip-worktree", skipped),
        ] {
            let args = ["update-index", flag, "-z", "--stdin"];
            self.write_index(&git, &args, &nul_joined(&paths))?;
        }
        // Git notes which files it must read again when it writes an index.
        let again = self.read_entries(index);
        self.reasons.or_git("list the index", again, || Ok(listed))
    }

    /// The entries of an index, unless some are not in it.
    fn read_entries(&self, index: &Path) -> Direct<Vec<Listed>> {
        match read_if_present(index)? {
            Some(bytes) => Ok(list(&bytes, self.places.repository.format)?),
            None => Ok(Vec::new()),
        }
    }

    /// Tracked paths outside a sparse checkout.
    pub(crate) fn skipped(&self, listed: &[Listed]) -> HashSet<Vec<u8>> {
        listed
            .iter()
            .filter(|it| it.flags.is_skipped() && !self.is_on_disk(&it.path))
            .map(|it| it.path.clone())
            .collect()
    }

    fn is_on_disk(&self, path: &[u8]) -> bool {
        let full = absolute(&self.places.repository.work_tree, path);
        fs::symlink_metadata(full).is_ok()
    }

    /// Tracked paths that git converts on the way in or out: their object is not their bytes.
    fn converted(&self, git: &Git, tracked: &BTreeSet<Vec<u8>>) -> Result<BTreeSet<Vec<u8>>> {
        let settings = self.settings();
        if settings.line_endings == LineEndings::Converted {
            return Ok(tracked.clone());
        }
        // Where such a file is only in the index, git goes by that.
        let is_lost = |path: &&Vec<u8>| path.ends_with(b".gitattributes") && !self.is_on_disk(path);
        let asked: Vec<Vec<u8>> = if tracked.iter().any(|path| is_lost(&path)) {
            tracked.iter().cloned().collect()
        } else {
            let top = &self.places.repository.work_tree;
            let mut seen = Folders::default();
            let mut may_be =
                |path: &&Vec<u8>| settings.of(top, path, &mut seen) != Converted::Never;
            tracked
                .iter()
                .filter(|path| may_be(path))
                .cloned()
                .collect()
        };
        let direct = match asked.first() {
            None => Ok(BTreeSet::new()),
            Some(path) => Err(Reason::Converted(show(path)).into()),
        };
        self.reasons
            .or_git("read attributes", direct, || converted_of(git, &asked))
    }
}

/// Those of the paths that have an attribute by which git converts files.
fn converted_of(git: &Git, asked: &[Vec<u8>]) -> Result<BTreeSet<Vec<u8>>> {
    let answer = git.run_with_input(
        [
            "check-attr",
            "-z",
            "--stdin",
            "filter",
            "text",
            "crlf",
            "eol",
            "ident",
            "working-tree-encoding",
        ],
        &nul_joined(asked),
    )?;
    let mut paths = BTreeSet::new();
    let mut fields = answer.split(|byte| *byte == 0);
    while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        if value != b"unspecified" && value != b"unset" {
            paths.insert(path.to_vec());
        }
    }
    Ok(paths)
}

/// True where a line in the first bytes of a file ends with a carriage return.
fn starts_with_returns(file: &Path) -> bool {
    let is_file = fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_file());
    let mut start = Vec::new();
    let read = |file: fs::File| file.take(8192).read_to_end(&mut start).ok();
    is_file
        && fs::File::open(file).ok().and_then(read).is_some()
        && start.windows(2).any(|pair| pair == b"\r\n")
}

/// Tracked paths that git takes for modified.
fn modified(git: &Git, tracked: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let args = [
        "diff-files",
        "-z",
        "--name-only",
        "--ignore-submodules=all",
        "--no-ext-diff",
    ];
    // Git gives up on all files where it cannot look at one (a filter that is missing).
    match git.run(args) {
        Ok(modified) => nul_separated(&modified).map(<[u8]>::to_vec).collect(),
        Err(_) => tracked.clone(),
    }
}
