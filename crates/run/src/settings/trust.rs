//! What a repository's own settings file asks for, and what of it the user has allowed.
//!
//! An allowance is for one file with one content: it is a small private file in the state directory,
//! named by a hash of both. A changed file has no allowance; a file that is changed back has its old
//! one again.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::Digest;

use ralph_base::files::{
    FileError, Tried, absent, create_private_folder, read_if_present, write_whole,
};

/// One thing that a settings file asks for: to run a command, to set a variable, to name a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The line of the key, from 1.
    pub line: usize,
    /// What the key does, such as "a gate runs".
    pub does: String,
    /// The command, the variable or the folder, as written in the file; not cleaned for a terminal.
    pub what: String,
}

/// What the user is asked before a file's claims count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustQuestion {
    /// The file, as the user knows it.
    pub file: String,
    /// What it asks for.
    pub claims: Vec<Claim>,
    /// Names this file with this very content.
    pub token: String,
}

/// The folder of all allowances, in ralphtool's own folder of the state directory.
const FOLDER: &str = "trusted";

/// The allowance of one file with one content, whether it was given or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    file: PathBuf,
    token: String,
}

impl Allowance {
    /// The one for this file with this content.
    pub fn of(file: &Path, content: &[u8]) -> Self {
        let file = place(file);
        let mut hash = sha2::Sha256::new();
        hash.update(file.as_os_str().as_bytes());
        hash.update([0]);
        hash.update(content);
        let mut token = String::new();
        for byte in hash.finalize() {
            let _ = write!(token, "{byte:02x}");
        }
        Self { file, token }
    }

    /// Names the file with its content.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether the user has given it.
    pub fn is_given(&self, state: &Path) -> Result<bool, FileError> {
        let found = read_if_present(&self.path(state))?;
        Ok(found.is_some_and(|bytes| bytes == self.file.as_os_str().as_bytes()))
    }

    /// Gives it.
    pub fn give(&self, state: &Path) -> Result<(), FileError> {
        create_private_folder(&folder(state))?;
        write_whole(&self.path(state), self.file.as_os_str().as_bytes(), 0o600)
    }

    fn path(&self, state: &Path) -> PathBuf {
        folder(state).join(&self.token)
    }
}

/// Revokes every allowance of a file, for any content it had; returns how many there were.
pub fn revoke(state: &Path, file: &Path) -> Result<usize, FileError> {
    let file = place(file);
    let folder = folder(state);
    let listing = match std::fs::read_dir(&folder) {
        Ok(listing) => listing,
        Err(error) if absent(&error) => return Ok(0),
        Err(error) => return Err(FileError::new("list", &folder, error)),
    };
    let mut count = 0;
    for entry in listing {
        let path = entry.tried("list", &folder)?.path();
        let found = read_if_present(&path)?;
        if found.is_some_and(|bytes| bytes == file.as_os_str().as_bytes()) {
            std::fs::remove_file(&path).tried("remove", &path)?;
            count += 1;
        }
    }
    Ok(count)
}

fn folder(state: &Path) -> PathBuf {
    state.join("ralphtool").join(FOLDER)
}

/// Where a file is: its folder without links, but its own name even where it is a link. A link in
/// one repository to the allowed file of another one is not allowed by that.
fn place(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    match file.file_name() {
        Some(name) => whole.join(name),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_allowance_holds_for_one_file_with_one_content() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["a", "b", "state"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("a/f"), root.join("b/f")).unwrap();
        let state = root.join("state");
        let given = |file: &str, content: &[u8]| {
            let allowance = Allowance::of(&root.join(file), content);
            allowance.is_given(&state).unwrap()
        };
        assert!(!given("a/f", b"x"));
        Allowance::of(&root.join("a/f"), b"x").give(&state).unwrap();
        assert!(given("a/f", b"x"));
        // Another way to the same file, another content, a link to it from elsewhere.
        assert!(given("link/f", b"x"));
        assert!(!given("a/f", b"y"));
        assert!(!given("b/f", b"x"));
        let folder = state.join("ralphtool/trusted");
        let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file.path())), (0o700, 0o600));
        Allowance::of(&root.join("a/f"), b"y").give(&state).unwrap();
        Allowance::of(&root.join("b/f"), b"y").give(&state).unwrap();
        assert_eq!(revoke(&state, &root.join("link/f")).unwrap(), 2);
        assert_eq!(revoke(&state, &root.join("a/f")).unwrap(), 0);
        assert!(!given("a/f", b"x"));
        assert!(given("b/f", b"y"));
    }
}
