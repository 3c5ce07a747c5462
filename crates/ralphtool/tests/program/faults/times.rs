//! Edits that file times do not show, and objects that a garbage collection would remove.

use pretty_assertions::assert_eq;

use crate::faults::{is_saved, leaves_no_trace, parked, prepared, store};
use crate::sandbox::Sandbox;

#[test]
fn f25_an_edit_of_the_same_size_in_the_same_second_is_saved_and_undone() {
    let sandbox = Sandbox::new();
    // Each story edits the file right after a checkpoint was made of it.
    sandbox.agent(
        "case $RALPHTOOL_STORY.$attempt in
             2.1) printf 'bad\\n' > a.txt; failed no; exit ;;
             *) grep -q bad a.txt && exit 9; printf 'v%s\\n' $RALPHTOOL_STORY > a.txt ;;
         esac
         tick $RALPHTOOL_STORY; complete",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.git("show ralph/c~1:a.txt"), "v1\n");
    assert_eq!(sandbox.git("show ralph/c:a.txt"), "v2\n");
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn f16r_an_edit_that_keeps_size_and_time_is_saved() {
    let sandbox = is_saved(
        "touch -t 202001010000 a.txt; git status",
        "cp -p a.txt $root/stamp; printf 'ONE\\n' > a.txt; touch -r $root/stamp a.txt",
    );
    assert_eq!(sandbox.git("show HEAD:a.txt"), "ONE\n");
}

#[test]
fn f16s_a_file_replaced_by_one_of_the_same_size_and_time_is_undone() {
    let sandbox = leaves_no_trace(
        "touch -t 202001010000 a.txt; git status",
        "printf 'ONE\\n' > $root/new; touch -r a.txt $root/new; mv $root/new a.txt",
    );
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn f26_the_users_git_gc_removes_nothing_from_the_vault() {
    let sandbox = prepared("echo mine > mine.txt");
    sandbox.agent(
        "echo idea > idea.txt; git add idea.txt; git commit -qm idea; echo more > more.txt; failed no",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    sandbox.git("reflog expire --expire=now --all");
    sandbox.git("gc -q --prune=now");
    sandbox.git("checkout -q main");
    sandbox.git("branch -q -D ralph/c");
    sandbox.git("gc -q --prune=now");
    assert_eq!(parked(&sandbox, "idea.txt"), "idea\n");
    assert_eq!(parked(&sandbox, "more.txt"), "more\n");
    assert_eq!(parked(&sandbox, "mine.txt"), "mine\n");
    assert_eq!(store(&sandbox, "fsck --no-dangling"), "");
}
