//! Files and folders that may not be read or written, by a user who is not root.

use pretty_assertions::assert_eq;

use crate::faults::{fails_without_a_trace, goes_on, shell};
use crate::sandbox::Sandbox;

/// One attempt of a user who is not root does something and fails: everything is as at the
/// checkpoint, and the next run can work.
#[track_caller]
fn leaves_no_trace(before: &str, misdeed: &str) -> Sandbox {
    let sandbox = Sandbox::unprivileged();
    shell(&sandbox, before);
    fails_without_a_trace(&sandbox, misdeed);
    goes_on(&sandbox);
    sandbox
}

#[test]
fn f20_files_and_folders_an_attempt_locks_are_restored() {
    let sandbox = leaves_no_trace(
        "mkdir ro; echo r > ro/r; chmod 555 ro; echo s > secret; chmod 400 secret",
        "chmod u+w ro; rm ro/r; chmod 555 ro; mkdir -p made/x; echo j > made/x/j; chmod 000 made/x; chmod 555 made
         echo evil > dir/b.txt; chmod 000 dir; chmod 000 a.txt; chmod 600 secret; echo evil > secret",
    );
    assert_eq!(sandbox.read("dir/b.txt"), "two\n");
    assert_eq!(sandbox.read("ro/r"), "r\n");
    shell(&sandbox, "chmod 755 ro");
}

#[test]
fn f20_a_git_directory_an_attempt_locks_is_restored() {
    leaves_no_trace(
        "",
        "chmod 444 .git/config; chmod 555 .git/refs/heads .git/refs .git; echo x > a.txt",
    );
}
