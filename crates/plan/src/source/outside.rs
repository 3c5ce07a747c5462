//! Task files outside the work tree, where no checkpoint reaches: saved before an attempt, and
//! restored when the attempt is undone, possibly by another process.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::change::Change;
use crate::error::SourceError;
use crate::files::{self, unwritable};
use ralph_base::random_name::random_name;

/// Saves the files to a folder.
pub fn keep_outside(before: &Change, work_tree: &Path, folder: &Path) -> Result<(), SourceError> {
    let is_outside = |path: &Path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        !real.starts_with(work_tree)
    };
    let outside = before
        .task_files
        .iter()
        .filter(|file| is_outside(&file.path));
    for (number, file) in outside.enumerate() {
        keep_one(
            folder,
            number,
            file.path.as_os_str().as_bytes(),
            &file.bytes,
        )?;
    }
    Ok(())
}

/// Saves the files that are saved in another folder again: to `before` as they are now, to `after` as
/// they are saved there. Does nothing where none are.
pub fn keep_outside_again(kept: &Path, before: &Path, after: &Path) -> Result<(), SourceError> {
    let mut present = 0;
    for number in 0.. {
        let Some(name) = files::read_if_there(&kept.join(format!("{number}.path")))? else {
            break;
        };
        let bytes = files::read(&kept.join(format!("{number}.bytes")))?;
        keep_one(after, number, &name, &bytes)?;
        if let Some(now) = files::read_if_there(&PathBuf::from(OsString::from_vec(name.clone())))? {
            keep_one(before, present, &name, &now)?;
            present += 1;
        }
    }
    Ok(())
}

fn keep_one(folder: &Path, number: usize, name: &[u8], bytes: &[u8]) -> Result<(), SourceError> {
    fs::create_dir_all(folder).map_err(unwritable(folder))?;
    for (what, bytes) in [("bytes", bytes), ("path", name)] {
        let path = folder.join(format!("{number}.{what}"));
        // The attempt may begin at once: after a power cut these are the only good bytes.
        File::create(&path)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .map_err(unwritable(&path))?;
    }
    Ok(())
}

/// Restores the files that are saved in a folder; what they replace is saved there, too.
pub fn restore_outside(folder: &Path) -> Result<(), SourceError> {
    for number in 0.. {
        let kept = |what: &str| folder.join(format!("{number}.{what}"));
        let Some(name) = files::read_if_there(&kept("path"))? else {
            break;
        };
        let path = PathBuf::from(OsString::from_vec(name));
        let bytes = files::read(&kept("bytes"))?;
        let now = files::read_if_there(&path)?;
        if now.as_ref() == Some(&bytes) {
            continue;
        }
        if let Some(now) = now {
            let aside = kept(&format!("displaced-{}", random_name(4)));
            fs::write(&aside, now).map_err(unwritable(&aside))?;
        }
        files::replace(&path, &bytes)?;
    }
    Ok(())
}
