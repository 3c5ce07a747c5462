//! What a user finds when a history is over, without what differs from one run to the next: the ids
//! of ralphtool's commits, which depend on times.

use std::fmt::Write as _;

use crate::sandbox::{Sandbox, files, listing};

/// HEAD, refs as subjects and trees, status, index, stash, files, and the git directory's own.
pub(crate) fn ended_state(sandbox: &Sandbox) -> String {
    let mut text = String::new();
    for args in [
        "symbolic-ref HEAD",
        "for-each-ref --format=%(refname)|%(subject)|%(tree)",
        "status --porcelain=v1 --untracked-files=all --ignored",
        "stash list --format=%gd|%s",
        "ls-files --stage",
        "ls-files -v",
        "log --all --format=%s|%T",
        "fsck --no-dangling --no-progress",
        "config --local --list",
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let output = sandbox.command("git").args(&words).output().unwrap();
        let _ = write!(
            text,
            "$ git {args}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    for (path, state) in files(&sandbox.repo) {
        let _ = writeln!(text, "{path}: {state}");
    }
    for (path, state) in listing(&sandbox.repo.join(".git")) {
        let mut parts = path.split('/');
        let kept = matches!(parts.next(), Some("hooks" | "info"));
        let lock = path.contains(".lock") || path.contains(".ralph-");
        if kept || lock {
            let _ = writeln!(text, ".git/{path}: {state}");
        }
    }
    text
}
