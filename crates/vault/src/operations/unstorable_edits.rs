//! Edits of tracked files that git cannot store: found before a run begins, because its commits would
//! lack them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::{Notice, Result};
use crate::git::index::{Listed, list};
use crate::git::process::{Git, nul_separated};
use crate::git::repository::Repository;
use crate::paths::{absolute, show};
use crate::repo::Repo;
use crate::repo::unstorable::{Unstorable, is_tracked, is_unchanged, refuse_to_begin};
use crate::repo::visible::nul_joined;
use crate::stat::stat;
use ralph_base::files::read_if_present;

/// Attributes by which content is converted, and with which that may fail.
const CONVERTING: &[&str] = &["filter", "working-tree-encoding"];

impl Repo {
    /// Refuses a first commit that lacks edits of tracked files; names the other files that git could
    /// not store. `git` has the index of that commit.
    pub(crate) fn refuse_unstorable_edits(
        &self,
        git: &Git,
        unstorable: &[Unstorable],
    ) -> Result<Vec<Notice>> {
        let top = &self.places.repository.work_tree;
        let (mut notices, mut edited) = (Vec::new(), Vec::new());
        for file in unstorable {
            if !is_tracked(git, &file.path) {
                notices.push(file.notice());
            } else if is_unchanged(git, top, &file.path) {
                notices.push(file.unchanged_notice());
            } else {
                edited.push(file.clone());
            }
        }
        refuse_to_begin(&edited)?;
        Ok(notices)
    }
}

/// Refuses where tracked files were edited that git cannot store. Stores nothing, and asks git only
/// where attributes convert files.
pub(super) fn refuse_unstorable_edits(repository: &Repository, git: &Git) -> Result<()> {
    let index = read_if_present(&repository.index())?.unwrap_or_default();
    // An index that is not read here is left to the begin, which refuses as well.
    let Ok(listed) = list(&index, repository.format) else {
        return Ok(());
    };
    if !has_converting_attributes(repository, &listed) {
        return Ok(());
    }
    let top = &repository.work_tree;
    let mut unstorable = Vec::new();
    let edited = converted(git, &maybe_edited(top, &listed))?;
    try_to_store(git, edited, &mut unstorable);
    unstorable.retain(|it| !is_unchanged(git, top, &it.path));
    refuse_to_begin(&unstorable)
}

/// Whether a file of attributes, in the tree or beside it, converts files.
fn has_converting_attributes(repository: &Repository, listed: &[Listed]) -> bool {
    let top = &repository.work_tree;
    let tracked = listed.iter().map(|it| &it.path);
    let tracked = tracked.filter(|path| path.ends_with(b".gitattributes"));
    let in_tree = tracked.map(|path| absolute(top, path));
    let beside = [
        top.join(".gitattributes"),
        repository.common_dir.join("info/attributes"),
    ];
    in_tree.chain(beside).any(|file| {
        let text = fs::symlink_metadata(&file)
            .ok()
            .filter(fs::Metadata::is_file)
            .and_then(|_| fs::read(&file).ok())
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        CONVERTING.iter().any(|word| text.contains(word))
    })
}

/// Tracked files that may differ from what the index says of them.
fn maybe_edited(top: &Path, listed: &[Listed]) -> Vec<Vec<u8>> {
    let is_edited = |it: &&Listed| {
        let metadata = fs::symlink_metadata(absolute(top, &it.path));
        metadata.is_ok_and(|now| now.is_file() && !it.staged.stat.is_of(&stat(&now)))
    };
    let edited = listed.iter().filter(is_edited);
    edited.map(|it| it.path.clone()).collect()
}

/// Those of the paths whose content git converts.
fn converted(git: &Git, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let args = ["check-attr", "-z", "--stdin"];
    let answer = git.run_with_input(args.iter().chain(CONVERTING), &nul_joined(paths))?;
    let mut fields = nul_separated(&answer);
    let mut found = Vec::new();
    while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        let is_converted = value != b"unspecified" && value != b"unset";
        if is_converted && found.last().is_none_or(|last| last != path) {
            found.push(path.to_vec());
        }
    }
    Ok(found)
}

/// Converts files as a commit would, without storing them: all at once, and in halves where that
/// fails.
fn try_to_store(git: &Git, mut paths: Vec<Vec<u8>>, unstorable: &mut Vec<Unstorable>) {
    // The list of paths has one on each line.
    paths.retain(|path| !path.contains(&b'\n') && !path.starts_with(b"\""));
    let mut pending = vec![paths];
    while let Some(group) = pending.pop() {
        let lines = [group.join(&b'\n'), b"\n".to_vec()].concat();
        match (
            group.as_slice(),
            git.run_with_input(["hash-object", "--stdin-paths"], &lines),
        ) {
            ([], _) | (_, Ok(_)) => {}
            ([path], Err(error)) => unstorable.push(Unstorable::new(git, path, &error)),
            (_, Err(_)) => {
                let (left, right) = group.split_at(group.len() / 2);
                pending.push(right.to_vec());
                pending.push(left.to_vec());
            }
        }
    }
}

/// A filter without which git cannot store some tracked files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredFilter {
    pub name: String,
    /// The shell line that git runs for a file; none where the configuration has none.
    pub command: Option<String>,
    /// One of the files.
    pub file: String,
}

/// The filters that tracked files need.
pub fn required_filters(repository: &Repository, git: &Git) -> Result<Vec<RequiredFilter>> {
    let index = read_if_present(&repository.index())?.unwrap_or_default();
    let listed = list(&index, repository.format);
    if listed.is_ok_and(|listed| !has_converting_attributes(repository, &listed)) {
        return Ok(Vec::new());
    }
    // It fails where no filter is configured.
    let configured = git.run(["config", "-z", "--get-regexp", r"^filter\..*\..*$"]);
    let configured = configured.unwrap_or_default();
    let mut filters = BTreeMap::<String, BTreeMap<String, String>>::new();
    for item in nul_separated(&configured).map(show) {
        let (key, value) = item.split_once('\n').unwrap_or((&item, "true"));
        let key = key
            .strip_prefix("filter.")
            .and_then(|it| it.rsplit_once('.'));
        if let Some((name, key)) = key {
            let keys = filters.entry(name.to_owned()).or_default();
            keys.insert(key.to_owned(), value.to_owned());
        }
    }
    let is_required = |keys: &BTreeMap<String, String>| {
        let value = keys.get("required").map(String::as_str);
        value.is_some_and(|it| ["true", "yes", "on", "1"].contains(&it))
    };
    let required = filters.into_iter().filter(|(_, keys)| is_required(keys));
    let used = required.filter_map(|(name, mut keys)| {
        Some(RequiredFilter {
            file: first_file_of(git, &name)?,
            command: keys.remove("process").or_else(|| keys.remove("clean")),
            name,
        })
    });
    Ok(used.collect())
}

/// A tracked file whose attributes name a filter; none where there is none.
fn first_file_of(git: &Git, filter: &str) -> Option<String> {
    let pathspec = format!(":(top,attr:filter={filter})");
    let files = git.run(["ls-files", "-z", "--", &pathspec]).ok()?;
    nul_separated(&files).next().map(show)
}
