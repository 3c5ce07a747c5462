//! Tests of the walk: what it finds, in which order, and what it never enters.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pretty_assertions::assert_eq;

use super::{Walk, WalkRoot, walk};
use crate::tree::manifest::{Content, Entry, Found, Lane, Manifest};

fn walk_all(top: &Path, base: &Manifest) -> Walk {
    walk_entering(top, base, &|_, _| true)
}

fn walk_entering(
    top: &Path,
    base: &Manifest,
    enter: &(dyn Fn(&[u8], &Path) -> bool + Sync),
) -> Walk {
    let root = WalkRoot {
        folder: top,
        name: b"",
        base,
        enter,
    };
    walk(root, b"").unwrap()
}

fn manifest(found: &[Found]) -> Manifest {
    let entry = |found: &Found| Entry {
        kind: found.kind,
        stat: found.stat,
        content: Content::Unkept,
        lane: Lane::Committed,
    };
    Manifest {
        scanned_ns: i64::MAX,
        entries: found
            .iter()
            .map(|found| (found.path.clone(), entry(found)))
            .collect(),
    }
}

fn names(found: &[Found]) -> Vec<String> {
    let path = |found: &Found| String::from_utf8_lossy(&found.path).into_owned();
    found.iter().map(path).collect()
}

#[test]
fn neighbours_that_sort_before_a_slash_are_no_trouble() {
    let top = tempfile::tempdir().unwrap();
    for folder in ["a", "a-b", "a/c", ".git"] {
        fs::create_dir(top.path().join(folder)).unwrap();
    }
    for file in ["a.txt", "a0", "a/x", "a-b/y", "a/c/.git", ".git/HEAD"] {
        fs::write(top.path().join(file), "").unwrap();
    }
    let first = walk_all(top.path(), &Manifest::default());
    let all = ["a", "a-b", "a-b/y", "a.txt", "a/c", "a/c/.git", "a/x", "a0"];
    assert_eq!(names(&first.suspects.created), all);
    assert_eq!(first.repositories, [b"a/c".to_vec()]);

    let base = manifest(&first.suspects.created);
    fs::remove_file(top.path().join("a-b/y")).unwrap();
    let second = walk_all(top.path(), &base);
    assert_eq!(names(&second.suspects.created), [""; 0]);
    assert_eq!(second.suspects.gone, [b"a-b/y".to_vec()]);
}

#[test]
fn what_is_skipped_is_not_gone() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("cache/deep")).unwrap();
    fs::write(top.path().join("cache/deep/file"), "").unwrap();
    let first = walk_all(top.path(), &Manifest::default());
    let base = manifest(&first.suspects.created);
    let second = walk_entering(top.path(), &base, &|path, _| path != b"cache");
    assert_eq!(second.skipped, [b"cache".to_vec()]);
    assert_eq!(second.suspects.gone, Vec::<Vec<u8>>::new());
}

#[test]
fn a_link_to_a_folder_is_a_link() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("real")).unwrap();
    fs::write(top.path().join("real/file"), "").unwrap();
    symlink("real", top.path().join("link")).unwrap();
    let found = walk_all(top.path(), &Manifest::default()).suspects.created;
    assert_eq!(names(&found), ["link", "real", "real/file"]);
}

#[test]
fn many_folders_and_a_deep_one_are_found_whole_by_several_threads() {
    let top = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for folder in 0..60 {
        let name = format!("folder-{folder:02}");
        fs::create_dir(top.path().join(&name)).unwrap();
        for file in 0..40 {
            let path = format!("{name}/file-{file:02}");
            fs::write(top.path().join(&path), "").unwrap();
            expected.push(path);
        }
        expected.push(name);
    }
    let mut deep = String::from("deep");
    for _ in 0..200 {
        expected.push(deep.clone());
        deep.push_str("/d");
    }
    expected.push(deep.clone());
    fs::create_dir_all(top.path().join(&deep)).unwrap();
    expected.sort();
    let first = walk_all(top.path(), &Manifest::default());
    assert_eq!(names(&first.suspects.created), expected);
    let second = walk_all(top.path(), &manifest(&first.suspects.created));
    assert_eq!(names(&second.suspects.created), [""; 0]);
    assert_eq!(second.suspects.gone, Vec::<Vec<u8>>::new());
}
