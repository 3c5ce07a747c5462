//! Which gates passed on which trees, remembered in the vault so that an unchanged tree is not
//! judged twice. Only what passed is remembered: what made a gate fail may be fixed outside of the
//! tree, and a gate wrongly remembered as failing before would be ignored.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use ralph_base::files::{FileError, read_if_present, write_whole};

/// How many verdicts are remembered.
const MOST: usize = 500;

/// One gate that passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Passed {
    /// The id of the tree.
    tree: String,
    /// The gate's shell line.
    run: String,
}

/// The verdicts of one work tree.
#[derive(Debug)]
pub(crate) struct Verdicts {
    path: PathBuf,
    passed: Vec<Passed>,
}

impl Verdicts {
    /// Reads what is remembered in a vault; what cannot be read is forgotten.
    pub(crate) fn read(vault: &Path) -> Self {
        let path = vault.join("verdicts.jsonl");
        let bytes = read_if_present(&path).ok().flatten().unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let passed = lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        Self { path, passed }
    }

    /// Whether a gate passed on a tree.
    pub(crate) fn has(&self, tree: &str, run: &str) -> bool {
        let mut passed = self.passed.iter();
        passed.any(|it| it.tree == tree && it.run == run)
    }

    /// Remembers that gates passed on a tree.
    pub(crate) fn remember<'a>(
        &mut self,
        tree: &str,
        runs: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), FileError> {
        let known = self.passed.len();
        for run in runs {
            if !self.has(tree, run) {
                self.passed.push(Passed {
                    tree: tree.to_owned(),
                    run: run.to_owned(),
                });
            }
        }
        if self.passed.len() == known {
            return Ok(());
        }
        let surplus = self.passed.len().saturating_sub(MOST);
        self.passed.drain(..surplus);
        let mut text = Vec::new();
        for passed in &self.passed {
            text.extend(serde_json::to_vec(passed).unwrap_or_default());
            text.push(b'\n');
        }
        write_whole(&self.path, &text, 0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_is_remembered_up_to_a_bound_and_damage_is_forgotten() {
        let vault = tempfile::tempdir().unwrap();
        let mut verdicts = Verdicts::read(vault.path());
        verdicts.remember("t1", ["cargo test"]).unwrap();
        verdicts.remember("t2", ["cargo test", "lint"]).unwrap();
        let again = Verdicts::read(vault.path());
        assert!(again.has("t1", "cargo test") && again.has("t2", "lint"));
        assert!(!again.has("t1", "lint"));
        for number in 0..MOST {
            let tree = format!("n{number}");
            verdicts.remember(&tree, ["x"]).unwrap();
        }
        let mut text = std::fs::read(vault.path().join("verdicts.jsonl")).unwrap();
        text.truncate(text.len() - 5);
        std::fs::write(vault.path().join("verdicts.jsonl"), &text).unwrap();
        let last = format!("n{}", MOST - 1);
        let cut = Verdicts::read(vault.path());
        assert!(cut.has("n0", "x") && !cut.has("t1", "cargo test") && !cut.has(&last, "x"));
    }
}
