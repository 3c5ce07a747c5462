//! The user's repository: where it is, what HEAD and the refs say.
//!
//! Found once, at the start, with a scrubbed environment; from then on every git call is given
//! absolute paths, so nothing an agent does to `.git` can send us to another repository.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::access::{Direct, Reason};
use super::object_id::{ObjectFormat, ObjectId};
use crate::git::process::{Git, GitError, harden};
use crate::paths::is_pipe;
use ralph_base::files::read_line_file;

/// Where the repository is.
#[derive(Debug, Clone)]
pub struct Repository {
    /// Top of the work tree.
    pub work_tree: PathBuf,
    /// Git directory of this work tree.
    pub git_dir: PathBuf,
    /// Git directory shared by all work trees.
    pub common_dir: PathBuf,
    /// How objects are named.
    pub format: ObjectFormat,
}

/// Why there is no usable repository here.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// Not inside a repository.
    #[error("`{0}` is not inside a git repository")]
    NotARepository(PathBuf),
    /// A bare repository.
    #[error("`{0}` is a bare repository: there is no work tree for an agent to work in")]
    Bare(PathBuf),
    /// Inside a git directory.
    #[error("`{0}` is inside a git directory, not in a work tree")]
    InsideGitDir(PathBuf),
    /// Git refuses to look at it.
    #[error("git refuses to work in `{path}`: {stderr}")]
    Refused {
        /// Where.
        path: PathBuf,
        /// What git said.
        stderr: String,
    },
    /// Git would wait for a named pipe without end.
    #[error("`{0}` is a named pipe, where git expects a file")]
    Pipe(PathBuf),
    /// Git did not work.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Where HEAD points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Head {
    /// On a branch.
    Branch {
        /// Full ref name.
        name: String,
        /// Its commit; none for an unborn branch.
        commit: Option<ObjectId>,
    },
    /// On a commit.
    Detached {
        /// The commit.
        commit: ObjectId,
    },
}

impl Head {
    /// The commit HEAD stands for.
    pub fn commit(&self) -> Option<ObjectId> {
        match self {
            Self::Branch { commit, .. } => *commit,
            Self::Detached { commit } => Some(*commit),
        }
    }

    /// As records say it: the branch's short name, or the whole commit id.
    pub fn recorded(&self) -> String {
        match self {
            Self::Branch { .. } => self.shown(),
            Self::Detached { commit } => commit.to_string(),
        }
    }

    /// As people say it: the branch's short name, or the start of the commit id.
    pub fn shown(&self) -> String {
        match self {
            Self::Branch { name, .. } => {
                name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
            }
            Self::Detached { commit } => commit.short(),
        }
    }
}

/// All refs of the repository.
pub type Refs = BTreeMap<String, ObjectId>;

impl Repository {
    /// The path of a file from the top of the work tree, if it is in it; it need not exist.
    pub fn path_in_tree(&self, path: &Path) -> Option<String> {
        let top = &self.work_tree;
        let found = path.strip_prefix(top).map(Path::to_owned).ok();
        let found = found.or_else(|| {
            let folder = path
                .ancestors()
                .find_map(|it| Some((it, it.canonicalize().ok()?)));
            let (folder, real) = folder?;
            let whole = real.join(path.strip_prefix(folder).ok()?);
            whole.strip_prefix(top).map(Path::to_owned).ok()
        })?;
        Some(found.to_string_lossy().into_owned())
    }

    /// Finds the repository that holds `directory`.
    pub fn discover(directory: &Path) -> Result<Self, RepositoryError> {
        if let Some(pipe) = find_pipe(directory) {
            return Err(RepositoryError::Pipe(pipe));
        }
        let questions = [
            "--is-bare-repository",
            "--is-inside-work-tree",
            "--show-object-format",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        let output = ask(directory, &questions)?;
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let mut lines = output.stdout.split(|byte| *byte == b'\n');
        let mut next = || lines.next().unwrap_or_default().to_vec();
        let (bare, inside) = (next(), next());
        if bare == b"true" {
            return Err(RepositoryError::Bare(directory.to_owned()));
        }
        if inside == b"false" {
            return Err(RepositoryError::InsideGitDir(directory.to_owned()));
        }
        if !output.status.success() {
            return Err(if stderr.contains("not a git repository") {
                RepositoryError::NotARepository(directory.to_owned())
            } else {
                RepositoryError::Refused {
                    path: directory.to_owned(),
                    stderr,
                }
            });
        }
        let format = match next().as_slice() {
            b"sha256" => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        };
        let mut paths = [next(), next(), next()];
        if lines.next() != Some(b"") {
            // A path with a new line in it: one question at a time tells where it ends.
            for (path, question) in paths.iter_mut().zip(&questions[3..]) {
                let answer = ask(directory, &[question])?.stdout;
                *path = answer.strip_suffix(b"\n").unwrap_or(&answer).to_vec();
            }
        }
        let [git_dir, common_dir, work_tree] = paths.map(|bytes| path(&bytes));
        let common_dir = std::fs::canonicalize(directory.join(&common_dir)).unwrap_or(common_dir);
        Ok(Self {
            work_tree,
            git_dir,
            common_dir,
            format,
        })
    }

    /// Where the parts of a repository are that git may not be able to use.
    pub fn layout(work_tree: &Path) -> Self {
        let place = work_tree.join(".git");
        let pointer = read_line_file(&place).unwrap_or_default();
        let git_dir = match pointer.strip_prefix(b"gitdir: ") {
            Some(to) => {
                let to = work_tree.join(path(to.trim_ascii_end()));
                to.canonicalize().unwrap_or(to)
            }
            None => place,
        };
        let common_dir = git_dir
            .parent()
            .filter(|folder| folder.ends_with("worktrees"))
            .and_then(Path::parent);
        Self {
            work_tree: work_tree.to_owned(),
            common_dir: common_dir.unwrap_or(&git_dir).to_owned(),
            git_dir,
            format: ObjectFormat::Sha1,
        }
    }

    /// Git on this repository.
    pub fn git(&self, timeout: Duration) -> Git {
        Git::on_work_tree(&self.git_dir, &self.work_tree, timeout)
    }

    /// Where objects are.
    pub fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    /// True where refs are in tables, which git alone reads and writes.
    pub fn has_reftable(&self) -> bool {
        let is_there = |folder: &Path| std::fs::symlink_metadata(folder.join("reftable")).is_ok();
        is_there(&self.git_dir) || is_there(&self.common_dir)
    }

    /// The user's index.
    pub fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// All refs but HEAD.
    pub fn refs(&self, git: &Git) -> Result<Refs, GitError> {
        let listing = git.run(["for-each-ref", "--format=%(objectname) %(refname)"])?;
        let mut refs = Refs::new();
        for line in listing.split(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            let Some((id, name)) = text.split_once(' ') else {
                continue;
            };
            if let Some(id) = ObjectId::parse(id.as_bytes()) {
                refs.insert(name.to_owned(), id);
            }
        }
        Ok(refs)
    }

    /// Where HEAD points by its file, given the refs just read.
    pub(crate) fn read_head(&self, refs: &Refs) -> Direct<Head> {
        let file = read_line_file(&self.git_dir.join("HEAD")).unwrap_or_default();
        let text = String::from_utf8_lossy(&file).trim().to_owned();
        if let Some(name) = text.strip_prefix("ref: ")
            && name != "refs/heads/.invalid"
        {
            return Ok(branch_head(name, refs));
        }
        let commit = ObjectId::parse(text.as_bytes());
        let commit = commit.ok_or_else(|| Reason::OddRef("HEAD".to_owned()))?;
        Ok(Head::Detached { commit })
    }

    /// Whether HEAD is a file that git can read: an attempt that was killed may have left something
    /// that git would wait for.
    pub fn has_head(&self) -> bool {
        self.git_dir.join("HEAD").is_file()
    }

    /// Where HEAD points by git.
    pub fn ask_head(git: &Git, refs: &Refs) -> Result<Head, GitError> {
        let args = ["symbolic-ref", "-q", "HEAD"].map(std::ffi::OsString::from);
        let output = git.output(&args, &[])?;
        if output.status.success() {
            let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            return Ok(branch_head(&name, refs));
        }
        let commit = git.id(["rev-parse", "--verify", "HEAD"])?;
        Ok(Head::Detached { commit })
    }
}

/// Asks git where it finds what.
fn ask(directory: &Path, questions: &[&str]) -> Result<std::process::Output, GitError> {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .arg("rev-parse")
        .args(questions);
    harden(&mut command);
    command.stdin(std::process::Stdio::null());
    command.output().map_err(GitError::Spawn)
}

/// A named pipe in place of a file that git reads to find the repository of a folder.
fn find_pipe(directory: &Path) -> Option<PathBuf> {
    let directory = directory.canonicalize().ok()?;
    let has_git = |folder: &&Path| std::fs::symlink_metadata(folder.join(".git")).is_ok();
    let work_tree = directory.ancestors().find(has_git)?;
    let Repository {
        git_dir,
        common_dir,
        ..
    } = Repository::layout(work_tree);
    let names = ["HEAD", "config", "config.worktree", "commondir"];
    let inside = [git_dir, common_dir].map(|folder| names.map(|name| folder.join(name)));
    std::iter::once(work_tree.join(".git"))
        .chain(inside.into_iter().flatten())
        .find(|path| is_pipe(path))
}

fn branch_head(name: &str, refs: &Refs) -> Head {
    Head::Branch {
        name: name.to_owned(),
        commit: refs.get(name).copied(),
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// A branch's name without `refs/heads/`.
pub(crate) fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}
