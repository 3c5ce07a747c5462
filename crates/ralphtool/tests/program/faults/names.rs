//! Modes, folders, links and names that are not plain.

use std::fs;
use std::os::unix::fs::MetadataExt;

use pretty_assertions::assert_eq;

use crate::faults::{
    fails_without_a_trace, goes_home, goes_on, is_saved, leaves_no_trace, prepared,
};
use crate::sandbox::{GOOD, files_and_times, listing};

#[test]
fn f06_empty_folders_modes_and_hard_links_are_restored_and_pipes_ignored() {
    let sandbox = leaves_no_trace(
        "mkdir -p empty/deep; echo s > secret; chmod 600 secret; echo g > group; chmod 664 group
         mkfifo pipe; echo l > link1; ln link1 link2; mkdir locked; chmod 700 locked",
        "rm -r empty; chmod 644 secret group; echo x >> group; mkfifo made; echo x > link1
         chmod 755 locked; mkdir another",
    );
    assert_eq!(sandbox.read("link2"), "l\n");
}

#[test]
fn f06_files_an_attempt_does_not_touch_are_not_written() {
    let sandbox = prepared("echo l > link1; ln link1 link2; touch -t 202001010000 a.txt link1");
    let before = files_and_times(&sandbox.repo);
    let inode = |name: &str| fs::metadata(sandbox.repo.join(name)).unwrap().ino();
    let inodes = ["a.txt", "link1", "link2"].map(inode);
    sandbox.agent("echo x > dir/b.txt; echo junk > junk; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let mut after = files_and_times(&sandbox.repo);
    // Restored files have the current time, so that build tools notice.
    after.insert("dir/b.txt".to_owned(), before["dir/b.txt"].clone());
    assert_eq!(after, before);
    assert_eq!(["a.txt", "link1", "link2"].map(inode), inodes);
}

#[test]
fn f06_a_cleanup_writes_no_file() {
    let sandbox = prepared("echo edited > a.txt; touch -t 202001010000 a.txt dir/b.txt");
    sandbox.agent(&format!("{GOOD}\nrm -rf $root/done; cp -a . $root/done"));
    goes_home(&sandbox);
    assert_eq!(
        files_and_times(&sandbox.repo),
        files_and_times(&sandbox.root.join("done"))
    );
}

#[test]
fn f07_files_folders_and_links_that_change_places_come_back_and_no_link_is_followed() {
    let sandbox = prepared(
        "mkdir $root/outside; echo precious > $root/outside/b.txt; echo precious > $root/outside/new.txt
         ln -s $root/outside user-link; ln -s nowhere broken-link",
    );
    let outside = listing(&sandbox.root.join("outside"));
    fails_without_a_trace(
        &sandbox,
        "rm -r dir; ln -s $root/outside dir; rm a.txt; ln -s $root/outside/new.txt a.txt
         rm user-link; mkdir user-link; echo x > user-link/b.txt; rm broken-link; echo x > broken-link",
    );
    goes_on(&sandbox);
    assert_eq!(listing(&sandbox.root.join("outside")), outside);
}

/// Files with odd names in a folder: no UTF-8, a new line, 255 bytes, patterns of git and of shells.
const ODD_NAMES: &str = r#"odd() { # odd TEXT
        mkdir -p odd
        for name in "$(printf 'latin-\351')" "$(printf 'new\nline')" ':(top)x' ':!x' '*' '-n' ' space ' "tab	" '"quoted"' 'back\slash' \
            "$(printf '%0255d' 1)" "$(printf 'e\314\201')" "$(printf '\303\251')"; do
            printf "$1" > "odd/$name"
        done
    }
"#;

#[test]
fn f08_a_failed_attempt_restores_files_with_odd_names() {
    leaves_no_trace(
        &format!("{ODD_NAMES} odd mine; rm 'odd/:!x' 'odd/*'"),
        &format!("{ODD_NAMES} odd agent; rm 'odd/-n' odd/*quoted*"),
    );
}

#[test]
fn f08_files_with_odd_names_are_saved() {
    let sandbox = is_saved("", &format!("{ODD_NAMES} odd made"));
    let made = sandbox.git("-c core.quotePath=true ls-tree -r -z --name-only HEAD odd");
    assert_eq!(made.split_terminator('\0').count(), 13);
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn f08b_a_rename_in_case_only_is_undone_with_core_ignore_case() {
    let sandbox = leaves_no_trace(
        "git config core.ignoreCase true",
        "git mv -f a.txt A.TXT; mv dir/b.txt dir/B.txt; git add -A; git commit -qm case",
    );
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.read("dir/b.txt"), "two\n");
}

#[test]
fn f08b_a_rename_in_case_only_is_saved_with_core_ignore_case() {
    let sandbox = is_saved("git config core.ignoreCase true", "mv a.txt A.txt");
    let names = sandbox.git("ls-tree --name-only HEAD");
    assert!(
        names.contains("A.txt\n") && !names.contains("a.txt\n"),
        "{names}"
    );
}
