//! Where disks are mounted: in a mount namespace of the thread's own. The kernel removes it with
//! everything mounted in it when the thread and its children end, however they end.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::mount::MsFlags;
use nix::sched::CloneFlags;

use crate::sandbox::memory_folder;

/// How the folders of all runs of this test begin; the number of the process follows.
const PREFIX: &str = "ralphtool-power-cut.";

/// The size of a disk: small, so that it is copied quickly.
const SIZE: u64 = 128 << 20;

/// A folder for images and a place to mount them, both in memory.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// Makes the folder, and removes those of processes that were killed.
    pub(crate) fn new() -> Self {
        let shared = memory_folder();
        for entry in fs::read_dir(&shared).unwrap().flatten() {
            let name = entry.file_name();
            let process = name
                .to_str()
                .and_then(|name| name.strip_prefix(PREFIX)?.split('.').next());
            let is_alive = |pid: &str| Path::new("/proc").join(pid).exists();
            if process.is_some_and(|pid| !is_alive(pid)) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let prefix = format!("{PREFIX}{}.", std::process::id());
        let folder = tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(shared)
            .unwrap();
        fs::create_dir(folder.path().join("disk")).unwrap();
        Self { folder }
    }

    /// Where disks are mounted: the same path for every thread, as the vault is named after it.
    pub(crate) fn top(&self) -> PathBuf {
        self.folder.path().join("disk").canonicalize().unwrap()
    }

    /// A file or folder beside the mounted disk.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A new empty disk with a file system.
    pub(crate) fn format(&self, name: &str) -> Result<PathBuf, String> {
        let image = self.beside(name);
        let file = fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(SIZE).map_err(|error| error.to_string())?;
        let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        let words = ["-q", "-F", "-b", "4096", "-N", "16384", "-E", options];
        run(Command::new("mkfs.ext4").args(words).arg(&image))?;
        Ok(image)
    }

    /// Mounts an image; it is unmounted with what this returns.
    pub(crate) fn mount(&self, image: &Path) -> Result<Mounted, String> {
        let top = self.top();
        run(Command::new("mount")
            .args(["-t", "ext4", "-o", "loop,noatime"])
            .args([image, &top]))?;
        Ok(Mounted(top))
    }
}

/// Something that is mounted.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// What was mounted in another way.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmount = |words: &[&str]| run(Command::new("umount").args(words).arg(&self.0));
        if unmount(&[]).is_err() {
            // A process that still uses it keeps it until that ends.
            let _ = unmount(&["-l"]);
        }
    }
}

/// Gives the calling thread, and the processes it starts from now on, mounts of their own.
pub(crate) fn leave_namespace() -> Result<(), String> {
    let failed = |error: nix::Error| format!("no mount namespace: {error}");
    nix::sched::unshare(CloneFlags::CLONE_NEWNS).map_err(failed)?;
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    nix::mount::mount(None::<&OsStr>, "/", None::<&OsStr>, flags, None::<&OsStr>).map_err(failed)
}

/// Runs a command; what it says where it fails.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}\n{said}", output.status))
}
