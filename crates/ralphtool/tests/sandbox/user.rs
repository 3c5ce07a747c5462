//! The user a sandbox belongs to. Root may read and write everything, so a test of file modes
//! needs a user who is not root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Sandbox;

/// An unprivileged user and group; it does not have to exist.
const UNPRIVILEGED: u32 = 65534;

impl Sandbox {
    /// Like [`Sandbox::new`], but program, git and agent run as a user who is not root, and the
    /// sandbox belongs to that user. Where the tests do not run as root this is their own user.
    pub(crate) fn unprivileged() -> Self {
        Self::new().given_away()
    }

    /// Gives everything in the sandbox to a user who is not root.
    pub(crate) fn given_away(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            self.user = Some(UNPRIVILEGED);
            self.give_away(&self.root);
        }
        self
    }

    /// Gives a path and everything below it to the sandbox's user, if that is not the test's own.
    pub(crate) fn give_away(&self, path: &Path) {
        let Some(user) = self.user else { return };
        lchown(path, Some(user), Some(user)).unwrap();
        if fs::symlink_metadata(path).unwrap().is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                self.give_away(&entry.unwrap().path());
            }
        }
    }

    /// Gives a file that the test wrote, and the folders above it, to the sandbox's user.
    pub(super) fn own(&self, path: &Path) {
        let Some(user) = self.user else { return };
        let inside = path.ancestors().take_while(|it| *it != self.root);
        for path in inside {
            lchown(path, Some(user), Some(user)).unwrap();
        }
    }

    /// Lets a command run as the sandbox's user.
    pub(super) fn as_user(&self, command: &mut Command) {
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
    }

    /// The program, at a path the sandbox's user may use: a checkout below a private home is
    /// closed to other users.
    pub(crate) fn program(&self) -> PathBuf {
        let other = std::env::var_os("RALPHTOOL_PROGRAM").map(PathBuf::from);
        let built = other.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_ralphtool")));
        let is_open = |folder: &Path| {
            fs::metadata(folder).is_ok_and(|it| it.permissions().mode() & 0o001 != 0)
        };
        if self.user.is_none() || built.ancestors().all(is_open) {
            return built;
        }
        let copy = self.root.join("ralphtool");
        if !copy.exists() {
            fs::copy(&built, &copy).unwrap();
        }
        copy
    }
}

/// Opens folders the test locked, so that the sandbox can be removed by a user who is not root.
pub(super) fn unlock(folder: &Path) {
    let Ok(metadata) = fs::symlink_metadata(folder) else {
        return;
    };
    if !metadata.is_dir() {
        return;
    }
    if metadata.permissions().mode() & 0o700 != 0o700 {
        let _ = fs::set_permissions(folder, super::mode(0o700));
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        unlock(&entry.path());
    }
}
