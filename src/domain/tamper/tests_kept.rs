//! Tests that an attempt deleted, kept from being run, or emptied. Tests that only moved, got
//! another name or were written anew in the same words are left alone.

use std::collections::{BTreeMap, BTreeSet};

use super::languages::{file_name, language_of};
use super::sheet::{Sheet, Test};
use super::{ChangedPath, Finding, TamperCheck, named, paths_of};

/// What share of their words two tests of different names have in common that are the same one.
const SAME_BODY: f64 = 0.6;
/// The same where the names are alike.
const ALIKE_BODY: f64 = 0.35;
/// From where on names are alike.
const ALIKE_NAME: f64 = 0.9;
/// How many pairs of tests are compared; beyond that only names count.
const MOST_PAIRS: usize = 250_000;

/// Endings of files that are run as tests in languages of which nothing else is known, or where a
/// whole file may be one test.
const OTHER_TESTS: &[&str] = &[
    "bats", "c", "clj", "feature", "hs", "lua", "m", "ml", "pl", "r", "robot", "scala", "sh", "t",
    "zig",
];

/// Looks at the tests of everything that changed.
pub(super) fn check(changed: &[ChangedPath]) -> Vec<Finding> {
    let before = Side::read(changed, |path| path.before.as_deref());
    let after = Side::read(changed, |path| path.after.as_deref());
    let mut findings = Vec::new();
    let (gone, kept) = match_up(&before.tests, &after.tests);
    findings.extend(removed(&gone, changed));
    findings.extend(unread_deletions(&before, changed));
    findings.extend(skipped(&before, &after));
    findings.extend(weakened(&kept));
    findings
}

/// The tests of all changed files, before or after.
struct Side<'a> {
    skips: BTreeMap<&'a str, usize>,
    tests: Vec<(&'a str, Test)>,
    /// Files that were read as files with tests.
    read: BTreeSet<&'a str>,
}

impl<'a> Side<'a> {
    fn read(changed: &'a [ChangedPath], text: impl Fn(&'a ChangedPath) -> Option<&'a str>) -> Self {
        let sheets: Vec<(&str, Sheet<'_>)> = changed
            .iter()
            .filter_map(|path| Some((path.path.as_str(), Sheet::read(&path.path, text(path)?)?)))
            .collect();
        let helpers: BTreeSet<String> = sheets
            .iter()
            .flat_map(|(_, sheet)| sheet.helpers.iter().cloned())
            .collect();
        let mut side = Self {
            skips: BTreeMap::new(),
            tests: Vec::new(),
            read: BTreeSet::new(),
        };
        for (path, sheet) in &sheets {
            side.skips.insert(path, sheet.skips);
            side.read.insert(path);
            let tests = sheet.tests(&helpers).into_iter();
            side.tests.extend(tests.map(|test| (*path, test)));
        }
        side
    }
}

impl Side<'_> {
    fn tests_in(&self, path: &str) -> usize {
        self.tests.iter().filter(|(at, _)| *at == path).count()
    }
}

type Found<'a> = &'a (&'a str, Test);

/// Which tests are gone, and which of before is which of after.
fn match_up<'a>(
    before: &'a [(&'a str, Test)],
    after: &'a [(&'a str, Test)],
) -> (Vec<Found<'a>>, Vec<(Found<'a>, Found<'a>)>) {
    let mut taken = vec![false; after.len()];
    let mut partner: Vec<Option<usize>> = vec![None; before.len()];
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, (_, test)) in after.iter().enumerate() {
        by_name.entry(&test.name).or_default().push(index);
    }
    // The same name in the same file first, then anywhere.
    for same_file in [true, false] {
        for (index, (path, test)) in before.iter().enumerate() {
            if partner[index].is_some() {
                continue;
            }
            let candidates = by_name.get(test.name.as_str()).into_iter().flatten();
            let found = candidates
                .copied()
                .find(|at| !taken[*at] && (!same_file || after[*at].0 == *path));
            if let Some(at) = found {
                taken[at] = true;
                partner[index] = Some(at);
            }
        }
    }
    let open = partner.iter().filter(|partner| partner.is_none()).count();
    let new = taken.iter().filter(|taken| !**taken).count();
    for (index, (_, test)) in before.iter().enumerate() {
        if partner[index].is_some() || open * new > MOST_PAIRS {
            continue;
        }
        let free = (0..after.len()).filter(|at| !taken[*at]);
        let found = free
            .map(|at| (likeness(test, &after[at].1), at))
            .filter(|(likeness, at)| {
                *likeness >= SAME_BODY
                    || *likeness >= ALIKE_BODY && has_alike_name(test, &after[*at].1)
            })
            .max_by(|one, other| one.0.total_cmp(&other.0));
        if let Some((_, at)) = found {
            taken[at] = true;
            partner[index] = Some(at);
        }
    }
    let mut gone = Vec::new();
    let mut kept = Vec::new();
    for (old, partner) in before.iter().zip(partner) {
        match partner {
            Some(at) => kept.push((old, &after[at])),
            None => gone.push(old),
        }
    }
    (gone, kept)
}

/// What share of their words two tests have in common.
#[expect(clippy::cast_precision_loss, reason = "a test has not that many words")]
fn likeness(one: &Test, other: &Test) -> f64 {
    let common = one.words.intersection(&other.words).count();
    let all = one.words.len().max(other.words.len()).max(1);
    common as f64 / all as f64
}

fn has_alike_name(one: &Test, other: &Test) -> bool {
    strsim::jaro_winkler(&one.name, &other.name) >= ALIKE_NAME
}

fn removed(gone: &[Found<'_>], changed: &[ChangedPath]) -> Option<Finding> {
    if gone.is_empty() {
        return None;
    }
    let paths: BTreeSet<&str> = gone.iter().map(|(path, _)| *path).collect();
    let deleted = changed
        .iter()
        .filter(|path| path.is_deleted() && paths.contains(path.path.as_str()))
        .count();
    let names = named(gone.iter().map(|(_, test)| test.name.as_str()));
    let what = if gone.len() == 1 {
        "a test is gone".to_owned()
    } else {
        format!("{} tests are gone", gone.len())
    };
    let how = match (deleted, paths.len()) {
        (0, _) => "",
        (deleted, all) if deleted == all => " with the whole file",
        _ => ", some with the whole file",
    };
    Some(Finding {
        check: TamperCheck::Tests,
        message: format!("{what}{how}: {names} (in {})", named(paths.iter().copied())),
        paths: paths_of(paths),
    })
}

/// Test files that were deleted and whose content says nothing.
fn unread_deletions(before: &Side<'_>, changed: &[ChangedPath]) -> Option<Finding> {
    let has_tests = |path: &str| before.tests.iter().any(|(at, _)| *at == path);
    let paths: BTreeSet<&str> = changed
        .iter()
        .filter(|path| path.is_deleted() && path.moved_to.is_none())
        .map(|path| path.path.as_str())
        .filter(|path| !has_tests(path))
        .filter(|path| is_test_file(path, before.read.contains(path)))
        .filter(|path| !came_back_elsewhere(path, changed))
        .collect();
    if paths.is_empty() {
        return None;
    }
    Some(Finding {
        check: TamperCheck::Tests,
        message: format!("test files are gone: {}", named(paths.iter().copied())),
        paths: paths_of(paths),
    })
}

/// Whether a file whose tests are not known must be one with tests.
fn is_test_file(path: &str, was_read: bool) -> bool {
    let (_, ending) = file_name(path).rsplit_once('.').unwrap_or_default();
    let may_be_one_test = OTHER_TESTS.contains(&ending);
    // It was read, and there was no test in it: a helper.
    if was_read && !may_be_one_test {
        return false;
    }
    if let Some(language) = language_of(path).filter(|_| !may_be_one_test) {
        let name = file_name(path);
        return language.ends.iter().any(|end| name.ends_with(end))
            || language.starts.iter().any(|start| name.starts_with(start));
    }
    let in_tests = path
        .split('/')
        .any(|part| matches!(part, "test" | "tests" | "spec"));
    in_tests && may_be_one_test && !is_material(path)
}

/// Folders whose files are what tests work with.
pub(super) fn is_material(path: &str) -> bool {
    let material = [
        "fixtures",
        "fixture",
        "testdata",
        "data",
        "snapshots",
        "__snapshots__",
        "golden",
        "support",
        "helpers",
        "common",
        "resources",
    ];
    path.split('/').any(|part| material.contains(&part))
}

fn came_back_elsewhere(path: &str, changed: &[ChangedPath]) -> bool {
    let name = file_name(path);
    changed
        .iter()
        .any(|other| other.is_added() && file_name(&other.path) == name)
}

fn skipped(before: &Side<'_>, after: &Side<'_>) -> Option<Finding> {
    let skips = |side: &Side<'_>, path: &str| side.skips.get(path).copied().unwrap_or_default();
    let came: usize = after
        .skips
        .keys()
        .map(|path| skips(after, path).saturating_sub(skips(before, path)))
        .sum();
    // With a test that moves, its marker does.
    let moved: usize = before
        .skips
        .keys()
        .filter(|path| after.tests_in(path) < before.tests_in(path))
        .map(|path| skips(before, path).saturating_sub(skips(after, path)))
        .sum();
    if came <= moved {
        return None;
    }
    let paths: BTreeSet<&str> = after
        .skips
        .iter()
        .filter(|(path, count)| **count > skips(before, path))
        .map(|(path, _)| *path)
        .collect();
    let more = came - moved;
    let what = if more == 1 {
        "a marker that keeps tests from being run was added".to_owned()
    } else {
        format!("{more} markers that keep tests from being run were added")
    };
    Some(Finding {
        check: TamperCheck::Tests,
        message: format!("{what} in {}", named(paths.iter().copied())),
        paths: paths_of(paths),
    })
}

fn weakened(kept: &[(Found<'_>, Found<'_>)]) -> Option<Finding> {
    let weak: Vec<Found<'_>> = kept
        .iter()
        .filter(|((_, old), (_, new))| is_weaker(old, new))
        .map(|(_, new)| *new)
        .collect();
    if weak.is_empty() {
        return None;
    }
    let paths: BTreeSet<&str> = weak.iter().map(|(path, _)| *path).collect();
    let names = named(weak.iter().map(|(_, test)| test.name.as_str()));
    let what = if weak.len() == 1 {
        "a test checks less than before"
    } else {
        "tests check less than before"
    };
    Some(Finding {
        check: TamperCheck::Tests,
        message: format!("{what}: {names} (in {})", named(paths.iter().copied())),
        paths: paths_of(paths),
    })
}

/// Nothing is checked any more; or not half as much, by a test that was cut down and not rewritten.
fn is_weaker(old: &Test, new: &Test) -> bool {
    let is_empty = old.asserts > 0 && new.asserts == 0;
    let is_halved = old.asserts >= new.asserts + 2 && new.asserts * 2 <= old.asserts;
    is_empty || is_halved && new.weight * 10 < old.weight * 6
}
