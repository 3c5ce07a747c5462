//! Everything a user could notice in a repository, as text to compare.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// Parts of a git directory that git's own commands show, or that git writes at any time.
pub(super) const PASSING: [&str; 10] = [
    "objects",
    "refs",
    "packed-refs",
    "index",
    "logs",
    "COMMIT_EDITMSG",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "gc.log",
    "gc.pid",
];

/// Status, HEAD, refs, stash, index, every file of the tree byte for byte with its mode, and every
/// file of the git directory that is no object, ref, log or passing note.
pub(crate) fn everything(repo: &Path) -> String {
    let mut text = String::new();
    for args in [
        "status --porcelain=v1 --branch --untracked-files=all --ignored",
        "rev-parse HEAD --symbolic-full-name HEAD",
        "for-each-ref",
        "stash list",
        "ls-files --stage -v",
    ] {
        let _ = write!(text, "$ git {args}\n{}", git(repo, args));
    }
    for (path, state) in files(repo) {
        let _ = writeln!(text, "{path}: {state}");
    }
    for (path, state) in listing(&repo.join(".git")) {
        let first = path.split('/').next().unwrap_or_default();
        // Linked work trees have logs of their own.
        let is_log = path.starts_with("worktrees/") && path.contains("/logs/");
        if !PASSING.contains(&first) && !is_log && !state.starts_with("folder") {
            let _ = writeln!(text, ".git/{path}: {state}");
        }
    }
    text
}

fn git(repo: &Path, args: &str) -> String {
    let output = Command::new("git")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        // The repository may belong to the user of the sandbox, not to that of the tests.
        .args(["-c", "safe.directory=*"])
        .args(args.split(' '))
        .current_dir(repo)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    format!("{told}{}", String::from_utf8_lossy(&output.stderr))
}

/// Every file of a work tree; the git directory is left out, nested ones are not.
pub(crate) fn files(top: &Path) -> BTreeMap<String, String> {
    let mut found = listing(top);
    found.retain(|path, _| path != ".git" && !path.starts_with(".git/"));
    found
}

/// Every file of a work tree with its time.
pub(crate) fn files_and_times(top: &Path) -> BTreeMap<String, String> {
    let mut found = files(top);
    for (path, state) in &mut found {
        let metadata = fs::symlink_metadata(top.join(path)).unwrap();
        // A folder's time changes whenever something in it comes and goes.
        if !metadata.is_dir() {
            let _ = write!(
                state,
                " at {}.{:09}",
                metadata.mtime(),
                metadata.mtime_nsec()
            );
        }
    }
    found
}

/// Every path below a folder with its kind, mode and content.
pub(crate) fn listing(top: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    visit(top, top, &mut found);
    found
}

fn visit(top: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let state = if metadata.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            visit(top, &path, found);
            format!("folder {mode:o}")
        } else if metadata.is_file() {
            let bytes = fs::read(&path).unwrap();
            format!("file {mode:o} {:?}", String::from_utf8_lossy(&bytes))
        } else {
            format!("special {mode:o}")
        };
        let name = path.strip_prefix(top).unwrap();
        found.insert(name.to_string_lossy().into_owned(), state);
    }
}
