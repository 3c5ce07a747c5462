//! Whether isolation works here: what is known to stand in its way is looked for, then it is
//! tried for real, in a process of its own.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Mount;
use super::namespace::Stage;
use crate::edge::files::{FileError, Tried};
use crate::edge::os;
use crate::edge::process::guard;

/// Why agents cannot be isolated here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IsolationError {
    /// Not Linux.
    #[error("isolation needs Linux: it works with mount namespaces and overlays")]
    System,
    /// A work tree whose git directory is elsewhere.
    #[error("the git directory of `{}` is not a folder in it, so an overlay would not hold it", .0.display())]
    GitElsewhere(PathBuf),
    /// Something else is mounted in the work tree.
    #[error("`{}` is a mount of its own in the work tree, which an overlay would not show", .0.display())]
    MountInside(PathBuf),
    /// A file of somebody else's.
    #[error("`{}` belongs to another user or group, so it could not be changed in an overlay", .0.display())]
    ForeignFile(PathBuf),
    /// The vault's file system cannot hold an upper layer.
    #[error("the file system of `{}` keeps no extended attributes, which an overlay needs", .0.display())]
    NoAttributes(PathBuf),
    /// The kernel or its settings forbid it.
    #[error("isolation does not work here: {why}")]
    Refused {
        /// How far it got.
        stage: Stage,
        /// What the system said.
        why: String,
    },
    /// It could not be tried.
    #[error(transparent)]
    File(#[from] FileError),
}

impl IsolationError {
    /// What the user can do about it.
    pub(crate) fn hint(&self) -> String {
        const WITHOUT: &str = "run without `--isolate` (and without `isolate = true`)";
        match self {
            Self::System | Self::File(_) => {
                format!("{WITHOUT}: checkpoints protect your work all the same")
            }
            Self::GitElsewhere(_) => format!("use the repository's main work tree, or {WITHOUT}"),
            Self::MountInside(path) => format!("unmount `{}`, or {WITHOUT}", path.display()),
            Self::ForeignFile(path) => format!(
                "`chown` it (`ls -l {}` shows whose it is), or {WITHOUT}",
                path.display()
            ),
            Self::NoAttributes(_) => {
                format!("set XDG_STATE_HOME to a folder on another file system, or {WITHOUT}")
            }
            Self::Refused { stage, .. } => match stage {
                Stage::System | Stage::Namespace => format!(
                    "allow user namespaces (see `sysctl user.max_user_namespaces kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns`), or {WITHOUT}"
                ),
                Stage::Overlay | Stage::Writing => format!(
                    "it needs Linux 5.11 and a local file system for the vault (XDG_STATE_HOME), or {WITHOUT}"
                ),
            },
        }
    }
}

/// Tries to isolate a process in `work_tree`, with an upper layer in `scratch`, a folder on the
/// vault's file system. Leaves nothing behind.
pub(crate) fn probe(work_tree: &Path, scratch: &Path) -> Result<(), IsolationError> {
    if !cfg!(target_os = "linux") {
        return Err(IsolationError::System);
    }
    let git = work_tree.join(".git");
    if !fs::symlink_metadata(&git).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(IsolationError::GitElsewhere(work_tree.to_owned()));
    }
    if let Some(inside) = mount_inside(work_tree) {
        return Err(IsolationError::MountInside(inside));
    }
    // All rights reach everybody's files; else only one user and one group are known in there.
    if !os::is_root()
        && let Some(foreign) = foreign_file(work_tree)?
    {
        return Err(IsolationError::ForeignFile(foreign));
    }
    let folder = tempfile::Builder::new()
        .prefix("probe-")
        .tempdir_in(scratch)
        .tried("create a folder in", scratch)?;
    let tried = try_in(work_tree, folder.path());
    // The kernel leaves a folder in there that nobody may look into.
    let folder = folder.keep();
    let removed = super::remove_tree(&folder);
    tried?;
    Ok(removed?)
}

/// Whether files of a folder can have attributes of the user's.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn takes_attributes(folder: &Path) -> bool {
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(folder, "user.ralphtool", b"y", flags).is_ok()
}

/// There are no overlays on this system.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn takes_attributes(_folder: &Path) -> bool {
    false
}

fn try_in(work_tree: &Path, folder: &Path) -> Result<(), IsolationError> {
    let mount = Mount {
        tree: work_tree.to_owned(),
        upper: folder.join("upper"),
        work: folder.join("work"),
    };
    for part in [&mount.upper, &mount.work] {
        fs::create_dir(part).tried("create", part)?;
    }
    if !takes_attributes(&mount.upper) {
        return Err(IsolationError::NoAttributes(folder.to_owned()));
    }
    let program = os::own_program().tried("find", Path::new("ralphtool"))?;
    let output = Command::new(&program)
        .args(guard::trial(&mount))
        .current_dir(work_tree)
        .stdin(Stdio::null())
        .output()
        .tried("start", &program)?;
    if output.status.success() {
        return Ok(());
    }
    let stage = output.status.code().and_then(Stage::from_exit_code);
    Err(IsolationError::Refused {
        stage: stage.unwrap_or(Stage::Namespace),
        why: said(&output.stderr, output.status),
    })
}

fn said(stderr: &[u8], status: std::process::ExitStatus) -> String {
    let text = String::from_utf8_lossy(stderr);
    let text = text.trim().trim_start_matches("ralphtool: ");
    if text.is_empty() {
        return format!("the process that tried it ended with {status}");
    }
    text.to_owned()
}

/// A mount point below the work tree.
fn mount_inside(work_tree: &Path) -> Option<PathBuf> {
    let table = fs::read("/proc/self/mountinfo").ok()?;
    table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(unescaped)
        .find(|point| point != work_tree && point.starts_with(work_tree))
}

/// A path of the mount table, where blanks and the like are written as octal numbers.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let digits = more
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = code.filter(|_| *first == b'\\') {
            bytes.push(byte);
            rest = &more[3..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// The first file of another user or group: it could not be copied into the upper layer.
fn foreign_file(top: &Path) -> Result<Option<PathBuf>, FileError> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let mut pending = vec![top.to_owned()];
    while let Some(folder) = pending.pop() {
        let listing = match fs::read_dir(&folder) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            Err(error) => return Err(FileError::new("list", &folder, error)),
        };
        for entry in listing.filter_map(Result::ok) {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.uid() != user || metadata.gid() != group {
                return Ok(Some(entry.path()));
            }
            if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_path_of_the_mount_table_is_read_as_it_is() {
        #[track_caller]
        fn case(field: &str, want: &str) {
            assert_eq!(unescaped(field.as_bytes()), Path::new(want));
        }
        case("/a/b", "/a/b");
        case(r"/a\040b\134c", r"/a b\c");
        case(r"/a\", r"/a\");
        case(r"/a\04", r"/a\04");
    }
}
