//! The shape of the git directory: which of its paths are folders, files or links, with which
//! modes. Recorded with every checkpoint. Before anything in the git directory is read, written or
//! given to git, what is not of its recorded kind is moved aside: no link that was not there at the
//! checkpoint is followed, and no pipe is opened.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use super::git_paths::{
    ALTERNATES, FOLDERS, has_few_files, is_fan_out, is_file_path, is_looked_into,
};
use crate::error::Result;
use crate::git::repository::Repository;
use crate::paths::{create_folder_above, is_at_or_below};
use crate::repo::RepairFor;
use crate::stat::changed_ns;
use ralph_base::files::{Tried, absent, copy_with_time, free_name, make_writable, move_away};
use ralph_base::sparse::is_mostly_holes;

/// A longer path is no path of git's; somewhat longer ones cannot be read at all.
const LONGEST_PATH: usize = 1500;

/// The socket of git's own file system monitor.
const MONITOR: &str = "fsmonitor--daemon.ipc";

/// What a path of the git directory is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Node {
    Folder { mode: u32 },
    File { mode: u32 },
    Link { to: PathBuf },
    Special,
}

impl Node {
    fn of(path: impl FnOnce() -> PathBuf, metadata: &Metadata) -> Self {
        let mode = metadata.mode() & 0o7777;
        if metadata.is_dir() {
            Self::Folder { mode }
        } else if metadata.is_file() {
            Self::File { mode }
        } else if metadata.is_symlink() {
            let to = fs::read_link(path()).unwrap_or_default();
            Self::Link { to }
        } else {
            Self::Special
        }
    }

    fn is_same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Link { to }, Self::Link { to: other }) => to == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// The kinds and modes of the paths of the git directory, and the mode of the top folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Mode of the work tree's top folder; none in snapshots of earlier versions.
    top: Option<u32>,
    /// Where `.git` of the work tree points, if it is a link.
    pointer: Option<PathBuf>,
    shared: BTreeMap<String, Node>,
    /// What is in the work tree's own git directory, if that is another one.
    own: BTreeMap<String, Node>,
}

/// What one pass over a git directory shows besides its shape.
pub struct Times {
    /// When anything in it changed last, apart from objects and what is deep in folders that git does
    /// not know.
    pub youngest_ns: i64,
    /// The folders that hold objects, by their names below `objects`.
    pub object_folders: Vec<(String, Metadata)>,
}

impl Shape {
    /// Records the shape as it is now.
    pub fn read(repository: &Repository) -> Self {
        Self::read_in(repository, Folders::AllButObjects).0
    }

    /// The same, with what else one pass over the git directory shows; none where it is gone.
    pub fn read_with_times(repository: &Repository) -> Option<(Self, Times)> {
        let is_there = |root: &PathBuf| fs::symlink_metadata(root).is_ok_and(|it| it.is_dir());
        if !is_there(&repository.common_dir) || !is_there(&repository.git_dir) {
            return None;
        }
        Some(Self::read_in(repository, Folders::All))
    }

    fn read_in(repository: &Repository, folders: Folders) -> (Self, Times) {
        let top = fs::symlink_metadata(&repository.work_tree).ok();
        let mut times = Times {
            youngest_ns: i64::MIN,
            object_folders: Vec::new(),
        };
        let mut record = |root: &Path| {
            let mut found = BTreeMap::new();
            visit(root, folders, &mut |path, node, metadata| {
                times.youngest_ns = times.youngest_ns.max(changed_ns(metadata));
                let is_plain = matches!(node, Node::File { .. }) && !has_few_files(path);
                let is_fan_out = metadata.is_dir() && is_fan_out(path);
                if is_fan_out || metadata.is_dir() && path == "objects/pack" {
                    let name = path.trim_start_matches("objects/").to_owned();
                    times.object_folders.push((name, metadata.clone()));
                }
                if !is_plain && !is_fan_out {
                    found.insert(path.to_owned(), node.clone());
                }
                Ok(true)
            })
            .map(|()| found)
            .unwrap_or_default()
        };
        let shape = Self {
            top: top.map(|it| it.mode() & 0o7777),
            pointer: fs::read_link(repository.work_tree.join(".git")).ok(),
            shared: record(&repository.common_dir),
            own: if repository.git_dir == repository.common_dir {
                BTreeMap::new()
            } else {
                record(&repository.git_dir)
            },
        };
        (shape, times)
    }

    /// True where a part of the git directory is elsewhere, behind a link.
    pub fn has_links(&self) -> bool {
        let mut nodes = self.shared.values().chain(self.own.values());
        self.pointer.is_some() || nodes.any(|node| matches!(node, Node::Link { .. }))
    }

    /// Moves everything aside that is not of its kind, and opens what its owner locked. Gives the
    /// paths that were moved. What is then missing is restored from what has its content.
    pub fn enforce(
        &self,
        folders: Folders,
        repository: &Repository,
        repair: RepairFor,
        trash: &Path,
    ) -> Result<Vec<String>> {
        let mut moved = self.enforce_top(repository, trash)?;
        let own = (repository.git_dir != repository.common_dir).then_some(&self.own);
        let roots = [
            (&repository.common_dir, Some(&self.shared)),
            (&repository.git_dir, own),
        ];
        for (root, recorded) in roots {
            let Some(recorded) = recorded else { continue };
            if fs::symlink_metadata(root).is_ok_and(|it| it.is_dir()) {
                Enforcement {
                    root,
                    folders,
                    recorded,
                    repair,
                    trash,
                }
                .carry_out(&mut moved)?;
            }
        }
        Ok(moved)
    }

    /// The top folder and the git directory are folders: their paths had no link in them when the
    /// repository was found.
    pub fn enforce_top(&self, repository: &Repository, trash: &Path) -> Result<Vec<String>> {
        let mut moved = Vec::new();
        let top = &repository.work_tree;
        if !is_folder(top)? {
            if fs::symlink_metadata(top).is_ok() {
                set_aside(top, "top", trash)?;
                moved.push(top.display().to_string());
            }
            fs::create_dir_all(top).tried("create", top)?;
        }
        make_writable(top);
        let pointer = top.join(".git");
        if let Some(to) = &self.pointer
            && fs::read_link(&pointer).ok().as_ref() != Some(to)
        {
            if fs::symlink_metadata(&pointer).is_ok() {
                set_aside(&pointer, ".git", trash)?;
            }
            std::os::unix::fs::symlink(to, &pointer).tried("create", &pointer)?;
            moved.push(".git".to_owned());
        }
        for folder in [&repository.common_dir, &repository.git_dir] {
            let is_link = fs::symlink_metadata(folder).is_ok_and(|it| it.is_symlink());
            if is_link {
                set_aside(folder, ".git", trash)?;
                moved.push(folder.display().to_string());
            }
        }
        Ok(moved)
    }

    /// Restores folders, links and modes that were recorded.
    pub fn restore(&self, repository: &Repository) -> Result<()> {
        let roots = [
            (&repository.common_dir, &self.shared),
            (&repository.git_dir, &self.own),
        ];
        for (root, recorded) in roots {
            for (path, node) in recorded {
                restore_missing(&root.join(path), node)?;
            }
            for (path, node) in recorded.iter().rev() {
                restore_mode(&root.join(path), node)?;
            }
        }
        self.restore_top(repository)
    }

    /// This shape with everything that differs between `from` and `to` as `to` has it. Refs and their
    /// logs are not part of it: git makes and removes their folders as it needs them.
    #[must_use]
    pub fn with_changes(&self, from: &Self, to: &Self) -> Self {
        fn pick<'a, T: PartialEq>(ours: &'a T, from: &T, to: &'a T) -> &'a T {
            if from == to { ours } else { to }
        }
        Self {
            top: *pick(&self.top, &from.top, &to.top),
            pointer: pick(&self.pointer, &from.pointer, &to.pointer).clone(),
            shared: nodes_with_changes(&self.shared, &from.shared, &to.shared),
            own: nodes_with_changes(&self.own, &from.own, &to.own),
        }
    }

    /// Restores the mode of the work tree's top folder.
    pub fn restore_top(&self, repository: &Repository) -> Result<()> {
        match self.top {
            Some(mode) => restore_mode(&repository.work_tree, &Node::Folder { mode }),
            None => Ok(()),
        }
    }

    /// True where the list of packed refs was a file.
    pub fn has_packed_refs(&self) -> bool {
        matches!(self.shared.get("packed-refs"), Some(Node::File { .. }))
    }
}

/// The paths of a git directory with their kinds.
type Nodes = BTreeMap<String, Node>;

fn nodes_with_changes(ours: &Nodes, from: &Nodes, to: &Nodes) -> Nodes {
    let mut merged = ours.clone();
    let is_git_s = |path: &str| ["refs", "logs"].iter().any(|it| is_at_or_below(path, it));
    let paths = from.keys().chain(to.keys());
    for path in paths.filter(|path| !is_git_s(path) && from.get(*path) != to.get(*path)) {
        match to.get(path) {
            Some(node) => merged.insert(path.clone(), node.clone()),
            None => merged.remove(path),
        };
    }
    merged
}

struct Enforcement<'a> {
    root: &'a Path,
    folders: Folders,
    recorded: &'a BTreeMap<String, Node>,
    repair: RepairFor,
    trash: &'a Path,
}

impl Enforcement<'_> {
    fn carry_out(&self, moved: &mut Vec<String>) -> Result<()> {
        visit(self.root, self.folders, &mut |path, node, metadata| {
            let full = self.root.join(path);
            if self.is_wrong(path, node, metadata) {
                let top = self.new_top(path);
                set_aside(&self.root.join(top), top, self.trash)?;
                moved.push(top.to_owned());
                return Ok(false);
            }
            if !open(&full, path, node, metadata) {
                // Another user's folder cannot be moved either, and is left.
                if set_aside(&full, path, self.trash).is_ok() {
                    moved.push(path.to_owned());
                }
                return Ok(false);
            }
            if path.starts_with("logs/") && metadata.is_file() && metadata.nlink() > 1 {
                // Logs are appended to: what has another name elsewhere must not grow.
                copy_with_time(&full, &full)?;
            }
            Ok(true)
        })?;
        // What is behind a link of the user's is restored, too.
        for (path, node) in self.recorded {
            if matches!(node, Node::Link { .. }) {
                restore_missing(&self.root.join(path), node)?;
            }
        }
        Ok(())
    }

    /// The path itself, or of one that is too long the first folder that is new.
    fn new_top<'p>(&self, path: &'p str) -> &'p str {
        let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
        let is_new = |above: &&str| {
            path.len() > LONGEST_PATH && above.contains('/') && !self.recorded.contains_key(*above)
        };
        ends.into_iter().find(is_new).unwrap_or(path)
    }

    fn is_wrong(&self, path: &str, node: &Node, metadata: &Metadata) -> bool {
        // Git has no such file; to read one would take all memory. Packs are the vault's, too.
        if metadata.is_file()
            && is_mostly_holes(metadata)
            && !path.starts_with("objects/pack/pack-")
        {
            return true;
        }
        if let Some(recorded) = self.recorded.get(path) {
            return !recorded.is_same_kind(node);
        }
        let is_strict = self.repair == RepairFor::Restore;
        if is_strict && path.len() > LONGEST_PATH {
            return true;
        }
        match node {
            Node::Folder { .. } if is_strict && !is_looked_into(path) && !is_fan_out(path) => {
                is_file_path(path) || has_long_path(&self.root.join(path), path.len())
            }
            Node::Folder { .. } => is_file_path(path),
            // With reftables a file stands for all branches.
            Node::File { .. } if path == "refs/heads" => !self.root.join("reftable").is_dir(),
            // Snapshots of earlier versions have no shape.
            Node::File { .. } if path == ALTERNATES => is_strict && !self.recorded.is_empty(),
            Node::File { .. } => FOLDERS.contains(&path) || is_fan_out(path),
            Node::Link { .. } => {
                let may_be_new = ["hooks", "info"].iter().any(|it| is_at_or_below(path, it));
                is_strict || !may_be_new
            }
            Node::Special => !(metadata.file_type().is_socket() && path == MONITOR),
        }
    }
}

/// Opens a path its owner may not use; false where it may not be read and cannot be opened.
fn open(full: &Path, path: &str, node: &Node, metadata: &Metadata) -> bool {
    let needed = match node {
        Node::Folder { .. } => 0o700,
        Node::File { .. } if path.starts_with("logs/") => 0o600,
        Node::File { .. } => 0o400,
        _ => return true,
    };
    let mode = metadata.mode() & 0o7777;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if is_ours && mode & needed == needed {
        return true;
    }
    let is_folder = metadata.is_dir();
    // Another name of a file elsewhere: its mode is not ours to change.
    if is_ours && (is_folder || metadata.nlink() == 1) {
        let opened = Permissions::from_mode(mode | needed);
        return fs::set_permissions(full, opened).is_ok();
    }
    let wanted = if is_folder {
        Access::READ_OK | Access::EXEC_OK
    } else {
        Access::READ_OK
    };
    access(full, wanted).is_ok()
}

/// True where a path below a folder is too long.
fn has_long_path(folder: &Path, length: usize) -> bool {
    if length > LONGEST_PATH {
        return true;
    }
    let listing = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = listing.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.any(|entry| has_long_path(&entry.path(), length + 1 + entry.file_name().len()))
}

/// Moves a path to the trash under a name of its own: a link there must not stand in the way of
/// what is moved to the trash later.
fn set_aside(full: &Path, path: &str, trash: &Path) -> Result<()> {
    // No name may have more than 255 bytes.
    let name: String = path.replace('/', ":").chars().take(60).collect();
    let to = free_name(&trash.join("replaced").join(name));
    Ok(move_away(full, &to)?)
}

fn is_folder(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.is_dir()),
        Err(error) if absent(&error) => Ok(false),
        Err(error) => Err(error).tried("look at", path).map_err(Into::into),
    }
}

fn restore_missing(full: &Path, node: &Node) -> Result<()> {
    if fs::symlink_metadata(full).is_ok() {
        return Ok(());
    }
    match node {
        Node::Folder { .. } => fs::create_dir_all(full).tried("create", full)?,
        Node::Link { to } => {
            create_folder_above(full)?;
            std::os::unix::fs::symlink(to, full).tried("create", full)?;
        }
        Node::File { .. } | Node::Special => {}
    }
    Ok(())
}

fn restore_mode(full: &Path, node: &Node) -> Result<()> {
    let (Node::Folder { mode } | Node::File { mode }) = node else {
        return Ok(());
    };
    let Ok(metadata) = fs::symlink_metadata(full) else {
        return Ok(());
    };
    let is_same_kind = Node::of(|| full.to_owned(), &metadata).is_same_kind(node);
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_same_kind || !is_ours || metadata.mode() & 0o7777 == *mode {
        return Ok(());
    }
    if metadata.is_file() && metadata.nlink() > 1 {
        // The other name of the file keeps its mode: this one becomes a file of its own.
        copy_with_time(full, full)?;
    }
    let permissions = Permissions::from_mode(*mode);
    Ok(fs::set_permissions(full, permissions).tried("set the mode of", full)?)
}

/// Which folders of the git directory are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folders {
    All,
    /// All but those of loose objects, which were enforced before.
    AllButObjects,
}

/// Goes through the folders that are looked into, following no link. `see` is called for each path
/// before what is below it, and says whether to look below.
fn visit(
    root: &Path,
    folders: Folders,
    see: &mut dyn FnMut(&str, &Node, &Metadata) -> Result<bool>,
) -> Result<()> {
    match fs::symlink_metadata(root) {
        Ok(metadata) => visit_path(root, folders, "", &metadata, see),
        Err(_) => Ok(()),
    }
}

fn visit_path(
    root: &Path,
    folders: Folders,
    path: &str,
    metadata: &Metadata,
    see: &mut dyn FnMut(&str, &Node, &Metadata) -> Result<bool>,
) -> Result<()> {
    let below = see(path, &Node::of(|| root.join(path), metadata), metadata)?;
    if !below || !metadata.is_dir() || !is_looked_into(path) {
        return Ok(());
    }
    let Ok(listing) = fs::read_dir(root.join(path)) else {
        return Ok(());
    };
    for entry in listing.filter_map(std::result::Result::ok) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let child = if path.is_empty() {
            name.into_owned()
        } else {
            format!("{path}/{name}")
        };
        let is_left_out = || is_fan_out(&child) && entry.file_type().is_ok_and(|it| it.is_dir());
        if folders == Folders::AllButObjects && is_left_out() {
            continue;
        }
        if let Ok(metadata) = entry.metadata() {
            visit_path(root, folders, &child, &metadata, see)?;
        }
    }
    Ok(())
}
