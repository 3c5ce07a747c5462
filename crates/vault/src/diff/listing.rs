//! The files of a diff without their lines: what `git diff --raw --numstat -z` prints.

use std::collections::HashMap;

use super::{FileDiff, FileStatus};
use crate::paths::show;

/// Reads the list.
pub fn changed_files(listing: &[u8]) -> Vec<FileDiff> {
    let mut fields = listing.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    let mut statuses = Vec::new();
    let mut counts = HashMap::new();
    while let Some(field) = fields.next() {
        if field.starts_with(b":") {
            let letter = field.rsplit(|byte| *byte == b' ').next();
            let letter = letter.and_then(|word| word.first()).copied();
            let mut path = fields.next().unwrap_or_default();
            if matches!(letter, Some(b'R' | b'C')) {
                path = fields.next().unwrap_or_default();
            }
            statuses.push((status(letter), path));
        } else if let [added, removed, path] =
            field.splitn(3, |byte| *byte == b'\t').collect::<Vec<_>>()[..]
        {
            let path = if path.is_empty() {
                // A renamed file: its old path, then its new one.
                fields.next();
                fields.next().unwrap_or_default()
            } else {
                path
            };
            counts.insert(path, number(added).zip(number(removed)));
        }
    }
    let file = |(status, path): (FileStatus, &[u8])| {
        let counted = counts.get(path).copied();
        let (added, removed) = counted.flatten().unwrap_or_default();
        FileDiff {
            status,
            path: show(path),
            added,
            removed,
            binary: counted == Some(None),
            ..FileDiff::default()
        }
    };
    statuses.into_iter().map(file).collect()
}

fn status(letter: Option<u8>) -> FileStatus {
    match letter {
        Some(b'A' | b'C') => FileStatus::Added,
        Some(b'D') => FileStatus::Deleted,
        Some(b'R') => FileStatus::Renamed,
        Some(b'T') => FileStatus::TypeChanged,
        _ => FileStatus::Modified,
    }
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
