//! Moving a branch as git does it: under a lock, written whole, with a line in both logs; making one,
//! and pointing HEAD at it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Read, RefReader, id_in, is_plain_name};
use crate::git::loose_object;
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Repository};
use ralph_base::durability;
use ralph_base::files::read_line_file;
use ralph_base::kill_point::{Point, reached};

/// A branch that is to move.
#[derive(Debug)]
pub(crate) struct BranchMove {
    /// Full ref name.
    pub name: String,
    /// Where it is.
    pub from: ObjectId,
    /// Where it goes.
    pub to: ObjectId,
    /// Who moves it, as `NAME <EMAIL>`.
    pub committer: String,
    /// Why, for the logs.
    pub message: &'static str,
    /// A durable file that says where it goes, to be put in its place.
    pub ready: Option<PathBuf>,
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
        let lock = Lock::with(self.ready.as_deref(), &branch, &self.to.to_string())?;
        fs::set_permissions(&lock.path, Permissions::from_mode(mode)).ok()?;
        let _head = Lock::take(&own.join("HEAD"))?;
        reached(Point::Locked);
        let head = read_line_file(&own.join("HEAD")).ok()?;
        let is_as_seen = head == format!("ref: {}\n", self.name).as_bytes()
            && id_in(&read_line_file(&branch).ok()?, repository.format) == Some(self.from);
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

    fn log_line(&self) -> String {
        log_line((self.from, self.to), &self.committer, self.message)
    }
}

/// A branch that is to be made.
#[derive(Debug)]
pub(crate) struct NewBranch {
    /// Full ref name.
    pub name: String,
    /// Where it is to be.
    pub at: ObjectId,
    /// Who makes it, as `NAME <EMAIL>`.
    pub committer: String,
    /// Why, for its log.
    pub message: &'static str,
    /// A durable file that says so, to be put in its place.
    pub ready: Option<PathBuf>,
}

impl NewBranch {
    /// Makes the branch. False where something is not as it mostly is: then there is none, and git is
    /// to make it or to say what is wrong.
    pub(crate) fn carry_out(&self, repository: &Repository, reader: &mut RefReader) -> bool {
        self.attempt(repository, reader).is_some()
    }

    fn attempt(&self, repository: &Repository, reader: &mut RefReader) -> Option<()> {
        if !self.name.starts_with("refs/heads/")
            || !is_plain_name(&self.name)
            || !is_stored(repository, self.at)
        {
            return None;
        }
        let branch = repository.common_dir.join(&self.name);
        let log = repository.common_dir.join("logs").join(&self.name);
        for file in [&branch, &log] {
            if fs::symlink_metadata(file).is_ok() {
                return None;
            }
            fs::create_dir_all(file.parent()?).ok()?;
        }
        let lock = Lock::with(self.ready.as_deref(), &branch, &self.at.to_string())?;
        reached(Point::Locked);
        let Read::Refs(refs) = reader.read(repository) else {
            return None;
        };
        let is_below = |one: &str, two: &str| {
            let rest = one.strip_prefix(two);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if refs
            .keys()
            .any(|other| is_below(other, &self.name) || is_below(&self.name, other))
        {
            return None;
        }
        let line = log_line(
            (repository.format.zero(), self.at),
            &self.committer,
            self.message,
        );
        let mut options = OpenOptions::new();
        let mut log = options.write(true).create_new(true).open(log).ok()?;
        log.write_all(line.as_bytes()).ok()?;
        lock.put_in_place(&branch)
    }
}

/// HEAD that is to go from where it is to a branch.
#[derive(Debug)]
pub(crate) struct HeadMove<'a> {
    /// What its file says now.
    pub from: &'a Head,
    /// Full name of the branch.
    pub to: &'a str,
    /// The commit the branch is at.
    pub at: ObjectId,
    /// Who moves it, as `NAME <EMAIL>`.
    pub committer: &'a str,
    /// Why, for its log.
    pub message: &'static str,
    /// A durable file that says so, to be put in its place.
    pub ready: Option<PathBuf>,
}

impl HeadMove<'_> {
    /// Points HEAD at the branch. False where something is not as it mostly is: then it is where it
    /// was, and git is to move it or to say what is wrong.
    pub(crate) fn carry_out(&self, repository: &Repository) -> bool {
        self.attempt(repository).is_some()
    }

    fn attempt(&self, repository: &Repository) -> Option<()> {
        let head = repository.git_dir.join("HEAD");
        let log = repository.git_dir.join("logs/HEAD");
        let is_whole = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_file());
        if !is_plain_name(self.to) || !is_whole(&head) || !is_whole(&log) {
            return None;
        }
        let branch = read_line_file(&repository.common_dir.join(self.to)).ok()?;
        let seen = match self.from {
            Head::Branch { name, .. } => format!("ref: {name}\n"),
            Head::Detached { commit } => format!("{commit}\n"),
        };
        let text = format!("ref: {}", self.to);
        let lock = Lock::with(self.ready.as_deref(), &head, &text)?;
        reached(Point::Locked);
        let is_as_seen = read_line_file(&head).ok()? == seen.as_bytes()
            && id_in(&branch, repository.format) == Some(self.at);
        if !is_as_seen {
            return None;
        }
        let line = log_line((self.from.commit()?, self.at), self.committer, self.message);
        let mut log = OpenOptions::new().append(true).open(log).ok()?;
        log.write_all(line.as_bytes()).ok()?;
        lock.put_in_place(&head)
    }
}

fn log_line((from, to): (ObjectId, ObjectId), committer: &str, message: &str) -> String {
    let now = jiff::Zoned::now().strftime("%s %z").to_string();
    format!("{from} {to} {committer} {now}\t{message}\n")
}

/// True where an object is a file of its own, as one that was just made is.
fn is_stored(repository: &Repository, id: ObjectId) -> bool {
    let path = loose_object::path(&repository.objects(), &id);
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
        let file = options.write(true).create_new(true).mode(0o666).open(&path);
        Some(Self {
            file: Some(file.ok()?),
            path,
        })
    }

    /// Takes the lock with a file that is ready, or writes one that says the same.
    fn with(ready: Option<&Path>, path: &Path, text: &str) -> Option<Self> {
        if let Some(lock) = ready.and_then(|ready| Self::link(ready, path)) {
            return Some(lock);
        }
        let lock = Self::take(path)?;
        let mut file = lock.file.as_ref()?;
        writeln!(file, "{text}").ok()?;
        // After an outage the user may ask git before us: it must not find a ref without bytes.
        if durability::is_on() {
            file.sync_all().ok()?;
        }
        Some(lock)
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
