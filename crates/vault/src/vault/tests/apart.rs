//! What the vault holds is whole, whatever becomes of the objects in the repository.

use pretty_assertions::assert_eq;

use super::hostile::saved;
use super::*;

/// Overwrites the object of a file in the repository, in place.
const SPOIL: &str = "object=.git/objects/$(git rev-parse :f.txt | sed 's,^..,&/,')
    chmod u+w $object; echo junk > $object";

#[test]
fn an_object_that_is_spoilt_in_the_repository_is_whole_in_the_vault() {
    let made = "echo precious > f.txt; git add f.txt";
    for (first, second) in [
        (format!("{made}\n{SPOIL}"), "rm f.txt".to_owned()),
        (made.to_owned(), format!("{SPOIL}\nrm f.txt")),
    ] {
        let (yard, mut checkpoints, _) = saved("", &first);
        checkpoints.attempt_started(&attempt("2", 1)).unwrap();
        yard.sh(&second);
        let failed = setback(&attempt("2", 1), None);
        checkpoints.park_and_restore(failed);
        assert_eq!(yard.read("f.txt"), "precious\n", "{first}");
    }
}

#[test]
fn what_git_stores_of_a_parked_attempt_is_in_the_vault_though_the_repository_has_it() {
    let yard = Yard::new();
    yard.sh("echo '*.t text' > .gitattributes; git add -A; git commit -qm text");
    let mut checkpoints = yard.open();
    checkpoints.begin_run(&run_id(), "c").unwrap();
    let folder = checkpoints.attempt_folder(&run_id(), &attempt("1", 1));
    fs::create_dir_all(folder.join("git")).unwrap();
    checkpoints.attempt_started(&attempt("1", 1)).unwrap();
    // The user, for example in another work tree, writes an object with the same lines.
    yard.sh("printf 'one\\ntwo\\n' | git hash-object -w --stdin");
    yard.write("lines.t", "one\r\ntwo\r\n");
    let failed = setback(&attempt("1", 1), None);
    checkpoints.park_and_restore(failed);
    yard.sh("git prune --expire=now");
    let store = checkpoints.repo.places.vault.store();
    let name = format!("refs/parked/{}/1.1:lines.t", run_id());
    let kept = yard.git_args(&[
        "--git-dir",
        &store.to_string_lossy(),
        "cat-file",
        "-p",
        &name,
    ]);
    assert_eq!(kept, "one\ntwo\n");
}
