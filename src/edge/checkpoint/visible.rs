//! What the user sees: the index, tree and commit of a checkpoint, made in a private index with
//! git's own semantics (line endings, filters, modes), without touching HEAD, index or files.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::control::Control;
use super::conversions::{Converted, Folders};
use super::frozen_config::flat;
use super::snapshot::Snapshot;
use super::taking::{Known, Taken, now_ns, show};
use super::{Checkpoints, Notice, Result, blocking};
use crate::edge::files::{Tried, create_private_folder, write_whole};
use crate::edge::git::{Git, GitError, nul_separated};
use crate::edge::ignore_rules::IgnoreRules;
use crate::edge::manifest::{Changes, Content, Entry, Manifest, RACY_NS};
use crate::edge::object_id::ObjectId;

/// The identity of commits where the user has configured none.
const FALLBACK_IDENTITY: &[(&str, &str)] = &[
    ("user.name", "ralphtool"),
    ("user.email", "ralphtool@localhost"),
];

impl Checkpoints {
    /// Makes the private git directory: the user's configuration as it is now, and ours over it.
    pub(super) async fn prepare_work_dir(&self, control: &Control) -> Result<()> {
        let listing = self.git.run(["config", "--list", "-z"]).await?;
        let format = self.places.repository.format;
        let config = format!(
            "{}[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tsplitIndex = false\n\
             \tsparseCheckout = false\n[index]\n\tsparse = false\n\
             [extensions]\n\tobjectFormat = {}\n",
            flat(&listing),
            format.name()
        );
        let mut files = vec![
            ("config", config.into_bytes()),
            ("HEAD", b"ref: refs/heads/none\n".to_vec()),
            ("info/exclude", bytes_of(control, "info/exclude")),
            ("info/attributes", bytes_of(control, "info/attributes")),
        ];
        if control.is_sparse() {
            // Some rules for ignored files may be in the index alone.
            files.push(("info/sparse-checkout", Vec::new()));
        }
        let folder = self.places.vault.scratch("work");
        let shared = self.places.repository.common_dir.clone();
        blocking(move || {
            for name in ["refs/heads", "info", "objects"] {
                create_private_folder(&folder.join(name))?;
            }
            for (name, bytes) in files {
                write_whole(&folder.join(name), &bytes, 0o600)?;
            }
            // Git LFS keeps its objects in the git directory; they belong into the user's.
            let lfs = folder.join("lfs");
            if fs::symlink_metadata(&lfs).is_err() {
                std::os::unix::fs::symlink(shared.join("lfs"), &lfs).tried("create", &lfs)?;
            }
            Ok(())
        })
        .await
    }

    /// Reads a private index copied from the user's: which paths are tracked, which are clean.
    pub(super) async fn read_index(&self, index: &Path, listed: &[Listed]) -> Result<Known> {
        let git = self.work.patient().with_index(index);
        let mut known = Known::default();
        let mut files = Vec::new();
        for Listed { mode, id, path, .. } in listed {
            if mode == b"160000" {
                known.submodules.insert(path.clone());
            } else {
                known.tracked.insert(path.clone());
                if mode.starts_with(b"100") {
                    files.push((path.clone(), *id));
                }
            }
        }
        // A file system may keep time in whole seconds.
        known.clean_ns = now_ns() - RACY_NS;
        let unclean = self.unclean(&git, &known.tracked).await?;
        known.clean = files
            .into_iter()
            .filter(|(path, _)| !unclean.contains(path))
            .collect();
        Ok(known)
    }

    /// Tracked paths whose bytes in the work tree are not the bytes of their object.
    async fn unclean(&self, git: &Git, tracked: &BTreeSet<Vec<u8>>) -> Result<BTreeSet<Vec<u8>>> {
        let args = [
            "diff-files",
            "-z",
            "--name-only",
            "--ignore-submodules=all",
            "--no-ext-diff",
        ];
        // The one looks at the tree while the other reads configuration.
        let (modified, conversions) = tokio::join!(git.run(args), self.conversions());
        conversions?;
        // Git gives up on all files where it cannot look at one (a filter that is missing).
        let Ok(modified) = modified else {
            return Ok(tracked.clone());
        };
        let mut unclean: BTreeSet<Vec<u8>> = nul_separated(&modified).map(<[u8]>::to_vec).collect();
        unclean.extend(self.converted(git, tracked).await?);
        Ok(unclean)
    }

    /// Puts changed paths into a private index.
    pub(super) async fn update_index(&self, git: &Git, paths: &[Vec<u8>]) -> Result<Vec<Notice>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        match update(git, paths).await {
            Ok(()) => return Ok(Vec::new()),
            // No path is to blame, and trying them one by one would not help.
            Err(error) if is_disk_full(error.stderr()) => return Err(error.into()),
            Err(_) => {}
        }
        // Git does not look behind a link in the place of a folder: what was there is gone.
        let top = &self.places.repository.work_tree;
        let (gone, present): (Vec<_>, Vec<_>) = paths
            .iter()
            .cloned()
            .partition(|path| is_behind_link(top, path));
        forget(git, &gone).await?;
        self.update_one_by_one(git, &present).await
    }

    /// Some path cannot be stored (a filter that is missing, an encoding that does not fit): the
    /// others are stored, that one is named and stays in the vault.
    async fn update_one_by_one(&self, git: &Git, paths: &[Vec<u8>]) -> Result<Vec<Notice>> {
        let mut pending = vec![paths.to_vec()];
        let mut notices = Vec::new();
        let mut stored = 0;
        let mut last_error = None;
        while let Some(group) = pending.pop() {
            match update(git, &group).await {
                Ok(()) => stored += group.len(),
                Err(error) if group.len() == 1 => {
                    notices.push(Notice::new(
                        "not_committed",
                        format!(
                            "git cannot store `{}`, so it is only in the vault: {}",
                            show(&group[0]),
                            error.stderr()
                        ),
                    ));
                    last_error = Some(error);
                }
                Err(_) => {
                    let (left, right) = group.split_at(group.len() / 2);
                    pending.push(right.to_vec());
                    pending.push(left.to_vec());
                }
            }
        }
        match last_error {
            // Not one path could be stored: that is no odd file but a disk or a store in trouble.
            Some(error) if stored == 0 => Err(error.into()),
            _ => Ok(notices),
        }
    }

    /// Writes the tree of a private index.
    pub(super) async fn tree(&self, git: &Git) -> Result<ObjectId> {
        let tree = git.line(["write-tree", "--missing-ok"]).await?;
        ObjectId::parse(tree.as_bytes()).ok_or_else(|| {
            GitError::Unexpected {
                command: "write-tree".to_owned(),
                answer: tree,
            }
            .into()
        })
    }

    /// Writes a commit of a tree; objects go where `git` has them.
    pub(super) async fn commit(
        &self,
        git: &Git,
        (tree, parents): (ObjectId, &[ObjectId]),
        message: &str,
    ) -> Result<ObjectId> {
        let objects = git.objects();
        let plain = self
            .plain_commit(&objects, (tree, parents), message)
            .await?;
        if let Some(commit) = plain {
            return Ok(commit);
        }
        let mut args = vec!["commit-tree".to_owned(), tree.to_string()];
        for parent in parents {
            args.extend(["-p".to_owned(), parent.to_string()]);
        }
        let mut answer = git.run_with_input(&args, message.as_bytes()).await;
        if let Err(error) = &answer
            && lacks_identity(error.stderr())
        {
            let mut with_identity = Vec::new();
            for (key, value) in FALLBACK_IDENTITY {
                with_identity.extend(["-c".to_owned(), format!("{key}={value}")]);
            }
            with_identity.extend(args);
            answer = git.run_with_input(&with_identity, message.as_bytes()).await;
        }
        let answer = answer?;
        let Some(commit) = ObjectId::parse(answer.trim_ascii()) else {
            return Err(GitError::Unexpected {
                command: "commit-tree".to_owned(),
                answer: show(&answer),
            }
            .into());
        };
        self.learn_identity(&objects, &commit);
        // What git wrote is in the vault before anything leans on it.
        self.link_objects().await?;
        Ok(commit)
    }

    /// Clears flags that hide edits from git, in a private index.
    pub(super) async fn clear_flags(&self, index: &Path, listed: &[Listed]) -> Result<()> {
        let git = self.work.patient().with_index(index);
        let mut assumed = Vec::new();
        let mut skipped = Vec::new();
        for Listed { tag, path, .. } in listed {
            if tag.is_ascii_lowercase() {
                assumed.extend_from_slice(path);
                assumed.push(0);
            }
            // Files outside a sparse checkout are not on disk and must stay as they are.
            if tag.eq_ignore_ascii_case(&b's') && self.is_on_disk(path) {
                skipped.extend_from_slice(path);
                skipped.push(0);
            }
        }
        for (flag, paths) in [
            ("--no-assume-unchanged", assumed),
            ("--no-skip-worktree", skipped),
        ] {
            if !paths.is_empty() {
                git.run_with_input(["update-index", flag, "-z", "--stdin"], &paths)
                    .await?;
            }
        }
        Ok(())
    }
}

/// One entry of an index, as git lists it.
#[derive(Debug)]
pub(super) struct Listed {
    /// `S` where it is not meant to be in the tree, small where edits of it are not looked for.
    tag: u8,
    mode: Vec<u8>,
    id: ObjectId,
    path: Vec<u8>,
}

impl Checkpoints {
    /// Everything in an index.
    pub(super) async fn list_index(&self, index: &Path) -> Result<Vec<Listed>> {
        let git = self.work.patient().with_index(index);
        let listing = git.run(["ls-files", "-v", "--stage", "-z"]).await?;
        Ok(nul_separated(&listing).filter_map(listed).collect())
    }

    /// Tracked paths outside a sparse checkout.
    pub(super) fn skipped(&self, listed: &[Listed]) -> HashSet<Vec<u8>> {
        let skipped = listed
            .iter()
            .filter(|it| it.tag.eq_ignore_ascii_case(&b's'));
        skipped
            .filter(|it| !self.is_on_disk(&it.path))
            .map(|it| it.path.clone())
            .collect()
    }

    fn is_on_disk(&self, path: &[u8]) -> bool {
        let full = crate::edge::walk::absolute(&self.places.repository.work_tree, path);
        fs::symlink_metadata(full).is_ok()
    }

    /// Tracked paths that git converts on the way in or out: their object is not their bytes.
    async fn converted(&self, git: &Git, tracked: &BTreeSet<Vec<u8>>) -> Result<BTreeSet<Vec<u8>>> {
        let conversions = self.conversions().await?;
        if conversions.lines {
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
                |path: &&Vec<u8>| conversions.of(top, path, &mut seen) != Converted::Never;
            tracked
                .iter()
                .filter(|path| may_be(path))
                .cloned()
                .collect()
        };
        if asked.is_empty() {
            return Ok(BTreeSet::new());
        }
        converted_of(git, &asked).await
    }
}

fn bytes_of(control: &Control, path: &str) -> Vec<u8> {
    control.shared(path).unwrap_or_default().to_vec()
}

/// The paths of the changes that belong into a commit.
pub(super) fn visible_paths(
    changes: &Changes,
    before: &Manifest,
    after: &Manifest,
) -> Vec<Vec<u8>> {
    let is_visible = |manifest: &Manifest, path: &Vec<u8>| {
        manifest.entries.get(path).is_some_and(Entry::is_visible)
    };
    // A file that may not be read cannot be stored.
    let is_readable = |path: &Vec<u8>| {
        let entry = after.entries.get(path);
        entry.is_none_or(|entry| entry.content != Content::Unkept)
    };
    changes
        .paths()
        .filter(|path| is_visible(before, path) || is_visible(after, path))
        .filter(|path| is_readable(path))
        .cloned()
        .collect()
}

/// Modified paths that git would take for unchanged: it compares whole seconds.
fn unnoticeable(changes: &Changes, before: &Manifest, after: &Manifest) -> Vec<Vec<u8>> {
    const SECOND: i64 = 1_000_000_000;
    let same_to_git = |old: &Entry, new: &Entry| {
        old.stat.size == new.stat.size
            && old.stat.inode == new.stat.inode
            && old.stat.modified_ns / SECOND == new.stat.modified_ns / SECOND
            && old.stat.changed_ns / SECOND == new.stat.changed_ns / SECOND
    };
    changes
        .modified
        .iter()
        .filter(
            |path| match (before.entries.get(*path), after.entries.get(*path)) {
                (Some(old), Some(new)) => old.is_visible() && same_to_git(old, new),
                _ => false,
            },
        )
        .cloned()
        .collect()
}

/// Says which paths are ignored and not tracked.
pub(super) async fn check_ignore(git: &Git, paths: &[Vec<u8>]) -> Result<HashSet<Vec<u8>>> {
    let in_question = perhaps_ignored(git, paths).await?;
    if in_question.is_empty() {
        return Ok(HashSet::new());
    }
    ask_check_ignore(git, &in_question).await
}

/// The paths a rule may ignore: whether they are tracked is for git to say.
async fn perhaps_ignored(git: &Git, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    let mut paths = paths.to_vec();
    let (folder, top) = (
        git.directory().to_owned(),
        git.work_tree().map(Path::to_owned),
    );
    blocking(move || {
        let top = top.as_deref();
        if let Some(mut rules) = top.and_then(|top| IgnoreRules::read(top, &folder)) {
            paths.retain(|path| rules.ignores(path) != Some(false));
        }
        Ok(paths)
    })
    .await
}

async fn ask_check_ignore(git: &Git, paths: &[Vec<u8>]) -> Result<HashSet<Vec<u8>>> {
    let args = ["check-ignore", "-z", "--stdin"].map(OsString::from);
    let mut input = Vec::new();
    for path in paths {
        // A file may be called `:!x`, which git would take for more than a name.
        if path.starts_with(b":") {
            input.extend_from_slice(b"./");
        }
        input.extend_from_slice(path);
        input.push(0);
    }
    let output = git.output(&args, &input).await?;
    // 1 means that none is ignored.
    if !output.status.success() && output.status.code() != Some(1) {
        return Err(GitError::Failed {
            command: "check-ignore".to_owned(),
            status: output.status,
            stderr: output.stderr,
        }
        .into());
    }
    Ok(nul_separated(&output.stdout)
        .map(|path| path.strip_prefix(b"./").unwrap_or(path).to_vec())
        .collect())
}

/// True where a folder above the path is a symbolic link now.
fn is_behind_link(top: &Path, path: &[u8]) -> bool {
    let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
    slashes.into_iter().any(|at| {
        let folder = crate::edge::walk::absolute(top, &path[..at]);
        fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink())
    })
}

/// Paths the private index must forget before it is told of them: those git would take for
/// unchanged, and in a sparse checkout those it would take for not meant to be here.
pub(super) fn to_forget(base: &Snapshot, taken: &Taken) -> Vec<Vec<u8>> {
    let mut paths = unnoticeable(&taken.changes, &base.manifest, &taken.manifest);
    if base.control.is_sparse() {
        paths.extend(taken.changes.created.iter().cloned());
    }
    paths
}

/// Takes paths out of a private index, so that git must read them again.
pub(super) async fn forget(git: &Git, paths: &[Vec<u8>]) -> Result<()> {
    if !paths.is_empty() {
        git.run_with_input(
            ["update-index", "-z", "--force-remove", "--stdin"],
            &nul_joined(paths),
        )
        .await?;
    }
    Ok(())
}

async fn update(git: &Git, paths: &[Vec<u8>]) -> Result<(), GitError> {
    git.run_with_input(
        [
            "update-index",
            "-z",
            "--add",
            "--remove",
            "--replace",
            "--stdin",
        ],
        &nul_joined(paths),
    )
    .await
    .map(drop)
}

fn nul_joined(paths: &[Vec<u8>]) -> Vec<u8> {
    let mut joined = Vec::new();
    for path in paths {
        joined.extend_from_slice(path);
        joined.push(0);
    }
    joined
}

/// Those of the paths that have an attribute by which git converts files.
async fn converted_of(git: &Git, asked: &[Vec<u8>]) -> Result<BTreeSet<Vec<u8>>> {
    let answer = git
        .run_with_input(
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
        )
        .await?;
    let mut paths = BTreeSet::new();
    let mut fields = answer.split(|byte| *byte == 0);
    while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        if value != b"unspecified" && value != b"unset" {
            paths.insert(path.to_vec());
        }
    }
    Ok(paths)
}

fn is_disk_full(stderr: &str) -> bool {
    stderr.contains("No space left on device") || stderr.contains("Disk quota exceeded")
}

fn lacks_identity(stderr: &str) -> bool {
    stderr.contains("tell me who you are")
        || stderr.contains("empty ident")
        || stderr.contains("no email was given")
        || stderr.contains("no name was given")
        || stderr.contains("auto-detect email")
}

/// Splits `TAG MODE ID STAGE<TAB>PATH`; conflicts have other stages and are refused before.
fn listed(line: &[u8]) -> Option<Listed> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = (&line[..tab], &line[tab + 1..]);
    let mut words = head.split(|byte| *byte == b' ');
    Some(Listed {
        tag: *words.next()?.first()?,
        mode: words.next()?.to_vec(),
        id: ObjectId::parse(words.next()?)?,
        path: path.to_vec(),
    })
}
