//! Every way to finish a run, and its undo, in repositories with hooks, signing and sparse checkouts.

use pretty_assertions::assert_eq;

use super::*;

const CHOICES: [FinishChoice; 5] = [
    FinishChoice::Squash,
    FinishChoice::Reword,
    FinishChoice::Keep,
    FinishChoice::Cleanup,
    FinishChoice::Abandon,
];

/// A run with work of the user's, of a story, and of a failed attempt.
fn run(yard: &Yard) -> Vault {
    yard.write("dir/b.txt", "not committed\n");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("dir/made.txt", "made\n");
    checkpoints.save(&story("1")).unwrap();
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    yard.write("dir/junk.txt", "junk\n");
    checkpoints.park_and_restore(setback(&attempt("2", 1), None));
    checkpoints
}

fn undo(checkpoints: &mut Vault) {
    let prepared = checkpoints.prepare_undo().unwrap();
    checkpoints.carry_out_undo(prepared).unwrap();
}

#[test]
fn a_run_and_its_finish_run_no_hook_and_sign_nothing() {
    let yard = Yard::new();
    let trace = yard.state.parent().unwrap().join("ran");
    let program = format!("#!/bin/sh\necho \"$0\" >> {}\nexit 1\n", trace.display());
    for place in [".git/hooks", ".husky"] {
        for name in [
            "applypatch-msg",
            "commit-msg",
            "post-checkout",
            "post-commit",
            "post-index-change",
            "post-merge",
            "post-rewrite",
            "pre-auto-gc",
            "pre-commit",
            "prepare-commit-msg",
            "reference-transaction",
            "update",
        ] {
            let path = format!("{place}/{name}");
            yard.write(&path, &program);
            fs::set_permissions(yard.repo.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    yard.sh("echo .husky >> .git/info/exclude");
    yard.write(".husky/gpg", &program);
    let signer = yard.repo.join(".husky/gpg");
    fs::set_permissions(&signer, fs::Permissions::from_mode(0o755)).unwrap();
    for (key, value) in [
        ("gpg.program", signer.to_str().unwrap()),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("core.hooksPath", ".husky"),
    ] {
        // Git itself would run the hooks.
        let config = yard.repo.join(".git/config");
        let (section, name) = key.split_once('.').unwrap();
        let text = fs::read_to_string(&config).unwrap();
        fs::write(config, format!("{text}[{section}]\n\t{name} = {value}\n")).unwrap();
    }
    let mut checkpoints = run(&yard);
    for choice in CHOICES {
        checkpoints.finish(choice).unwrap();
        undo(&mut checkpoints);
    }
    let rewind = checkpoints.prepare_rewind(&story("1").id).unwrap();
    checkpoints.carry_out(rewind.prepared).unwrap();
    undo(&mut checkpoints);
    assert_eq!(fs::read_to_string(&trace).unwrap_or_default(), "");
}

#[test]
fn every_finish_and_its_undo_leave_a_sparse_checkout_sparse() {
    let yard = Yard::new();
    yard.write("other/left-out.txt", "left out\n");
    yard.git("add -A");
    yard.git("commit -q -m other");
    yard.git("sparse-checkout set dir");
    assert_eq!(yard.git("ls-files -t other"), "S other/left-out.txt\n");
    let mut checkpoints = run(&yard);
    let before = yard.everything();
    let flags = yard.git("ls-files -t");
    for choice in CHOICES {
        checkpoints.finish(choice).unwrap();
        assert_eq!(
            yard.git("ls-files -t other"),
            "S other/left-out.txt\n",
            "{choice:?}"
        );
        assert!(!yard.repo.join("other").exists(), "{choice:?}");
        undo(&mut checkpoints);
        assert_eq!(yard.everything(), before, "{choice:?}");
        assert_eq!(yard.git("ls-files -t"), flags, "{choice:?}");
    }
}
