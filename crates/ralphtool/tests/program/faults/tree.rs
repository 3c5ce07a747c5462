//! What a scan, a save and a restore do with the folders and files of a work tree.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::faults::{goes_on, prepared, shell};
use crate::sandbox::{Sandbox, everything, files, until};

/// Folders with rule files of their own: tracked, and untracked behind a rule that ignores itself.
const FOLDERS_WITH_RULES: &str = "
    mkdir -p pkg/inner own/inner
    echo '*.tmp' > pkg/.gitignore; echo '*.txt text' > pkg/.gitattributes
    echo '*.bak' > pkg/inner/.gitignore; echo '*.c text' > pkg/inner/.gitattributes
    echo a > pkg/inner/a; git add -A; git commit -qm folders
    echo t > pkg/x.tmp; echo b > pkg/inner/x.bak
    echo '*' > own/.gitignore; echo '!x' > own/inner/.gitignore; echo x > own/inner/x";

/// What an attempt can do to such folders, one line for each attempt.
const MISDEEDS: [&str; 12] = [
    "rm -r pkg own",
    "mv pkg other; mv own mine",
    "rm -r pkg own; echo file > pkg; echo file > own",
    "rm -r pkg own; ln -s $root/home pkg; ln -s $root/home own",
    "mv pkg other; ln -s other pkg; mv own mine; ln -s mine own",
    "rm -r pkg/inner own/inner",
    "mv pkg/inner pkg/other",
    "mv pkg/inner other; rm -r pkg; mv own/inner mine; rm -r own",
    "rm -r pkg/inner own/inner; echo file > pkg/inner; echo file > own/inner",
    "rm -r pkg own; mkdir pkg own; echo '*' > pkg/.gitignore; echo junk > pkg/junk",
    "mv pkg swap; mv dir pkg; mv swap dir",
    "git mv pkg other; git commit -qam moved; rm -r own",
];

/// Every attempt does another misdeed and fails; each must start from the same tree.
#[track_caller]
fn attempts_start_from_the_same_tree(sandbox: &Sandbox, misdeeds: &[&str]) {
    let before = files(&sandbox.repo);
    let mut script = "cp -a . \"$root/at-$attempt\"\ncase $attempt in\n".to_owned();
    for (number, misdeed) in misdeeds.iter().enumerate() {
        let _ = writeln!(script, "{}) {misdeed};;", number + 1);
    }
    script += "esac\nfailed no";
    sandbox.agent(&script);
    let retries = (misdeeds.len() - 1).to_string();
    sandbox
        .run(&["loop", "c", "--max-retries", &retries])
        .ends_with(1);
    for number in 2..=misdeeds.len() {
        let start = files(&sandbox.root.join(format!("at-{number}")));
        let misdeed = misdeeds[number - 2];
        assert_eq!(start, before, "after `{misdeed}`");
    }
    assert_eq!(files(&sandbox.repo), before);
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn restore_keeps_rule_files_of_folders_an_attempt_removes_moves_or_replaces() {
    let sandbox = prepared(FOLDERS_WITH_RULES);
    attempts_start_from_the_same_tree(&sandbox, &MISDEEDS);
    goes_on(&sandbox);
    let changed = sandbox.git("diff --name-only main ralph/c -- pkg own other mine");
    assert_eq!(changed, "");
}

/// Every state a command restores is compared with the state it had before.
#[test]
fn finish_undo_rewind_and_attempts_restore_keep_rule_files_of_folders_a_story_moved() {
    let sandbox = prepared(FOLDERS_WITH_RULES);
    sandbox.tasks("## 1. A\n- [ ] 1.1 a\n\n## 2. B\n- [ ] 2.1 b\n\n## 3. C\n- [ ] 3.1 c\n");
    let before = files(&sandbox.repo);
    sandbox.agent(
        "case $RALPHTOOL_STORY in
         1) tick 1; cp -a . \"$root/story-1\"; complete;;
         2) mv pkg other; mv own mine; tick 2; complete;;
         3) mv other pkg; rm -r mine; mkdir other; echo '*.o' > other/.gitignore
            cp -a . \"$root/attempt\"; failed no;;
         esac",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let story_1 = files(&sandbox.root.join("story-1"));
    let done = files(&sandbox.repo);
    let restored = |args: &[&str], wanted: &std::collections::BTreeMap<String, String>| {
        sandbox.run(args).ends_with(0);
        assert_eq!(files(&sandbox.repo), *wanted, "{args:?}");
    };
    restored(
        &["attempts", "restore", "3.1"],
        &files(&sandbox.root.join("attempt")),
    );
    restored(&["undo"], &done);
    restored(&["rewind", "2"], &story_1);
    restored(&["undo"], &done);
    restored(&["finish", "--abandon"], &before);
    restored(&["undo"], &done);
    restored(&["finish", "--abandon"], &before);
}

#[test]
fn undo_restores_a_link_in_the_place_of_a_folder_of_the_attempt() {
    let sandbox = prepared("mkdir $root/outside; echo o > $root/outside/o");
    sandbox.agent("echo attempt > dir/b.txt; mkdir dir/new; echo n > dir/new/n; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    fs::remove_dir_all(sandbox.repo.join("dir")).unwrap();
    symlink(sandbox.root.join("outside"), sandbox.repo.join("dir")).unwrap();
    let before = everything(&sandbox.repo);
    sandbox.run(&["attempts", "restore", "1.1"]).ends_with(0);
    assert_eq!(sandbox.read("dir/b.txt"), "attempt\n");
    assert_eq!(sandbox.read("dir/new/n"), "n\n");
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(everything(&sandbox.repo), before);
    assert_eq!(
        fs::read_dir(sandbox.root.join("outside")).unwrap().count(),
        1
    );
}

/// The length, the room on disk and the marked bytes of a file with holes.
fn long_file(path: &Path) -> (u64, bool, [u8; 6]) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::open(path).unwrap();
    let metadata = file.metadata().unwrap();
    let mut bytes = [0; 6];
    file.read_exact_at(&mut bytes, 300 << 30).unwrap();
    (metadata.len(), metadata.blocks() * 512 < 10_000_000, bytes)
}

const LONG: (u64, bool, [u8; 6]) = (500 << 30, true, *b"marked");

/// A shell function that makes a file of 500 GB with a few bytes in it: `long FILE`.
const MAKE_LONG: &str = "long() {
    truncate -s 500G \"$1\"
    printf marked | dd of=\"$1\" bs=1 seek=322122547200 conv=notrunc 2> /dev/null
}
";

#[test]
fn a_failed_attempt_restores_sparse_files_and_removes_its_own() {
    let sandbox = prepared(&format!(
        "{MAKE_LONG} long disk.img; long other.img; echo t > tracked; git add tracked; git commit -qm t"
    ));
    sandbox.agent(&format!(
        "{MAKE_LONG} rm disk.img; echo short > other.img; long made.img; long tracked; failed no"
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "1"])
        .ends_with(1);
    for name in ["disk.img", "other.img"] {
        assert_eq!(long_file(&sandbox.repo.join(name)), LONG);
    }
    assert!(!sandbox.exists("made.img"));
    assert_eq!(sandbox.read("tracked"), "t\n");
    sandbox.run(&["attempts", "restore", "1.1"]).ends_with(0);
    assert_eq!(long_file(&sandbox.repo.join("made.img")), LONG);
    assert_eq!(long_file(&sandbox.repo.join("tracked")), LONG);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    for name in ["disk.img", "other.img"] {
        assert_eq!(long_file(&sandbox.repo.join(name)), LONG);
    }
    assert!(!sandbox.exists("made.img"));
    assert_eq!(sandbox.read("tracked"), "t\n");
}

#[test]
fn a_story_that_makes_a_sparse_file_is_saved_without_it() {
    let sandbox = Sandbox::new();
    sandbox.config("largest_file = \"off\"");
    sandbox.agent(&format!(
        "{MAKE_LONG} long made.img; long a.txt; echo work > done.txt; tick $RALPHTOOL_STORY; complete"
    ));
    sandbox
        .run(&["loop", "c", "--story", "1", "--on-finish", "keep"])
        .ends_with(0);
    let committed = sandbox.git("ls-tree --name-only ralph/c");
    assert!(committed.contains("done.txt") && !committed.contains("made.img"));
    assert_eq!(sandbox.git("show ralph/c:a.txt"), "one\n");
    let kept_out = sandbox.warnings().join("\n");
    assert!(
        kept_out.contains("`made.img` (536 GB, mostly holes)"),
        "{kept_out}"
    );
    assert_eq!(long_file(&sandbox.repo.join("made.img")), LONG);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.exists("made.img"));
}

/// A shell function that makes a folder with a path of more than 6,000 bytes in it: `deep FOLDER`.
const MAKE_DEEP: &str = "deep() {
    name=$(printf '%0200d' 1); part=$name
    for number in 1 2 3 4 5 6 7 8 9; do part=$part/$name; done
    mkdir -p one/$part two/$part three/$part
    echo deep > one/$part/deep.txt; echo near > three/near.txt
    mv one two/$part/; mv two three/$part/; mv three \"$1\"
}
";

/// How many of the files that are nested deepest are below a folder.
fn deep_files(folder: &Path) -> usize {
    let mut find = std::process::Command::new("find");
    let output = find
        .arg(folder)
        .args(["-name", "deep.txt"])
        .output()
        .unwrap();
    output
        .stdout
        .split(|byte| *byte == 0 || *byte == b'\n')
        .count()
        - 1
}

#[test]
fn a_failed_attempt_that_makes_too_long_paths_is_undone() {
    let sandbox = prepared("");
    attempts_start_from_the_same_tree(
        &sandbox,
        &[
            &format!("{MAKE_DEEP} deep made"),
            &format!("{MAKE_DEEP} deep dir/made; echo x > dir/b.txt"),
            &format!("{MAKE_DEEP} rm -r dir; deep dir"),
        ],
    );
    assert_eq!(deep_files(&sandbox.vault().join("trash")), 3);
    goes_on(&sandbox);
    sandbox
        .run(&["attempts", "restore", "1.1", "made/near.txt"])
        .ends_with(0);
    assert_eq!(sandbox.read("made/near.txt"), "near\n");
}

#[test]
fn a_story_that_makes_too_long_paths_can_be_saved_and_abandoned() {
    let sandbox = Sandbox::new();
    let before = files(&sandbox.repo);
    sandbox.agent(&format!(
        "{MAKE_DEEP} [ $RALPHTOOL_STORY = 2 ] || deep made; tick $RALPHTOOL_STORY; complete"
    ));
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.git("show ralph/c:made/near.txt"), "near\n");
    let told = sandbox.warnings();
    let told: Vec<_> = told
        .iter()
        .filter(|told| told.starts_with("too_deep"))
        .collect();
    assert!(told.len() == 1 && told[0].len() < 600, "{told:?}");
    assert_eq!(deep_files(&sandbox.repo), 1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(files(&sandbox.repo), before);
    sandbox
        .run(&["gc", "--older-than", "0d", "--yes"])
        .ends_with(0);
}

#[test]
fn too_long_paths_of_the_user_stay_and_stop_no_run() {
    let sandbox = prepared(&format!("{MAKE_DEEP} deep mine"));
    sandbox.agent("echo x > a.txt; rm mine/near.txt; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.read("mine/near.txt"), "near\n");
    assert_eq!(deep_files(&sandbox.repo), 1);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(deep_files(&sandbox.repo), 1);
}

#[test]
fn a_link_named_gitmodules_stays_out_of_commits_and_is_named() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "ln -s a.txt .gitmodules; mkdir sub; ln -s ../a.txt sub/.GitModules
         echo work > done.txt; tick $RALPHTOOL_STORY; complete",
    );
    sandbox
        .run(&["loop", "c", "--story", "1", "--on-finish", "keep"])
        .ends_with(0);
    let committed = sandbox.git("ls-tree -r --name-only ralph/c");
    assert!(committed.contains("done.txt"), "{committed}");
    assert!(
        !committed.to_lowercase().contains(".gitmodules"),
        "{committed}"
    );
    assert_eq!(sandbox.git("fsck --strict --no-dangling"), "");
    let told = sandbox.warnings().join("\n");
    assert!(
        told.contains("not_committed: git stores no symbolic link"),
        "{told}"
    );
    assert!(sandbox.exists(".gitmodules"));
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert!(!sandbox.exists(".gitmodules"));
}

#[test]
fn restore_keeps_hard_links_hard_linked() {
    let sandbox = prepared(
        "echo l > link1; ln link1 link2; mkdir sub; ln link1 sub/link3; echo l > apart
         echo t > t1; ln t1 t2; git add t1 t2; git commit -qm linked",
    );
    let files_of = |names: &[&str]| {
        let inode = |name: &&str| fs::metadata(sandbox.repo.join(name)).unwrap().ino();
        names.iter().map(inode).collect::<BTreeSet<u64>>().len()
    };
    for misdeed in [
        "echo x > link1; echo x >> t2",
        "rm link1 t1",
        "sed s/l/x/ link2 > new; mv new link2; sed s/t/x/ t2 > new; mv new t2",
        "rm -r link1 link2 sub t1 t2",
        "mv sub other; chmod 600 link1",
    ] {
        sandbox.agent(&format!("{misdeed}; failed no"));
        sandbox
            .run(&["loop", "c", "--max-retries", "0"])
            .ends_with(1);
        assert_eq!(files_of(&["link1", "link2", "sub/link3"]), 1, "{misdeed}");
        assert_eq!(files_of(&["t1", "t2"]), 1, "{misdeed}");
        assert_eq!(files_of(&["link1", "apart"]), 2, "{misdeed}");
        assert_eq!(
            (sandbox.read("link2"), sandbox.read("t1")),
            ("l\n".to_owned(), "t\n".to_owned())
        );
    }
}

#[test]
fn root_restores_files_with_their_owner() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let sandbox = prepared("chown 65534:65533 a.txt dir dir/b.txt");
    sandbox.agent("echo x > a.txt; rm dir/b.txt; echo junk > dir/junk; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    for name in ["a.txt", "dir/b.txt"] {
        let metadata = fs::metadata(sandbox.repo.join(name)).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (65534, 65533), "{name}");
    }
}

/// Waits until no file can have been written in the second of the index, or just now.
fn let_files_age() {
    let start = std::time::Instant::now();
    until("files to be old enough", || {
        (start.elapsed().as_millis() > 3100).then_some(())
    });
}

/// Git says that such files are clean, and its objects have other bytes.
#[test]
fn restore_keeps_bytes_that_git_converted_before_a_setting_was_switched_off() {
    let sandbox = prepared("git config core.autocrlf true; rm a.txt; git checkout -q a.txt");
    let_files_age();
    shell(
        &sandbox,
        "echo new > new.txt; git add new.txt; git commit -qm new
         git config --unset core.autocrlf",
    );
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.read("a.txt"), "one\r\n");
    sandbox.agent("rm a.txt; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.read("a.txt"), "one\r\n");
    assert_eq!(sandbox.git("diff --name-only main ralph/c"), "");
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(sandbox.read("a.txt"), "one\r\n");
}

#[test]
fn restore_keeps_large_files_whose_attribute_was_removed() {
    let sandbox = prepared(
        "mkdir .git/lfs; echo '*.bin filter=lfs' > .gitattributes
         git config filter.lfs.clean 'cat > .git/lfs/object; echo pointer'
         git config filter.lfs.smudge 'cat .git/lfs/object'
         echo large > large.bin; git add -A; git commit -qm large",
    );
    let_files_age();
    shell(
        &sandbox,
        "git rm -q .gitattributes; git commit -qm 'no attributes'",
    );
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.git("show HEAD:large.bin"), "pointer\n");
    sandbox.agent("rm large.bin; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.read("large.bin"), "large\n");
}
