//! Git's ignore rules: which paths no rule can ignore, without a process.
//!
//! Says "not ignored" only. What a rule does ignore may still be tracked, which its index says: that
//! is for git to answer, as is everything odd (a link on the way, a repository inside, a rule that is
//! written strangely, a file that cannot be read).

mod wildmatch;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use wildmatch::{Outcome, wildmatch};

use crate::paths::absolute;
use ralph_base::files::read_plain;

/// A list that is larger has no rules. Newer versions of git ignore it, older ones fail on it.
const LARGEST_LIST: u64 = 100 << 20;

/// The rules of one work tree, with every folder looked at once.
pub(crate) struct IgnoreRules<'a> {
    top: &'a Path,
    /// The lists for all folders, the weaker first.
    common: Vec<Rc<Vec<Rule>>>,
    folders: HashMap<Vec<u8>, Rc<Folder>>,
}

/// What is known of one folder.
struct Folder {
    is_ignored: bool,
    /// The lists of the folders from the top to this one.
    lists: Vec<Rc<Vec<Rule>>>,
}

/// One line of a list.
struct Rule {
    /// The folder its list is in, with a slash at the end; empty for the top.
    base: Vec<u8>,
    pattern: Vec<u8>,
    /// How many bytes of the pattern stand for themselves.
    literal: usize,
    is_negative: bool,
    folders_only: bool,
    /// Matched against the name alone.
    by_name: bool,
}

impl<'a> IgnoreRules<'a> {
    /// The rules of a work tree under a git directory with a flat configuration; none where they
    /// are for git alone to read.
    pub(crate) fn read(top: &'a Path, git_dir: &Path) -> Option<Self> {
        // There git folds case, and a sparse checkout may have rules that are only in the index.
        if cfg!(target_os = "macos") || git_dir.join("info/sparse-checkout").exists() {
            return None;
        }
        let config = String::from_utf8(read_plain(&git_dir.join("config")).ok()?).ok()?;
        let mut common = Vec::new();
        let mut files = vec![git_dir.join("info/exclude")];
        match configured(&config) {
            Excludes::Default => files.extend(default_excludes()),
            Excludes::At(path) => files.push(path),
            Excludes::Unclear => return None,
        }
        for path in files.into_iter().rev() {
            common.push(Rc::new(parse(&bytes_of(File::open(&path))?, b"")?));
        }
        Some(Self {
            top,
            common,
            folders: HashMap::new(),
        })
    }

    /// True where a rule ignores the path; none where git is to be asked.
    pub(crate) fn ignores(&mut self, path: &[u8]) -> Option<bool> {
        let is_odd = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        if path.split(|byte| *byte == b'/').any(is_odd) {
            return None;
        }
        let folder = self.folder(parent(path))?;
        if folder.is_ignored {
            return Some(true);
        }
        let metadata = fs::symlink_metadata(absolute(self.top, path));
        let is_folder = metadata.is_ok_and(|metadata| metadata.is_dir());
        Some(self.is_matched(&folder.lists, path, is_folder))
    }

    fn folder(&mut self, path: &[u8]) -> Option<Rc<Folder>> {
        if let Some(known) = self.folders.get(path) {
            return Some(Rc::clone(known));
        }
        let full = absolute(self.top, path);
        let mut folder = Folder {
            is_ignored: false,
            lists: Vec::new(),
        };
        if !path.is_empty() {
            let above = self.folder(parent(path))?;
            let is_link = |metadata: fs::Metadata| metadata.is_symlink();
            if fs::symlink_metadata(&full).is_ok_and(is_link)
                || fs::symlink_metadata(full.join(".git")).is_ok()
            {
                return None;
            }
            folder.is_ignored = above.is_ignored || self.is_matched(&above.lists, path, true);
            folder.lists.clone_from(&above.lists);
        }
        if !folder.is_ignored {
            let bytes = own_rules(&full.join(".gitignore"))?;
            let mut base = path.to_vec();
            if !base.is_empty() {
                base.push(b'/');
            }
            folder.lists.push(Rc::new(parse(&bytes, &base)?));
        }
        let folder = Rc::new(folder);
        self.folders.insert(path.to_vec(), Rc::clone(&folder));
        Some(folder)
    }

    /// The last rule that matches decides: of the nearest list, then of those above, then of all.
    fn is_matched(&self, lists: &[Rc<Vec<Rule>>], path: &[u8], is_folder: bool) -> bool {
        let lists = self.common.iter().chain(lists).rev();
        lists
            .flat_map(|list| list.iter().rev())
            .find(|rule| rule.matches(path, is_folder))
            .is_some_and(|rule| !rule.is_negative)
    }
}

impl Rule {
    fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        if self.by_name {
            let start = path.iter().rposition(|byte| *byte == b'/');
            return wildmatch(&self.pattern, &path[start.map_or(0, |at| at + 1)..])
                == Outcome::Match;
        }
        let Some(below) = path.strip_prefix(self.base.as_slice()) else {
            return false;
        };
        let (literal, wild) = self.pattern.split_at(self.literal);
        below.strip_prefix(literal).is_some_and(|rest| {
            // As git does: two stars right after the literal part count as if after a slash.
            wildmatch(wild, rest) == Outcome::Match
        })
    }
}

fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

/// The bytes of a list; no bytes where it is absent, none where it cannot be read.
fn bytes_of(opened: io::Result<File>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match opened {
        Ok(file) if file.metadata().is_ok_and(|it| it.len() > LARGEST_LIST) => 0,
        Ok(mut file) => file.read_to_end(&mut bytes).ok()?,
        Err(error) if ralph_base::files::absent(&error) => 0,
        Err(_) => return None,
    };
    Some(bytes)
}

/// The bytes of a list in the work tree, where git follows no links.
fn own_rules(path: &Path) -> Option<Vec<u8>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => bytes_of(File::open(path)),
        Err(error) if ralph_base::files::absent(&error) => Some(Vec::new()),
        _ => None,
    }
}

/// Reads a list; none where it holds what only git should read.
fn parse(bytes: &[u8], base: &[u8]) -> Option<Vec<Rule>> {
    if bytes.contains(&0) {
        return None;
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.starts_with(b"#"))
        .map(trimmed)
        .filter(|line| !line.is_empty())
        .map(|line| rule(line, base))
        .collect()
}

/// Without the spaces at the end that no backslash holds.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut end = None;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b' ' => {
                end.get_or_insert(at);
            }
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => {
                at += 1;
                end = None;
            }
            _ => end = None,
        }
        at += 1;
    }
    &line[..end.unwrap_or(line.len())]
}

fn rule(line: &[u8], base: &[u8]) -> Option<Rule> {
    let is_negative = line.starts_with(b"!");
    let line = line.strip_prefix(b"!").unwrap_or(line);
    let pattern = line.strip_suffix(b"/").unwrap_or(line);
    let by_name = !pattern.contains(&b'/');
    let rooted = pattern.strip_prefix(b"/").unwrap_or(pattern);
    // Named classes, and what is left of a rule that is only slashes.
    if rooted.windows(2).any(|two| two == b"[:") || rooted.is_empty() || rooted.starts_with(b"/") {
        return None;
    }
    let is_special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    Some(Rule {
        base: base.to_vec(),
        literal: rooted.iter().position(is_special).unwrap_or(rooted.len()),
        pattern: rooted.to_vec(),
        is_negative,
        folders_only: pattern.len() < line.len(),
        by_name,
    })
}

/// What a configuration says of the list for all repositories.
enum Excludes {
    /// Nothing.
    Default,
    /// Where it is.
    At(PathBuf),
    /// Something that git must read.
    Unclear,
}

/// Reads the flat configuration a run works with.
fn configured(config: &str) -> Excludes {
    let mut found = None;
    let mut section = "";
    for line in config.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[core]" && line.trim_start().starts_with("excludesfile") {
            found = Some(line);
        }
    }
    let Some(line) = found else {
        return Excludes::Default;
    };
    let value = line.strip_prefix("\texcludesfile = \"");
    let value = value.and_then(|value| value.strip_suffix('"'));
    let value = value.filter(|value| !value.contains(['\\', '"']));
    let path = value.and_then(|value| match value.strip_prefix("~/") {
        Some(rest) => Some(PathBuf::from(std::env::var_os("HOME")?).join(rest)),
        None => Some(PathBuf::from(value)),
    });
    path.filter(|path| path.is_absolute())
        .map_or(Excludes::Unclear, Excludes::At)
}

/// The list git reads where none is configured.
fn default_excludes() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.as_bytes().is_empty());
    let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")));
    folder.map(|folder| folder.join("git/ignore"))
}

#[cfg(test)]
mod tests;
