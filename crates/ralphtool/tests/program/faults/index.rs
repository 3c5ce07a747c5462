//! What only the index has: staging is data.

use pretty_assertions::assert_eq;

use crate::faults::{goes_home, leaves_no_trace, prepared};
use crate::sandbox::{GOOD, Sandbox};

/// A file staged in part, one staged and deleted, a staged deletion, a staged rename.
const STAGED: &str = "printf '1\\n2\\n3\\n' > part.txt; git add part.txt; git commit -qm part
    printf '1 staged\\n2\\n3\\n' > part.txt; git add part.txt; printf '1 staged\\n2\\n3 not\\n' > part.txt
    echo only-in-the-index > only.txt; git add only.txt; rm only.txt
    echo gone > gone.txt; echo old > old-name.txt; git add gone.txt old-name.txt; git commit -qm more -- gone.txt old-name.txt
    git rm -q gone.txt; git mv old-name.txt new-name.txt";

/// An agent that removes every object that no ref reaches, and does its work.
const COLLECTS: &str = "git reflog expire --expire=now --all; git gc -q --prune=now";

#[track_caller]
fn staging_comes_back(before: &str) -> Sandbox {
    let sandbox = prepared(before);
    let stage = sandbox.git("ls-files --stage");
    let flags = sandbox.git("ls-files -v");
    let status = sandbox.git("status --porcelain --untracked-files=all");
    sandbox.agent(&format!("{COLLECTS}\n{GOOD}"));
    goes_home(&sandbox);
    assert_eq!(sandbox.git("ls-files --stage"), stage);
    assert_eq!(sandbox.git("ls-files -v"), flags);
    let now = sandbox.git("status --porcelain --untracked-files=all");
    let ours = |line: &&str| !line.contains("story-") && !line.contains("tasks.md");
    assert_eq!(
        now.lines().filter(ours).collect::<Vec<_>>(),
        status.lines().collect::<Vec<_>>()
    );
    sandbox
}

#[test]
fn f01a_f01b_f18k_staged_content_is_staged_again_even_if_git_collected_it() {
    let sandbox = staging_comes_back(STAGED);
    // In part.
    assert_eq!(sandbox.git("show :part.txt"), "1 staged\n2\n3\n");
    assert_eq!(sandbox.read("part.txt"), "1 staged\n2\n3 not\n");
    // In the index alone.
    assert_eq!(sandbox.git("show :only.txt"), "only-in-the-index\n");
    assert!(!sandbox.exists("only.txt"));
    // Deletions and renames.
    let status = sandbox.git("status --porcelain");
    assert!(status.contains("D  gone.txt\n"), "{status}");
    let renamed = "R  old-name.txt -> new-name.txt\n";
    assert!(status.contains(renamed), "{status}");
}

const FLAGS: &str = "echo announced > announced.txt; git add -N announced.txt
    git update-index --assume-unchanged a.txt; echo local > a.txt
    git update-index --skip-worktree dir/b.txt; echo local > dir/b.txt";

#[test]
fn f02_edits_behind_assume_unchanged_and_skip_worktree_survive_a_failed_attempt() {
    let sandbox = leaves_no_trace(
        FLAGS,
        "echo agent > a.txt; echo agent > dir/b.txt; rm announced.txt",
    );
    assert_eq!(sandbox.read("a.txt"), "local\n");
    assert_eq!(sandbox.read("dir/b.txt"), "local\n");
    assert_eq!(sandbox.read("announced.txt"), "announced\n");
}

#[test]
fn f02_cleanup_restores_the_flags() {
    staging_comes_back(FLAGS);
}
