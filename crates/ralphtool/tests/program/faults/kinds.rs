//! Links, pipes, folders, files and modes in places of the git directory, or in place of the top
//! folder, where something else belongs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::faults::{fails, fails_without_a_trace, goes_on, shell};
use crate::sandbox::{GOOD, Sandbox, everything, listing, there, until};

/// A repository of a user who is not root, with hooks, a stash and packed refs, and a folder
/// `outside` beside it that ralphtool must not touch.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::unprivileged();
    shell(
        &sandbox,
        "git branch side; git tag v1; git pack-refs --all
         echo stashed > a.txt; git stash push -q -- a.txt
         mkdir -p .git/hooks/pre-commit.d .git/info; echo '*.swp' > .git/info/exclude
         echo one > .git/hooks/post-merge; echo two > .git/hooks/pre-commit.d/lint
         mkdir -p \"$root/outside/refs\"; cd \"$root/outside\"
         for name in exclude post-merge refs/stash HEAD index other.txt; do echo $name > $name; done
         chmod 600 HEAD",
    );
    sandbox
}

/// One attempt does something and fails: everything is as at the checkpoint, nothing outside has
/// changed, and the next run can work.
#[track_caller]
fn leaves_no_trace(misdeed: &str) -> Sandbox {
    let sandbox = sandbox();
    let outside = listing(&sandbox.root.join("outside"));
    fails_without_a_trace(&sandbox, misdeed);
    assert_eq!(listing(&sandbox.root.join("outside")), outside);
    goes_on(&sandbox);
    assert_eq!(listing(&sandbox.root.join("outside")), outside);
    sandbox
}

/// The bits of a mode that `chmod` sets.
fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn restore_moves_nothing_through_a_link_in_place_of_a_folder_of_the_git_directory() {
    for folder in ["hooks", "info", "logs", "hooks/pre-commit.d", "logs/refs"] {
        leaves_no_trace(&format!(
            "rm -r .git/{folder}; ln -s \"$root/outside\" .git/{folder}; echo x > a.txt"
        ));
    }
}

#[test]
fn restore_writes_nothing_through_a_link_in_place_of_a_file_of_the_git_directory() {
    leaves_no_trace(
        "for file in HEAD config index packed-refs info/exclude hooks/post-merge logs/HEAD; do
             rm .git/$file; ln -s \"$root/outside/other.txt\" .git/$file
         done",
    );
}

#[test]
fn a_link_among_the_hooks_that_was_there_at_the_checkpoint_stays() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "rm -r .git/hooks; ln -s \"$root/outside\" .git/hooks",
    );
    let outside = listing(&sandbox.root.join("outside"));
    fails_without_a_trace(
        &sandbox,
        "rm .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/post-merge",
    );
    let link = fs::read_link(sandbox.repo.join(".git/hooks")).unwrap();
    assert_eq!(link, sandbox.root.join("outside"));
    assert_eq!(listing(&sandbox.root.join("outside")), outside);
    goes_on(&sandbox);
}

#[test]
fn a_link_in_place_of_the_work_tree_is_not_followed() {
    let sandbox = sandbox();
    let outside = listing(&sandbox.root.join("outside"));
    fails(
        &sandbox,
        "cd \"$root\"; mv repo repo.away; ln -s \"$root/outside\" repo",
    );
    assert_eq!(listing(&sandbox.root.join("outside")), outside);
    let is_folder = |path: &Path| fs::symlink_metadata(path).unwrap().is_dir();
    assert!(is_folder(&sandbox.repo) && is_folder(&sandbox.repo.join(".git")));
    let before = everything(&sandbox.root.join("at-checkpoint"));
    assert_eq!(everything(&sandbox.repo), before);
    goes_on(&sandbox);
    assert_eq!(listing(&sandbox.root.join("outside")), outside);
}

#[test]
fn a_git_directory_that_was_moved_out_and_linked_is_a_folder_again() {
    let sandbox = sandbox();
    fails_without_a_trace(
        &sandbox,
        "mv .git \"$root/elsewhere\"; ln -s \"$root/elsewhere\" .git; cp -a \"$root/elsewhere\" \"$root/copy\"",
    );
    let git = fs::symlink_metadata(sandbox.repo.join(".git")).unwrap();
    assert!(git.is_dir());
    goes_on(&sandbox);
    let listed = |name: &str| listing(&sandbox.root.join(name));
    assert_eq!(listed("elsewhere"), listed("copy"));
}

#[test]
fn a_git_directory_that_is_the_users_own_link_is_linked_again() {
    let sandbox = sandbox();
    shell(&sandbox, "mv .git ../real; ln -s ../real .git");
    fails_without_a_trace(&sandbox, "rm .git; mkdir .git; echo x > a.txt");
    let link = fs::read_link(sandbox.repo.join(".git")).unwrap();
    assert_eq!(link, Path::new("../real"));
    goes_on(&sandbox);
}

#[test]
fn named_pipes_in_the_git_directory_block_nothing() {
    for paths in [
        "HEAD config index",
        "packed-refs refs/heads/main logs/HEAD",
        "ralphtool.id",
        "logs/refs/stash refs/stash info/exclude",
        "objects/info/alternates objects/info/commit-graph hooks/new refs/heads/pipe",
    ] {
        leaves_no_trace(&format!(
            "for path in {paths}; do rm -f .git/$path; mkfifo .git/$path; done"
        ));
    }
}

#[test]
fn folders_in_place_of_files_of_the_git_directory_are_moved_aside() {
    for paths in [
        "index packed-refs",
        "HEAD config logs/HEAD",
        "info/exclude hooks/post-merge shallow",
        "refs/heads/ralph/c refs/stash logs/refs/stash",
        "index.lock objects/info/alternates",
    ] {
        leaves_no_trace(&format!(
            "for path in {paths}; do rm -f .git/$path; mkdir .git/$path; echo x > .git/$path/y; done"
        ));
    }
}

#[test]
fn files_in_place_of_folders_of_the_git_directory_are_moved_aside() {
    for folder in ["hooks", "info", "logs", "logs/refs", "objects/pack"] {
        leaves_no_trace(&format!("rm -rf .git/{folder}; echo x > .git/{folder}"));
    }
    leaves_no_trace("for it in .git/objects/??; do rm -rf $it; echo x > $it; break; done");
}

#[test]
fn unreadable_files_of_the_git_directory_are_made_readable() {
    leaves_no_trace(
        "chmod 000 .git/index .git/packed-refs .git/info/exclude .git/HEAD .git/config",
    );
    leaves_no_trace("chmod 000 .git/hooks/post-merge .git/logs/HEAD .git/refs/heads/ralph/c");
    leaves_no_trace("chmod 000 .git/objects/?? .git/objects .git/refs .git/logs .git/info .git");
    leaves_no_trace("chmod 000 .git/objects/??/*");
}

#[test]
fn an_object_of_another_user_that_may_not_be_read_stops_nothing() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let sandbox = sandbox();
    sandbox.agent("touch \"$root/here\"; wait_for \"$root/go\"; failed no");
    let run = sandbox.start(&["loop", "c", "--max-retries", "0"]);
    until("the agent", || there(&sandbox.root.join("here")));
    // As root, with a mask of 077.
    let blob = sandbox.repo.join("of-root");
    fs::write(&blob, "of root\n").unwrap();
    let status = std::process::Command::new("sh")
        .args([
            "-ec",
            "umask 077; git -c safe.directory=* hash-object -w of-root",
        ])
        .current_dir(&sandbox.repo)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .stdout(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success());
    fs::remove_file(blob).unwrap();
    fs::write(sandbox.root.join("go"), "").unwrap();
    run.end().ends_with(1);
    goes_on(&sandbox);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
}

#[test]
fn a_top_folder_an_attempt_locks_gets_its_mode_back() {
    for mode in ["000", "400", "555"] {
        let sandbox = sandbox();
        shell(&sandbox, "chmod 750 .");
        fails_without_a_trace(&sandbox, &format!("chmod {mode} \"$root/repo\""));
        assert_eq!(mode_of(&sandbox.repo), 0o750);
        goes_on(&sandbox);
    }
}

#[test]
fn modes_of_folders_in_the_git_directory_are_restored() {
    let sandbox = sandbox();
    shell(&sandbox, "chmod 700 .git/hooks; chmod 750 .git/info");
    let folders = [
        ".git",
        ".git/hooks",
        ".git/hooks/pre-commit.d",
        ".git/info",
        ".git/refs",
    ];
    let modes = || folders.map(|folder| mode_of(&sandbox.repo.join(folder)));
    let before = modes();
    fails_without_a_trace(
        &sandbox,
        "chmod 777 .git .git/hooks .git/hooks/pre-commit.d .git/info; chmod 500 .git/refs",
    );
    assert_eq!(modes(), before);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(modes(), before);
}

#[test]
fn hooks_in_subfolders_are_restored_and_new_ones_removed() {
    leaves_no_trace(
        "echo evil > .git/hooks/pre-commit.d/lint; echo evil > .git/hooks/pre-commit.d/more
         mkdir -p .git/hooks/pre-push.d/deep; echo evil > .git/hooks/pre-push.d/deep/hook",
    );
    leaves_no_trace("rm -r .git/hooks/pre-commit.d");
}

#[test]
fn branches_whose_files_an_attempt_overwrote_are_restored() {
    let sandbox = sandbox();
    shell(&sandbox, "git branch loose");
    fails_without_a_trace(
        &sandbox,
        "echo garbage > .git/refs/heads/side; : > .git/refs/heads/loose
         rm -f .git/refs/tags/v1; mkdir -p .git/refs/tags/v1; echo x > .git/refs/tags/v1/y",
    );
    goes_on(&sandbox);
}

#[test]
fn abandon_restores_the_log_of_the_stash_that_a_finished_story_replaced() {
    let sandbox = sandbox();
    let before = sandbox.git("stash list");
    sandbox.agent(&format!(
        "rm .git/logs/refs/stash; mkdir .git/logs/refs/stash\n{GOOD}"
    ));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(sandbox.git("stash list"), before);
}

#[test]
fn description_is_restored() {
    let sandbox = sandbox();
    sandbox.write(".git/description", "mine\n");
    fails_without_a_trace(&sandbox, "echo evil > .git/description");
    assert_eq!(sandbox.read(".git/description"), "mine\n");
}

#[test]
fn no_command_waits_for_a_named_pipe_that_a_killed_run_left_in_place_of_head() {
    let sandbox = sandbox();
    sandbox.agent("rm .git/HEAD; mkfifo .git/HEAD; touch \"$root/here\"; wait_for \"$root/go\"");
    let run = sandbox.start(&["loop", "c", "--max-retries", "0"]);
    until("the agent", || there(&sandbox.root.join("here")));
    run.signal(rustix::process::Signal::KILL);
    run.end();
    for args in [&["status"][..], &["list"], &["doctor"]] {
        sandbox.run(args);
    }
    goes_on(&sandbox);
    let head = fs::symlink_metadata(sandbox.repo.join(".git/HEAD")).unwrap();
    assert!(head.is_file());
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn files_of_the_git_directory_that_become_one_long_hole_are_restored_without_being_read() {
    for file in [
        "HEAD",
        "config",
        "index",
        "packed-refs",
        "info/exclude",
        "hooks/post-merge",
        "logs/HEAD",
        "logs/refs/stash",
        "refs/heads/ralph/c",
        "refs/stash",
    ] {
        leaves_no_trace(&format!("truncate -s 200G .git/{file}; echo x > a.txt"));
    }
}

#[test]
fn rule_files_that_become_one_long_hole_are_restored_without_being_read() {
    leaves_no_trace("truncate -s 200G .gitignore; truncate -s 200G dir/.gitignore; echo x > a.txt");
    leaves_no_trace(
        "truncate -s 200G .gitattributes; truncate -s 200G .gitmodules; echo x > a.txt",
    );
}

#[test]
fn branches_whose_files_an_attempt_removed_are_restored() {
    let sandbox = sandbox();
    shell(&sandbox, "git branch loose; git branch deleted");
    fails(
        &sandbox,
        "git branch -q -D deleted; rm -r .git/refs/heads; mkdir .git/refs/heads",
    );
    let branches = sandbox.git("branch --format=%(refname:short)");
    assert_eq!(branches, "loose\nmain\nralph/c\nside\n");
    goes_on(&sandbox);
}

#[test]
fn a_story_that_damages_its_task_file_fails() {
    for misdeed in [
        "truncate -s 200G \"$file\"",
        "rm \"$file\"; mkdir \"$file\"",
        "rm \"$file\"; mkfifo \"$file\"",
        "rm \"$file\"; ln -s tasks.md \"$file\"",
        "chmod 000 \"$file\"",
    ] {
        let sandbox = sandbox();
        sandbox.agent(&format!(
            "file=openspec/changes/c/tasks.md; echo x > a.txt
             tick \"$RALPHTOOL_STORY\"; {misdeed}; complete"
        ));
        sandbox
            .run(&["loop", "c", "--max-retries", "0"])
            .ends_with(1);
        goes_on(&sandbox);
    }
}

#[test]
fn nothing_is_written_through_a_link_in_place_of_a_folder_of_the_tree() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir -p folder/inner; echo '*.tmp' > folder/inner/.gitignore; echo i > folder/inner/i.txt
         git add folder; git commit -q -m folder",
    );
    fails_without_a_trace(
        &sandbox,
        "mv folder \"$root/outside/folder\"; ln -s \"$root/outside/folder\" folder
         rm folder/inner/.gitignore folder/inner/i.txt",
    );
    let inner = listing(&sandbox.root.join("outside/folder/inner"));
    assert_eq!(inner.len(), 0, "{inner:?}");
    goes_on(&sandbox);
}

#[test]
fn git_works_after_a_story_that_damages_shallow_or_packed_refs() {
    for misdeed in ["echo garbage > .git/shallow", ": > .git/packed-refs"] {
        let sandbox = sandbox();
        let tags = sandbox.git("tag");
        sandbox.agent(&format!("{GOOD}\n{misdeed}"));
        sandbox
            .run(&["loop", "c", "--story", "1", "--on-finish", "keep"])
            .ends_with(0);
        assert_eq!(sandbox.git("tag"), tags, "{misdeed}");
        assert_eq!(sandbox.git("log -1 --format=%s"), "checkpoint: 1\n");
    }
}
