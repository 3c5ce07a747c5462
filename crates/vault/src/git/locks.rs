//! Lock files of git, and which live process may hold one.
//!
//! Git closes some of its lock files long before it removes them, so that no open file says who holds
//! one. Any git that may write and that works on the repository, in whichever of its work trees, counts
//! as the holder of all of them.

mod listed;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::repository::Repository;
use ralph_base::files::read_line_file;

/// Git commands that take no lock, or only one that they keep open.
const READING: &[&str] = &[
    "annotate",
    "archive",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "for-each-ref",
    "format-patch",
    "fsck",
    "grep",
    "help",
    "instaweb",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "request-pull",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "status",
    "var",
    "verify-commit",
    "verify-pack",
    "version",
    "whatchanged",
];

/// Git commands that only list where no further word follows (`stash` excepted), or one of these.
const LISTING: &[(&str, &[&str])] = &[
    ("branch", &[]),
    ("tag", &[]),
    ("remote", &["show", "get-url"]),
    ("stash", &["list", "show"]),
    ("reflog", &["show", "list"]),
    ("worktree", &["list"]),
    ("notes", &["list", "show"]),
    ("submodule", &["status", "summary"]),
    ("config", &["get", "list"]),
];

/// Options of git itself that are followed by a value.
const WITH_VALUE: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
];

/// Locks below the objects, which are too many to be listed.
const OF_OBJECTS: &[&str] = &[
    "objects/maintenance.lock",
    "objects/info/commit-graph.lock",
    "objects/info/commit-graphs/commit-graph-chain.lock",
    "objects/info/alternates.lock",
    "objects/pack/multi-pack-index.lock",
];

/// A live process that may hold a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

/// A process that may hold a lock.
#[derive(Debug, Default)]
struct Process {
    pid: u32,
    uid: u32,
    argv: Vec<Vec<u8>>,
    /// Folders and files it works with; none where the system does not tell.
    places: Option<Vec<PathBuf>>,
}

/// Finds the lock files of a repository. Those of refs, logs and other work trees are looked for only on
/// request: there may be many folders.
pub fn find(repository: &Repository, everywhere: bool) -> Vec<PathBuf> {
    let (own, shared) = (&repository.git_dir, &repository.common_dir);
    let mut folders = vec![
        own.clone(),
        shared.clone(),
        own.join("info"),
        shared.join("info"),
    ];
    folders.extend(["rebase-merge", "rebase-apply", "sequencer"].map(|it| own.join(it)));
    folders.push(shared.join("reftable"));
    if everywhere {
        let listing = fs::read_dir(shared.join("worktrees"));
        let mut directories = vec![own.clone(), shared.clone()];
        directories.extend(listing.into_iter().flatten().flatten().map(|it| it.path()));
        for directory in directories {
            for name in ["refs", "logs"] {
                folders_below(directory.join(name), &mut folders);
            }
            folders.push(directory);
        }
    }
    folders.sort_unstable();
    folders.dedup();
    let mut found: Vec<PathBuf> = folders.iter().flat_map(|it| locks_in(it)).collect();
    let of_objects = OF_OBJECTS.iter().map(|it| shared.join(it));
    found.extend(of_objects.filter(|it| fs::symlink_metadata(it).is_ok()));
    found
}

/// Finds the lock files in the git directories of submodules.
pub fn find_in_submodules(repository: &Repository) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    submodules_below(&repository.git_dir.join("modules"), &mut folders);
    folders.iter().flat_map(|it| locks_in(it)).collect()
}

fn locks_in(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder).into_iter().flatten().flatten();
    listing
        .filter(|entry| entry.file_name().as_bytes().ends_with(b".lock"))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .collect()
}

fn folders_below(folder: PathBuf, found: &mut Vec<PathBuf>) {
    // No link is followed: what is behind it is not the repository's.
    if !fs::symlink_metadata(&folder).is_ok_and(|it| it.is_dir()) {
        return;
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders_below(entry.path(), found);
        }
    }
    found.push(folder);
}

/// The git directories of submodules: a submodule's name may have slashes, and it may have its own.
fn submodules_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if path.join("HEAD").is_file() {
            submodules_below(&path.join("modules"), found);
            found.push(path);
        } else {
            submodules_below(&path, found);
        }
    }
}

/// The live process that may hold a lock; none where it is certain that there is none.
pub fn holder(lock: &Path, repository: &Repository) -> Option<Holder> {
    let owner = fs::symlink_metadata(lock).ok()?.uid();
    let roots = roots(repository);
    let own = std::process::id();
    let found = processes(lock).into_iter().find(|process| {
        let has_open = || {
            let places = process.places.iter().flatten();
            places.into_iter().any(|place| place == lock)
        };
        let works_here = || match &process.places {
            Some(places) => places
                .iter()
                .any(|it| roots.iter().any(|root| it.starts_with(root))),
            None => true,
        };
        process.pid != own
            && (has_open() || process.uid == owner && process.is_writing_git() && works_here())
    })?;
    Some(found.describe())
}

/// All folders of a repository: its git directories and its work trees.
fn roots(repository: &Repository) -> Vec<PathBuf> {
    let shared = &repository.common_dir;
    let mut roots = vec![
        repository.work_tree.clone(),
        repository.git_dir.clone(),
        shared.clone(),
    ];
    if shared.file_name() == Some(OsStr::new(".git")) {
        roots.extend(shared.parent().map(Path::to_owned));
    }
    let listing = fs::read_dir(shared.join("worktrees"));
    for entry in listing.into_iter().flatten().flatten() {
        let pointer = entry.path().join("gitdir");
        if fs::symlink_metadata(&pointer).is_ok_and(|it| it.is_file()) {
            let text = read_line_file(&pointer).unwrap_or_default();
            let path = PathBuf::from(OsStr::from_bytes(text.trim_ascii_end()));
            roots.extend(path.parent().map(Path::to_owned));
        }
    }
    let real = roots.iter().filter_map(|it| it.canonicalize().ok());
    let mut real: Vec<PathBuf> = real.collect();
    real.append(&mut roots);
    real.retain(|it| it.is_absolute() && it != Path::new("/"));
    real
}

impl Process {
    fn describe(&self) -> Holder {
        let words: Vec<_> = self
            .argv
            .iter()
            .map(|it| String::from_utf8_lossy(it))
            .collect();
        Holder {
            pid: self.pid,
            command: words.join(" ").chars().take(80).collect(),
        }
    }

    /// True for a git that may hold a lock it has closed.
    fn is_writing_git(&self) -> bool {
        let Some(command) = self.subcommand() else {
            return false;
        };
        let (name, rest) = (command[0].as_slice(), &command[1..]);
        let name = String::from_utf8_lossy(name);
        if READING.contains(&name.as_ref()) {
            return false;
        }
        let listing = LISTING.iter().find(|it| it.0 == name);
        let mut words = rest.iter().filter(|it| !it.starts_with(b"-"));
        let asks = |it: &Vec<u8>| {
            it.starts_with(b"--get") || [&b"--list"[..], b"-l"].contains(&it.as_slice())
        };
        !listing.is_some_and(|(_, lists)| match words.next() {
            // Alone it saves a stash.
            None if name == "stash" => false,
            None => !rest
                .iter()
                .any(|it| it.starts_with(b"--unset") || it == b"--edit"),
            Some(word) => lists.iter().any(|it| it.as_bytes() == word) || rest.iter().any(asks),
        })
    }

    /// The command of git with its words; none for a process that is no git.
    fn subcommand(&self) -> Option<Vec<Vec<u8>>> {
        let (program, rest) = self.argv.split_first()?;
        let program = program.rsplit(|byte| *byte == b'/').next()?;
        if let Some(name) = program.strip_prefix(b"git-") {
            let mut command = vec![name.to_vec()];
            command.extend_from_slice(rest);
            return Some(command);
        }
        if program != b"git" {
            return None;
        }
        let mut place = 0;
        while let Some(word) = rest.get(place).filter(|word| word.starts_with(b"-")) {
            let is_pair = WITH_VALUE.iter().any(|it| it.as_bytes() == word);
            place += if is_pair { 2 } else { 1 };
        }
        let command = rest.get(place..).unwrap_or_default();
        // Git that was started a moment ago and does not say yet what it does.
        Some(if command.is_empty() {
            vec![Vec::new()]
        } else {
            command.to_vec()
        })
    }
}

/// All processes of this system.
fn processes(lock: &Path) -> Vec<Process> {
    #[cfg(target_os = "linux")]
    if let Ok(listing) = fs::read_dir("/proc") {
        let numbers = listing.flatten().filter_map(|entry| {
            let name = entry.file_name();
            name.to_str()?.parse::<u32>().ok()
        });
        return numbers.filter_map(of_proc).collect();
    }
    listed::processes(lock)
}

#[cfg(target_os = "linux")]
fn of_proc(pid: u32) -> Option<Process> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let uid = fs::metadata(&folder).ok()?.uid();
    let argv = split(&fs::read(folder.join("cmdline")).ok()?);
    let process = Process {
        pid,
        uid,
        argv,
        places: None,
    };
    process.with_places(&folder)
}

#[cfg(target_os = "linux")]
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let parts = bytes.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    parts.map(<[u8]>::to_vec).collect()
}

#[cfg(target_os = "linux")]
impl Process {
    /// Adds what it works with; none where it has ended meanwhile, for then it holds nothing.
    fn with_places(mut self, folder: &Path) -> Option<Self> {
        let listing = fs::read_dir(folder.join("fd"));
        let open = listing.into_iter().flatten().flatten();
        let links = open.filter_map(|it| fs::read_link(it.path()).ok());
        let mut places: Vec<PathBuf> = links.collect();
        if self.subcommand().is_some() {
            let cwd = match fs::read_link(folder.join("cwd")) {
                Ok(cwd) => cwd,
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    return Some(self);
                }
                Err(_) => return None,
            };
            let variables = split(&fs::read(folder.join("environ")).unwrap_or_default());
            let named = variables.iter().filter(|it| it.starts_with(b"GIT_"));
            let named = named.filter_map(|it| it.splitn(2, |byte| *byte == b'=').nth(1));
            let options = self.argv.iter().map(|word| {
                let value = word.splitn(2, |byte| *byte == b'=').nth(1);
                value.unwrap_or(word)
            });
            let paths = named
                .chain(options)
                .map(|it| cwd.join(OsStr::from_bytes(it)));
            places.extend(paths.map(|it| it.canonicalize().unwrap_or(it)));
            let maps = fs::read_to_string(folder.join("maps")).unwrap_or_default();
            let mapped = maps
                .lines()
                .filter_map(|line| line.find('/').map(|at| &line[at..]));
            places.extend(mapped.map(PathBuf::from));
            places.push(cwd);
        }
        self.places = Some(places);
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_git_that_only_reads_holds_no_lock_that_it_has_closed() {
        for (line, writes) in [
            ("git log -p", false),
            ("/usr/bin/git -C /x --no-pager -c a.b=c show HEAD", false),
            ("git status", false),
            ("git branch -a", false),
            ("git branch new", true),
            ("git stash list", false),
            ("git stash", true),
            ("git stash pop", true),
            ("git config --get user.name", false),
            ("git config user.name me", true),
            ("git gc", true),
            ("git-upload-pack x", true),
            ("git commit -m log", true),
            ("less", false),
            ("vim git", false),
        ] {
            let argv = line.split(' ').map(|it| it.as_bytes().to_vec()).collect();
            let process = Process {
                argv,
                ..Process::default()
            };
            assert_eq!(process.is_writing_git(), writes, "{line}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_git_that_ends_while_it_is_looked_at_holds_no_lock() {
        let git = |pid| Process {
            pid,
            argv: vec![b"git".to_vec(), b"gc".to_vec()],
            ..Process::default()
        };
        let own = std::process::id();
        assert!(git(own).with_places(Path::new("/proc/self")).is_some());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let gone = format!("/proc/{}", child.id());
        assert!(git(child.id()).with_places(Path::new(&gone)).is_none());
    }
}
