//! The refs as their files say them: what `git for-each-ref` answers, without a process.
//!
//! Only where everything is as it mostly is. Git is asked where something is odd (a file that is no
//! ref, a link, a name git would refuse, another ref storage), and where the configuration is not
//! byte for byte the one git last answered with: that git cannot read it is how damage is noticed.

mod moving;

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::object_id::{ObjectFormat, ObjectId};
use super::repository::{Refs, Repository};
use ralph_base::files::{read_line_file, read_plain};

pub(crate) use moving::{BranchMove, HeadMove, NewBranch};

/// Folders below `refs/` of which every work tree has its own.
const PER_WORK_TREE: &[&str] = &["refs/bisect", "refs/worktree", "refs/rewritten"];

/// Words in a configuration that may lead git to other files, or to another ref storage.
const NOT_ORDINARY: &[&[u8]] = &[b"include", b"refstorage"];

/// So many symbolic refs in a row git follows at most.
const LONGEST_CHAIN: usize = 5;

/// A file changed this recently is read again: its time may not show the next change.
const RACY_NS: i128 = 2_000_000_000;

/// Reads refs, and remembers with which configuration git did, and what the packed ones are.
#[derive(Debug, Default)]
pub(crate) struct RefReader {
    accepted: Option<Setup>,
    packed: Option<Packed>,
}

/// What a look at the files gave.
#[derive(Debug)]
pub(crate) enum Read {
    /// All refs.
    Refs(Refs),
    /// Git is to be asked; where it answers, this is what it answered with.
    AskGit(Option<Setup>),
}

/// The files that decide how git reads a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setup {
    files: [Option<Vec<u8>>; 3],
}

/// The packed refs of one state of their file.
#[derive(Debug)]
struct Packed {
    stamp: Stamp,
    refs: Arc<Refs>,
}

/// What changes with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl RefReader {
    /// Reads all refs but HEAD, where nothing is out of the ordinary.
    pub(crate) fn read(&mut self, repository: &Repository) -> Read {
        let setup = Setup::read(repository);
        let is_known = setup.is_some() && setup == self.accepted;
        let refs = is_known.then(|| self.all(repository)).flatten();
        refs.map_or(Read::AskGit(setup), Read::Refs)
    }

    /// True where the configuration is the one git last answered with.
    pub(crate) fn is_accepted(&self, repository: &Repository) -> bool {
        let setup = Setup::read(repository);
        setup.is_some() && setup == self.accepted
    }

    /// Remembers the present configuration as one git has just answered with.
    pub(crate) fn accept_present(&mut self, repository: &Repository) {
        self.accepted = Setup::read(repository);
    }

    /// Remembers what git answered with.
    pub(crate) fn accept(&mut self, setup: Option<Setup>) {
        self.accepted = setup;
    }

    fn all(&mut self, repository: &Repository) -> Option<Refs> {
        if !is_head_fine(repository) || !repository.objects().is_dir() {
            return None;
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
        let resolved: Option<Vec<_>> = loose
            .symbolic
            .iter()
            .map(|(name, _)| Some((name.clone(), resolve(name, &loose.symbolic, &refs)?)))
            .collect();
        refs.extend(resolved?);
        Some(refs)
    }

    fn packed(&mut self, repository: &Repository) -> Option<Arc<Refs>> {
        let path = repository.common_dir.join("packed-refs");
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Some(Arc::default());
            }
            Err(_) => return None,
        };
        if !metadata.is_file() {
            return None;
        }
        let stamp = Stamp::of(&metadata);
        if let Some(known) = self.packed.as_ref().filter(|known| known.stamp == stamp) {
            return Some(Arc::clone(&known.refs));
        }
        let at_ns = now_ns();
        let refs = Arc::new(parse_packed(&read_plain(&path).ok()?, repository.format)?);
        let is_still = at_ns - stamp.changed_ns.max(stamp.modified_ns) > RACY_NS;
        self.packed = is_still.then(|| Packed {
            stamp,
            refs: Arc::clone(&refs),
        });
        Some(refs)
    }
}

impl Setup {
    /// Reads the files; none where one cannot be read, or where one says something unusual.
    fn read(repository: &Repository) -> Option<Self> {
        let (own, shared) = (&repository.git_dir, &repository.common_dir);
        let is_reftable = |folder: &Path| fs::symlink_metadata(folder.join("reftable")).is_ok();
        if is_reftable(own) || is_reftable(shared) {
            return None;
        }
        let files = [
            Some(read_plain(&shared.join("config")).ok()?),
            ralph_base::files::read_if_present(&own.join("config.worktree")).ok()?,
            ralph_base::files::read_if_present(&own.join("commondir")).ok()?,
        ];
        let says = |bytes: &[u8], word: &[u8]| {
            let mut starts = bytes.windows(word.len());
            starts.any(|part| part.eq_ignore_ascii_case(word))
        };
        let is_ordinary = files
            .iter()
            .flatten()
            .all(|bytes| !NOT_ORDINARY.iter().any(|word| says(bytes, word)));
        is_ordinary.then_some(Self { files })
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            place: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The refs that are files of their own.
#[derive(Debug, Default)]
struct Loose {
    refs: Refs,
    symbolic: Vec<(String, String)>,
}

impl Loose {
    /// Lists a folder with all below it; none where something is odd.
    fn list(&mut self, repository: &Repository, folder: &str) -> Option<()> {
        let is_linked = repository.git_dir != repository.common_dir;
        let is_own = |name: &str| {
            PER_WORK_TREE.iter().any(|own| {
                name.strip_prefix(own)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let root = if is_linked && is_own(folder) {
            &repository.git_dir
        } else {
            &repository.common_dir
        };
        let path = root.join(folder);
        // A link in its place is followed by git; what is behind it is for git to say.
        if !fs::symlink_metadata(&path).ok()?.is_dir() {
            return None;
        }
        for entry in fs::read_dir(&path).ok()? {
            let entry = entry.ok()?;
            let file = entry.file_name();
            let file = file.to_str()?;
            if file.starts_with('.') || is_lock(file) {
                continue;
            }
            let name = format!("{folder}/{file}");
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                if !(is_linked && folder == "refs" && is_own(&name)) {
                    self.list(repository, &name)?;
                }
            } else if kind.is_file() && is_plain_name(&name) {
                self.take(&entry.path(), name, repository.format)?;
            } else {
                return None;
            }
        }
        Some(())
    }

    fn take(&mut self, path: &Path, name: String, format: ObjectFormat) -> Option<()> {
        let bytes = read_line_file(path).ok()?;
        if let Some(id) = id_in(&bytes, format) {
            self.refs.insert(name, id);
        } else {
            self.symbolic.push((name, target_in(&bytes)?));
        }
        Some(())
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

/// True where HEAD is such that git takes the folder for a repository with files for refs.
fn is_head_fine(repository: &Repository) -> bool {
    let path = repository.git_dir.join("HEAD");
    if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let bytes = read_line_file(&path).unwrap_or_default();
    target_in(&bytes).is_some() || id_in(&bytes, repository.format).is_some()
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
        let is_own = PER_WORK_TREE.iter().any(|own| name.starts_with(own));
        if is_own || !is_plain_name(name) || refs.insert(name.to_owned(), id).is_some() {
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

/// True for the name of a file that locks another; git tells case apart too.
fn is_lock(name: &str) -> bool {
    name.as_bytes().ends_with(b".lock")
}

fn now_ns() -> i128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| {
            i128::try_from(elapsed.as_nanos()).unwrap_or(i128::MAX)
        })
}

#[cfg(test)]
mod tests;
