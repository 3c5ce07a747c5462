//! Diffs to look at, made without the lock while a run may be at work, from any thread.
//!
//! The user's index and objects are only read: what git needs to write goes to a private folder
//! of the vault. Git runs on the vault's frozen configuration, so that nothing an agent configured
//! is run. Files that no commit would take (secrets, huge ones) are not shown.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use crate::diff::{self, Cut, Diff, FileDiff};
use crate::error::{CheckpointError, Result};
use crate::git::process::{Git, nul_separated};
use crate::git::repository::Repository;
use crate::paths::absolute;
use crate::tree::guard::{Limits, guard};
use ralph_base::disk::remove_tree;
use ralph_base::files::{copy_with_time, create_private_folder, read_if_present, write_whole};

/// How much of a diff is read.
const MOST_BYTES: usize = 16 << 20;
/// How many new files are shown.
const MOST_NEW_FILES: usize = 2_000;
/// How long git may take: longer than anybody wants to wait for a look.
const PATIENCE: Duration = Duration::from_secs(60);

/// How every diff is asked for: by content alone.
const PLAIN: [&str; 6] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--find-renames",
    "--ignore-submodules=dirty",
];

/// Makes diffs of one work tree and its vault.
#[derive(Debug)]
pub struct Diffs {
    repository: Repository,
    vault: PathBuf,
    /// Our own folder: another one may look at the same time.
    folder: PathBuf,
    /// The commit the private index was made for; held while the index is used.
    base: Mutex<Option<String>>,
}

impl Diffs {
    /// Makes diffs of a work tree, given its vault's folder. Touches nothing.
    pub fn new(repository: Repository, vault: &Path) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        Self {
            repository,
            folder: vault.join("shown").join(name),
            vault: vault.to_owned(),
            base: Mutex::new(None),
        }
    }

    /// The work tree as it is now against a commit, new files included.
    pub fn live(&self, base: &str) -> Result<Diff> {
        check_id(base)?;
        let mut known = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        let index = self.folder.join("index");
        let git = self.git();
        if known.as_deref() != Some(base) {
            *known = None;
            self.make_index(&git, &index, base)?;
            *known = Some(base.to_owned());
        }
        let all = self.folder.join("index-with-new-files");
        let new_files = self.with_new_files(&git, &index, &all)?;
        let (answer, unread) = git.with_index(&all).run_up_to(PLAIN, MOST_BYTES)?;
        Ok(diff::parse(&answer, unread).without(Cut {
            new_files,
            ..Cut::default()
        }))
    }

    /// The diff of two commits.
    pub fn between(&self, from: &str, to: &str) -> Result<Diff> {
        let (answer, unread) = self.of_commits(from, to, &[])?;
        Ok(diff::parse(&answer, unread))
    }

    /// Which files differ between two commits.
    pub fn changed_files(&self, from: &str, to: &str) -> Result<Vec<FileDiff>> {
        let (answer, _) = self.of_commits(from, to, &["--raw", "--numstat", "-z", "--abbrev"])?;
        Ok(diff::changed_files(&answer))
    }

    /// The diff of a parked attempt, given its folder; empty where it has none. It is made from the
    /// attempt's commit, which is there before the file with the diff is.
    pub fn parked(&self, folder: &Path) -> Result<Diff> {
        let names = folder.iter().rev().filter_map(|name| name.to_str());
        let names: Vec<&str> = names.take(3).collect();
        let [label, "attempts", run] = names[..] else {
            return Ok(Diff::default());
        };
        let name = format!("store/refs/parked/{run}/{label}");
        let Some(id) = read_if_present(&self.vault.join(name))? else {
            return Ok(Diff::default());
        };
        let id = String::from_utf8_lossy(&id);
        self.between(&format!("{}^", id.trim()), id.trim())
    }

    fn of_commits(&self, from: &str, to: &str, form: &[&str]) -> Result<(Vec<u8>, bool)> {
        check_id(from.strip_suffix('^').unwrap_or(from))?;
        check_id(to)?;
        let store = self.vault.join("store");
        // A commit is in the repository first, and stays in the store where it is lost there.
        let git = Git::on_bare(&store, PATIENCE)
            .with_own_config()
            .with_objects(&store.join("objects"), Some(&self.repository.objects()));
        let args = PLAIN.iter().chain(form).chain([&from, &to, &"--"]);
        Ok(git.run_up_to(args, MOST_BYTES)?)
    }

    /// Makes a second index that knows of new files, too; says how many it does not know of.
    fn with_new_files(&self, git: &Git, index: &Path, all: &Path) -> Result<usize> {
        let args = [
            "--literal-pathspecs",
            "add",
            "--intent-to-add",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ];
        let mut missing = 0;
        for _ in 0..2 {
            let (paths, left_out) = self.new_files(&git.with_index(index))?;
            copy_with_time(index, all)?;
            let git = git.with_index(all);
            if paths.is_empty() || git.run_with_input(args, &paths).is_ok() {
                return Ok(left_out);
            }
            // One of them has gone meanwhile, most likely: others may have come.
            missing = left_out + nul_separated(&paths).count();
        }
        Ok(missing)
    }

    /// A private index that says what the commit says and knows the times of files.
    fn make_index(&self, git: &Git, index: &Path, base: &str) -> Result<()> {
        sweep(&self.vault.join("shown"));
        let info = self.folder.join("objects/info");
        create_private_folder(&info)?;
        // The agent may have removed the repository's own.
        let mut store = self.vault.join("store/objects").into_os_string().into_vec();
        store.push(b'\n');
        write_whole(&info.join("alternates"), &store, 0o600)?;
        for name in ["index", "index.lock", "index-with-new-files.lock"] {
            remove_tree(&self.folder.join(name))?;
        }
        copy_with_time(&self.repository.index(), index)?;
        let git = git.with_index(index);
        if git.run(["read-tree", "--reset", base]).is_err() {
            // The user's index cannot be read, because it is split say: without it every file is
            // read once.
            let _ = fs::remove_file(index);
            git.run(["read-tree", base])?;
        }
        // It ends with an error where a file differs, which is what we are here for.
        let args = ["update-index", "-q", "--really-refresh"].map(Into::into);
        git.output(&args, &[])?;
        Ok(())
    }

    /// Files git neither tracks nor ignores, with a NUL between them, and how many more there are.
    fn new_files(&self, git: &Git) -> Result<(Vec<u8>, usize)> {
        let args = ["ls-files", "--others", "--exclude-standard", "-z"];
        let listing = git.run(args)?;
        let mut files: Vec<&[u8]> = nul_separated(&listing)
            // A folder that is named is a repository of its own.
            .filter(|path| !path.ends_with(b"/"))
            .filter(|path| self.may_be_shown(path))
            .collect();
        let left_out = files.len().saturating_sub(MOST_NEW_FILES);
        files.truncate(MOST_NEW_FILES);
        Ok((files.join(&0), left_out))
    }

    fn may_be_shown(&self, path: &[u8]) -> bool {
        let full = absolute(&self.repository.work_tree, path);
        let size = fs::symlink_metadata(full).map_or(0, |metadata| metadata.len());
        guard(path, size, Limits::DEFAULT.largest_file).is_none()
    }

    /// Git on the work tree that writes nothing but into the private folder.
    fn git(&self) -> Git {
        let (own, repository) = (self.folder.join("objects"), &self.repository);
        Git::on_work_tree(&self.vault.join("work"), &repository.work_tree, PATIENCE)
            .with_objects(&own, Some(&repository.objects()))
            .with_own_config()
            .unsynced()
    }
}

impl Drop for Diffs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes what processes left that were killed.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.split('-').next().and_then(|pid| pid.parse().ok());
        let is_alive = pid
            .and_then(Pid::from_raw)
            .is_some_and(|pid| test_kill_process(pid).is_ok());
        if !is_alive {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A commit is named by its id alone: anything else could be an option.
fn check_id(id: &str) -> Result<()> {
    if id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(CheckpointError::failed(
        format!("`{id}` is not a commit"),
        "look at another part of the run",
    ))
}
