//! Untracked and ignored files, and changes of the ignore rules.

use pretty_assertions::assert_eq;

use crate::faults::leaves_no_trace;
use crate::sandbox::Sandbox;

#[test]
fn f03_untracked_files_come_back() {
    let sandbox = leaves_no_trace(
        "mkdir notes; echo mine > notes/idea.txt; echo mine > idea.txt",
        "rm -r notes; echo agent > idea.txt; echo junk > junk.txt",
    );
    assert_eq!(sandbox.read("notes/idea.txt"), "mine\n");
}

#[test]
fn f04_ignored_files_that_are_changed_or_deleted_come_back() {
    let sandbox = leaves_no_trace(
        "echo SECRET=1 > .env; echo '*.db' >> .gitignore; head -c 200000 /dev/urandom > local.db",
        "echo SECRET=2 > .env; rm local.db",
    );
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
}

#[test]
fn f04_ignored_files_and_caches_an_attempt_makes_are_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.agent("mkdir target; echo built > target/x; echo log > x.log; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.read("target/x"), "built\n");
    assert_eq!(sandbox.read("x.log"), "log\n");
}

#[test]
fn f05a_no_ignored_file_is_lost_when_the_agent_removes_an_ignore_rule() {
    let sandbox = leaves_no_trace(
        "echo SECRET=1 > .env; mkdir -p target; echo cache > target/cache",
        ": > .gitignore",
    );
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
    assert_eq!(sandbox.read("target/cache"), "cache\n");
}

#[test]
fn f05c_files_hidden_by_an_agents_own_ignore_rule_are_removed() {
    leaves_no_trace(
        "",
        "echo junk >> .gitignore; mkdir junk; echo x > junk/x
         mkdir own; echo '*' > own/.gitignore; echo x > own/x",
    );
}

#[test]
fn f05d_files_hidden_by_a_rule_in_the_exclude_file_are_removed() {
    leaves_no_trace(
        "",
        "mkdir -p .git/info; echo junk >> .git/info/exclude; echo x > junk",
    );
}

#[test]
fn f05e_files_the_user_ignores_in_the_exclude_file_stay_when_the_agent_empties_it() {
    let sandbox = leaves_no_trace(
        "mkdir -p .git/info; echo '*.private' > .git/info/exclude; echo mine > notes.private",
        ": > .git/info/exclude",
    );
    assert_eq!(sandbox.read("notes.private"), "mine\n");
}

#[test]
fn f05f_files_the_user_ignores_in_a_file_of_their_own_stay_when_the_agent_unsets_it() {
    for misdeed in [
        "git config --unset core.excludesFile",
        ": > \"$root/home/ignore\"",
    ] {
        let sandbox = leaves_no_trace(
            "echo '*.private' > $root/home/ignore; git config core.excludesFile $root/home/ignore
             echo mine > notes.private; mkdir private.private; echo mine > private.private/x",
            misdeed,
        );
        assert_eq!(sandbox.read("notes.private"), "mine\n");
        assert_eq!(sandbox.read("private.private/x"), "mine\n");
    }
}

#[test]
fn f05g_a_folder_that_ignores_itself_stays_when_the_agent_removes_its_rule() {
    let sandbox = leaves_no_trace(
        "mkdir notes; echo '*' > notes/.gitignore; echo mine > notes/idea",
        "rm notes/.gitignore",
    );
    assert_eq!(sandbox.read("notes/idea"), "mine\n");
}

#[test]
fn f05g_a_virtual_environment_stays_when_the_agent_removes_its_rule() {
    let sandbox = Sandbox::new();
    sandbox.write(".venv/.gitignore", "*\n");
    sandbox.write(".venv/bin/python", "python\n");
    sandbox.agent("rm .venv/.gitignore; failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.read(".venv/bin/python"), "python\n");
}
