use std::path::PathBuf;

use indoc::indoc;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::change::SourceKind;
use crate::formats::{apply, check, read_stories};

fn files(texts: &[&str]) -> Vec<TaskFile> {
    texts
        .iter()
        .enumerate()
        .map(|(index, text)| TaskFile {
            path: PathBuf::from(format!("{index}.md")),
            label: format!("{index}.md"),
            bytes: text.as_bytes().to_vec(),
        })
        .collect()
}

fn change(texts: &[&str]) -> Change {
    let task_files = files(texts);
    let (stories, warnings) = read_stories(&task_files, SourceKind::OpenSpec);
    Change {
        name: "demo".to_owned(),
        root: PathBuf::from("/demo"),
        source: SourceKind::OpenSpec,
        stories,
        scenarios: Vec::new(),
        documents: Vec::new(),
        context: None,
        guidance: Vec::new(),
        warnings,
        task_files,
    }
}

fn checked(before: &str, after: &str, story: &str) -> StoryCheck {
    check(
        &change(&[before]),
        &files(&[after]),
        &StoryId(story.to_owned()),
    )
}

fn put_right(after: &str, check: &StoryCheck) -> String {
    let edits: Vec<&BoxEdit> = check
        .ticks
        .iter()
        .chain(check.foreign.iter().map(|foreign| &foreign.edit))
        .collect();
    String::from_utf8(apply(after.as_bytes(), &edits)).unwrap()
}

const PLAN: &str = indoc! {"
    ## 1. One
    - [x] 1.1 Write
    - [ ] Run tests
    ## 2. Two
    - [ ] 2.1 Write
    - [~] 2.2 Later
    - [ ] Run tests
    - [ ] Run tests
    ## 3. Three
    - [ ] Run tests
"};

fn nth_of(edit: &BoxEdit) -> usize {
    match &edit.what {
        EditKind::Mark { nth, .. } => *nth,
        EditKind::Flag { .. } => usize::MAX,
    }
}

#[test]
fn an_untouched_file_leaves_the_story_open_and_nothing_else() {
    let check = checked(PLAN, PLAN, "2");
    assert_eq!(
        check.still_open,
        ["2.1 Write", "Run tests", "Run tests"].map(str::to_owned)
    );
    assert_eq!(
        StoryCheck {
            still_open: Vec::new(),
            ticks: Vec::new(),
            ..check.clone()
        },
        StoryCheck::default()
    );
    let ticked = put_right(PLAN, &check);
    assert_eq!(
        ticked,
        indoc! {"
            ## 1. One
            - [x] 1.1 Write
            - [ ] Run tests
            ## 2. Two
            - [x] 2.1 Write
            - [~] 2.2 Later
            - [x] Run tests
            - [x] Run tests
            ## 3. Three
            - [ ] Run tests
        "}
    );
}

#[test]
fn boxes_of_other_stories_are_restored_even_if_texts_repeat() {
    let after = indoc! {"
        ## 1. One
        - [ ] 1.1 Write
        - [x] Run tests
        ## 2. Two
        - [x] Run tests
        - [x] 2.1 Write - **Done: yes**
        - [X] Run tests
        - [~] 2.2 Later
        - [ ] 2.3 Found on the way
        ## 3. Three
        - [x] Run tests
    "};
    let check = checked(PLAN, after, "2");
    let foreign: Vec<_> = check
        .foreign
        .iter()
        .map(|found| {
            (
                found.story.0.as_str(),
                found.task.as_str(),
                nth_of(&found.edit),
            )
        })
        .collect();
    assert_eq!(
        foreign,
        [
            ("1", "1.1 Write", 0),
            ("1", "Run tests", 0),
            ("3", "Run tests", 3)
        ]
    );
    assert_eq!(check.still_open, ["2.3 Found on the way"]);
    assert_eq!(check.missing, [""; 0]);
    assert_eq!(
        put_right(after, &check),
        after
            .replace("[ ] 1.1", "[x] 1.1")
            .replace("[ ] 2.3", "[x] 2.3")
            .replacen("[x] Run tests", "[ ] Run tests", 1)
            .replace("## 3. Three\n- [x]", "## 3. Three\n- [ ]")
    );
}

#[test]
fn missing_and_skipped_tasks_are_named() {
    let after = indoc! {"
        ## 1. One
        - [ ] Run tests
        ## 2. Two
        - [-] 2.1 Write
        - [x] Run tests
        - [x] 2.2 Later, but in other words
        ## 3. Three
        - [ ] Run tests
    "};
    let check = checked(PLAN, after, "2");
    assert_eq!(check.set_aside, ["2.1 Write"]);
    assert_eq!(check.missing, ["Run tests"]);
    assert_eq!(check.foreign_missing, ["1.1 Write"]);
    assert_eq!(check.ticks, []);
}

#[test]
fn a_renamed_heading_loses_no_task() {
    let check = checked(
        PLAN,
        &PLAN.replace("## 2. Two", "## 2. Two\n## 2. Too"),
        "2",
    );
    assert_eq!(check.missing, [""; 0]);
    assert_eq!(check.still_open.len(), 3);
    assert_eq!(check.foreign_missing, [""; 0]);
}

#[test]
fn an_emptied_file_misses_everything() {
    let check = checked(PLAN, "", "2");
    assert_eq!(check.missing.len(), 4);
    assert_eq!(check.foreign_missing.len(), 3);
}

#[test]
fn boxes_in_fences_are_no_work_but_are_restored() {
    let before = "## 1. A\n- [ ] 1.1 a\n```\n- [ ] shown\n```\n## 2. B\n- [ ] 2.1 b\n";
    assert_eq!(checked(before, before, "1").still_open, ["1.1 a"]);
    let after = before.replace("[ ] shown", "[x] shown");
    assert_eq!(
        put_right(&after, &checked(before, &after, "2")),
        before.replace("[ ] 2.1", "[x] 2.1")
    );
}

#[test]
fn boxes_without_text_are_ticked_but_never_missed() {
    let before = "## 1. A\n- [ ] 1.1 a\n- [ ]\n## 2. B\n- [ ]\n";
    let check = checked(before, before, "1");
    assert_eq!(check.still_open, ["1.1 a"]);
    assert_eq!(
        put_right(before, &check),
        "## 1. A\n- [x] 1.1 a\n- [x]\n## 2. B\n- [ ]\n"
    );
    let after = "## 1. A\n- [x] 1.1 a\n";
    let check = checked(before, after, "1");
    assert_eq!((check.missing, check.foreign_missing), (vec![], vec![]));
}

#[test]
fn ticking_keeps_every_other_byte() {
    #[track_caller]
    fn case(before: &[u8], after: &[u8]) {
        let task = &read_tasks(before)[0];
        assert_eq!(tick(before, task), after);
    }
    case(
        b"\xef\xbb\xbf- [ ] a\r\nb\xff\r\n",
        b"\xef\xbb\xbf- [x] a\r\nb\xff\r\n",
    );
    case(b"\xff\n* [] a", b"\xff\n* [x] a");
    case(b"- [  ~ ] a", b"- [x] a");
    case("- [✅] a\n".as_bytes(), b"- [x] a\n");
    case(b"- [ ](a) b", b"- [x] (a) b");
    case(b"- [ ][a] b", b"- [x] [a] b");
}

#[test]
fn an_edit_finds_its_box_in_a_file_that_moved_on() {
    let check = checked(PLAN, PLAN, "3");
    let moved = format!("# New\n\n{}", PLAN.replace("2.1 Write", "2.1 Written"));
    assert_eq!(
        put_right(&moved, &check),
        moved.replace("Three\n- [ ]", "Three\n- [x]")
    );
    assert_eq!(put_right("gone\n", &check), "gone\n");
}

proptest! {
    #[test]
    fn ticking_and_unticking_changes_only_the_box(
        head in proptest::collection::vec(any::<u8>(), 0..40),
        text in "[a-z0-9. é\u{2028}]{0,12}",
        ending in proptest::sample::select(vec!["", "\n", "\r\n"]),
        tail in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = head.clone();
        bytes.extend_from_slice(format!("\n- [ ] {text}{ending}").as_bytes());
        if !ending.is_empty() {
            bytes.extend_from_slice(&tail);
        }
        for task in read_tasks(&bytes) {
            let link_like = matches!(bytes.get(task.mark.end + 1), Some(b'(' | b'['));
            let original = bytes[task.mark.clone()].to_vec();
            let ticked = tick(&bytes, &task);
            let again = read_tasks(&ticked).into_iter().find(|found| found.line == task.line).unwrap();
            prop_assert_eq!((again.state, &again.raw), (TaskState::Done, &task.raw));
            if !link_like {
                prop_assert_eq!(mark(&ticked, &again, &original), bytes.clone());
            }
        }
    }
}

#[test]
fn a_box_is_ticked_with_the_letter_its_file_uses() {
    #[track_caller]
    fn case(text: &str, source: SourceKind, want: &str) {
        let mut before = change(&[text]);
        before.source = source;
        let check = check(&before, &before.task_files, &before.stories[0].id);
        let edits: Vec<&BoxEdit> = check.ticks.iter().collect();
        let ticked = apply(text.as_bytes(), &edits);
        assert_eq!(String::from_utf8(ticked).unwrap(), want);
    }
    let (kit, open_spec) = (SourceKind::SpecKit, SourceKind::OpenSpec);
    case("- [ ] a\n", kit, "- [X] a\n");
    case("- [ ] a\n", open_spec, "- [x] a\n");
    case("- [x] b\n- [ ] a\n", kit, "- [x] b\n- [x] a\n");
    case("- [X] b\n- [ ] a\n", open_spec, "- [X] b\n- [X] a\n");
    case(
        "- [X] b\n- [x] c\n- [ ] a\n",
        kit,
        "- [X] b\n- [x] c\n- [x] a\n",
    );
}
