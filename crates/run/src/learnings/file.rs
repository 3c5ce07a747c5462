//! The notes agents keep for a change, in the vault: read, edited, moved to the trash.
//!
//! An agent writes them, so they may be of any size and need not even be a file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::learnings;
use ralph_base::files::{FileError, Tried as _, absent, create_private_folder, move_away};
use ralph_base::size::SizeLimit;
use ralph_vault::store::VaultFolder;

/// No more goes into a prompt, whatever the settings say.
const MOST: u64 = 1_000_000;

/// The folder with the notes of all changes.
fn folder(vault: &Path) -> PathBuf {
    vault.join("learnings")
}

/// The notes of a change.
pub fn path(vault: &Path, change: &str) -> PathBuf {
    // A change may be called by a path; its notes are still one file.
    folder(vault).join(format!("{}.md", change.replace('/', "-")))
}

/// The changes there are notes of, by the names of their files.
pub fn changes(vault: &Path) -> Vec<String> {
    let listing = fs::read_dir(folder(vault)).into_iter().flatten();
    let mut names: Vec<String> = listing
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()))
        .collect();
    names.sort();
    names
}

/// The newest notes within a limit, as they go into a prompt; none where there are none.
pub fn newest(path: &Path, limit: SizeLimit) -> Result<Option<String>, FileError> {
    let Some((mut file, length)) = open(path)? else {
        return Ok(None);
    };
    let most = limit.0.unwrap_or(MOST).min(MOST);
    // One byte more tells whether the first line that fits is a whole one.
    let from = length.saturating_sub(most + 1);
    file.seek(SeekFrom::Start(from)).tried("read", path)?;
    let mut tail = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut tail)
        .tried("read", path)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Ok(learnings::newest(&tail, most))
}

/// The file and its length; none if it is not a file.
pub fn open(path: &Path) -> Result<Option<(File, u64)>, FileError> {
    // An agent could let a link lead anywhere, and what is there into a prompt.
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if absent(&error) => return Ok(None),
        metadata => metadata.tried("look at", path)?,
    };
    // Opening a pipe would block until something writes to it.
    if !metadata.is_file() {
        return Ok(None);
    }
    let file = File::open(path).tried("open", path)?;
    Ok(Some((file, metadata.len())))
}

/// Lets the user edit the notes in place.
pub fn edit(path: &Path, editor: &OsStr) -> Result<ExitStatus, FileError> {
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    // An editor may be given with arguments, as a shell would take them.
    let mut line = editor.to_owned();
    line.push(" \"$@\"");
    Command::new("sh")
        .arg("-c")
        .arg(line)
        .arg("sh")
        .arg(path)
        .status()
        .tried("edit", path)
}

/// Moves the notes into the vault's trash; returns their new place, or none if there were none.
pub fn clear(vault: &Path, path: &Path) -> Result<Option<PathBuf>, FileError> {
    let Some(name) = path.file_name() else {
        return Ok(None);
    };
    match fs::symlink_metadata(path) {
        Err(error) if absent(&error) => return Ok(None),
        metadata => metadata.tried("look at", path)?,
    };
    let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f");
    let trash = VaultFolder::unlocked(vault).trash(&format!("{stamp}-learnings"));
    create_private_folder(&trash)?;
    let place = trash.join(name);
    move_away(path, &place)?;
    Ok(Some(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn notes_of_any_size_are_read_from_their_end() {
        let vault = tempfile::tempdir().unwrap();
        let path = path(vault.path(), "specs/001");
        assert_eq!(path, vault.path().join("learnings/specs-001.md"));
        let limit = SizeLimit::bytes(20);
        assert_eq!(newest(&path, limit).unwrap(), None);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Of a hole of a terabyte nothing but the end is read.
        let mut file = File::create(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        std::io::Write::write_all(&mut file, b"\nolder line\nthe newest line\n").unwrap();
        let text = newest(&path, limit).unwrap().unwrap();
        assert!(text.ends_with(")\n\nthe newest line"), "{text}");
        let all = newest(&path, SizeLimit::OFF).unwrap().unwrap();
        assert!(all.len() < 2_000_000);
        assert_eq!(changes(vault.path()), ["specs-001"]);
    }

    #[test]
    fn what_fits_exactly_is_whole() {
        let vault = tempfile::tempdir().unwrap();
        let path = vault.path().join("c.md");
        fs::write(&path, "one\ntwo\n").unwrap();
        let text = |bytes| newest(&path, SizeLimit::bytes(bytes)).unwrap().unwrap();
        assert_eq!(text(8), "one\ntwo");
        assert!(text(7).ends_with(")\n\ntwo"), "{}", text(7));
        // Nothing but the line's end is missing of the first one that fits.
        assert!(text(4).ends_with(")\n\ntwo"), "{}", text(4));
    }

    #[test]
    fn what_is_no_file_has_no_notes() {
        let vault = tempfile::tempdir().unwrap();
        let path = vault.path().join("c.md");
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(newest(&path, SizeLimit::OFF).unwrap(), None);
        let moved = clear(vault.path(), &path).unwrap().unwrap();
        assert!(fs::symlink_metadata(moved).is_ok());
        fs::write(vault.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink("secret", &path).unwrap();
        assert_eq!(newest(&path, SizeLimit::OFF).unwrap(), None);
        clear(vault.path(), &path).unwrap();
        assert_eq!(clear(vault.path(), &path).unwrap(), None);
    }
}
