//! What is kept out of commits although git does not ignore it: secrets and large files. They are
//! safe in the vault, and named once.

use crate::sandbox::{self, GOOD, Sandbox, files, files_and_times};
use pretty_assertions::assert_eq;

/// Names of all files in all commits of the branch.
fn committed(sandbox: &Sandbox) -> Vec<String> {
    let listing = sandbox.git("log --format= --name-only main..ralph/c");
    let mut names: Vec<String> = listing.lines().map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// Warnings about what is kept out or should not be in.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let mut warnings = sandbox.warnings();
    warnings.retain(|it| !it.starts_with("ticked"));
    warnings
}

/// Names of files that parked attempts have in their commits.
fn parked(sandbox: &Sandbox) -> String {
    let store = format!("--git-dir={}", sandbox.vault().join("store").display());
    let refs = sandbox.git_args(&[&store, "for-each-ref", "--format=%(refname)", "refs/parked"]);
    assert!(!refs.is_empty(), "no attempt was parked");
    let names = refs
        .lines()
        .map(|name| sandbox.git_args(&[&store, "show", "--format=", "--name-only", name]));
    names.collect()
}

#[test]
fn untracked_secrets_and_large_files_stay_out_of_every_commit_and_are_named_once() {
    let sandbox = Sandbox::new();
    sandbox.config("largest_file = \"100kB\"");
    sandbox.git("commit -q -a -m settings");
    sandbox.write("keys/server.pem", "KEY\n");
    sandbox.write(".env.local", "TOKEN=1\n");
    sandbox.write(".env.example", "TOKEN=\n");
    sandbox.write("dump.sql", &"x".repeat(150_000));
    let before = files_and_times(&sandbox.repo);
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY != 2 ] || echo B > id_rsa\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        told(&sandbox),
        [
            "kept_out: kept out of commits, and safe in the vault: \
             `.env.local` (looks like a secret), \
             `dump.sql` (150 kB, more than `largest_file`), \
             `keys/server.pem` (looks like a secret); `git add` a file to have it committed",
            "kept_out: kept out of commits, and safe in the vault: \
             `id_rsa` (looks like a secret); `git add` a file to have it committed"
        ]
    );
    assert_eq!(
        committed(&sandbox),
        [
            ".env.example",
            "openspec/changes/c/tasks.md",
            "story-1.txt",
            "story-2.txt"
        ]
    );
    let now = files_and_times(&sandbox.repo);
    for path in [".env.local", "dump.sql", "keys/server.pem"] {
        assert_eq!(now[path], before[path]);
    }
    assert_eq!(
        sandbox.git("status --porcelain"),
        "?? .env.local\n?? dump.sql\n?? id_rsa\n?? keys/\n"
    );
}

#[test]
fn cleanup_leaves_files_kept_out_of_commits_in_place() {
    let sandbox = Sandbox::new();
    sandbox.write(".env.local", "TOKEN=1\n");
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(sandbox.read(".env.local"), "TOKEN=1\n");
    let status = sandbox.git("status --porcelain");
    assert!(status.contains("?? .env.local\n"), "{status}");
}

#[test]
fn a_failed_attempt_restores_files_kept_out_of_commits_and_removes_its_own() {
    let sandbox = Sandbox::new();
    sandbox.config("largest_file = \"100kB\"");
    sandbox.write("changed.pem", "KEY\n");
    sandbox.write("deleted.pem", "KEY\n");
    // Larger than what is kept of ignored files.
    sandbox.write("dump.sql", &"x".repeat(11_000_000));
    sandbox.write("gone.sql", &"y".repeat(11_000_000));
    std::fs::set_permissions(sandbox.repo.join("changed.pem"), sandbox::mode(0o600)).unwrap();
    let before = files(&sandbox.repo);
    sandbox.agent(
        "echo AGENT > changed.pem; chmod 644 changed.pem; rm deleted.pem gone.sql
         printf z | dd of=dump.sql bs=1 seek=5000000 conv=notrunc 2> /dev/null
         echo AGENT > made.key; head -c 200000 /dev/zero > made.bin
         failed no",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "1"])
        .ends_with(1);
    assert!(files(&sandbox.repo) == before, "the tree differs");
    assert_eq!(parked(&sandbox), "");
    assert!(!sandbox.transcript("1.1", "changes.diff").contains("AGENT"));
    let warnings = told(&sandbox);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let trash = sandbox::listing(&sandbox.vault().join("trash"));
    let made = trash.keys().filter(|path| path.ends_with("/made.key"));
    assert_eq!(made.count(), 2);
}

#[test]
fn a_secret_that_is_tracked_stays_tracked() {
    let sandbox = Sandbox::new();
    sandbox.write("test.pem", "one\n");
    sandbox.git("add -A");
    sandbox.git("commit -q -m key");
    sandbox.agent(&format!("echo two > test.pem\n{GOOD}"));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.git("show HEAD:test.pem"), "two\n");
    assert_eq!(told(&sandbox), Vec::<String>::new());
}

#[test]
fn a_staged_secret_is_committed_with_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.config("largest_file = \"100kB\"");
    sandbox.write("users.pem", "user\n");
    sandbox.git("add users.pem");
    sandbox.write("agents.pem", "agent\n");
    sandbox.write("large.bin", &"x".repeat(150_000));
    sandbox.agent(&format!("git add agents.pem large.bin\n{GOOD}"));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.git("show ralph/c~1:users.pem"), "user\n");
    assert_eq!(sandbox.git("show ralph/c:agents.pem"), "agent\n");
    assert_eq!(sandbox.git("show ralph/c:large.bin").len(), 150_000);
    assert_eq!(sandbox.git("status --porcelain"), "");
    let why = "looks like a secret and is in the branch, because it was added with `git add`";
    assert_eq!(
        told(&sandbox)[1..],
        [
            format!("secret_committed: {why}: `users.pem`"),
            format!("secret_committed: {why}: `agents.pem`"),
        ]
    );
}

#[test]
fn a_secret_in_an_agents_commit_gets_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "echo k > a.key; git add a.key; git commit -q -m oops; git rm -q a.key; git commit -q -m better\n{GOOD}"
    ));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        told(&sandbox),
        [
            "secret_committed: looks like a secret and is in the branch, by commits the attempt \
             made itself: `a.key`"
        ]
    );
}

#[test]
fn ignored_files_stay_out_of_commits_when_an_agent_removes_the_rule() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "SECRET=1\n");
    sandbox.write("notes.log", "mine\n");
    sandbox.write("target/cache", "cache\n");
    sandbox.agent(&format!(
        "echo \"# $RALPHTOOL_STORY\" > .gitignore; echo x >> notes.log\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        told(&sandbox),
        [
            "no_longer_ignored: no longer ignored, but still kept out of commits: \
             `.env`, `notes.log`, `target`; `git add` a file to have it committed"
        ]
    );
    assert_eq!(
        sandbox.git("status --porcelain"),
        "?? .env\n?? notes.log\n?? target/\n"
    );
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
}

#[test]
fn a_large_file_that_became_small_is_committed() {
    let sandbox = Sandbox::new();
    sandbox.config("largest_file = \"100kB\"");
    sandbox.write("data.csv", &"x".repeat(150_000));
    sandbox.agent(&format!("echo small > data.csv\n{GOOD}"));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.git("show ralph/c:data.csv"), "small\n");
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn without_a_limit_every_size_is_committed() {
    let sandbox = Sandbox::new();
    sandbox.config("largest_file = \"off\"");
    sandbox.write("data.bin", &"x".repeat(60_000_000));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(told(&sandbox), Vec::<String>::new());
    assert_eq!(sandbox.git("cat-file -s ralph/c:data.bin"), "60000000\n");
}

#[test]
fn a_runs_size_limit_also_holds_for_the_recovery_by_the_next_start() {
    let sandbox = Sandbox::new();
    sandbox.config("largest_file = \"100kB\"");
    sandbox.agent(&format!(
        "head -c 150000 /dev/zero > large.bin
         [ -e $root/go ] || {{ touch $root/here; wait_for $root/go; }}\n{GOOD}"
    ));
    let running = sandbox.start(&["loop", "c", "--story", "1"]);
    sandbox::until("the agent", || sandbox::there(&sandbox.root.join("here")));
    running.signal(rustix::process::Signal::KILL);
    running.end().ends_with(137);
    std::fs::write(sandbox.root.join("go"), "").unwrap();
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        parked(&sandbox),
        "",
        "the parked attempt holds the large file"
    );
    assert_eq!(
        committed(&sandbox),
        [
            "openspec/changes/c/tasks.md",
            "ralphtool.toml",
            "story-1.txt"
        ]
    );
}
