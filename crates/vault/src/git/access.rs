//! What is done with the repository's files directly, and why git is asked instead.
//!
//! An effect (list refs, write a tree, move a branch) is tried directly first. It ends in a value, in
//! a failure of the file system, or in the reason why only git can do it: then nothing has changed
//! that matters, and git does all of it.

use ralph_base::files::FileError;

use super::object_id::ObjectId;

/// The outcome of an effect that was tried without a git process.
pub(crate) type Direct<T> = Result<T, NotDirect>;

/// Why an effect was not carried out.
#[derive(Debug)]
pub(crate) enum NotDirect {
    /// Git can do it.
    AskGit(Reason),
    /// The file system refused, and git could not do it either.
    Failed(FileError),
}

/// Why git is asked. An ordinary repository gives no reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Reason {
    #[error("refs are in tables, not in files")]
    RefTable,
    #[error("the configuration has changed, includes others, or names a ref storage")]
    Config,
    #[error("`{0}` is not a ref as git writes it")]
    OddRef(String),
    #[error("`{0}` is locked, has moved, or is in the way")]
    BusyRef(String),
    #[error("`{0}` has no log")]
    NoLog(String),
    #[error("{0} is not a loose object")]
    NotLoose(ObjectId),
    #[error("the setting `{0}` has an unusual value")]
    Setting(&'static str),
    #[error("no name and email are configured")]
    NoIdentity,
    #[error("it is a sparse checkout")]
    Sparse,
    #[error("submodules change")]
    Submodules,
    #[error("files leave the index and stay in the tree")]
    Unstaged,
    #[error("the index is split or sparse, has conflicts, or lacks its trees")]
    OddIndex,
    #[error("git may refuse the name `{0}`")]
    OddName(String),
    #[error("git may convert `{0}` when it stores it")]
    Converted(String),
    #[error("`{0}` is not a plain file")]
    NotAFile(String),
    #[error("the ignore rules in `{0}` are written strangely, or cannot be read")]
    OddRules(String),
    #[error("`{0}` is a link, or another repository")]
    Elsewhere(String),
    #[error("git is quicker for {0} objects")]
    Many(usize),
    #[error("git prunes objects that were just written")]
    Pruned,
}

impl From<Reason> for NotDirect {
    fn from(reason: Reason) -> Self {
        Self::AskGit(reason)
    }
}

impl From<FileError> for NotDirect {
    fn from(error: FileError) -> Self {
        Self::Failed(error)
    }
}
