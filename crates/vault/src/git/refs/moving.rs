//! Moving a branch as git does it: under a lock, written whole, with a line in both logs; making one,
//! and pointing HEAD at it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{RefFiles, is_plain_name, read_ref};
use crate::git::access::{Direct, NotDirect, Reason};
use crate::git::loose_object;
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Repository};
use crate::paths::is_at_or_below;
use ralph_base::durability;
use ralph_base::files::{FileError, Tried, absent};
use ralph_base::kill_point::{Point, reached};

/// A branch or HEAD that is to say something else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefUpdate<'a> {
    pub change: RefChange<'a>,
    /// Who changes it, as `NAME <EMAIL>`.
    pub committer: &'a str,
    /// Why, for the logs.
    pub message: &'static str,
    /// A durable file that has the new text, to be put in its place.
    pub ready: Option<&'a Path>,
}

/// A change to a ref. Names are full names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RefChange<'a> {
    /// The branch HEAD is on moves.
    Move {
        name: &'a str,
        from: ObjectId,
        to: ObjectId,
    },
    /// A branch is made.
    Make { name: &'a str, at: ObjectId },
    /// HEAD goes to a branch, which is at a commit.
    Head {
        from: &'a Head,
        to: &'a str,
        at: ObjectId,
    },
}

impl RefUpdate<'_> {
    /// Carries it out. Where that cannot be direct, no ref has changed.
    pub(crate) fn carry_out(&self, repository: &Repository, files: &mut RefFiles) -> Direct<()> {
        files.check_setup(repository)?;
        match self.change {
            RefChange::Move { name, from, to } => self.move_branch(repository, name, from, to),
            RefChange::Make { name, at } => self.make_branch(repository, files, name, at),
            RefChange::Head { from, to, at } => self.move_head(repository, from, to, at),
        }
    }

    fn move_branch(
        &self,
        repository: &Repository,
        name: &str,
        from: ObjectId,
        to: ObjectId,
    ) -> Direct<()> {
        let (branch, log) = files_of(repository, name, to)?;
        let head = repository.git_dir.join("HEAD");
        read_ref(&branch, name)?;
        let lock = self.lock(&branch, &to.to_string())?;
        let mode = fs::metadata(&branch).tried("read", &branch)?.permissions();
        fs::set_permissions(&lock.path, mode).tried("write", &lock.path)?;
        let _head = Lock::take(&head)?;
        reached(Point::Locked);
        expect(&head, &format!("ref: {name}"))?;
        expect(&branch, &from.to_string())?;
        self.log(&[log, repository.git_dir.join("logs/HEAD")], from, to)?;
        lock.put_in_place(&branch)
    }

    fn make_branch(
        &self,
        repository: &Repository,
        files: &mut RefFiles,
        name: &str,
        at: ObjectId,
    ) -> Direct<()> {
        let (branch, log) = files_of(repository, name, at)?;
        let busy = || NotDirect::AskGit(Reason::BusyRef(name.to_owned()));
        for file in [&branch, &log] {
            let folder = file.parent().unwrap_or(file);
            match fs::symlink_metadata(file) {
                Ok(_) => return Err(busy()),
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(busy()),
                Err(_) => fs::create_dir_all(folder).tried("create", folder)?,
            }
        }
        let lock = self.lock(&branch, &at.to_string())?;
        reached(Point::Locked);
        let refs = files.list(repository)?;
        if refs
            .keys()
            .any(|it| is_at_or_below(it, name) || is_at_or_below(name, it))
        {
            return Err(busy());
        }
        File::create_new(&log).tried("create", &log)?;
        self.log(&[log], repository.format.zero(), at)?;
        lock.put_in_place(&branch)
    }

    fn move_head(
        &self,
        repository: &Repository,
        from: &Head,
        to: &str,
        at: ObjectId,
    ) -> Direct<()> {
        let head = repository.git_dir.join("HEAD");
        let (branch, _) = files_of(repository, to, at)?;
        let old = from.commit().ok_or(Reason::NoLog("HEAD".to_owned()))?;
        let present = match from {
            Head::Branch { name, .. } => format!("ref: {name}"),
            Head::Detached { commit } => commit.to_string(),
        };
        let lock = self.lock(&head, &format!("ref: {to}"))?;
        reached(Point::Locked);
        expect(&head, &present)?;
        expect(&branch, &at.to_string())?;
        self.log(&[repository.git_dir.join("logs/HEAD")], old, at)?;
        lock.put_in_place(&head)
    }

    /// Adds a line to logs, all of which must be there.
    fn log(&self, logs: &[PathBuf], from: ObjectId, to: ObjectId) -> Direct<()> {
        let is_file = |log: &&PathBuf| fs::symlink_metadata(log).is_ok_and(|it| it.is_file());
        if let Some(missing) = logs.iter().find(|log| !is_file(log)) {
            return Err(Reason::NoLog(missing.display().to_string()).into());
        }
        let now = jiff::Zoned::now().strftime("%s %z");
        let line = format!("{from} {to} {} {now}\t{}\n", self.committer, self.message);
        for log in logs {
            let file = OpenOptions::new().append(true).open(log);
            file.and_then(|mut file| file.write_all(line.as_bytes()))
                .tried("write", log)?;
        }
        Ok(())
    }

    /// Takes the lock of a file by one that is ready, or writes the new text into a new one.
    fn lock(&self, path: &Path, text: &str) -> Direct<Lock> {
        if let Some(ready) = self.ready {
            let lock = Lock::of(path);
            if fs::hard_link(ready, &lock).is_ok() {
                let lock = Lock { path: lock };
                fs::remove_file(ready).tried("remove", ready)?;
                return Ok(lock);
            }
        }
        let (lock, mut file) = Lock::create(path)?;
        writeln!(file, "{text}").tried("write", &lock.path)?;
        // After an outage the user may ask git before us: it must not find a ref without bytes.
        if durability::is_on() {
            file.sync_all().tried("sync", &lock.path)?;
        }
        Ok(lock)
    }
}

/// The file of a branch and its log. The commit it is to be at must be a file of its own, as one that
/// was just made is.
fn files_of(repository: &Repository, name: &str, at: ObjectId) -> Direct<(PathBuf, PathBuf)> {
    if !name.starts_with("refs/heads/") || !is_plain_name(name) {
        return Err(Reason::OddRef(name.to_owned()).into());
    }
    let object = fs::symlink_metadata(loose_object::path(&repository.objects(), &at));
    if !object.is_ok_and(|it| it.is_file() && it.len() > 0) {
        return Err(Reason::NotLoose(at).into());
    }
    let shared = &repository.common_dir;
    Ok((shared.join(name), shared.join("logs").join(name)))
}

/// Refuses where a file does not say what it was read to say.
fn expect(path: &Path, line: &str) -> Direct<()> {
    let name = path.display().to_string();
    if read_ref(path, &name)?.strip_suffix(b"\n") == Some(line.as_bytes()) {
        return Ok(());
    }
    Err(Reason::BusyRef(name).into())
}

/// A lock as git takes it, which is gone with this value.
struct Lock {
    path: PathBuf,
}

impl Lock {
    fn of(path: &Path) -> PathBuf {
        let mut path = path.as_os_str().to_owned();
        path.push(".lock");
        PathBuf::from(path)
    }

    fn create(path: &Path) -> Direct<(Self, File)> {
        let lock = Self::of(path);
        match File::create_new(&lock) {
            Ok(file) => Ok((Self { path: lock }, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists || absent(&error) => {
                Err(Reason::BusyRef(path.display().to_string()).into())
            }
            Err(error) => Err(FileError::new("lock", path, error).into()),
        }
    }

    fn take(path: &Path) -> Direct<Self> {
        Ok(Self::create(path)?.0)
    }

    fn put_in_place(self, path: &Path) -> Direct<()> {
        reached(Point::Rename);
        let renamed = fs::rename(&self.path, path);
        reached(Point::Renamed);
        if renamed.is_ok() {
            // There is nothing to remove any more, and the next lock of that name is another's.
            std::mem::forget(self);
        }
        Ok(renamed.tried("write", path)?)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
