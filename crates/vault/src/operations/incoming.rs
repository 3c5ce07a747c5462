//! What an original branch gained during a run: merged in memory, checked out into the vault, and added
//! to the state the cleanup leads to. The user's tree is not touched here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::error::{CheckpointError, Result};
use crate::git::object_id::ObjectId;
use crate::git::process::{Git, GitError, nul_separated};
use crate::git::repository::{Head, Refs, short};
use crate::journal::run_state::Current;
use crate::paths::{absolute, ancestors, show};
use crate::repo::{Places, Repo};
use crate::scan::keeping::entry_of;
use crate::tree::manifest::{Changes, Entry, Kind, Manifest};
use ralph_base::files::{Tried, create_private_folder};

/// Where a cleanup leads.
pub(crate) struct Home {
    /// Commit of the original branch; none for an unborn one.
    pub commit: Option<ObjectId>,
    /// Where the original branch moved on.
    pub merge: Option<Merge>,
}

/// The run's work and what the original branch gained, in one tree.
pub(crate) struct Merge {
    /// The last commit of the run.
    tip: ObjectId,
    tree: ObjectId,
}

impl Repo {
    /// Where the original branch is now, and whether it can take the work.
    pub(crate) fn home(&self, current: &Current, refs: &Refs, tip: ObjectId) -> Result<Home> {
        let unmoved = |commit| Home {
            commit,
            merge: None,
        };
        let (name, began) = match &current.intent.original {
            Head::Detached { commit } => return Ok(unmoved(Some(*commit))),
            Head::Branch { name, commit } => (name, *commit),
        };
        let now = refs.get(name).copied();
        match (began, now) {
            (began, now) if began == now => Ok(unmoved(now)),
            (Some(began), None) => Err(CheckpointError::refused(
                format!(
                    "the branch `{}` no longer exists; nothing was changed",
                    short(name)
                ),
                format!(
                    "restore it with `git branch {} {began}`, or keep `{}`",
                    short(name),
                    short(&current.intent.branch)
                ),
            )),
            (_, Some(now)) => self.merge(current, name, now, tip),
            (None, None) => Ok(unmoved(None)),
        }
    }

    /// Git that writes the objects of a merge into the vault, with the settings of when the run began:
    /// no merge driver that an agent wrote is run, and a dry run leaves the repository as it is.
    fn merging_git(&self) -> Git {
        let Places { repository, vault } = &self.places;
        self.gits
            .work
            .patient()
            .with_objects(&vault.objects(), Some(&repository.objects()))
            .with_shallow(&repository.common_dir.join("shallow"))
    }

    /// The original branch moved on: merge first, in memory.
    fn merge(&self, current: &Current, name: &str, now: ObjectId, tip: ObjectId) -> Result<Home> {
        let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages"];
        let mut words: Vec<std::ffi::OsString> = args.iter().map(Into::into).collect();
        words.extend([now.to_string().into(), tip.to_string().into()]);
        let output = self.merging_git().output(&words, &[])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let tree = lines
            .next()
            .and_then(|line| ObjectId::parse(line.as_bytes()));
        match (output.status.code(), tree) {
            (Some(0), Some(tree)) => Ok(Home {
                commit: Some(now),
                merge: Some(Merge { tip, tree }),
            }),
            (Some(1), _) => {
                let files: Vec<_> = lines.filter(|line| !line.is_empty()).take(5).collect();
                Err(conflict(current, name, &files))
            }
            _ => Err(GitError::Failed {
                command: "merge-tree".to_owned(),
                status: output.status,
                stderr: output.stderr,
            }
            .into()),
        }
    }

    /// The work tree with what the original branch gained; refuses where the user has uncommitted
    /// edits in the same files. `index` is a private one to work with.
    pub(crate) fn with_incoming(
        &self,
        index: &Path,
        merge: &Merge,
        now: &Manifest,
        edits: &Changes,
    ) -> Result<Manifest> {
        let git = self.merging_git().with_index(index);
        let (from, to) = (merge.tip.to_string(), merge.tree.to_string());
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status"];
        let output = git.run(args.into_iter().chain([from.as_str(), &to]))?;
        let mut fields = nul_separated(&output);
        let mut written = Vec::new();
        let mut target = now.clone();
        let touched: BTreeSet<&Vec<u8>> = edits.paths().collect();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let path = path.to_vec();
            let in_the_way = status == b"A" && is_occupied(now, &path);
            if touched.contains(&path) || in_the_way {
                return Err(edited(&path));
            }
            if status == b"D" {
                target.entries.remove(&path);
            } else {
                written.push(path);
            }
        }
        target.entries.extend(self.check_out(&git, &to, written)?);
        Ok(target)
    }

    /// Writes paths of a tree into the vault, as git would write them into the work tree.
    fn check_out(
        &self,
        git: &Git,
        tree: &str,
        paths: Vec<Vec<u8>>,
    ) -> Result<Vec<(Vec<u8>, Entry)>> {
        let folder = self.places.vault.scratch("incoming");
        // What an interrupted cleanup left there is not needed.
        if folder.exists() {
            fs::remove_dir_all(&folder).tried("empty", &folder)?;
        }
        create_private_folder(&folder)?;
        self.write_index(git, &["read-tree", "--reset", tree], &[])?;
        let prefix = format!("--prefix={}/", folder.display());
        let args = ["checkout-index", "-f", "-z", "--stdin", &prefix];
        git.run_with_input(args, &paths.join(&0))?;
        let mut entries = Vec::new();
        for path in paths {
            if let Some(entry) = entry_of(&self.places, &absolute(&folder, &path))? {
                entries.push((path, entry));
            }
        }
        fs::remove_dir_all(&folder).tried("empty", &folder)?;
        Ok(entries)
    }
}

fn edited(path: &[u8]) -> CheckpointError {
    CheckpointError::refused(
        format!(
            "`{}` has edits that are not in a checkpoint, and the original branch changed it too; nothing was changed",
            show(path)
        ),
        "commit or move those edits away, then finish again",
    )
}

/// True where something is at the path, or something other than a folder above it.
fn is_occupied(manifest: &Manifest, path: &[u8]) -> bool {
    let entries = &manifest.entries;
    let mut above = ancestors(path).filter_map(|folder| entries.get(folder));
    entries.contains_key(path) || above.any(|entry| entry.kind != Kind::Folder)
}

fn conflict(current: &Current, name: &str, files: &[&str]) -> CheckpointError {
    let branch = short(&current.intent.branch);
    let original = short(name);
    CheckpointError::refused(
        format!(
            "`{original}` moved on and conflicts with `{branch}` in {}; nothing was changed",
            files.join(", ")
        ),
        format!(
            "either merge on the branch (`git merge {original}`, resolve, commit) and finish again, \
             or keep the branch and take over by hand (`git switch {original}`, `git merge --squash {branch}`)"
        ),
    )
}
