//! Moving the branch, HEAD and the index, each so that doing it twice is the same as once.

use std::fs::{self, FileTimes};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::stale_locks::held;
use crate::error::Result;
use crate::git::access::{Direct, Reason};
use crate::git::object_id::ObjectId;
use crate::git::refs::{RefChange, RefUpdate};
use crate::git::repository::{Head, Refs, Repository};
use crate::paths::is_at_or_below;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use ralph_base::durability;
use ralph_base::files::{
    FileError, Tried, absent, copy_with_time, create_private_folder, move_away, read_plain,
};
use ralph_base::kill_point::{Point, reached};
use ralph_base::temporary_files::clear_halves;

/// How often the index is tried again that another process locked just before us.
const INDEX_TRIES: u32 = 40;

/// What git's logs say of a branch that was moved.
const MOVED: &str = "ralphtool: move to checkpoint";

/// The reflog message for a switch of HEAD.
const SWITCHED: &str = "ralphtool: switch";

/// The commit that a branch moves to.
pub(crate) struct NewTip {
    pub commit: ObjectId,
    /// A durable file with its id, to be put in the place of the branch.
    pub ready: Option<PathBuf>,
}

impl Repo {
    /// Reads refs and HEAD.
    pub(crate) fn observe(&self) -> Result<(Refs, Head)> {
        let repository = &self.places.repository;
        let direct = self.ref_files.borrow_mut().list(repository);
        let refs = self.reasons.or_git("list refs", direct, || {
            let refs = repository.refs(&self.gits.user)?;
            self.ref_files.borrow_mut().git_answered();
            Ok(refs)
        })?;
        let head = self
            .reasons
            .or_git("read HEAD", repository.read_head(&refs), || {
                Ok(Repository::ask_head(&self.gits.user, &refs)?)
            })?;
        Ok((refs, head))
    }

    /// Moves a branch, whatever it is at; `None` deletes it.
    pub(crate) fn move_ref(&self, name: &str, refs: &Refs, target: Option<ObjectId>) -> Result<()> {
        match (refs.get(name), target) {
            (None, None) => Ok(()),
            (_, Some(to)) => self.move_ref_by(name, refs, to, None),
            (Some(now), None) => {
                let args = ["update-ref", "-d", name, &now.to_string()];
                self.gits.user.run(args)?;
                Ok(())
            }
        }
    }

    /// Moves a branch to a commit, by a file that is ready to take its place if there is one.
    pub(crate) fn move_ref_by(
        &self,
        name: &str,
        refs: &Refs,
        to: ObjectId,
        ready: Option<&Path>,
    ) -> Result<()> {
        let now = refs.get(name).copied();
        if now == Some(to) {
            return Ok(());
        }
        let old = now.unwrap_or(self.places.repository.format.zero());
        let old = old.to_string();
        let change = if let Some(from) = now {
            RefChange::Move { name, from, to }
        } else {
            self.clear_the_way(name, refs)?;
            RefChange::Make { name, at: to }
        };
        let direct = self.update_ref(change, MOVED, ready);
        self.reasons.or_git("move a branch", direct, || {
            let to = to.to_string();
            let moved = self
                .gits
                .user
                .run(["update-ref", "-m", MOVED, name, &to, &old]);
            moved.map(drop).map_err(Into::into)
        })
    }

    fn update_ref(
        &self,
        change: RefChange<'_>,
        message: &'static str,
        ready: Option<&Path>,
    ) -> Direct<()> {
        let update = RefUpdate {
            change,
            committer: &self.identity()?.committer,
            message,
            ready,
        };
        let files = &mut self.ref_files.borrow_mut();
        update.carry_out(&self.places.repository, files)
    }

    /// Refs that leave no room for a name (`ralph` for `ralph/x`) move to the vault.
    fn clear_the_way(&self, name: &str, refs: &Refs) -> Result<()> {
        let in_the_way = |other: &str| {
            other != name && (is_at_or_below(other, name) || is_at_or_below(name, other))
        };
        let folder = format!("refs/displaced/{}", ralph_base::random_name::random_name(8));
        for (other, id) in refs.iter().filter(|(other, _)| in_the_way(other)) {
            let (kept, id) = (format!("{folder}/{other}"), id.to_string());
            self.gits.store.run(["update-ref", &kept, &id])?;
            // HEAD may be on it; it is pointed elsewhere next.
            self.gits
                .user
                .run(["update-ref", "--no-deref", "-d", other, &id])?;
        }
        Ok(())
    }

    /// Points HEAD at a branch or a commit.
    pub(crate) fn point_head(&self, target: &Head, now: &Head) -> Result<()> {
        self.point_head_by(target, now, None)
    }

    /// The same, by a file that is ready to take its place.
    pub(crate) fn point_head_by(
        &self,
        target: &Head,
        now: &Head,
        ready: Option<&Path>,
    ) -> Result<()> {
        match (target, now) {
            (Head::Branch { name, .. }, Head::Branch { name: present, .. }) if name == present => {}
            (Head::Branch { name, commit }, _) => {
                let direct = commit.ok_or(Reason::NoLog("HEAD".to_owned()));
                let direct = direct.map_err(Into::into).and_then(|at| {
                    let change = RefChange::Head {
                        from: now,
                        to: name,
                        at,
                    };
                    self.update_ref(change, SWITCHED, ready)
                });
                self.reasons.or_git("move HEAD", direct, || {
                    let args = ["symbolic-ref", "-m", SWITCHED, "HEAD", name];
                    self.gits.user.run(args).map(drop).map_err(Into::into)
                })?;
            }
            (Head::Detached { commit }, Head::Detached { commit: present })
                if commit == present => {}
            (Head::Detached { commit }, _) => {
                let commit = commit.to_string();
                self.gits.user.run([
                    "update-ref",
                    "--no-deref",
                    "-m",
                    SWITCHED,
                    "HEAD",
                    &commit,
                ])?;
            }
        }
        Ok(())
    }

    /// Puts an index in place of the user's, with its time; none there means none here.
    pub(crate) fn swap_index(&self, from: &Path, trash: &Path) -> Result<()> {
        let lock = self.places.repository.git_dir.join("index.lock");
        for _ in 0..INDEX_TRIES {
            self.free_lock(&lock, trash)?;
            let (from, trash, lock) = (from.to_owned(), trash.to_owned(), lock.clone());
            let index = self.places.repository.index();
            if replace_index(&from, &index, &lock, &trash)? {
                return Ok(());
            }
        }
        Err(held(&lock, None))
    }

    /// Writes the index and the branch of a save down beside its snapshot: the barrier that comes
    /// makes them durable, and all that is left to do after it is to put them in their places.
    pub(crate) fn make_ready(&self, snapshot: &str, commit: ObjectId) -> Result<NewTip> {
        let index = Snapshot::index(&self.places.vault, snapshot);
        let branch = Snapshot::folder(&self.places.vault, snapshot).join("branch.ready");
        // Where nothing is tracked there may be none.
        if index.exists() {
            let modified = fs::metadata(&index).and_then(|index| index.modified());
            let modified = modified.tried("read", &index)?;
            let target = ready(&index);
            let mut file = fs::File::create_new(&target).tried("create", &target)?;
            fs::File::open(&index)
                .and_then(|mut source| io::copy(&mut source, &mut file))
                .and_then(|_| file.set_times(FileTimes::new().set_modified(modified)))
                .tried("write", &target)?;
        }
        let mut file = fs::File::create_new(&branch).tried("create", &branch)?;
        writeln!(file, "{commit}").tried("write", &branch)?;
        Ok(NewTip {
            commit,
            ready: Some(branch),
        })
    }

    /// Prepares the file that becomes HEAD when it moves to a branch.
    pub(crate) fn make_head_ready(&self, snapshot: &str, branch: &str) -> Result<PathBuf> {
        let path = Snapshot::folder(&self.places.vault, snapshot).join("HEAD.ready");
        let written =
            fs::File::create_new(&path).and_then(|mut file| writeln!(file, "ref: {branch}"));
        written.tried("write", &path)?;
        Ok(path)
    }

    /// Swaps the index, unless it has the same content already.
    pub(crate) fn put_index_back(&self, from: &Path, trash: &Path) -> Result<()> {
        let (kept, index) = (from.to_owned(), self.places.repository.index());
        if is_same_index(&kept, &index) {
            return Ok(());
        }
        self.swap_index(from, trash)
    }

    /// Keeps a copy of the user's index: what is staged may be nowhere else.
    pub(crate) fn keep_index(&self, trash: &Path) -> Result<()> {
        self.objects.link()?;
        let index = self.places.repository.index();
        let folder = trash.join("git");
        create_private_folder(&folder)?;
        copy_with_time(&index, &folder.join("index"))?;
        Ok(())
    }

    /// Moves halves of files aside that a dead process of ours left in the git directory.
    pub(crate) fn clear_git_halves(&self, trash: &Path) -> Result<()> {
        let repository = &self.places.repository;
        let shared = &repository.common_dir;
        for folder in [
            repository.git_dir.clone(),
            shared.clone(),
            shared.join("hooks"),
            shared.join("info"),
            shared.join("logs/refs"),
        ] {
            clear_halves(&folder, trash)?;
        }
        Ok(())
    }
}

/// True where two indexes have the same bytes and the same time, which git goes by.
fn is_same_index(one: &Path, other: &Path) -> bool {
    let of = |path: &Path| {
        let modified = fs::symlink_metadata(path).ok()?.modified().ok()?;
        Some((modified, read_plain(path).ok()?))
    };
    of(one).is_some_and(|one| of(other) == Some(one))
}

/// The durable copy of an index that only has to be put in its place.
fn ready(index: &Path) -> PathBuf {
    index.with_extension("ready")
}

/// False where another process took the lock first.
fn replace_index(from: &Path, index: &Path, lock: &Path, trash: &Path) -> Result<bool> {
    let mut source = match fs::File::open(from) {
        Ok(file) => file,
        Err(error) if absent(&error) => {
            if fs::symlink_metadata(index).is_ok() {
                move_away(index, &trash.join("git/index"))?;
            }
            return Ok(true);
        }
        Err(error) => return Err(FileError::new("read", from, error).into()),
    };
    let modified = source
        .metadata()
        .and_then(|metadata| metadata.modified())
        .tried("read", from)?;
    let ready = ready(from);
    let written = if fs::hard_link(&ready, lock).is_ok() {
        fs::remove_file(&ready)
    } else {
        let mut target = match fs::File::create_new(lock) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(FileError::new("lock", index, error).into()),
        };
        io::copy(&mut source, &mut target)
            .and_then(|_| target.set_times(FileTimes::new().set_modified(modified)))
            // After an outage the user may ask git before us: it must not find an index without
            // bytes.
            .and_then(|()| {
                if durability::is_on() {
                    target.sync_all()
                } else {
                    Ok(())
                }
            })
    };
    let placed = written.and_then(|()| {
        reached(Point::Rename);
        let renamed = fs::rename(lock, index);
        reached(Point::Renamed);
        renamed
    });
    if let Err(error) = placed {
        let _ = fs::remove_file(lock);
        return Err(FileError::new("replace", index, error).into());
    }
    Ok(true)
}

/// Where a restore or save puts what it moves aside.
pub(crate) fn trash_name(operation: &str) -> String {
    format!(
        "{}-{operation}",
        jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S-%3f")
    )
}

impl Repo {
    /// A new place for what one operation moves aside.
    pub(crate) fn new_trash(&self, operation: &str) -> PathBuf {
        self.places.vault.trash(&trash_name(operation))
    }
}
