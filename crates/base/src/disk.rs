//! How much room things take up on disk, and making room: whole folders, locked ones too.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::files::{FileError, Tried, absent, make_writable};

/// The room a file or a whole folder takes up by itself: a file with another name elsewhere, such
/// as an object that is hard-linked, takes up none.
pub fn measure(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !metadata.is_dir() {
        let is_shared = metadata.nlink() > 1;
        return if is_shared {
            0
        } else {
            metadata.blocks() * 512
        };
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| measure(&entry.path())).sum()
}

/// Room that is left where a path is, or would be.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let present = path.ancestors().find(|it| it.exists())?;
    let free = rustix::fs::statvfs(present).ok()?;
    Some(free.f_bavail.saturating_mul(free.f_frsize))
}

/// Tries in a folder what a vault needs of its file system: files that are written, locked and renamed.
/// Leaves nothing behind.
pub fn try_place(folder: &Path) -> io::Result<()> {
    let trial = tempfile::Builder::new()
        .prefix(".ralphtool-")
        .tempdir_in(folder)?;
    let (first, second) = (trial.path().join("first"), trial.path().join("second"));
    fs::write(&first, "bytes")?;
    File::open(&first)?.try_lock()?;
    fs::rename(&first, second)?;
    trial.close()
}

/// Removes a file or a whole folder; what is gone already is no error.
pub fn remove_tree(path: &Path) -> Result<(), FileError> {
    match remove_by_path(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => remove_deep(path),
        other => other,
    }
}

fn remove_by_path(path: &Path) -> Result<(), FileError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if absent(&error) => return Ok(()),
        Err(error) => return Err(FileError::new("look at", path, error)),
    };
    let removed = if metadata.is_dir() {
        make_writable(path);
        for entry in fs::read_dir(path).tried("list", path)? {
            remove_by_path(&entry.tried("list", path)?.path())?;
        }
        fs::remove_dir(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if !absent(&error) => Err(FileError::new("remove", path, error)),
        _ => Ok(()),
    }
}

/// Removes a folder in which something is nested too deep to be named: every folder in it is moved to
/// its top first, and has a short path there.
fn remove_deep(top: &Path) -> Result<(), FileError> {
    let mut folders = vec![top.to_owned()];
    let mut emptied = Vec::new();
    let mut number = 0_u64;
    while let Some(folder) = folders.pop() {
        make_writable(&folder);
        for entry in fs::read_dir(&folder).tried("list", &folder)? {
            let entry = entry.tried("list", &folder)?;
            let path = entry.path();
            if !entry.file_type().tried("look at", &path)?.is_dir() {
                fs::remove_file(&path).tried("remove", &path)?;
            } else if folder == top {
                folders.push(path);
            } else {
                // A folder may not be moved where its owner may not write in it.
                make_writable(&path);
                let raised = loop {
                    number += 1;
                    let name = top.join(format!(".raised-{number}"));
                    if fs::symlink_metadata(&name).is_err() {
                        break name;
                    }
                };
                fs::rename(&path, &raised).tried("move", &path)?;
                folders.push(raised);
            }
        }
        emptied.push(folder);
    }
    for folder in emptied.iter().rev() {
        fs::remove_dir(folder).tried("remove", folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_locked_folder_goes_and_what_links_name_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (gone, stays) = (folder.path().join("gone"), folder.path().join("stays"));
        fs::create_dir_all(gone.join("locked/inner")).unwrap();
        fs::write(gone.join("locked/inner/file"), "bytes").unwrap();
        fs::create_dir(&stays).unwrap();
        fs::write(stays.join("file"), "bytes").unwrap();
        std::os::unix::fs::symlink(&stays, gone.join("link")).unwrap();
        for path in ["locked/inner", "locked"] {
            fs::set_permissions(gone.join(path), fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove_tree(&gone).unwrap();
        remove_tree(&gone).unwrap();
        assert!(!gone.exists() && stays.join("file").exists());
    }

    #[test]
    fn a_folder_with_what_is_nested_too_deep_goes() {
        let folder = tempfile::tempdir().unwrap();
        crate::files::tests::make_deep(folder.path());
        remove_tree(&folder.path().join("deep")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_linked_elsewhere_takes_up_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one/file");
        fs::create_dir_all(folder.path().join("one")).unwrap();
        fs::write(&file, vec![7; 100_000]).unwrap();
        let alone = measure(&folder.path().join("one"));
        assert!(alone >= 100_000, "{alone}");
        fs::hard_link(&file, folder.path().join("other")).unwrap();
        assert_eq!(measure(&folder.path().join("one")), 0);
        assert_eq!(measure(&folder.path().join("none")), 0);
    }
}
