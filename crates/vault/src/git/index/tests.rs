//! Against real git: the edited index says what git's own would, and stands for the same tree.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;

use super::*;
use crate::git::loose_object::Writer;

fn git(top: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(args)
        .current_dir(top)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn repository(format: &str, version: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let format = format!("--object-format={format}");
    git(top, &["init", "-q", "-b", "main", &format]);
    for name in [
        "a.txt",
        "a/one",
        "a/b/two",
        "a/b/three",
        "a-c/x",
        "lone/file",
        "z",
    ] {
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    git(top, &["add", "-A"]);
    git(top, &["update-index", "--index-version", version]);
    git(top, &["write-tree"]);
    folder
}

fn staged(top: &Path, name: &str, format: ObjectFormat) -> Staged {
    let path = top.join(name);
    let metadata = fs::symlink_metadata(&path).unwrap();
    let cut = |value: i64| u32::try_from(value & 0xffff_ffff).unwrap();
    let bytes = if metadata.is_symlink() {
        fs::read_link(&path)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes()
    } else {
        fs::read(&path).unwrap()
    };
    let id = ObjectId::of_object(format, "blob", &bytes);
    Writer::new(&top.join(".git/objects"))
        .write(&id, "blob", &bytes)
        .unwrap();
    Staged {
        mode: match (metadata.is_symlink(), metadata.mode() & 0o100) {
            (true, _) => 0o120_000,
            (false, 0) => 0o100_644,
            (false, _) => 0o100_755,
        },
        id,
        stat: StagedStat {
            changed: (cut(metadata.ctime()), cut(metadata.ctime_nsec())),
            modified: (cut(metadata.mtime()), cut(metadata.mtime_nsec())),
            place: (
                cut(metadata.dev().cast_signed()),
                cut(metadata.ino().cast_signed()),
            ),
            owner: (metadata.uid(), metadata.gid()),
            size: cut(metadata.size().cast_signed()),
        },
    }
}

/// Changes files, edits the index, and compares with what git makes of the same files.
fn changed(top: &Path, format: ObjectFormat, change: impl Fn(&Path), paths: &[&str]) {
    change(top);
    let old = fs::read(top.join(".git/index")).unwrap();
    let edits: Edits = paths
        .iter()
        .map(|name| {
            let there = fs::symlink_metadata(top.join(name)).is_ok_and(|it| !it.is_dir());
            let staged = there.then(|| staged(top, name, format));
            (name.as_bytes().to_vec(), staged)
        })
        .collect();
    let edited = edit(&old, format, &edits).expect("an ordinary index");
    for (id, bytes) in &edited.trees {
        Writer::new(&top.join(".git/objects"))
            .write(id, "tree", bytes)
            .unwrap();
    }
    fs::write(top.join(".git/ours"), &edited.bytes).unwrap();

    git(top, &["add", "-A"]);
    let theirs = git(top, &["ls-files", "--stage", "--debug"]);
    let tree = git(top, &["write-tree"]);
    fs::rename(top.join(".git/ours"), top.join(".git/index")).unwrap();
    assert_eq!(git(top, &["ls-files", "--stage", "--debug"]), theirs);
    assert_eq!(edited.root.to_string(), tree.trim());
    assert_eq!(git(top, &["diff-files", "--name-only"]), "");
    // The trees it says it knows are the right ones: git believes them here.
    assert_eq!(git(top, &["write-tree"]), tree);
    git(top, &["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn an_edited_index_is_the_one_git_makes() {
    for (name, format) in [
        ("sha1", ObjectFormat::Sha1),
        ("sha256", ObjectFormat::Sha256),
    ] {
        for version in ["2", "3", "4"] {
            let folder = repository(name, version);
            let top = folder.path();
            let write = |top: &Path, name: &str| {
                let path = top.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, format!("new {name}")).unwrap();
            };
            changed(
                top,
                format,
                |top| {
                    write(top, "a/b/two");
                    write(top, "a/b/new");
                    write(top, "a0");
                    write(top, "deep/er/est");
                    write(top, "zz");
                    fs::remove_file(top.join("z")).unwrap();
                    symlink("nowhere", top.join("link")).unwrap();
                    fs::set_permissions(top.join("a/one"), fs::Permissions::from_mode(0o755))
                        .unwrap();
                },
                &[
                    "a/b/two",
                    "a/b/new",
                    "a0",
                    "deep/er/est",
                    "zz",
                    "z",
                    "link",
                    "a/one",
                ],
            );
            // A folder goes, a file takes the place of another, a folder that of a file.
            changed(
                top,
                format,
                |top| {
                    fs::remove_dir_all(top.join("lone")).unwrap();
                    fs::remove_dir_all(top.join("a/b")).unwrap();
                    write(top, "a/b");
                    fs::remove_file(top.join("zz")).unwrap();
                    write(top, "zz/top");
                },
                &[
                    "lone/file",
                    "a/b/two",
                    "a/b/three",
                    "a/b/new",
                    "a/b",
                    "zz",
                    "zz/top",
                ],
            );
            changed(top, format, |_| (), &[]);
        }
    }
}

#[test]
fn everything_may_go() {
    let folder = repository("sha1", "2");
    let names = [
        "a.txt",
        "a/one",
        "a/b/two",
        "a/b/three",
        "a-c/x",
        "lone/file",
        "z",
    ];
    let remove = |top: &Path| {
        for name in names {
            fs::remove_file(top.join(name)).unwrap();
        }
    };
    changed(folder.path(), ObjectFormat::Sha1, remove, &names);
}

#[test]
fn git_is_asked_where_an_index_says_more_than_files() {
    let format = ObjectFormat::Sha1;
    let none = Edits::new();
    let folder = repository("sha1", "2");
    let top = folder.path();
    let index = || fs::read(top.join(".git/index")).unwrap();
    assert!(edit(&index(), format, &none).is_ok());
    assert!(edit(b"", format, &none).is_err());
    assert!(edit(&index()[..100], format, &none).is_err());

    // A file where a folder is that keeps its files.
    fs::write(top.join("file"), "").unwrap();
    let in_the_way = Edits::from([(b"lone".to_vec(), Some(staged(top, "file", format)))]);
    assert!(edit(&index(), format, &in_the_way).is_err());

    // The trees are not known.
    git(top, &["add", "file"]);
    assert!(edit(&index(), format, &none).is_err());
    git(top, &["write-tree"]);
    assert!(edit(&index(), format, &none).is_ok());

    // Only announced, not added.
    fs::write(top.join("later"), "").unwrap();
    git(top, &["add", "--intent-to-add", "later"]);
    assert!(edit(&index(), format, &none).is_err());
    git(top, &["rm", "-q", "--cached", "later"]);

    git(top, &["update-index", "--split-index"]);
    assert!(edit(&index(), format, &none).is_err());
}

#[test]
fn conflicts_are_found_where_all_entries_are_there() {
    let folder = repository("sha1", "2");
    let top = folder.path();
    let found = || {
        let index = fs::read(top.join(".git/index")).unwrap();
        has_conflicts(&index, ObjectFormat::Sha1)
    };
    git(top, &["commit", "-q", "-m", "base"]);
    assert_eq!(found(), Ok(false));
    for (branch, text) in [("one", "1"), ("two", "2")] {
        git(top, &["checkout", "-q", "-b", branch, "main"]);
        fs::write(top.join("z"), text).unwrap();
        git(top, &["commit", "-q", "-a", "-m", branch]);
    }
    let merge = ["-c", "alias.m=!git merge -q one || true", "m"];
    git(top, &merge);
    assert_eq!(found(), Ok(true));
    git(top, &["reset", "-q", "--hard"]);
    git(top, &["update-index", "--split-index"]);
    assert_eq!(found(), Err(Reason::OddIndex));
}

#[test]
fn an_index_is_listed_as_git_lists_it() {
    for (name, format) in [
        ("sha1", ObjectFormat::Sha1),
        ("sha256", ObjectFormat::Sha256),
    ] {
        for version in ["2", "3", "4"] {
            let folder = repository(name, version);
            let top = folder.path();
            let mut script = fs::metadata(top.join("z")).unwrap().permissions();
            script.set_mode(0o755);
            fs::set_permissions(top.join("z"), script).unwrap();
            symlink("z", top.join("link")).unwrap();
            git(top, &["add", "-A"]);
            let all = list(&fs::read(top.join(".git/index")).unwrap(), format).unwrap();
            let lines = all.iter().map(|Listed { path, staged, .. }| {
                let path = String::from_utf8_lossy(path);
                format!("{:o} {} 0\t{path}\n", staged.mode, staged.id)
            });
            assert_eq!(
                lines.collect::<String>(),
                git(top, &["ls-files", "--stage"])
            );
            for listed in &all {
                let path = std::str::from_utf8(&listed.path).unwrap();
                assert_eq!(listed.staged, staged(top, path, format));
                let looked = crate::stat::stat(&fs::symlink_metadata(top.join(path)).unwrap());
                assert!(listed.staged.stat.is_of(&looked), "{path}");
            }
        }
    }
}

#[test]
fn flags_are_those_git_lists() {
    for (change, want) in [
        (
            &["update-index", "--assume-unchanged", "z"][..],
            [true, false, false],
        ),
        (
            &["update-index", "--skip-worktree", "z"],
            [false, true, false],
        ),
        (&["add", "--intent-to-add", "zz"], [false, false, true]),
    ] {
        let folder = repository("sha1", "2");
        let top = folder.path();
        fs::write(top.join("zz"), "").unwrap();
        let last = || {
            let index = fs::read(top.join(".git/index")).unwrap();
            let listed = list(&index, ObjectFormat::Sha1).unwrap();
            let flags = listed.last().unwrap().flags;
            [flags.is_assumed(), flags.is_skipped(), flags.is_intended()]
        };
        assert_eq!(last(), [false; 3]);
        git(top, change);
        assert_eq!(last(), want, "{change:?}");
    }
}

#[test]
fn an_index_whose_entries_are_not_all_in_it_is_left_to_git() {
    let folder = repository("sha1", "2");
    let top = folder.path();
    let index = || fs::read(top.join(".git/index")).unwrap();
    git(top, &["commit", "-q", "-m", "base"]);
    assert!(list(&index(), ObjectFormat::Sha1).is_ok());
    git(top, &["update-index", "--split-index"]);
    assert!(list(&index(), ObjectFormat::Sha1).is_err());
    git(top, &["update-index", "--no-split-index"]);
    git(
        top,
        &["sparse-checkout", "set", "--cone", "--sparse-index", "lone"],
    );
    assert!(list(&index(), ObjectFormat::Sha1).is_err());
}
