//! Base and upper layer together, as far as git has to see them: a copy, made without a mount, so
//! that nothing of ours ever runs inside an overlay.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::upper::{Kind, is_opaque, kind_of};
use crate::edge::files::{FileError, Tried, copy_with_time, create_private_folder, read_plain};
use crate::edge::sparse::is_hollow;
use crate::edge::vault::TOKEN_FILE;

/// Folders of a git directory that say nothing of what its refs, HEAD and settings are.
const LEFT_OUT: [&str; 5] = ["objects", "lfs", "modules", "worktrees", "rr-cache"];

/// True where the upper layer leaves the git directory the one it was: ours has a token in it.
pub(crate) fn keeps_git(tree: &Path, upper: &Path) -> bool {
    let git = upper.join(".git");
    let token = git.join(TOKEN_FILE);
    match (kind_of(&git), kind_of(&token)) {
        (Err(_), _) => true,
        (Ok(Kind::Folder), Err(_)) => !is_opaque(&git),
        (Ok(Kind::Folder), Ok(Kind::File)) => {
            let own = tree.join(".git").join(TOKEN_FILE);
            read_plain(&token).ok() == read_plain(&own).ok()
        }
        _ => false,
    }
}

/// Copies a git directory as it looks through the overlay, its objects left out.
pub(crate) fn copy_git(tree: &Path, upper: &Path, to: &Path) -> Result<(), FileError> {
    copy_folder(&tree.join(".git"), &upper.join(".git"), to, &LEFT_OUT)
}

fn copy_folder(lower: &Path, upper: &Path, to: &Path, left_out: &[&str]) -> Result<(), FileError> {
    create_private_folder(to)?;
    let over = names_in(upper);
    let below = if is_opaque(upper) {
        BTreeSet::new()
    } else {
        names_in(lower)
    };
    for name in over.union(&below) {
        if left_out.iter().any(|left_out| name == left_out) {
            continue;
        }
        let target = to.join(name);
        let (lower, upper) = (lower.join(name), upper.join(name));
        let source = if over.contains(name) { &upper } else { &lower };
        match kind_of(source)? {
            Kind::Folder => copy_folder(&lower, &upper, &target, &[])?,
            // Git has no such file; to copy its holes would take hours.
            Kind::File if is_hollow(source) => {}
            Kind::File => {
                copy_with_time(source, &target)?;
            }
            Kind::Link => {
                let link = fs::read_link(source).tried("read", source)?;
                std::os::unix::fs::symlink(link, &target).tried("create", &target)?;
            }
            Kind::Gone | Kind::Special | Kind::Deep => {}
        }
    }
    Ok(())
}

/// The names in a folder; none where there is no folder.
fn names_in(folder: &Path) -> BTreeSet<OsString> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let listing = is_folder.then(|| fs::read_dir(folder).ok()).flatten();
    listing
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect()
}
