use std::path::PathBuf;

use indoc::indoc;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::change::SourceKind;
use crate::formats::read_stories;

fn file(label: &str, bytes: &[u8]) -> TaskFile {
    TaskFile {
        path: PathBuf::from(label),
        label: label.to_owned(),
        bytes: bytes.to_vec(),
    }
}

fn read(text: &str) -> Vec<Story> {
    read_stories(&[file("tasks.md", text.as_bytes())], SourceKind::OpenSpec).0
}

/// Each story as `id|title|state: texts`.
fn summaries(stories: &[Story]) -> Vec<String> {
    stories
        .iter()
        .map(|story| {
            let raws: Vec<&str> = story.tasks.iter().map(|task| task.raw.as_str()).collect();
            format!(
                "{}|{}|{:?}: {}",
                story.id,
                story.title,
                story.state,
                raws.join(", ")
            )
        })
        .collect()
}

#[test]
fn second_level_sections_with_tasks_are_stories() {
    let stories = read(indoc! {"
        # Tasks
        Some words.

        ## 1. Setup
        Goal: start.
        - [x] 1.1 Make it
          with more text
        ### Sub
        - [x] 1.2 Test it

        ## Dependencies
        - nothing

        ## Phase 2: Retry
        - [ ] 2.1 Try
        - [~] 2.2 Later
        ## 3. Later
        - [-] 3.1 Never
        - [x] 3.2 Done
    "});
    assert_eq!(
        summaries(&stories),
        [
            "1|Setup|Done: 1.1 Make it, 1.2 Test it",
            "2|Retry|Open: 2.1 Try, 2.2 Later",
            "3|Later|Deferred: 3.1 Never, 3.2 Done",
        ]
    );
    assert_eq!(
        stories[0].section,
        indoc! {"
            ## 1. Setup
            Goal: start.
            - [x] 1.1 Make it
              with more text
            ### Sub
            - [x] 1.2 Test it

        "}
    );
}

#[test]
fn one_section_that_holds_all_groups_is_no_story() {
    let stories = read(indoc! {"
        ## Task List
        - [ ] 0.1 First
        ### 1. A
        - [ ] 1.1 a
        ### 2. B
        - [ ] 2.1 b
        #### Deeper
        - [ ] 2.2 c
        ## Notes
    "});
    assert_eq!(
        summaries(&stories),
        [
            "task-list|Task List|Open: 0.1 First",
            "1|A|Open: 1.1 a",
            "2|B|Open: 2.1 b, 2.2 c"
        ]
    );
}

#[test]
fn third_level_sections_are_stories_where_there_is_no_second() {
    assert_eq!(
        summaries(&read("# T\n### 1.1 A\n- [ ] a\n### Task 1.2: B\n- [x] b\n")),
        ["1.1|A|Open: a", "1.2|B|Done: b"]
    );
}

#[test]
fn a_file_without_sections_is_one_story() {
    assert_eq!(
        summaries(&read("\u{feff}# Work to do\r\n- [ ] a\r\n")),
        ["work-to-do|Work to do|Open: a"]
    );
    assert_eq!(
        summaries(&read("- [ ] a\n- [ ]\n")),
        ["tasks|tasks|Open: a, "]
    );
    assert_eq!(summaries(&read("## Notes\nnothing\n")), [""; 0]);
}

#[test]
fn tasks_outside_all_sections_keep_their_place() {
    assert_eq!(
        summaries(&read("- [ ] a\n## 1. One\n- [ ] b\n# Rest\n- [ ] c\n")),
        ["tasks|tasks|Open: a", "1|One|Open: b", "rest|Rest|Open: c"]
    );
}

#[test]
fn boxes_in_fences_are_text_of_the_story_before() {
    let text = indoc! {"
        ## Example
        ```
        - [ ] zero
        ```
        ## 1. One
        - [x] 1.1 real
          ```md
          ## 9. Not a heading
          - [ ] shown
          ```
        ## Format
        ~~~
        - [ ] also shown
        ~~~
        ## 2. Two
        - [ ] 2.1 more
    "};
    let (stories, warnings) =
        read_stories(&[file("tasks.md", text.as_bytes())], SourceKind::OpenSpec);
    assert_eq!(
        summaries(&stories),
        [
            "1|One|Done: zero, 1.1 real, shown, also shown",
            "2|Two|Open: 2.1 more"
        ]
    );
    let kinds: Vec<_> = stories[0]
        .tasks
        .iter()
        .map(|task| (task.kind, task.parent))
        .collect();
    assert_eq!(
        kinds,
        [
            (TaskKind::Fenced, None),
            (TaskKind::Work, None),
            (TaskKind::Fenced, Some(1)),
            (TaskKind::Fenced, Some(1)),
        ]
    );
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "fenced_boxes");
}

#[test]
fn a_story_of_fenced_boxes_only_is_deferred() {
    assert_eq!(
        summaries(&read("# T\n```\n- [ ] a\n```\n")),
        ["t|T|Deferred: a"]
    );
}

#[test]
fn nesting_follows_indentation_within_a_story() {
    let stories =
        read("## 1. A\n- [ ] a\n  - [ ] b\n    - [ ] c\n  - [ ] d\n- [ ] e\n## 2. B\n  - [ ] f\n");
    let parents: Vec<_> = stories
        .iter()
        .flat_map(|story| story.tasks.iter().map(|task| task.parent))
        .collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(0), None, None]);
}

#[test]
fn numbered_items_are_the_stories_of_a_checklist_without_sections() {
    let nested = "# Implementation Plan\n\n- [x] 1. Set up\n  - [x] 1.1 Make\n  - _Requirements: 1_\n- [ ] 2. Build\n  - [ ]* 2.1 Test\n";
    let flat = "- [x] 1. Set up\n- [x] 1.1 Make\n- [ ] 2. Build\n- [ ]* 2.1 Test\n";
    for text in [nested, flat] {
        let files = [file("plan.md", text.as_bytes())];
        let (stories, _) = read_stories(&files, SourceKind::Checklist);
        assert_eq!(
            summaries(&stories),
            [
                "1|Set up|Done: 1. Set up, 1.1 Make",
                "2|Build|Open: 2. Build, * 2.1 Test"
            ]
        );
        assert_eq!(read_stories(&files, SourceKind::OpenSpec).0.len(), 1);
    }
    let plain = [file("plan.md", b"- [ ] 1. a\n- [ ] 2. b\n")];
    assert_eq!(read_stories(&plain, SourceKind::Checklist).0.len(), 1);
}

#[test]
fn kiro_has_its_own_ways_with_boxes() {
    #[track_caller]
    fn case(text: &str, want: &[&str]) {
        let (stories, _) = read_stories(&[file("tasks.md", text.as_bytes())], SourceKind::Kiro);
        assert_eq!(summaries(&stories), want);
    }
    // Numbered items are stories, with items of their own or not, below one heading or none.
    case(
        "# Plan\n- [x] 1. a\n- [ ] 2. b\n",
        &["1|a|Done: 1. a", "2|b|Open: 2. b"],
    );
    case(
        "# Plan\n## Tasks\n- [x] 1. a\n  - [x] 1.1 x\n- [ ] 2. b\n## Notes\n",
        &["1|a|Done: 1. a, 1.1 x", "2|b|Open: 2. b"],
    );
    case(
        "## 1. A\n- [ ] 1.1 x\n## 2. B\n- [ ] 2.1 y\n",
        &["1|A|Open: 1.1 x", "2|B|Open: 2.1 y"],
    );
    // What was begun is still to be done; what is deferred is not.
    case(
        "- [-] 1. a\n- [~] 2. b\n",
        &["1|a|Open: 1. a", "2|b|Deferred: 2. b"],
    );
    // What is optional holds nothing up, and is nothing to do by itself.
    case(
        "- [x] 1. a\n  - [ ]* 1.1 x\n- [ ]* 2. b\n  - [ ] 2.1 y\n- [x]* 3. c\n",
        &[
            "1|a|Done: 1. a, * 1.1 x",
            "2|b|Deferred: * 2. b, 2.1 y",
            "3|c|Done: * 3. c",
        ],
    );
}

#[test]
fn optional_sections_of_a_checklist_are_not_open_work() {
    let text = indoc! {"
        ## High Priority
        - [ ] a
        ## 4. Nice to Have:
        ### Charts
        - [ ] b
        ## FUTURE
        - [x] c
        ## Future work
        - [ ] d
    "};
    let read = |source| summaries(&read_stories(&[file("fix_plan.md", text.as_bytes())], source).0);
    assert_eq!(
        read(SourceKind::Checklist),
        [
            "high-priority|High Priority|Open: a",
            "4|Nice to Have:|Deferred: b",
            "future|FUTURE|Done: c",
            "future-work|Future work|Open: d",
        ]
    );
    assert_eq!(read(SourceKind::OpenSpec)[1], "4|Nice to Have:|Open: b");
}

#[test]
fn ids_stay_while_boxes_are_ticked() {
    let open = "## 1. A\n- [ ] a\n## 1. A\n- [ ] b\n## Ü b\n- [ ] c\n";
    let ids =
        |text: &str| -> Vec<StoryId> { read(text).into_iter().map(|story| story.id).collect() };
    assert_eq!(ids(open), ids(&open.replace("[ ]", "[x]")));
    assert_eq!(
        ids(open),
        ["a", "a-2", "ü-b"].map(|id| StoryId(id.to_owned()))
    );
}

proptest! {
    #[test]
    fn every_task_is_in_exactly_one_story_in_file_order(
        lines in proptest::collection::vec(
            proptest::sample::select(vec![
                "# T", "## 1. A", "## A", "### 1. B", "### B", "#### C", "```", "~~~", "- ```",
                "- [ ] 1. a", "- [x] 1.1 b", "  - [~] c", "- [ ]", "text", "\u{feff}",
            ]),
            0..25,
        ),
        source in proptest::sample::select(vec![SourceKind::OpenSpec, SourceKind::Kiro, SourceKind::Checklist]),
    ) {
        let text = lines.join("\n");
        let (stories, _) = read_stories(&[file("t.md", text.as_bytes())], source);
        let got: Vec<usize> = stories.iter().flat_map(|story| story.tasks.iter().map(|task| task.line)).collect();
        let want: Vec<usize> = read_tasks(text.as_bytes()).iter().map(|task| task.line).collect();
        prop_assert_eq!(got, want);
        let mut ids: Vec<_> = stories.iter().map(|story| &story.id).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), stories.len());
    }
}
