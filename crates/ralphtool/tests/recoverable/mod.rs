//! Finds every byte again: whatever a user or an agent writes in these tests contains a token of its
//! own, and this searches all places where tokens may be.

#![allow(dead_code, reason = "no file of tests uses all of it")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Sandbox, listing};

/// How every token begins; letters, digits and dashes follow.
pub(crate) const MARK: &str = "tok-";

/// Tokens by where they are.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In the work tree or the repository's objects.
    pub(crate) repository: BTreeSet<String>,
    /// In the vault, which an agent does not touch.
    pub(crate) vault: BTreeSet<String>,
}

impl Found {
    /// Searches everywhere.
    pub(crate) fn search(sandbox: &Sandbox) -> Self {
        let mut found = Self::default();
        search_files(&sandbox.repo, &mut found.repository);
        search_objects(sandbox, &sandbox.repo.join(".git"), &mut found.repository);
        for vault in vaults(sandbox) {
            for name in ["raw", "trash", "snapshots"] {
                search_files(&vault.join(name), &mut found.vault);
            }
            search_objects(sandbox, &vault.join("store"), &mut found.vault);
        }
        found
    }

    /// Whether a token is anywhere.
    pub(crate) fn has(&self, token: &str) -> bool {
        self.repository.contains(token) || self.vault.contains(token)
    }
}

/// The vaults of a sandbox: one, and those set aside.
pub(crate) fn vaults(sandbox: &Sandbox) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(sandbox.root.join("state/ralphtool")) else {
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// All tokens in some bytes.
pub(crate) fn tokens(bytes: &[u8], found: &mut BTreeSet<String>) {
    let mark = MARK.as_bytes();
    let mut at = 0;
    while let Some(offset) = bytes[at..].windows(mark.len()).position(|it| it == mark) {
        let start = at + offset;
        let rest = &bytes[start..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        let end = rest.iter().position(|byte| !is_part(byte));
        let token = &rest[..end.unwrap_or(rest.len())];
        at = start + token.len();
        found.insert(String::from_utf8_lossy(token).into_owned());
    }
}

fn search_files(folder: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            search_files(&path, found);
        } else if metadata.is_file() {
            tokens(&fs::read(&path).unwrap(), found);
        }
    }
}

fn search_objects(sandbox: &Sandbox, git_dir: &Path, found: &mut BTreeSet<String>) {
    let output = sandbox
        .command("git")
        .arg("--git-dir")
        .arg(git_dir)
        .args(["cat-file", "--batch-all-objects", "--batch", "--unordered"])
        .output()
        .unwrap();
    tokens(&output.stdout, found);
}

/// What is wrong with a repository in which nothing is in progress.
pub(crate) fn unsound(sandbox: &Sandbox) -> Vec<String> {
    let mut wrong = Vec::new();
    for args in [
        "fsck --no-dangling --no-progress",
        "rev-parse --verify HEAD^{commit}",
        "status --porcelain",
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let mut git = sandbox.command("git");
        // `status` would refresh the index of a nested repository, which is compared later.
        git.env("GIT_OPTIONAL_LOCKS", "0").args(&words);
        let output = git.output().unwrap();
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!("git {args}: {errors}"));
        }
    }
    for path in listing(&sandbox.repo).into_keys() {
        let name = path.rsplit('/').next().unwrap_or_default();
        if name == "index.lock" || name == "HEAD.lock" || name.contains(".ralph-") {
            wrong.push(format!("left behind: {path}"));
        }
    }
    wrong
}
