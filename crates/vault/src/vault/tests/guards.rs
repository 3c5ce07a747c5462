//! Large files are copied once, and a disk without room stops a step before it begins.

use pretty_assertions::assert_eq;

use super::*;
use crate::tree::guard::Limits;
use ralph_base::size::SizeLimit;

/// How many copies of this size the vault has.
fn copies(checkpoints: &Vault, size: u64) -> usize {
    fn visit(folder: &Path, size: u64) -> usize {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| {
                let metadata = entry.metadata().unwrap();
                if metadata.is_dir() {
                    visit(&entry.path(), size)
                } else {
                    usize::from(metadata.len() == size)
                }
            })
            .sum()
    }
    visit(&checkpoints.vault_folder().join("raw"), size)
}

#[test]
fn a_large_file_is_copied_once_while_its_bytes_stay_the_same() {
    const SIZE: usize = 5 * 1024 * 1024;
    let yard = Yard::new();
    let limits = Limits {
        largest_file: SizeLimit::bytes(1_000_000),
        ..Limits::DEFAULT
    };
    let large = "x".repeat(SIZE);
    yard.write("large.bin", &large);
    let mut checkpoints = yard.open();
    checkpoints.set_limits(limits).unwrap();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let count = |checkpoints: &Vault| copies(checkpoints, SIZE as u64);
    assert_eq!(count(&checkpoints), 1);
    // Written again with the same bytes, restored, and read by another process.
    for (number, misdeed) in [
        "cp large.bin x; mv x large.bin",
        "rm large.bin",
        "touch large.bin",
    ]
    .into_iter()
    .enumerate()
    {
        let attempt = attempt("1", u32::try_from(number).unwrap());
        checkpoints.attempt_started(&attempt).unwrap();
        yard.sh(misdeed);
        checkpoints.changed(&[], |_| false).unwrap();
        checkpoints.park_and_restore(setback(&attempt, None));
        assert_eq!((misdeed, count(&checkpoints)), (misdeed, 1));
        assert!(yard.read("large.bin") == large, "{misdeed}");
        drop(checkpoints);
        checkpoints = yard.open();
    }
    // Other bytes of the same length are noticed, and copied once however often they are looked at.
    let other = format!("{}y", "x".repeat(SIZE - 1));
    yard.write("large.bin", &other);
    checkpoints.changed(&[], |_| false).unwrap();
    checkpoints.save(&story("1")).unwrap();
    assert_eq!(count(&checkpoints), 2);
    yard.write("large.bin", &large);
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    checkpoints.park(setback(&attempt("2", 1), None)).unwrap();
    // A start after a crash finds what was parked, and does not park it again.
    drop(checkpoints);
    let mut checkpoints = yard.open();
    let recovery = checkpoints.recover_run_now().unwrap().unwrap();
    assert_eq!(recovery.done, "restored the tree to the checkpoint");
    assert_eq!(count(&checkpoints), 3);
    assert!(yard.read("large.bin") == other, "not restored");
}

/// The step was refused for want of room.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: crate::error::Result<T>) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("are to be written"), "{text}");
    assert!(error.hint().unwrap().contains("run `ralphtool resume`"));
}

#[test]
fn without_room_every_step_stops_before_it_begins_and_goes_on_once_there_is() {
    let full = Limits {
        least_free: u64::MAX / 2,
        ..Limits::DEFAULT
    };
    let yard = Yard::new();
    dirty(&yard);
    let before = yard.everything();
    let mut checkpoints = yard.open();
    checkpoints.set_limits(full).unwrap();
    assert!(checkpoints.preflight(&branch_c()).unwrap_err().is_refusal());
    refused(checkpoints.begin_run(&run_id(), "c"));
    assert_eq!(yard.everything(), before);
    assert_eq!(checkpoints.open_run(), None);

    checkpoints.set_limits(Limits::DEFAULT).unwrap();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    yard.write("done.txt", "done\n");
    let worked = yard.everything();
    checkpoints.set_limits(full).unwrap();
    refused(checkpoints.save(&story("1")));
    assert_eq!(yard.everything(), worked);
    drop(checkpoints);

    // The next start asks for nothing to stay free, and saves.
    let mut checkpoints = yard.open();
    let recovery = checkpoints.recover_run_now().unwrap().unwrap();
    assert_eq!(
        recovery.found,
        "story 1 was done, but its checkpoint was not written"
    );
    let saved = yard.everything();
    checkpoints.attempt_started(&attempt("2", 1)).unwrap();
    yard.write("done.txt", "spoilt\n");
    let spoilt = yard.everything();
    checkpoints.set_limits(full).unwrap();
    refused(checkpoints.park(setback(&attempt("2", 1), None)));
    assert_eq!(yard.everything(), spoilt);
    checkpoints.set_limits(Limits::DEFAULT).unwrap();
    let (tree, _) = checkpoints.park(setback(&attempt("2", 1), None)).unwrap();
    checkpoints.set_limits(full).unwrap();
    refused(checkpoints.restore(&tree.scanned, tree.git));
    assert_eq!(yard.everything(), spoilt);
    drop(checkpoints);
    let mut checkpoints = yard.open();
    checkpoints.recover_run_now().unwrap();
    assert_eq!(yard.everything(), saved);
}
