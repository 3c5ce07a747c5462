//! Moving a branch as git does it: under a lock, written whole, with a line in both logs.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{id_in, is_plain_name};
use crate::edge::durability;
use crate::edge::kill_point::{Point, reached};
use crate::edge::object_id::ObjectId;
use crate::edge::repository::Repository;

/// A branch that is to move.
#[derive(Debug)]
pub(crate) struct BranchMove {
    /// Full ref name.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) from: ObjectId,
    /// Where it goes.
    pub(crate) to: ObjectId,
    /// Who moves it, as `NAME <EMAIL>`.
    pub(crate) committer: String,
    /// Why, for the logs.
    pub(crate) message: &'static str,
    /// A durable file that says where it goes, to be put in its place.
    pub(crate) ready: Option<PathBuf>,
}

impl BranchMove {
    /// Moves the branch HEAD is on. False where something is not as it mostly is: then nothing was
    /// moved, and git is to do it or to say what is wrong.
    pub(crate) fn carry_out(&self, repository: &Repository) -> bool {
        self.attempt(repository).is_some()
    }

    fn attempt(&self, repository: &Repository) -> Option<()> {
        let (shared, own) = (&repository.common_dir, &repository.git_dir);
        if !self.name.starts_with("refs/heads/") || !is_plain_name(&self.name) {
            return None;
        }
        let branch = shared.join(&self.name);
        let logs = [shared.join("logs").join(&self.name), own.join("logs/HEAD")];
        let is_whole = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
        let mode = fs::symlink_metadata(&branch).ok()?.mode() & 0o777;
        if !is_whole(&branch) || !logs.iter().all(|log| is_whole(log)) {
            return None;
        }
        if !is_stored(repository, self.to) {
            return None;
        }
        let ready = self.ready.as_ref();
        let lock = match ready.and_then(|ready| Lock::link(ready, &branch)) {
            Some(lock) => lock,
            None => self.written(&branch)?,
        };
        fs::set_permissions(&lock.path, Permissions::from_mode(mode)).ok()?;
        let _head = Lock::take(&own.join("HEAD"))?;
        reached(Point::Locked);
        let head = fs::read(own.join("HEAD")).ok()?;
        let is_as_seen = head == format!("ref: {}\n", self.name).as_bytes()
            && id_in(&fs::read(&branch).ok()?, repository.format) == Some(self.from);
        if !is_as_seen {
            return None;
        }
        let line = self.log_line();
        for log in logs {
            let mut file = OpenOptions::new().append(true).open(log).ok()?;
            file.write_all(line.as_bytes()).ok()?;
        }
        lock.put_in_place(&branch)
    }

    /// A lock with the new bytes. After an outage the user may ask git before us: it must not find a
    /// branch without bytes.
    fn written(&self, branch: &Path) -> Option<Lock> {
        let lock = Lock::take(branch)?;
        let mut file = lock.file.as_ref()?;
        writeln!(file, "{}", self.to).ok()?;
        if durability::is_on() {
            file.sync_all().ok()?;
        }
        Some(lock)
    }

    fn log_line(&self) -> String {
        let now = jiff::Zoned::now().strftime("%s %z").to_string();
        let Self {
            from,
            to,
            committer,
            message,
            ..
        } = self;
        format!("{from} {to} {committer} {now}\t{message}\n")
    }
}

/// True where an object is a file of its own, as one that was just made is.
fn is_stored(repository: &Repository, id: ObjectId) -> bool {
    let text = id.to_string();
    let (folder, name) = text.split_at(2);
    let path = repository.objects().join(folder).join(name);
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// A lock as git takes it, which is gone with this value.
struct Lock {
    path: PathBuf,
    file: Option<File>,
}

impl Lock {
    fn take(path: &Path) -> Option<Self> {
        let path = lock_of(path);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o644).open(&path);
        Some(Self {
            file: Some(file.ok()?),
            path,
        })
    }

    /// Takes the lock with a file that is written already, and that goes with it.
    fn link(ready: &Path, path: &Path) -> Option<Self> {
        let file = File::open(ready).ok()?;
        let path = lock_of(path);
        fs::hard_link(ready, &path).ok()?;
        let lock = Self {
            file: Some(file),
            path,
        };
        fs::remove_file(ready).ok()?;
        Some(lock)
    }

    fn put_in_place(mut self, path: &Path) -> Option<()> {
        reached(Point::Rename);
        fs::rename(&self.path, path).ok()?;
        reached(Point::Renamed);
        self.file = None;
        Some(())
    }
}

fn lock_of(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".lock");
    PathBuf::from(path)
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
