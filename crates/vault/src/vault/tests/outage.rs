//! What the next start makes of a machine that stopped without warning. What an outage takes is
//! taken here by hand: lines at the end of the journal, the bytes of files, the last rename.

use pretty_assertions::assert_eq;

use super::*;
use crate::journal::steps::Step;
use crate::vault::Recovery;

/// The journal as if it was written before the machine was started, without the last lines.
fn machine_restarted(yard: &Yard, checkpoints: Vault, lost_lines: usize) {
    let path = checkpoints.repo.places.vault.journal();
    drop(checkpoints);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut earlier = String::new();
    for line in &lines[..lines.len() - lost_lines] {
        let json = line.split_once(' ').unwrap().1;
        let mut value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert!(value["uptime"].is_string());
        value["uptime"] = "an earlier one".into();
        let json = value.to_string();
        let _ = writeln!(earlier, "{:08x} {json}", crc32fast::hash(json.as_bytes()));
    }
    fs::write(path, earlier).unwrap();
    assert!(yard.state.exists());
}

/// Begins, saves a first story, and lets an agent do the second.
fn second_story_done(deed: &str) -> (Yard, Vault) {
    let yard = Yard::new();
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    yard.write("first.txt", "first\n");
    checkpoints.save(&story("1")).unwrap();
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    yard.sh(deed);
    (yard, checkpoints)
}

/// The same up to where the second story is saved; the states before and after the switch.
fn second_story_saved() -> (Yard, Vault, Before) {
    let (yard, mut checkpoints) = second_story_done("echo second > second.txt");
    let index = yard.repo.join(".git/index");
    let before = Before {
        tip: yard.git("rev-parse ralph/c"),
        index: fs::read(&index).unwrap(),
        index_at: fs::metadata(&index).unwrap().modified().unwrap(),
    };
    checkpoints.save(&story("2")).unwrap();
    (yard, checkpoints, before)
}

/// What a switch replaced.
struct Before {
    tip: String,
    index: Vec<u8>,
    index_at: std::time::SystemTime,
}

impl Before {
    fn lose_the_index(&self, yard: &Yard) {
        let index = yard.repo.join(".git/index");
        fs::write(&index, &self.index).unwrap();
        let file = fs::File::options().write(true).open(&index).unwrap();
        file.set_modified(self.index_at).unwrap();
    }

    fn lose_the_branch(&self, yard: &Yard) {
        yard.write(".git/refs/heads/ralph/c", &self.tip);
    }
}

fn recover(yard: &Yard) -> (Vault, Option<Recovery>) {
    let mut checkpoints = yard.open();
    let recovery = checkpoints.recover_run_now().unwrap();
    (checkpoints, recovery)
}

const BOTH: &str = "checkpoint: 2\ncheckpoint: 1\ninitial state\n";

fn assert_both_saved(yard: &Yard) {
    assert_eq!(yard.git("log --format=%s main.."), BOTH);
    assert_eq!(
        yard.git("status --porcelain --branch"),
        "## ralph/c\n",
        "the index is the commit's"
    );
    yard.git("fsck --strict");
}

#[test]
fn a_verified_story_is_saved_after_a_kill_and_parked_after_an_outage() {
    let deed = "echo second > second.txt; echo changed > a.txt";
    let verified = Step::Verified { story: story("2") };

    let (yard, mut checkpoints) = second_story_done(deed);
    checkpoints.record(&run_id(), verified.clone()).unwrap();
    drop(checkpoints);
    let (_checkpoints, recovery) = recover(&yard);
    assert!(recovery.unwrap().done.starts_with("wrote it: "));
    assert_both_saved(&yard);

    let (yard, mut checkpoints) = second_story_done(deed);
    let at_checkpoint = yard.git("rev-parse HEAD");
    checkpoints.record(&run_id(), verified).unwrap();
    machine_restarted(&yard, checkpoints, 0);
    // The line got through, the bytes of a file did not.
    yard.write("a.txt", "");
    let (checkpoints, recovery) = recover(&yard);
    let recovery = recovery.unwrap();
    assert_eq!(recovery.found, "attempt 2.1 was interrupted");
    assert_eq!(yard.git("rev-parse HEAD"), at_checkpoint);
    assert_eq!(yard.git("status --porcelain"), "");
    assert_eq!(yard.read("a.txt"), "one\n");
    let store = checkpoints.repo.places.vault.store();
    let parked = Command::new("git")
        .args(["show", "refs/parked/test-run/2.1:second.txt"])
        .env("GIT_DIR", store)
        .output();
    assert_eq!(parked.unwrap().stdout, b"second\n");
}

#[test]
fn edits_made_after_a_kill_are_in_no_commit_that_says_gates_passed() {
    for edit in [
        "echo by the user >> a.txt",
        "echo by the user > new.txt",
        "rm second.txt",
        "mv second.txt renamed.txt",
    ] {
        let deed = "echo second > second.txt; echo changed > a.txt";
        let (yard, mut checkpoints) = second_story_done(deed);
        let at_checkpoint = yard.git("rev-parse HEAD");
        let verified = Step::Verified { story: story("2") };
        checkpoints.record(&run_id(), verified).unwrap();
        let line = checkpoints.log.state.last.clone().unwrap().at;
        drop(checkpoints);
        // File systems keep time in ticks: until one has passed, an edit looks older than it is.
        let probe = yard.state.join("probe");
        let is_later = || {
            fs::write(&probe, "").unwrap();
            let written = fs::metadata(&probe).unwrap().modified().unwrap();
            written > std::time::SystemTime::from(line)
        };
        while !is_later() {}
        yard.sh(edit);
        let (checkpoints, recovery) = recover(&yard);
        let recovery = recovery.unwrap();
        assert!(
            recovery
                .found
                .contains("attempt 2.1 was interrupted after its gates had passed"),
            "{edit}: {recovery:?}"
        );
        assert_eq!(yard.git("rev-parse HEAD"), at_checkpoint, "{edit}");
        assert_eq!(yard.git("status --porcelain"), "", "{edit}");
        // Nothing of it is lost.
        let output = Command::new("git")
            .args([
                "diff",
                "--name-status",
                at_checkpoint.trim(),
                "refs/parked/test-run/2.1",
            ])
            .env("GIT_DIR", checkpoints.repo.places.vault.store())
            .output()
            .unwrap();
        assert!(!output.stdout.is_empty(), "{edit}: {output:?}");
    }
}

#[test]
fn a_save_whose_result_was_lost_is_carried_out_again() {
    let (yard, checkpoints, before) = second_story_saved();
    machine_restarted(&yard, checkpoints, 1);
    before.lose_the_branch(&yard);
    before.lose_the_index(&yard);
    recover(&yard);
    assert_both_saved(&yard);

    // The same with a branch and an index that lost their bytes, and a lock that stayed.
    let (yard, checkpoints, _) = second_story_saved();
    machine_restarted(&yard, checkpoints, 1);
    yard.write(".git/refs/heads/ralph/c", "");
    yard.write(".git/refs/heads/ralph/c.lock", "");
    yard.write(".git/index", "");
    recover(&yard);
    assert_both_saved(&yard);
}

#[test]
fn a_save_that_was_not_all_on_disk_is_settled() {
    for (lost_branch, lost_index) in [(true, false), (false, true), (true, true)] {
        let (yard, checkpoints, before) = second_story_saved();
        machine_restarted(&yard, checkpoints, 0);
        if lost_branch {
            before.lose_the_branch(&yard);
        }
        if lost_index {
            before.lose_the_index(&yard);
        }
        let (mut checkpoints, recovery) = recover(&yard);
        assert_eq!(
            recovery.unwrap().found,
            "a checkpoint that was not all on disk when the machine stopped"
        );
        assert_both_saved(&yard);
        // Once is enough, and the run goes on from there.
        assert_eq!(checkpoints.recover_run_now().unwrap(), None);
        checkpoints.resume().unwrap();
        assert_both_saved(&yard);
    }
    let (yard, checkpoints, _) = second_story_saved();
    machine_restarted(&yard, checkpoints, 0);
    yard.write(".git/refs/heads/ralph/c", "");
    yard.write(".git/index", "");
    recover(&yard);
    assert_both_saved(&yard);
}

#[test]
fn what_the_user_did_before_and_after_an_ordinary_restart_stays() {
    for deed in [
        "echo mine > mine.txt; git add mine.txt; rm mine.txt",
        "echo mine > mine.txt; git add mine.txt; git commit -qm mine",
        "git switch -q main; echo mine > mine.txt; git add mine.txt",
        "true",
    ] {
        let (yard, checkpoints, _) = second_story_saved();
        machine_restarted(&yard, checkpoints, 0);
        yard.sh(deed);
        let state = yard.everything();
        let (_checkpoints, recovery) = recover(&yard);
        assert_eq!(recovery, None);
        assert_eq!(yard.everything(), state);
    }
}

#[test]
fn an_attempt_is_undone_whatever_an_outage_took_of_the_save_before_it() {
    let (yard, mut checkpoints, before) = second_story_saved();
    let state = yard.everything();
    checkpoints.attempt_started(&attempt("3", 1)).unwrap();
    yard.sh("echo third > third.txt; echo edited > second.txt");
    machine_restarted(&yard, checkpoints, 0);
    before.lose_the_branch(&yard);
    before.lose_the_index(&yard);
    yard.write("third.txt", "");
    yard.write("first.txt", "");
    let (_checkpoints, recovery) = recover(&yard);
    assert_eq!(recovery.unwrap().found, "attempt 3.1 was interrupted");
    assert_eq!(yard.everything(), state);

    let (yard, mut checkpoints, _) = second_story_saved();
    let state = yard.everything();
    checkpoints.attempt_started(&attempt("3", 1)).unwrap();
    machine_restarted(&yard, checkpoints, 0);
    yard.write(".git/refs/heads/ralph/c", "");
    yard.write(".git/index", "");
    recover(&yard);
    assert_eq!(yard.everything(), state);
}

#[test]
fn a_restore_that_was_not_all_on_disk_is_done_again_unless_it_was_settled() {
    let restored = |lost_lines| {
        let (yard, mut checkpoints) = second_story_done("echo edited > first.txt");
        let failed = setback(&attempt("2", 1), None);
        checkpoints.park_and_restore(failed);
        assert_eq!(yard.read("first.txt"), "first\n");
        let state = yard.everything();
        machine_restarted(&yard, checkpoints, lost_lines);
        yard.write("first.txt", "");
        (yard, state)
    };
    for lost_lines in [0, 1] {
        let (yard, state) = restored(lost_lines);
        let (checkpoints, recovery) = recover(&yard);
        assert_eq!(recovery.unwrap().found, "an interrupted restore");
        assert_eq!(yard.everything(), state);
        drop(checkpoints);
        assert_eq!(recover(&yard).1, None, "it is settled");
    }

    let (yard, mut checkpoints) = second_story_done("echo edited > first.txt");
    let failed = setback(&attempt("2", 1), None);
    checkpoints.park_and_restore(failed);
    checkpoints.settle_restore().unwrap();
    machine_restarted(&yard, checkpoints, 0);
    yard.write("first.txt", "the user's");
    assert_eq!(recover(&yard).1, None);
    assert_eq!(yard.read("first.txt"), "the user's");
}

#[test]
fn a_restore_a_start_came_after_is_settled() {
    let (yard, mut checkpoints) = second_story_done("echo edited > first.txt");
    let failed = setback(&attempt("2", 1), None);
    checkpoints.park_and_restore(failed);
    drop(checkpoints);
    let (checkpoints, recovery) = recover(&yard);
    assert_eq!(recovery, None);
    yard.write("first.txt", "the user's");
    machine_restarted(&yard, checkpoints, 0);
    assert_eq!(recover(&yard).1, None);
    assert_eq!(yard.read("first.txt"), "the user's");
}

#[test]
fn objects_that_lost_their_bytes_are_not_built_upon() {
    let big: String = (0..3000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{number}");
        text
    });
    let deed = "echo second > second.txt; seq 0 2999 > big.txt; git add -A; git commit -qm mine";
    let (yard, checkpoints) = second_story_done(deed);
    let object = |name: &str| {
        let id = yard.git(&format!("rev-parse {name}"));
        let (first, rest) = id.trim().split_at(2);
        yard.repo.join(".git/objects").join(first).join(rest)
    };
    let (small, large) = (object("HEAD:second.txt"), object("HEAD:big.txt"));
    machine_restarted(&yard, checkpoints, 0);
    for (path, length) in [(&small, 0), (&large, 1000)] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(length).unwrap();
    }
    let (mut checkpoints, recovery) = recover(&yard);
    assert_eq!(recovery.unwrap().found, "attempt 2.1 was interrupted");
    assert!(!small.exists() && !large.exists());
    // The same content once more.
    checkpoints.attempt_started(&attempt("2", 2)).unwrap();
    yard.write("second.txt", "second\n");
    yard.write("big.txt", &big);
    checkpoints.save(&story("2")).unwrap();
    assert_both_saved(&yard);
    assert_eq!(yard.git("show HEAD:second.txt"), "second\n");
    assert_eq!(yard.git("show HEAD:big.txt"), big);
}
