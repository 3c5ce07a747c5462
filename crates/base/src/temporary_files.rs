//! Temporary files that a process left when it died. Each may be half a file; its name has the number
//! of the process.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use crate::files::{FileError, move_away};
use crate::os;
use crate::temporary_name::writer_of;

/// True for the path of a file that was being written, and may be half of one.
pub fn is_temporary(path: &[u8]) -> bool {
    writer_of(path).is_some()
}

/// Moves unfinished files out of a folder that a process was writing when it died. To be called with
/// the repository locked: no other process of this program writes there then.
pub fn clear_halves(folder: &Path, trash: &Path) -> Result<(), FileError> {
    let Ok(listing) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in listing.filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(writer) = writer_of(name.as_bytes()) else {
            continue;
        };
        // In a container a dead process often had the number of this one.
        let is_ours = Ok(writer) == i32::try_from(std::process::id())
            && entry.metadata().is_ok_and(|it| is_young(&it));
        if !is_ours {
            move_away(&entry.path(), &trash.join("halves").join(&name))?;
        }
    }
    Ok(())
}

/// True for a file that this process may have written.
fn is_young(metadata: &fs::Metadata) -> bool {
    // The clock of file systems ticks.
    let slack = Duration::from_millis(20);
    metadata
        .modified()
        .is_ok_and(|modified| modified + slack >= os::started())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::temporary_name::PREFIX;
    use pretty_assertions::assert_eq;

    #[test]
    fn halves_of_dead_processes_are_moved_even_if_their_numbers_are_reused() {
        let folder = tempfile::tempdir().unwrap();
        let (own, trash) = (folder.path().join("own"), folder.path().join("trash"));
        fs::create_dir(&own).unwrap();
        os::started();
        let half = |name: String, age: u64| {
            let file = File::create(own.join(&name)).unwrap();
            let modified = os::started() - Duration::from_secs(age);
            file.set_modified(modified).unwrap();
            name
        };
        let this = std::process::id();
        let young = half(format!("{PREFIX}{this}-abcdef"), 0);
        half(format!("{PREFIX}{this}-ghijkl"), 60);
        // The first process always lives.
        half(format!("{PREFIX}1-mnopqr"), 0);
        half("kept.md".to_owned(), 60);
        clear_halves(&own, &trash).unwrap();
        let left = fs::read_dir(&own).unwrap();
        let mut left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [young.as_str(), "kept.md"]);
    }
}
