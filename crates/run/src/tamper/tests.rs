//! Both sides of every check: what it must find, and what it must leave alone.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

mod languages;
mod plan;

/// A file that was edited.
fn edited(path: &str, before: &str, after: &str) -> ChangedPath {
    ChangedPath {
        was_there: true,
        is_there: true,
        before: Some(before.to_owned()),
        after: Some(after.to_owned()),
        ..at(path)
    }
}

/// A new file.
fn added(path: &str, after: &str) -> ChangedPath {
    ChangedPath {
        is_there: true,
        after: Some(after.to_owned()),
        ..at(path)
    }
}

/// A file that is gone.
fn deleted(path: &str, before: &str) -> ChangedPath {
    ChangedPath {
        was_there: true,
        before: Some(before.to_owned()),
        ..at(path)
    }
}

fn at(path: &str) -> ChangedPath {
    ChangedPath {
        path: path.to_owned(),
        ..ChangedPath::default()
    }
}

/// A watch with all checks on.
fn watch() -> Watch {
    Watch {
        checks: TamperCheck::NAMES.map(|(_, check)| check).to_vec(),
        documents: BTreeSet::from(
            ["plan/add/proposal.md", "plan/add/specs/api/spec.md"].map(str::to_owned),
        ),
        task_files: BTreeSet::from(["plan/add/tasks.md".to_owned()]),
        work_tree: "/home/me/tree".to_owned(),
        tops: BTreeSet::from(["plan", "src", "tests", "Cargo.toml"].map(str::to_owned)),
        ..Watch::default()
    }
}

/// What a check says.
fn messages_of(check: TamperCheck, watch: &Watch, changed: &[ChangedPath]) -> Vec<String> {
    super::check(watch, changed)
        .into_iter()
        .filter(|finding| finding.check == check)
        .map(|finding| finding.message)
        .collect()
}

#[track_caller]
fn tests_say(changed: &[ChangedPath], want: &[&str]) {
    assert_eq!(messages_of(TamperCheck::Tests, &watch(), changed), want);
}

#[test]
fn nothing_is_found_by_a_check_that_is_off() {
    let mut watch = watch();
    let changed = [
        deleted("tests/a.rs", "#[test]\nfn a() {}\n"),
        edited("plan/add/proposal.md", "a", "b"),
        edited("ralphtool.toml", "a", "b"),
        added("junk.txt", ""),
    ];
    let found = |watch: &Watch| {
        let findings = check(watch, &changed).into_iter();
        findings.map(|finding| finding.check).collect::<Vec<_>>()
    };
    let all = vec![
        TamperCheck::Specs,
        TamperCheck::Tests,
        TamperCheck::Config,
        TamperCheck::Outside,
    ];
    assert_eq!(found(&watch), all);
    for check in all.clone() {
        watch.checks = vec![check];
        assert_eq!(found(&watch), vec![check]);
    }
    watch.checks = Vec::new();
    assert_eq!(found(&watch), vec![]);
}

#[test]
fn a_message_names_a_few_and_counts_the_rest() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    assert_eq!(named(names), "`a`, `b`, `c`, `d`, `e` and 2 more");
    assert_eq!(short(&"x".repeat(200)).chars().count(), 101);
}

#[test]
fn a_finding_has_its_paths() {
    let changed = [
        deleted("tests/a.rs", "#[test]\nfn a() {}\n"),
        deleted("tests/b.rs", "#[test]\nfn b() {}\n"),
    ];
    assert_eq!(
        check(&watch(), &changed),
        [Finding {
            check: TamperCheck::Tests,
            paths: vec!["tests/a.rs".to_owned(), "tests/b.rs".to_owned()],
            message: "2 tests deleted with their files: `a`, `b` (`tests/a.rs`, `tests/b.rs`)"
                .to_owned(),
        }]
    );
}

#[test]
fn a_test_that_moves_is_no_finding() {
    let test = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n";
    tests_say(
        &[deleted("tests/a.rs", test), added("tests/b.rs", test)],
        &[],
    );
    tests_say(
        &[
            edited(
                "src/lib.rs",
                &format!("pub fn add() {{}}\n{test}"),
                "pub fn add() {}\n",
            ),
            edited("tests/b.rs", "", test),
        ],
        &[],
    );
    // Tests do not count as moved to a file that is never run.
    tests_say(
        &[deleted("tests/a.rs", test), added("tests/a.rs.bak", test)],
        &["1 test deleted with the file: `adds` (`tests/a.rs`)"],
    );
}

#[test]
fn a_marker_that_goes_does_not_pay_for_one_that_comes() {
    let test = |name: &str, marker: &str| {
        format!("#[test]\n{marker}fn {name}() {{\n    assert_eq!({name}(1, 2), 3);\n}}\n")
    };
    let (plain, ignored) = (test("a", ""), test("a", "#[ignore]\n"));
    tests_say(
        &[
            edited("tests/a.rs", &ignored, &plain),
            edited("tests/b.rs", &test("b", ""), &test("b", "#[ignore]\n")),
        ],
        &["a marker that skips tests was added in `tests/b.rs`"],
    );
    // It came with its test.
    tests_say(
        &[
            deleted("tests/a.rs", &ignored),
            added("tests/c.rs", &ignored),
        ],
        &[],
    );
}

#[test]
fn test_files_of_other_languages_are_missed_by_their_place() {
    tests_say(
        &[deleted("tests/run.lua", "describe('x')")],
        &["test files deleted: `tests/run.lua`"],
    );
    // The whole script is a test.
    tests_say(
        &[deleted("tests/run.sh", "./program | diff - wanted")],
        &["test files deleted: `tests/run.sh`"],
    );
    tests_say(&[deleted("tests/fixtures/run.sh", "x")], &[]);
    tests_say(&[deleted("tests/fixtures/a.json", "{}")], &[]);
    let moved = ChangedPath {
        moved_to: Some("tests/cli/run.bats".to_owned()),
        ..deleted("tests/run.bats", "x")
    };
    tests_say(&[moved, added("tests/cli/run.bats", "x")], &[]);
    // Not read, because it was too large.
    let large = ChangedPath {
        before: None,
        ..deleted("pkg/a_test.go", "")
    };
    tests_say(&[large], &["test files deleted: `pkg/a_test.go`"]);
    tests_say(&[deleted("tests/common/mod.rs", "pub fn set_up() {}")], &[]);
}

#[test]
fn a_table_instead_of_many_lines_is_no_finding() {
    let many = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n    assert_eq!(add(2, 2), 4);\n    \
                assert_eq!(add(3, 2), 5);\n    assert_eq!(add(4, 2), 6);\n}\n";
    let table = "#[test]\nfn adds() {\n    for (a, b, sum) in [(1, 2, 3), (2, 2, 4), (3, 2, 5), \
                 (4, 2, 6)] {\n        assert_eq!(add(a, b), sum);\n    }\n}\n";
    let helper = "fn case(a: u32, b: u32, sum: u32) {\n    assert_eq!(add(a, b), sum);\n}\n\n#[test]\n\
                  fn adds() {\n    case(1, 2, 3);\n    case(2, 2, 4);\n    case(3, 2, 5);\n}\n";
    let cut = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n";
    tests_say(&[edited("tests/a.rs", many, table)], &[]);
    tests_say(&[edited("tests/a.rs", many, helper)], &[]);
    tests_say(
        &[edited("tests/a.rs", many, cut)],
        &["a test checks less than before: `adds` (`tests/a.rs`)"],
    );
}

proptest! {
    #[test]
    fn a_file_with_any_content_is_checked(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40),
        more in prop::collection::vec(prop::sample::select(PIECES), 0..40),
        junk in "\\PC{0,6}",
    ) {
        let (before, after) = (pieces.concat() + &junk, junk + &more.concat());
        for ending in ENDINGS {
            let names = [format!("tests/a_test.{ending}"), format!("tests/b_test.{ending}")];
            let changed = [
                edited(&names[0], &before, &after),
                deleted(&names[1], &before),
                edited("plan/add/tasks.md", &before, &after),
            ];
            check(&watch(), &changed);
            let same = [edited(&names[0], &before, &before)];
            prop_assert_eq!(check(&watch(), &same), []);
        }
    }
}

const ENDINGS: &[&str] = &[
    "rs", "py", "ts", "go", "java", "kt", "cs", "rb", "exs", "php", "swift", "dart", "cc",
];

/// What files with tests are made of, and what may trip a reader.
const PIECES: &[&str] = &[
    "#[test]",
    "fn a",
    "fn ",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "\n",
    " ",
    "\"",
    "'",
    "`",
    "\\",
    "//",
    "/*",
    "*/",
    "#",
    "r#\"",
    "\"#",
    "it",
    "test",
    "it.each",
    "describe.skip",
    "def test_a",
    "func TestA(",
    "@Test",
    "[Fact",
    "function testA",
    "const function x =",
    "TEST(",
    "assert",
    "'''",
    "\"\"\"",
    "ü",
    "'\\''",
    "br",
    ":",
    ";",
    "$",
    "<?php",
    "end",
    "do",
    "@tag :skip",
    "void a(",
    ".",
    ",",
    "x",
    "- [ ] a",
];

#[test]
fn what_only_looks_like_a_test_is_none() {
    let strings =
        "fn sample() -> &'static str {\n    r#\"\n#[test]\n#[ignore]\nfn a() {}\n\"#\n}\n";
    tests_say(&[edited("src/lib.rs", "", strings)], &[]);
    tests_say(&[edited("src/lib.rs", strings, "")], &[]);
    tests_say(&[edited("src/a.ts", "/x/.test(y); it(z)", "")], &[]);
    tests_say(
        &[edited(
            "src/Note.java",
            "class A { }",
            "class A { @Ignore int b; }",
        )],
        &[],
    );
    tests_say(&[edited("src/main.py", "def test_mode(): pass", "")], &[]);
    // A pattern can match half of a character in a comment.
    let half = "TEST(//\u{a1}";
    tests_say(&[edited("tests/a.cc", half, half)], &[]);
}
