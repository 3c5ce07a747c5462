//! Tests that an attempt removed, skipped or weakened. A test that only moved, was renamed or
//! reformatted is no finding.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::languages::{file_name, has_word, language_of};
use super::test_file::{Test, TestFile};
use super::{ChangedPath, Finding, TamperCheck, named};
use crate::words::counted;

/// The share of common words from which tests of different names are the same test.
const SAME_BODY: f64 = 0.6;
/// The same for tests whose names are similar.
const SIMILAR_BODY: f64 = 0.35;
const SIMILAR_NAME: f64 = 0.9;
/// How many pairs of tests are compared by their words; beyond that only names count.
const MOST_PAIRS: usize = 250_000;

/// Extensions of test files in languages that are not in the table, or where a whole file may be one
/// test.
const OTHER_TESTS: &str = "bats c clj feature hs lua m ml pl r robot scala sh t zig";

/// Folders of files that tests use.
const MATERIAL: &str = "fixtures fixture testdata data snapshots __snapshots__ golden support helpers \
                        common resources";

pub(super) fn check(changed: &[ChangedPath]) -> Vec<Finding> {
    let before = Side::read(changed, |path| path.before.as_deref());
    let after = Side::read(changed, |path| path.after.as_deref());
    let (removed, kept) = match_up(&before.tests, &after.tests);
    let weaker = kept.iter().filter(|(old, new)| is_weaker(old, new));
    let weaker: Vec<&Test<'_>> = weaker.map(|(_, new)| *new).collect();
    let what = match weaker.len() {
        1 => "a test checks",
        _ => "tests check",
    };
    [
        about_tests(&removed_how(&removed, changed), &removed),
        Finding::about(
            TamperCheck::Tests,
            "test files deleted",
            &unread_deletions(&before, changed),
        ),
        about_skips(&before, &after),
        about_tests(&format!("{what} less than before"), &weaker),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The tests of all changed files, before or after the attempt.
struct Side<'a> {
    /// How many skip markers each file has that could be read.
    skips: BTreeMap<&'a str, usize>,
    tests: Vec<Test<'a>>,
}

impl<'a> Side<'a> {
    fn read(changed: &'a [ChangedPath], text: impl Fn(&'a ChangedPath) -> Option<&'a str>) -> Self {
        let files: Vec<TestFile<'_>> = changed
            .iter()
            .filter_map(|path| TestFile::read(&path.path, text(path)?))
            .collect();
        let helpers = files.iter().flat_map(|file| file.helpers.iter().cloned());
        let helpers: BTreeSet<String> = helpers.collect();
        Self {
            skips: files.iter().map(|file| (file.path, file.skips)).collect(),
            tests: files.iter().flat_map(|file| file.tests(&helpers)).collect(),
        }
    }

    fn skips_in(&self, path: &str) -> usize {
        self.skips.get(path).copied().unwrap_or_default()
    }

    fn tests_in(&self, path: &str) -> usize {
        self.tests.iter().filter(|test| test.path == path).count()
    }
}

type Pair<'a> = (&'a Test<'a>, &'a Test<'a>);

/// Which tests were removed, and which test of before is which of after.
fn match_up<'a>(
    before: &'a [Test<'a>],
    after: &'a [Test<'a>],
) -> (Vec<&'a Test<'a>>, Vec<Pair<'a>>) {
    let mut open: Vec<&Test<'_>> = before.iter().collect();
    let mut free: Vec<&Test<'_>> = after.iter().collect();
    let mut kept = Vec::new();
    // The same name in the same file first, then anywhere.
    for same_file in [true, false] {
        let key = |test: &Test<'a>| (same_file.then_some(test.path), test.name.clone());
        let mut by_key: BTreeMap<_, VecDeque<&Test<'_>>> = BTreeMap::new();
        for test in free {
            by_key.entry(key(test)).or_default().push_back(test);
        }
        open.retain(|old| {
            let new = by_key.get_mut(&key(old)).and_then(VecDeque::pop_front);
            kept.extend(new.map(|new| (*old, new)));
            new.is_none()
        });
        free = by_key.into_values().flatten().collect();
    }
    if open.len() * free.len() <= MOST_PAIRS {
        open.retain(|old| {
            let candidates = free.iter().enumerate();
            let best = candidates
                .filter_map(|(index, new)| Some((similarity(old, new)?, index)))
                .max_by(|one, other| one.0.total_cmp(&other.0));
            let new = best.map(|(_, index)| free.remove(index));
            kept.extend(new.map(|new| (*old, new)));
            new.is_none()
        });
    }
    (open, kept)
}

/// The share of words that two tests have in common, if it is enough to be the same test.
#[expect(clippy::cast_precision_loss, reason = "a test has not that many words")]
fn similarity(one: &Test<'_>, other: &Test<'_>) -> Option<f64> {
    let common = one.words.intersection(&other.words).count();
    let all = one.words.len().max(other.words.len()).max(1);
    let share = common as f64 / all as f64;
    let has_similar_name = || strsim::jaro_winkler(&one.name, &other.name) >= SIMILAR_NAME;
    (share >= SAME_BODY || share >= SIMILAR_BODY && has_similar_name()).then_some(share)
}

fn about_tests(what: &str, tests: &[&Test<'_>]) -> Option<Finding> {
    let names = named(tests.iter().map(|test| test.name.as_str()));
    let paths: BTreeSet<&str> = tests.iter().map(|test| test.path).collect();
    let message = format!("{what}: {names} ({})", named(paths.iter().copied()));
    Finding::new(TamperCheck::Tests, message, &paths)
}

fn removed_how(removed: &[&Test<'_>], changed: &[ChangedPath]) -> String {
    let paths: BTreeSet<&str> = removed.iter().map(|test| test.path).collect();
    let is_deleted = |path: &&ChangedPath| path.is_deleted() && paths.contains(path.path.as_str());
    let how = match changed.iter().filter(is_deleted).count() {
        0 => "",
        deleted if deleted < paths.len() => ", some with their file",
        1 => " with the file",
        _ => " with their files",
    };
    format!("{} deleted{how}", counted(removed.len(), "test"))
}

/// Deleted test files in which no test was found.
fn unread_deletions<'a>(before: &Side<'_>, changed: &'a [ChangedPath]) -> BTreeSet<&'a str> {
    changed
        .iter()
        .filter(|path| path.is_deleted() && path.moved_to.is_none())
        .map(|path| path.path.as_str())
        .filter(|path| before.tests_in(path) == 0)
        .filter(|path| is_test_file(path, before.skips.contains_key(path)))
        .filter(|path| !was_moved(path, changed))
        .collect()
}

/// Whether a file in which no test was found is run as a test.
fn is_test_file(path: &str, was_read: bool) -> bool {
    if path.split('/').any(|part| has_word(MATERIAL, part)) {
        return false;
    }
    let (_, extension) = file_name(path).rsplit_once('.').unwrap_or_default();
    if has_word(OTHER_TESTS, extension) {
        let mut folders = path.split('/');
        return folders.any(|part| matches!(part, "test" | "tests" | "spec"));
    }
    // A file that was read and has no test is a helper.
    let name = file_name(path);
    !was_read && language_of(name).is_some_and(|language| language.is_test_path(name))
}

fn was_moved(path: &str, changed: &[ChangedPath]) -> bool {
    let mut added = changed.iter().filter(|other| other.is_added());
    added.any(|other| file_name(&other.path) == file_name(path))
}

fn about_skips(before: &Side<'_>, after: &Side<'_>) -> Option<Finding> {
    let more = |one: &Side<'_>, other: &Side<'_>, path: &str| {
        one.skips_in(path).saturating_sub(other.skips_in(path))
    };
    let paths = after.skips.keys().copied();
    let paths: BTreeSet<&str> = paths.filter(|path| more(after, before, path) > 0).collect();
    let added: usize = paths.iter().map(|path| more(after, before, path)).sum();
    // A test that moves to another file takes its marker along.
    let moved: usize = before
        .skips
        .keys()
        .filter(|path| after.tests_in(path) < before.tests_in(path))
        .map(|path| more(before, after, path))
        .sum();
    let what = match added.saturating_sub(moved) {
        0 => return None,
        1 => "a marker that skips tests was added".to_owned(),
        count => format!("{count} markers that skip tests were added"),
    };
    let message = format!("{what} in {}", named(paths.iter().copied()));
    Finding::new(TamperCheck::Tests, message, &paths)
}

/// No assertion is left; or less than half, in a test that was cut down and not rewritten.
fn is_weaker(old: &Test<'_>, new: &Test<'_>) -> bool {
    let is_empty = old.assertions > 0 && new.assertions == 0;
    let is_halved = old.assertions >= new.assertions + 2 && new.assertions * 2 <= old.assertions;
    is_empty || is_halved && new.weight * 10 < old.weight * 6
}
