//! The guard's part of isolation: a mount namespace for this very process, with the overlay
//! mounted over the work tree in it. Nobody else sees the mount, and it ends with the last process
//! in the namespace.

use std::fmt;
use std::io;

use super::Mount;

/// What did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The system has no such thing.
    System,
    /// A namespace of its own.
    Namespace,
    /// The overlay.
    Overlay,
    /// Writing to it.
    Writing,
}

impl Stage {
    /// All stages with the exit code the guard tells them by.
    const CODES: [(Self, u8); 4] = [
        (Self::System, 120),
        (Self::Namespace, 121),
        (Self::Overlay, 122),
        (Self::Writing, 123),
    ];

    /// The exit code of a guard that got no further.
    pub(crate) fn exit_code(self) -> u8 {
        Self::CODES
            .into_iter()
            .find(|(stage, _)| *stage == self)
            .map_or(1, |(_, code)| code)
    }

    /// What an exit code stands for.
    pub(crate) fn from_exit_code(code: i32) -> Option<Self> {
        Self::CODES
            .into_iter()
            .find(|(_, known)| i32::from(*known) == code)
            .map(|(stage, _)| stage)
    }
}

/// Why this process is not isolated.
#[derive(Debug, thiserror::Error)]
pub(crate) struct NotIsolated {
    /// How far it got.
    pub(crate) stage: Stage,
    what: &'static str,
    source: io::Error,
}

impl fmt::Display for NotIsolated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not {}: {}", self.what, self.source)
    }
}

impl NotIsolated {
    fn at(stage: Stage, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self {
            stage,
            what,
            source,
        }
    }
}

/// Moves this process, which has one thread, into a namespace where the overlay is mounted over
/// the work tree, and into the work tree.
#[cfg(target_os = "linux")]
pub(crate) fn enter(mount: &Mount) -> Result<(), NotIsolated> {
    linux::make_namespace()?;
    linux::mount_overlay(mount).map_err(NotIsolated::at(
        Stage::Overlay,
        "mount an overlay over the work tree",
    ))?;
    // The old current folder is still the one below.
    std::env::set_current_dir(&mount.tree)
        .map_err(NotIsolated::at(Stage::Overlay, "enter the overlay"))
}

/// There is no such thing here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn enter(_mount: &Mount) -> Result<(), NotIsolated> {
    let missing = io::Error::from(io::ErrorKind::Unsupported);
    Err(NotIsolated::at(
        Stage::System,
        "isolate a process on this system",
    )(missing))
}

/// Writes to the overlay and takes it back, to see that it can be done.
pub(crate) fn try_writing(mount: &Mount) -> Result<(), NotIsolated> {
    let name = format!(".ralph-probe-{}", std::process::id());
    let folder = mount.tree.join(name);
    std::fs::create_dir(&folder)
        .and_then(|()| std::fs::write(folder.join("file"), "probe"))
        .and_then(|()| std::fs::remove_file(folder.join("file")))
        .and_then(|()| std::fs::remove_dir(&folder))
        .map_err(NotIsolated::at(Stage::Writing, "write to the overlay"))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};

    use super::super::Mount;
    use super::{NotIsolated, Stage};

    const NOTHING: Option<&str> = None;

    pub(super) fn make_namespace() -> Result<(), NotIsolated> {
        // With all rights no user namespace is needed, in which only one user would be known.
        let privileged = crate::edge::os::is_root() && unshare(CloneFlags::CLONE_NEWNS).is_ok();
        if !privileged {
            make_user_namespace()?;
        }
        // What is mounted from here on is nobody else's business.
        mount(
            NOTHING,
            "/",
            NOTHING,
            MsFlags::MS_REC | MsFlags::MS_PRIVATE,
            NOTHING,
        )
        .map_err(io::Error::from)
        .map_err(NotIsolated::at(Stage::Namespace, "make mounts private"))
    }

    /// The user keeps the number they have: some agents refuse to work unattended as root.
    fn make_user_namespace() -> Result<(), NotIsolated> {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
            .map_err(io::Error::from)
            .map_err(NotIsolated::at(Stage::Namespace, "make a user namespace"))?;
        // Without this a group may not be mapped.
        fs::write("/proc/self/setgroups", "deny")
            .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1\n")))
            .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1\n")))
            .map_err(NotIsolated::at(
                Stage::Namespace,
                "name the user in a user namespace",
            ))
    }

    pub(super) fn mount_overlay(over: &Mount) -> io::Result<()> {
        let lower = open(&over.tree)?;
        let upper = open(&over.upper)?;
        let work = open(&over.work)?;
        // Named by descriptors: options are separated by commas and layers by colons, and a path
        // may have both.
        let at = |folder: &File| format!("/proc/self/fd/{}", folder.as_raw_fd());
        let options = format!(
            "userxattr,lowerdir={},upperdir={},workdir={}",
            at(&lower),
            at(&upper),
            at(&work)
        );
        mount(
            Some("overlay"),
            &over.tree,
            Some("overlay"),
            MsFlags::empty(),
            Some(options.as_str()),
        )?;
        Ok(())
    }

    fn open(folder: &Path) -> io::Result<File> {
        File::open(folder)
    }
}
