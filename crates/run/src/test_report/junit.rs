//! Reports in the format of `JUnit`, as most test runners can write them. A report that is damaged, or
//! counts more failures than it names, says nothing.

use std::collections::HashMap;
use std::path::PathBuf;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{Broken, RunnerReport};
use ralph_base::files::read_within;

/// A larger report is not read.
const LARGEST: u64 = 64 * 1024 * 1024;
/// No report nests deeper.
const DEEPEST: usize = 64;

/// What reports say together; none where there are none, or one cannot be read.
pub(super) fn read_all(paths: &[PathBuf]) -> Option<RunnerReport> {
    let mut all = Junit::default();
    for path in paths {
        let bytes = read_within(path, LARGEST).ok()?;
        all.read(&String::from_utf8_lossy(&bytes))?;
    }
    (!paths.is_empty()).then_some(all.report)
}

#[derive(Debug, Default)]
struct Junit {
    report: RunnerReport,
    /// How often a name has failed: two tests may have the same.
    seen: HashMap<(String, String), usize>,
}

/// A test, while its element is open.
#[derive(Debug, Default)]
struct Case {
    class: String,
    name: String,
    depth: usize,
    failed: bool,
    has_error: bool,
    skipped: bool,
}

impl Junit {
    fn read(&mut self, text: &str) -> Option<()> {
        let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
        let (mut depth, mut case): (usize, Option<Case>) = (0, None);
        let mut has_root = false;
        let mut suites: Vec<String> = Vec::new();
        let (mut found, mut counted) = (0, 0);
        loop {
            let event = reader.read_event().ok()?;
            match &event {
                Event::Start(element) | Event::Empty(element) => {
                    let name = element.local_name();
                    let name: &str = name.as_ref();
                    depth += 1;
                    has_root = true;
                    match (name, &mut case) {
                        ("testsuites", None) if depth == 1 => counted = count(element)?,
                        ("testsuite", None) => suites.push(attribute(element, "name")?),
                        ("testcase", None) => {
                            case = Some(Case {
                                class: attribute(element, "classname")?,
                                name: attribute(element, "name")?,
                                depth,
                                ..Case::default()
                            });
                        }
                        ("failure", Some(case)) if depth == case.depth + 1 => case.failed = true,
                        ("error", Some(case)) if depth == case.depth + 1 => {
                            case.failed = true;
                            case.has_error = true;
                        }
                        ("skipped", Some(case)) => case.skipped = true,
                        (_, None) if depth == 1 => return None,
                        _ if depth > DEEPEST => return None,
                        _ => {}
                    }
                }
                Event::Eof => break,
                _ => {}
            }
            let ended = match &event {
                Event::Empty(element) => Some(element.local_name().as_ref() == "testsuite"),
                Event::End(element) => Some(element.local_name().as_ref() == "testsuite"),
                _ => None,
            };
            if let Some(is_suite) = ended {
                if let Some(case) = case.take_if(|case| case.depth == depth) {
                    found += usize::from(case.failed);
                    self.add(case, suites.last().map_or("", String::as_str));
                } else if is_suite && case.is_none() {
                    suites.pop();
                }
                depth = depth.checked_sub(1)?;
            }
        }
        let is_whole = has_root && depth == 0 && found >= counted;
        is_whole.then_some(())
    }

    fn add(&mut self, case: Case, suite: &str) {
        if case.skipped {
            return;
        }
        self.report.ran = Some(self.report.ran.unwrap_or(0) + 1);
        if !case.failed {
            return;
        }
        // pytest and vitest have a file that could not be loaded as a test.
        let is_file = case.class.is_empty() && case.has_error
            || case.name == suite && case.name == case.class;
        if is_file {
            return self.report.mark_broken(case.name, Broken::NotFinished);
        }
        let class = if case.class == case.name {
            String::new()
        } else {
            case.class
        };
        let times = self.seen.entry((class.clone(), case.name.clone()));
        let times = times.and_modify(|times| *times += 1).or_insert(1);
        match *times {
            1 => self.report.fail(&class, case.name),
            times => self.report.fail(&class, format!("{} ({times})", case.name)),
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element.try_get_attribute(name).ok()?;
    let Some(attribute) = attribute else {
        return Some(String::new());
    };
    let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
    Some(value.ok()?.trim().to_owned())
}

/// The failures and errors that the whole report counts; 0 where it does not count them.
fn count(element: &BytesStart<'_>) -> Option<usize> {
    let number = |name| {
        let text = attribute(element, name)?;
        Some(text.parse::<usize>().unwrap_or(0))
    };
    Some(number("failures")?.saturating_add(number("errors")?))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::shown::shown;
    use super::*;

    fn parse(text: &str) -> Option<RunnerReport> {
        let mut junit = Junit::default();
        junit.read(text)?;
        Some(junit.report)
    }

    fn failures(text: &str) -> Vec<String> {
        shown(&parse(text).unwrap())
    }

    #[test]
    fn reports_of_many_runners_are_read() {
        let report = parse(include_str!("samples/junit-nextest.xml")).unwrap();
        let want = [
            "alpha tests::errs",
            "alpha tests::fails",
            "alpha tests::should_panic_but_does_not",
            "alpha::it breaks",
            "beta tests::fails",
        ];
        assert_eq!(
            (shown(&report), report.ran),
            (want.map(str::to_owned).into(), Some(9))
        );
        let want = [
            "tests.test_a test_error",
            "tests.test_a test_fails",
            "tests.test_a.TestGroup test_many[[z]]",
            "tests.test_a.TestGroup test_many[x-y]",
            "tests.test_b test_b",
        ];
        assert_eq!(failures(include_str!("samples/junit-pytest.xml")), want);
        let want = [
            "at the top",
            "d one",
            "d two",
            "upload in a group fails › with an arrow",
            "upload retries three times",
        ];
        assert_eq!(failures(include_str!("samples/junit-jest.xml")), want);
        let want = [
            "vt/a.test.js at the top",
            "vt/a.test.js upload > in a group > fails › with an arrow",
            "vt/a.test.js upload > retries three times",
            "vt/c.test.js: NotFinished",
            "vt/d.test.js: NotFinished",
        ];
        assert_eq!(failures(include_str!("samples/junit-vitest.xml")), want);
    }

    #[test]
    fn a_file_that_could_not_be_loaded_is_broken() {
        let text = include_str!("samples/junit-pytest-collect.xml");
        assert_eq!(failures(text), ["tests.test_c: NotFinished"]);
    }

    #[test]
    fn a_test_that_passed_when_it_ran_again_has_not_failed() {
        let text = r#"<testsuites failures="1"><testsuite name="s">
            <testcase name="flaky" classname="s"><flakyFailure message="m"/></testcase>
            <testcase name="red" classname="s"><failure/><rerunFailure/></testcase>
            <testcase name="same" classname="s"/>
            </testsuite></testsuites>"#;
        assert_eq!(failures(text), ["s red"]);
    }

    #[test]
    fn tests_with_the_same_name_are_counted() {
        let text = r#"<testsuite><testcase name="a"><failure/></testcase>
            <testcase name="a"><failure/></testcase><testcase name="&lt;b&gt;&amp;"><failure/></testcase></testsuite>"#;
        assert_eq!(failures(text), ["<b>&", "a", "a (2)"]);
    }

    #[test]
    fn a_damaged_or_hostile_report_says_nothing() {
        let whole = include_str!("samples/junit-nextest.xml");
        let deep = "<testsuite>".to_owned() + &"<a>".repeat(100_000);
        let entity = "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><testsuite><testcase name=\"&a;\"><failure/></testcase></testsuite>";
        for text in [
            "",
            "no report",
            "<html></html>",
            "<testsuite>",
            "<testsuite></testsuite></testsuite>",
            &whole[..whole.len() / 2],
            &whole.replace("failures=\"5\"", "failures=\"6\""),
            &deep,
            entity,
        ] {
            assert_eq!(parse(text), None, "{}", &text[..text.len().min(200)]);
        }
    }

    #[test]
    fn several_files_are_one_report_and_none_is_no_report() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let a = file(
            "a.xml",
            r#"<testsuite><testcase name="a"><failure/></testcase></testsuite>"#,
        );
        let b = file(
            "b.xml",
            r#"<testsuite><testcase name="b"><error/></testcase></testsuite>"#,
        );
        let both = read_all(&[a.clone(), b]).unwrap();
        assert_eq!(shown(&both), ["a", "b: NotFinished"]);
        assert_eq!(read_all(&[]), None);
        let missing = folder.path().join("missing.xml");
        assert_eq!(read_all(&[a, missing]), None);
    }
}
