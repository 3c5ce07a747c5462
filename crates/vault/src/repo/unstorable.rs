//! Files that git cannot store: a filter that fails, or content that has not the encoding it should
//! have.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use crate::error::{CheckpointError, Notice};
use crate::git::process::{Git, GitError, nul_separated};
use crate::paths::{absolute, list_paths, show};
use ralph_base::shell::quoted;

/// A file that git could not store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unstorable {
    pub path: Vec<u8>,
    cause: Cause,
    /// The first thing git said.
    said: String,
}

/// What keeps git from storing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    /// The filter of this name failed.
    Filter(String),
    /// The content has not the encoding that its attributes name.
    Encoding,
    Other,
}

impl Unstorable {
    /// A file and the error of git when it was to store it.
    pub(crate) fn new(git: &Git, path: &[u8], error: &GitError) -> Self {
        let cause = if error.is_about_encoding() {
            Cause::Encoding
        } else if error.is_about_filter() {
            filter_of(git, path).map_or(Cause::Other, Cause::Filter)
        } else {
            Cause::Other
        };
        let first = error.stderr().lines().next().unwrap_or_default();
        let said = ["error: ", "fatal: "]
            .iter()
            .find_map(|start| first.strip_prefix(start));
        Self {
            path: path.to_vec(),
            cause,
            said: said.unwrap_or(first).to_owned(),
        }
    }

    /// Why git cannot store it.
    pub(crate) fn why(&self) -> String {
        match &self.cause {
            Cause::Filter(name) => format!("its filter `{name}` failed: {}", self.said),
            Cause::Encoding | Cause::Other => self.said.clone(),
        }
    }

    /// A file that is in no commit, and stays so.
    pub(crate) fn notice(&self) -> Notice {
        Notice::new(
            "not_committed",
            format!(
                "git cannot store `{}`, so it is only in the vault: {}",
                show(&self.path),
                self.why()
            ),
        )
    }

    /// A file that did not change, and stays in commits as it is.
    pub(crate) fn unchanged_notice(&self) -> Notice {
        Notice::new(
            "not_committed",
            format!(
                "git cannot store `{}`: {}; it is unchanged, so commits keep the version they have",
                show(&self.path),
                self.why()
            ),
        )
    }

    /// What to do about the cause, to begin a sentence with.
    fn fix(&self) -> String {
        match &self.cause {
            Cause::Filter(name) if name == "lfs" => {
                "install Git LFS, so that `git lfs` works".to_owned()
            }
            Cause::Filter(name) => {
                format!("repair the program of `filter.{name}` in the git configuration")
            }
            Cause::Encoding => "save the file in the encoding its attributes name".to_owned(),
            Cause::Other => "fix what git complains about".to_owned(),
        }
    }
}

/// What to do about files that git cannot store, and then.
fn hint(first: &Unstorable, then: &str) -> String {
    let file = OsString::from_vec(first.path.clone());
    let file = quoted(Path::new(&file));
    let discard = match &first.cause {
        // The filter that git runs when it writes the file may be missing as well.
        Cause::Filter(name) => format!("git -c filter.{name}.required=false restore {file}"),
        Cause::Encoding | Cause::Other => format!("git restore {file}"),
    };
    format!(
        "{}, or discard the change with `{discard}`; {then}",
        first.fix()
    )
}

fn message(files: &[Unstorable], first: &Unstorable) -> String {
    let named = list_paths(files.iter().map(|it| &it.path)).unwrap_or_default();
    let whose = if files.len() > 1 {
        format!(" (`{}`)", show(&first.path))
    } else {
        String::new()
    };
    format!("git cannot store {named}: {}{whose}", first.why())
}

/// The refusal to begin with edits that no commit would have; none without any.
pub(crate) fn refuse_to_begin(files: &[Unstorable]) -> Result<(), CheckpointError> {
    let Some(first) = files.first() else {
        return Ok(());
    };
    Err(CheckpointError::refused(
        format!(
            "there are changes that cannot be committed: {}",
            message(files, first)
        ),
        hint(first, "then start again"),
    ))
}

/// The failure of a checkpoint that would lack changed files; none without any.
pub(crate) fn refuse_to_commit(files: &[Unstorable]) -> Result<(), CheckpointError> {
    let Some(first) = files.first() else {
        return Ok(());
    };
    let frozen = match first.cause {
        Cause::Filter(_) => {
            " (a run keeps the git settings it began with: new ones count after `ralphtool finish`)"
        }
        Cause::Encoding | Cause::Other => "",
    };
    Err(CheckpointError::Unstorable {
        message: message(files, first),
        hint: hint(first, &format!("then run `ralphtool resume`{frozen}")),
    })
}

/// True where the index of this git has the path.
pub(crate) fn is_tracked(git: &Git, path: &[u8]) -> bool {
    let name = [b":0:", path].concat();
    git.run([OsString::from("rev-parse"), OsString::from_vec(name)])
        .is_ok()
}

/// True where a file has the content of the blob the index names, as it is or as git would write it
/// to disk. Git itself cannot say so while the filter fails.
pub(crate) fn is_unchanged(git: &Git, top: &Path, path: &[u8]) -> bool {
    let full = absolute(top, path);
    let Ok(present) = fs::read(&full) else {
        return false;
    };
    let name = OsString::from_vec([b":0:", path].concat());
    ["blob", "--filters"].iter().any(|form| {
        let args = [
            OsString::from("cat-file"),
            OsString::from(form),
            name.clone(),
        ];
        let stored = git.run_up_to(args, present.len());
        stored.is_ok_and(|(bytes, is_cut)| !is_cut && bytes == present)
    })
}

/// The filter that the attributes of a path name.
fn filter_of(git: &Git, path: &[u8]) -> Option<String> {
    let args = ["check-attr", "-z", "filter", "--"].map(OsString::from);
    let path = OsString::from_vec(path.to_vec());
    let answer = git.run(args.into_iter().chain([path])).ok()?;
    let value = show(nul_separated(&answer).nth(2)?);
    (!["unspecified", "unset", "set"].contains(&value.as_str())).then_some(value)
}
