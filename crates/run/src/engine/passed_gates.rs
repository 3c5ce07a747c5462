//! Which gates passed on which trees, remembered in the vault so that an unchanged tree is not
//! judged twice; for a gate with paths, the files in them count. Only what passed is remembered: what
//! made a gate fail may be fixed outside of the tree, and a gate wrongly remembered as failing before
//! would be ignored.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::policy::Gate;
use ralph_base::files::{FileError, Tried, open_append, read_if_present, write_whole};
use ralph_vault::{CommittedPath, Vault};

/// A longer file is cut to its newer half.
const LONGEST: usize = 128 * 1024;

/// One gate that passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Passed {
    /// The id of the tree, or of the files in the gate's paths.
    tree: String,
    /// The gate's shell line.
    run: String,
}

/// The content of the checkpoint that gates judge.
pub(crate) struct JudgedContent<'v> {
    vault: &'v Vault,
    tree: String,
    /// Listed once a gate with paths asks.
    paths: Option<Vec<CommittedPath>>,
}

impl<'v> JudgedContent<'v> {
    /// The content of a tree, which is that of the checkpoint.
    pub(crate) const fn of(vault: &'v Vault, tree: String) -> Self {
        Self {
            vault,
            tree,
            paths: None,
        }
    }

    /// What names the content that a gate judges; none where it cannot be found out.
    pub(crate) fn id(&mut self, gate: &Gate) -> Option<String> {
        let Some(patterns) = &gate.paths else {
            return Some(self.tree.clone());
        };
        if self.paths.is_none() {
            self.paths = self.vault.checkpoint_paths().ok();
        }
        let paths = self.paths.as_ref()?;
        let mut hash = Sha256::new();
        for it in paths.iter().filter(|it| patterns.matches(&it.path)) {
            // Neither has a zero byte.
            hash.update(format!("{}\0{}\0", it.path, it.content));
        }
        let mut id = "paths-".to_owned();
        for byte in hash.finalize() {
            let _ = write!(id, "{byte:02x}");
        }
        Some(id)
    }
}

/// The gates that passed on trees of one work tree.
#[derive(Debug)]
pub(crate) struct PassedGates {
    path: PathBuf,
}

impl PassedGates {
    pub(crate) fn of(vault: &Path) -> Self {
        Self {
            path: vault.join("verdicts.jsonl"),
        }
    }

    /// The gates that passed on a tree, by their shell lines; what cannot be read is forgotten.
    pub(crate) fn passed_on(&self, tree: &str) -> Vec<String> {
        let bytes = self.bytes();
        let lines = bytes.split(|byte| *byte == b'\n');
        let passed = lines.filter_map(|line| serde_json::from_slice::<Passed>(line).ok());
        passed
            .filter(|it| it.tree == tree)
            .map(|it| it.run)
            .collect()
    }

    /// Remembers gates that passed: what each judged, and its shell line.
    pub(crate) fn remember(
        &self,
        judged: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), FileError> {
        let mut lines = Vec::new();
        for (tree, run) in judged {
            let passed = Passed { tree, run };
            // A line begins with its line break: one that a kill cut off spoils no other.
            lines.push(b'\n');
            lines.extend(serde_json::to_vec(&passed).unwrap_or_default());
        }
        let mut file = open_append(&self.path)?;
        let written = file.write_all(&lines).and_then(|()| file.metadata());
        if written.tried("write", &self.path)?.len() > LONGEST as u64 {
            let bytes = self.bytes();
            let newer = bytes.len() / 2;
            let start = bytes[newer..].iter().position(|byte| *byte == b'\n');
            write_whole(&self.path, &bytes[newer + start.unwrap_or(0)..], 0o600)?;
        }
        Ok(())
    }

    fn bytes(&self) -> Vec<u8> {
        read_if_present(&self.path)
            .ok()
            .flatten()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn on(tree: &str, lines: &[&str]) -> Vec<(String, String)> {
        let runs = runs(lines).into_iter();
        runs.map(|run| (tree.to_owned(), run)).collect()
    }

    fn runs(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn gates_that_passed_are_remembered_per_tree() {
        let vault = tempfile::tempdir().unwrap();
        let passed = PassedGates::of(vault.path());
        assert_eq!(passed.passed_on("t1"), runs(&[]));
        passed.remember(on("t1", &["cargo test"])).unwrap();
        passed.remember(on("t2", &["cargo test", "lint"])).unwrap();
        assert_eq!(passed.passed_on("t1"), runs(&["cargo test"]));
        assert_eq!(passed.passed_on("t2"), runs(&["cargo test", "lint"]));
    }

    #[test]
    fn a_line_that_was_cut_off_is_forgotten_alone() {
        let vault = tempfile::tempdir().unwrap();
        let passed = PassedGates::of(vault.path());
        passed.remember(on("t1", &["cargo test"])).unwrap();
        passed.remember(on("t2", &["lint"])).unwrap();
        let path = vault.path().join("verdicts.jsonl");
        let mut text = std::fs::read(&path).unwrap();
        text.truncate(text.len() - 5);
        std::fs::write(&path, &text).unwrap();
        passed.remember(on("t3", &["build"])).unwrap();
        assert_eq!(passed.passed_on("t1"), runs(&["cargo test"]));
        assert_eq!(passed.passed_on("t2"), runs(&[]));
        assert_eq!(passed.passed_on("t3"), runs(&["build"]));
    }

    #[test]
    fn the_oldest_lines_go_when_the_file_gets_long() {
        let vault = tempfile::tempdir().unwrap();
        let passed = PassedGates::of(vault.path());
        let line = "x".repeat(LONGEST / 4);
        for tree in ["t1", "t2", "t3", "t4", "t5"] {
            passed.remember(on(tree, &[&line])).unwrap();
        }
        let length = std::fs::metadata(vault.path().join("verdicts.jsonl"));
        assert!(length.unwrap().len() <= LONGEST as u64);
        assert_eq!(passed.passed_on("t1"), runs(&[]));
        assert_eq!(passed.passed_on("t5"), runs(&[&line]));
    }
}
