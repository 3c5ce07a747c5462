//! The refs as their files say them: what `git for-each-ref` answers, and what `git update-ref` and
//! `git symbolic-ref` do, without a process.
//!
//! Git is asked where something is odd (a file that is no ref, a link, a name git would refuse, another
//! ref storage), and where the configuration is not byte for byte the one git last answered with: that
//! git cannot read it is how damage is noticed.

mod moving;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::access::{Direct, NotDirect, Reason};
use super::object_id::{ObjectFormat, ObjectId};
use super::repository::{Refs, Repository};
use crate::paths::is_at_or_below;
use crate::stat::{Stat, now_ns, stat};
use ralph_base::files::{FileError, Tried, absent, read_if_present, read_line_file, read_plain};

pub(crate) use moving::{RefChange, RefUpdate};

/// Folders below `refs/` of which every work tree has its own.
const PER_WORK_TREE: &[&str] = &["refs/bisect", "refs/worktree", "refs/rewritten"];

/// Words in a configuration that may lead git to other files, or to another ref storage.
const NOT_ORDINARY: &[&[u8]] = &[b"include", b"refstorage"];

/// Git follows at most this many symbolic refs in a row.
const LONGEST_CHAIN: usize = 5;

/// A file changed this recently is read again: its time may not show the next change.
const RACY_NS: i64 = 2_000_000_000;

/// Reads refs, and remembers with which configuration git did, and what the packed ones are.
#[derive(Debug, Default)]
pub(crate) struct RefFiles {
    /// The configuration git last answered with.
    accepted: Option<Setup>,
    /// The one that was there when refs were last read.
    seen: Option<Setup>,
    packed: Option<Packed>,
}

/// The files that decide how git reads a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setup {
    files: [Option<Vec<u8>>; 3],
}

/// The packed refs of one state of their file.
#[derive(Debug)]
struct Packed {
    stat: Stat,
    refs: Arc<Refs>,
}

impl RefFiles {
    /// Remembers the present configuration as one git has just answered with.
    pub(crate) fn accept_present(&mut self, repository: &Repository) {
        self.accepted = Setup::read(repository).ok();
    }

    /// Remembers that git has answered since refs could not be read.
    pub(crate) fn git_answered(&mut self) {
        self.accepted = self.seen.take();
    }

    /// Refuses to be direct with a configuration git has not answered with.
    fn check_setup(&mut self, repository: &Repository) -> Direct<()> {
        self.seen = None;
        let setup = Setup::read(repository)?;
        if self.accepted.as_ref() == Some(&setup) {
            return Ok(());
        }
        self.seen = Some(setup);
        Err(Reason::Config.into())
    }

    /// All refs but HEAD.
    pub(crate) fn list(&mut self, repository: &Repository) -> Direct<Refs> {
        self.check_setup(repository)?;
        let listed = self.all(repository);
        if listed.is_err() {
            self.seen.clone_from(&self.accepted);
        }
        listed
    }

    fn all(&mut self, repository: &Repository) -> Direct<Refs> {
        if !repository.objects().is_dir() {
            return Err(Reason::OddRef("objects".to_owned()).into());
        }
        let head = read_ref(&repository.git_dir.join("HEAD"), "HEAD")?;
        if target_in(&head).is_none() && id_in(&head, repository.format).is_none() {
            return Err(Reason::OddRef("HEAD".to_owned()).into());
        }
        // As git does: a ref that is being packed is in both before it is in one.
        let mut loose = Loose::default();
        loose.list(repository, "refs")?;
        if repository.git_dir != repository.common_dir {
            for folder in PER_WORK_TREE {
                if repository.git_dir.join(folder).is_dir() {
                    loose.list(repository, folder)?;
                }
            }
        }
        let mut refs = Refs::clone(&*self.packed(repository)?);
        refs.extend(loose.refs);
        let mut resolved = Vec::new();
        for (name, _) in &loose.symbolic {
            let id = resolve(name, &loose.symbolic, &refs);
            let id = id.ok_or_else(|| Reason::OddRef(name.clone()))?;
            resolved.push((name.clone(), id));
        }
        refs.extend(resolved);
        Ok(refs)
    }

    fn packed(&mut self, repository: &Repository) -> Direct<Arc<Refs>> {
        let path = repository.common_dir.join("packed-refs");
        let odd = || Reason::OddRef("packed-refs".to_owned());
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(_) => return Err(odd().into()),
            Err(error) if absent(&error) => return Ok(Arc::default()),
            Err(error) => return Err(FileError::new("read", &path, error).into()),
        };
        let stat = stat(&metadata);
        if let Some(known) = self.packed.as_ref().filter(|known| known.stat == stat) {
            return Ok(Arc::clone(&known.refs));
        }
        let at_ns = now_ns();
        let bytes = read_plain(&path).tried("read", &path)?;
        let refs = Arc::new(parse_packed(&bytes, repository.format).ok_or_else(odd)?);
        let is_still = at_ns.saturating_sub(stat.changed_ns.max(stat.modified_ns)) > RACY_NS;
        self.packed = is_still.then(|| Packed {
            stat,
            refs: Arc::clone(&refs),
        });
        Ok(refs)
    }
}

impl Setup {
    fn read(repository: &Repository) -> Direct<Self> {
        let (own, shared) = (&repository.git_dir, &repository.common_dir);
        if repository.has_reftable() {
            return Err(Reason::RefTable.into());
        }
        // What cannot be read is for git to complain about.
        let config = read_plain(&shared.join("config")).map_err(|_| Reason::Config)?;
        let files = [
            Some(config),
            read_if_present(&own.join("config.worktree")).map_err(|_| Reason::Config)?,
            read_if_present(&own.join("commondir")).map_err(|_| Reason::Config)?,
        ];
        let says = |bytes: &[u8], word: &[u8]| {
            let mut starts = bytes.windows(word.len());
            starts.any(|part| part.eq_ignore_ascii_case(word))
        };
        let mut present = files.iter().flatten();
        if present.any(|bytes| NOT_ORDINARY.iter().any(|word| says(bytes, word))) {
            return Err(Reason::Config.into());
        }
        Ok(Self { files })
    }
}

/// What the file of a ref says; what is no plain file is odd.
fn read_ref(path: &Path, name: &str) -> Direct<Vec<u8>> {
    let odd = || NotDirect::AskGit(Reason::OddRef(name.to_owned()));
    match fs::symlink_metadata(path)
        .and_then(|it| it.is_file().then(|| read_line_file(path)).transpose())
    {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(odd()),
        Err(error) if absent(&error) || error.kind() == io::ErrorKind::FileTooLarge => Err(odd()),
        Err(error) => Err(FileError::new("read", path, error).into()),
    }
}

/// The refs that are files of their own.
#[derive(Debug, Default)]
struct Loose {
    refs: Refs,
    symbolic: Vec<(String, String)>,
}

impl Loose {
    /// Lists a folder with all below it.
    fn list(&mut self, repository: &Repository, folder: &str) -> Direct<()> {
        let is_linked = repository.git_dir != repository.common_dir;
        let root = if is_linked && is_per_work_tree(folder) {
            &repository.git_dir
        } else {
            &repository.common_dir
        };
        let path = root.join(folder);
        let odd = |name: &str| NotDirect::AskGit(Reason::OddRef(name.to_owned()));
        // A link in its place is followed by git; what is behind it is for git to say.
        if !fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
            return Err(odd(folder));
        }
        for entry in fs::read_dir(&path).tried("list", &path)? {
            let entry = entry.tried("list", &path)?;
            let file = entry.file_name();
            let file = file.to_str().ok_or_else(|| odd(folder))?;
            if file.starts_with('.') || is_lock(file) {
                continue;
            }
            let name = format!("{folder}/{file}");
            let kind = entry.file_type().tried("read", &entry.path())?;
            if kind.is_dir() {
                if !(is_linked && folder == "refs" && is_per_work_tree(&name)) {
                    self.list(repository, &name)?;
                }
                continue;
            }
            if !is_plain_name(&name) {
                return Err(odd(&name));
            }
            let bytes = read_ref(&entry.path(), &name)?;
            if let Some(id) = id_in(&bytes, repository.format) {
                self.refs.insert(name, id);
            } else {
                let target = target_in(&bytes).ok_or_else(|| odd(&name))?;
                self.symbolic.push((name, target));
            }
        }
        Ok(())
    }
}

/// The id a ref file holds, written just as git writes it.
fn id_in(bytes: &[u8], format: ObjectFormat) -> Option<ObjectId> {
    parse_id(bytes.strip_suffix(b"\n")?, format)
}

/// An id of the right length that stands for an object.
fn parse_id(hex: &[u8], format: ObjectFormat) -> Option<ObjectId> {
    let id = ObjectId::parse(hex).filter(|_| hex.iter().all(u8::is_ascii_hexdigit))?;
    let zero = format.zero();
    (id.as_bytes().len() == zero.as_bytes().len() && id != zero).then_some(id)
}

/// The ref a symbolic ref names, written just as git writes it.
fn target_in(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let name = text.strip_prefix("ref: ")?.strip_suffix('\n')?;
    is_plain_name(name).then(|| name.to_owned())
}

fn resolve(name: &str, symbolic: &[(String, String)], refs: &Refs) -> Option<ObjectId> {
    let mut name = name;
    for _ in 0..LONGEST_CHAIN {
        match symbolic.iter().find(|(symbol, _)| symbol == name) {
            Some((_, target)) => name = target,
            None => return refs.get(name).copied(),
        }
    }
    None
}

/// Reads the file of packed refs; none where a line is not as git writes it.
fn parse_packed(bytes: &[u8], format: ObjectFormat) -> Option<Refs> {
    let mut refs = Refs::new();
    let Some(text) = std::str::from_utf8(bytes).ok()?.strip_suffix('\n') else {
        return bytes.is_empty().then_some(refs);
    };
    for (number, line) in text.split('\n').enumerate() {
        if (number == 0 && line.starts_with('#')) || line.starts_with('^') {
            continue;
        }
        let (id, name) = line.split_once(' ')?;
        let id = parse_id(id.as_bytes(), format)?;
        if is_per_work_tree(name)
            || !is_plain_name(name)
            || refs.insert(name.to_owned(), id).is_some()
        {
            return None;
        }
    }
    Some(refs)
}

/// True for names below `refs/` that git takes without a word.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !is_lock(part)
    };
    let is_odd = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    name.strip_prefix("refs/")
        .is_some_and(|rest| rest.split('/').all(is_plain))
        && !name.contains(is_odd)
        && !name.contains("..")
        && !name.contains("@{")
}

/// True for a ref of which every work tree has its own.
pub(crate) fn is_per_work_tree(name: &str) -> bool {
    PER_WORK_TREE.iter().any(|own| is_at_or_below(name, own))
}

/// True for the name of a file that locks another; git tells case apart too.
fn is_lock(name: &str) -> bool {
    name.as_bytes().ends_with(b".lock")
}

#[cfg(test)]
mod tests;
