//! Files, the careful way: whole or not at all, never through a symbolic link, never unlinked
//! when they can be moved, and durable where the documentation promises it.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::kill_point::{Point, reached};
use super::sparse;
use crate::temporary_name::{free_name_in, temporary_in};

/// A fault in the file system, with what was tried on what.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} `{}`", shortened(&path.to_string_lossy()))]
pub struct FileError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl FileError {
    /// An error while doing `action` on `path`.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// What it was tried on.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the underlying error.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        error.source
    }
}

/// A path for people: of a very long one the start and the end.
pub fn shortened(path: &str) -> String {
    const SHOWN: usize = 120;
    let length = path.chars().count();
    if length <= 2 * SHOWN + 20 {
        return path.to_owned();
    }
    let start: String = path.chars().take(SHOWN).collect();
    let end: String = path.chars().skip(length - SHOWN).collect();
    format!("{start}…{end}")
}

/// Turns an I/O result into one that says what was tried on what.
pub trait Tried<T> {
    /// Adds the action and the path to an error.
    fn tried(self, action: &'static str, path: &Path) -> Result<T, FileError>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, action: &'static str, path: &Path) -> Result<T, FileError> {
        self.map_err(|source| FileError::new(action, path, source))
    }
}

/// Opens a file to read it; anything but a file is an error. A pipe is never waited for.
fn open_plain(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let error = io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file");
    Err(error)
}

/// No file that is read whole is larger: one that is has been damaged, or is one long hole.
const LARGEST_PLAIN: u64 = 1 << 30;

/// HEAD and the files of refs are one line.
const LARGEST_LINE: u64 = 1 << 16;

/// Reads a whole file; anything but a file is an error, and so is one that is far too large. A pipe is
/// never waited for.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, LARGEST_PLAIN)
}

/// Reads a file that has one line, such as HEAD or a ref; the rest as [`read_plain`].
pub fn read_line_file(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, LARGEST_LINE)
}

/// Reads a whole file of at most `limit` bytes; the rest as [`read_plain`].
pub fn read_within(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(path)?;
    let length = file.metadata()?.len();
    // With room for one byte more, the end is seen without growing.
    let room = usize::try_from(length.min(limit) + 1).unwrap_or(0);
    let mut bytes = Vec::with_capacity(room);
    if length <= limit {
        // It may grow while it is read: one byte too many shows that.
        file.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if length.max(bytes.len() as u64) > limit {
        let error = io::Error::new(io::ErrorKind::FileTooLarge, "the file is far too large");
        return Err(error);
    }
    Ok(bytes)
}

/// Reads a file that may be absent.
pub fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match read_plain(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if absent(&error) => Ok(None),
        Err(error) => Err(FileError::new("read", path, error)),
    }
}

/// True where the error only says that nothing is there.
pub fn absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Writes a whole file under a short temporary name beside it, then renames it into place.
pub fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    place(path, |file| {
        file.write_all(bytes)?;
        file.set_permissions(fs::Permissions::from_mode(mode & 0o7777))
    })
}

/// Creates a temporary file beside `path`, lets `fill` write it, renames it into place.
pub fn place(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), FileError> {
    let temporary = filled(path, fill)?;
    reached(Point::Rename);
    let placed = temporary.persist(path);
    reached(Point::Renamed);
    placed
        .map(drop)
        .map_err(|error| FileError::new("replace", path, error.error))
}

/// Writes a whole file where there is none; false where something is there already.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, FileError> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    let temporary = filled(path, |file| {
        file.write_all(bytes)?;
        file.set_permissions(fs::Permissions::from_mode(mode & 0o7777))?;
        file.sync_all()
    })?;
    match temporary.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(FileError::new("write", path, error.error)),
    }
}

fn filled(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<tempfile::NamedTempFile, FileError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut temporary = temporary_in(folder).tried("write beside", path)?;
    fill(temporary.as_file_mut()).tried("write", path)?;
    Ok(temporary)
}

/// Copies a file with its modification time to the nanosecond; returns false if there is none.
///
/// An index copied with a new time hides edits made in the second of its last write from git.
pub fn copy_with_time(from: &Path, to: &Path) -> Result<bool, FileError> {
    let source = match open_plain(from) {
        Ok(file) => file,
        Err(error) if absent(&error) => return Ok(false),
        Err(error) => return Err(FileError::new("read", from, error)),
    };
    let metadata = source.metadata().tried("read", from)?;
    let modified = metadata.modified().tried("read", from)?;
    place(to, |target| {
        if sparse::is_mostly_holes(&metadata) {
            sparse::copy(&source, target)?;
        } else {
            io::copy(&mut &source, target)?;
        }
        target.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o777))?;
        target.set_times(FileTimes::new().set_modified(modified))
    })?;
    Ok(true)
}

/// Creates a private folder with its parents.
pub fn create_private_folder(path: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::DirBuilderExt;
    // Most are there already, and checking is much cheaper than trying to create one.
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .tried("create", path)
}

/// Opens a private file for appending.
pub fn open_append(path: &Path) -> Result<File, FileError> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .mode(0o600)
        .open(path)
        .tried("open", path)
}

/// Moves a file, link or whole folder; across file systems by copying first, then removing.
pub fn move_away(from: &Path, to: &Path) -> Result<(), FileError> {
    if let Some(parent) = to.parent() {
        create_private_folder(parent)?;
    }
    reached(Point::Rename);
    let renamed = fs::rename(from, to);
    reached(Point::Renamed);
    match renamed {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            with_rights(from.parent(), || move_pieces_by_copy(from, to))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => move_locked(from, to),
        other => other.tried("move away", from),
    }
}

/// Moves what another process may remove meanwhile; false where it is gone.
pub fn move_if_there(from: &Path, to: &Path) -> Result<bool, FileError> {
    let is_gone = || fs::symlink_metadata(from).is_err_and(|error| absent(&error));
    match move_away(from, to) {
        Err(_) if is_gone() => Ok(false),
        moved => moved.map(|()| true),
    }
}

/// Moves something after making it and the folder it is in writable; their modes are restored.
fn move_locked(from: &Path, to: &Path) -> Result<(), FileError> {
    with_rights(from.parent(), || {
        let metadata = fs::symlink_metadata(from);
        let is_folder = metadata.is_ok_and(|metadata| metadata.is_dir());
        let mode = if is_folder { make_writable(from) } else { None };
        fs::rename(from, to).tried("move away", from)?;
        restore_mode(to, mode);
        Ok(())
    })
}

/// Does something while a folder is writable; its mode is restored.
fn with_rights<T>(folder: Option<&Path>, work: impl FnOnce() -> T) -> T {
    let folder = folder.unwrap_or(Path::new("/"));
    let mode = make_writable(folder);
    let done = work();
    restore_mode(folder, mode);
    done
}

fn restore_mode(path: &Path, mode: Option<u32>) {
    if let Some(mode) = mode {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    }
}

/// A name nothing has yet: a second obstacle of the same name must not replace the first.
pub fn free_name(path: &Path) -> PathBuf {
    let mut candidate = path.to_owned();
    let mut number = 1;
    while fs::symlink_metadata(&candidate).is_ok() {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        candidate = PathBuf::from(name);
        number += 1;
    }
    candidate
}

/// Grants the owner write and search rights on a folder; returns the mode it had.
pub fn make_writable(folder: &Path) -> Option<u32> {
    let mode = fs::symlink_metadata(folder).ok()?.mode() & 0o7777;
    if mode & 0o700 == 0o700 {
        return None;
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700)).ok()?;
    Some(mode)
}

/// Moves a folder to another file system. What is nested too deep to be named there is moved beside
/// it, piece by piece.
fn move_pieces_by_copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut pieces = vec![from.to_owned()];
    while let Some(piece) = pieces.pop() {
        cut_deep(&piece, &piece, &mut pieces)?;
        let target = if piece == from {
            to.to_owned()
        } else {
            free_name(to)
        };
        move_by_copy(&piece, &target)?;
    }
    Ok(())
}

/// A piece of a tree has no longer path below its top.
const LONGEST_PIECE: usize = 2000;

/// Moves folders that are nested too deep to the side of the top, where they are pieces of their own.
fn cut_deep(top: &Path, folder: &Path, pieces: &mut Vec<PathBuf>) -> Result<(), FileError> {
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    make_writable(folder);
    for entry in fs::read_dir(folder).tried("list", folder)? {
        let entry = entry.tried("list", folder)?;
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let below = path.as_os_str().len() - top.as_os_str().len();
        if below < LONGEST_PIECE {
            cut_deep(top, &path, pieces)?;
            continue;
        }
        let beside = top.parent().unwrap_or(Path::new("/"));
        // A name that recovery knows, should this be interrupted.
        let piece = free_name_in(beside);
        fs::rename(&path, &piece).tried("move", &path)?;
        pieces.push(piece);
    }
    Ok(())
}

fn move_by_copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let metadata = fs::symlink_metadata(from).tried("look at", from)?;
    if metadata.is_dir() {
        create_private_folder(to)?;
        make_writable(from);
        for entry in fs::read_dir(from).tried("list", from)? {
            let name = entry.tried("list", from)?.file_name();
            move_by_copy(&from.join(&name), &to.join(&name))?;
        }
        let mode = fs::Permissions::from_mode(metadata.mode() & 0o7777);
        fs::set_permissions(to, mode).tried("set the mode of", to)?;
        return fs::remove_dir(from).tried("remove", from);
    }
    if metadata.is_symlink() {
        let target = fs::read_link(from).tried("read", from)?;
        std::os::unix::fs::symlink(target, to).tried("create", to)?;
    } else if metadata.is_file() {
        copy_whole(from, to, &metadata)?;
    }
    fs::remove_file(from).tried("remove", from)
}

/// Copies a file with mode and time, durably; one that its owner may not read is opened first.
fn copy_whole(from: &Path, to: &Path, metadata: &fs::Metadata) -> Result<(), FileError> {
    let mode = metadata.mode() & 0o7777;
    if mode & 0o400 == 0 {
        let readable = fs::Permissions::from_mode(mode | 0o400);
        let _ = fs::set_permissions(from, readable);
    }
    let source = File::open(from).tried("copy", from)?;
    let target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .tried("create", to)?;
    sparse::copy(&source, &target)
        .and_then(|_| target.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| target.set_times(FileTimes::new().set_modified(metadata.modified()?)))
        .and_then(|()| target.sync_all())
        .tried("copy", from)
}

/// Makes everything written so far on the file system of `folder` durable.
pub fn sync_file_system(folder: &Path) -> Result<(), FileError> {
    reached(Point::Sync);
    let handle = File::open(folder).tried("open", folder)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&handle)
        .map_err(io::Error::from)
        .tried("sync", folder)?;
    #[cfg(not(target_os = "linux"))]
    {
        drop(handle);
        rustix::fs::sync();
    }
    Ok(())
}

/// The file system a path lives on.
pub fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.dev())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_move_by_copy_takes_along_what_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::write(from.join("inner/file"), "bytes").unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&from.join("inner/file"), 0o000);
        mode(&from.join("inner"), 0o500);
        move_by_copy(&from, &to).unwrap();
        assert!(!from.exists());
        let moved = |path: &str| fs::metadata(to.join(path)).unwrap().mode() & 0o777;
        assert_eq!((moved("inner"), moved("inner/file")), (0o500, 0o000));
        mode(&to.join("inner"), 0o700);
        mode(&to.join("inner/file"), 0o600);
        assert_eq!(fs::read(to.join("inner/file")).unwrap(), b"bytes");
    }

    /// A folder in `top` with a path of more than 6,000 bytes below it, and a file in the last one.
    pub fn make_deep(top: &Path) {
        let part = vec!["d".repeat(200); 10].join("/");
        let mut inner = None;
        for number in 0..3 {
            let folder = top.join(format!("part-{number}"));
            fs::create_dir_all(folder.join(&part)).unwrap();
            match inner {
                None => fs::write(folder.join(&part).join("file"), "deep").unwrap(),
                Some(inner) => fs::rename(inner, folder.join(&part).join("next")).unwrap(),
            }
            inner = Some(folder);
        }
        fs::rename(inner.unwrap(), top.join("deep")).unwrap();
    }

    #[test]
    fn a_move_by_copy_takes_along_what_is_nested_too_deep() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("to");
        make_deep(folder.path());
        fs::create_dir(&to).unwrap();
        move_pieces_by_copy(&folder.path().join("deep"), &to.join("deep")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut folders = vec![to];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(fs::read_to_string(path).unwrap());
                }
            }
        }
        assert_eq!(files, ["deep"]);
    }

    #[test]
    fn a_long_path_is_shown_in_short() {
        let long = Path::new("/start").join("middle".repeat(1000)).join("end");
        let error = FileError::new("read", &long, io::ErrorKind::NotFound.into());
        let text = error.to_string();
        assert!(text.starts_with("could not read `/start/middle"), "{text}");
        assert!(text.ends_with("/end`") && text.len() < 300, "{text}");
    }

    #[test]
    fn a_new_file_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.toml");
        assert!(write_new(&path, b"one", 0o644).unwrap());
        assert!(!write_new(&path, b"two", 0o644).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap();
        assert!(!write_new(&path, b"three", 0o644).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
