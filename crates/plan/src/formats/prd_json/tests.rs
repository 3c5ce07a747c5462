//! Tests of reading and writing `prd.json`.

use indoc::indoc;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::flags::set_flag;
use super::*;
use crate::boxes::BoxEdit;
use crate::change::StoryState;
use crate::formats::apply;

const PLAN: &str = indoc! {r#"
    {
      "project": "Shop",
      "branchName": "ralph/coupons",
      "description": "Coupons at the till",
      "userStories": [
        {
          "id": "US-002",
          "title": "Apply a coupon",
          "description": "As a buyer, I pay less",
          "acceptanceCriteria": ["The price falls", "Typecheck passes"],
          "priority": 2,
          "passes": false,
          "notes": "see pricing.rs",
          "dependsOn": ["US-001"],
          "scope": {"files": ["till.rs"]}
        },
        {
          "id": "US-001",
          "title": "Store coupons",
          "acceptanceCriteria": ["A table exists", "Typecheck passes"],
          "priority": 1,
          "passes": true,
          "notes": ""
        },
        {"id": "US-003", "title": "Expire coupons", "acceptanceCriteria": [], "priority": 2}
      ],
      "extra": [1,  2.50, null]
    }
"#};

fn change(text: &str) -> Change {
    let task_files = vec![file(text)];
    let (stories, warnings) = read_stories(&task_files);
    Change {
        name: "prd".to_owned(),
        root: "/p".into(),
        source: SourceKind::PrdJson,
        stories,
        scenarios: Vec::new(),
        documents: Vec::new(),
        context: None,
        guidance: Vec::new(),
        warnings,
        task_files,
    }
}

fn file(text: &str) -> TaskFile {
    TaskFile {
        path: "/p/prd.json".into(),
        label: "prd.json".to_owned(),
        bytes: text.into(),
    }
}

fn id(text: &str) -> StoryId {
    StoryId(text.to_owned())
}

/// Each story as `id|title|state: criteria`.
fn summaries(text: &str) -> Vec<String> {
    let summaries = |story: &Story| {
        let raws: Vec<&str> = story.tasks.iter().map(|task| task.raw.as_str()).collect();
        format!(
            "{}|{}|{:?}: {}",
            story.id,
            story.title,
            story.state,
            raws.join(", ")
        )
    };
    change(text).stories.iter().map(summaries).collect()
}

#[test]
fn stories_come_in_the_order_of_their_priority() {
    assert_eq!(
        summaries(PLAN),
        [
            "US-001|Store coupons|Done: A table exists, Typecheck passes",
            "US-002|Apply a coupon|Open: The price falls, Typecheck passes",
            "US-003|Expire coupons|Open: Expire coupons",
        ]
    );
    assert_eq!(
        Prd::read(PLAN.as_bytes()).unwrap().about.as_deref(),
        Some("Shop: Coupons at the till")
    );
    let lines: Vec<usize> = change(PLAN).stories[1]
        .tasks
        .iter()
        .map(|it| it.line)
        .collect();
    assert_eq!(lines, [6, 6], "tasks are where their story begins");
}

#[test]
fn the_section_has_all_that_is_written_about_a_story() {
    assert_eq!(
        change(PLAN).stories[1].section,
        indoc! {r#"
            # US-002: Apply a coupon

            As a buyer, I pay less

            Acceptance criteria:

            - The price falls
            - Typecheck passes

            Depends on: US-001

            Notes: see pricing.rs

            - scope: {"files":["till.rs"]}"#}
    );
}

/// What each story depends on, `?` where that is not known, and the warnings.
fn dependencies(text: &Value) -> (Vec<String>, Vec<String>) {
    let change = change(&text.to_string());
    let line = |story: &Story| match story.depends_on.known() {
        None => format!("{}: ?", story.id),
        Some(on) => {
            let on: Vec<&str> = on.iter().map(|it| it.0.as_str()).collect();
            format!("{}: {}", story.id, on.join(" "))
        }
    };
    let warnings = change.warnings.iter().map(|it| it.message.clone());
    (
        change.stories.iter().map(line).collect(),
        warnings.collect(),
    )
}

#[test]
fn dependencies_are_read_by_all_names_that_tools_give_them() {
    for key in [
        "dependsOn",
        "depends_on",
        "blockedBy",
        "blocked_by",
        "dependencies",
    ] {
        let (found, warnings) = dependencies(&json!({"userStories": [
            {"id": "US-001", "title": "A", "passes": false},
            {"id": "x/y", "title": "B", "passes": false, key: ["US-001"]},
            {"id": 3, "title": "C", "passes": false, key: []},
            {"id": "US-004", "title": "D", "passes": false, key: ["x/y", 3]},
            {"id": "US-005", "title": "E", "passes": false, key: "US-001, 3"},
            {"id": "US-006", "title": "F", "passes": false, key: null},
        ]}));
        let want = [
            "US-001: ",
            "b: US-001",
            "3: ",
            "US-004: 3 b",
            "US-005: 3 US-001",
            "US-006: ",
        ];
        assert_eq!(
            (&found[..], warnings),
            (&want.map(str::to_owned)[..], vec![])
        );
    }
}

#[test]
fn a_file_without_dependencies_says_nothing_of_them() {
    #[track_caller]
    fn case(value: &Value, want: &[&str]) {
        assert_eq!(dependencies(value).0, want);
    }
    case(
        &json!({"userStories": [{"id": "A", "passes": false}, {"id": "B", "passes": false}]}),
        &["A: ?", "B: ?"],
    );
    // Phases come one after the other, whatever else is said.
    case(
        &json!({"phases": [
            {"tasks": [{"id": "A", "done": false}]},
            {"tasks": [{"id": "B", "done": false, "dependsOn": ["A"]}, {"id": "C", "done": false}]},
        ]}),
        &["A: ?", "B: A", "C: ?"],
    );
    // What is not understood might be a dependency on anything.
    case(
        &json!([{"id": "A", "passes": false}, {"id": "B", "passes": false, "dependencies": [{"id": "A"}]}]),
        &["A: ", "B: ?"],
    );
}

#[test]
fn dependencies_that_cannot_hold_are_reported() {
    let (found, warnings) = dependencies(&json!([
        {"id": "A", "passes": false, "dependsOn": ["A", "B"]},
        {"id": "B", "passes": false, "dependsOn": ["A", "none"]},
    ]));
    assert_eq!(found, ["A: ", "B: A"]);
    assert_eq!(
        warnings,
        [
            "story A depends on itself, which is ignored",
            "story B depends on `none`, which is not in the plan",
            "story A depends on story B, which depends on story A: story A does not wait for it",
        ]
    );
}

#[test]
fn other_shapes_are_read_where_they_say_what_is_done() {
    #[track_caller]
    fn case(value: &Value, want: &[&str]) {
        assert_eq!(summaries(&value.to_string()), want);
    }
    case(
        &json!([
            {"category": "api", "description": "Answer", "steps": ["Say yes"], "started": true, "complete": false},
            {"category": "api", "description": "Ask", "steps": [], "complete": true},
        ]),
        &["answer|Answer|Open: Say yes", "ask|Ask|Done: Ask"],
    );
    case(
        &json!({"stories": [
            {"id": 2, "title": "Low", "priority": "low", "passes": false},
            {"id": 1, "title": "High", "priority": "high", "acceptance": ["Up"]},
            {"id": "x/y", "title": "Closed", "status": "done"},
        ]}),
        &[
            "1|High|Open: Up",
            "2|Low|Open: Low",
            "closed|Closed|Done: Closed",
        ],
    );
    case(
        &json!({"phases": [
            {"name": "One", "tasks": [{"id": "1.1", "name": "A", "priority": 9, "done": true}]},
            {"name": "Two", "tasks": [{"id": "2.1", "name": "B", "priority": 1, "done": false}]},
        ]}),
        &["1.1|A|Done: A", "2.1|B|Open: B"],
    );
    case(
        &json!({"prd": {"userStories": [{"id": "a", "title": "A", "acceptanceCriteria": [
            {"description": "It holds", "passes": false}]}]}}),
        &["a|A|Open: It holds"],
    );
    case(
        &json!({"items": [{"title": "A", "completed": null}, {"title": "A", "completed": true}]}),
        &["a|A|Open: A", "a-2|A|Done: A"],
    );
    case(&json!({"userStories": []}), &[]);
    case(&json!([]), &[]);
}

#[test]
fn what_is_not_understood_is_refused_with_the_reason() {
    #[track_caller]
    fn case(text: &str, want: &str) {
        assert_eq!(Prd::read(text.as_bytes()).unwrap_err().to_string(), want);
    }
    case(
        "{\"userStories\": [",
        "it is not JSON: EOF while parsing a list at line 1 column 17",
    );
    case("7", "it has no list of stories");
    case(
        r#"{"prd": {"id": "x", "users": []}}"#,
        "it has no list of stories, but `id`, `users`",
    );
    case(
        r#"{"items": [{"title": "A", "status": "pending"}]}"#,
        "no entry of `items` says whether it is done",
    );
    case(
        r#"{"phases": [{"tasks": [{"id": "1.1"}]}]}"#,
        "no entry of `phases[].tasks` says whether it is done",
    );
    case(
        r#"[{"description": "A"}]"#,
        "no entry of the whole file says whether it is done",
    );
    case(
        r#"{"userStories": ["A"]}"#,
        "an entry of its list of stories is not an object",
    );
    case(
        r#"{"userStories": [{"passes": false}]}"#,
        "a story has neither an `id` nor a `title`",
    );
    case(
        r#"{"userStories": [{"id": "A", "passes": "no"}]}"#,
        "`passes` of the story `A` is neither `true` nor `false`",
    );
}

#[test]
fn the_writer_changes_one_value_or_adds_one() {
    #[track_caller]
    fn case(text: &str, story: &str, done: bool, want: &str) {
        let edited = set_flag(text.into(), &id(story), done);
        assert_eq!(String::from_utf8(edited).unwrap(), want);
    }
    let passed = PLAN.replacen("\"passes\": false", "\"passes\": true", 1);
    case(PLAN, "US-002", true, &passed);
    case(&passed, "US-002", false, PLAN);
    case(PLAN, "US-001", true, PLAN);
    case(PLAN, "US-009", true, PLAN);
    case("not JSON", "US-001", true, "not JSON");
    let added = PLAN.replace(r#""priority": 2}"#, r#""priority": 2, "passes": true}"#);
    case(PLAN, "US-003", true, &added);
    case(PLAN, "US-003", false, PLAN);
    case(
        "\u{feff}{\"userStories\":[\r\n\t{\r\n\t\t\"id\" : \"a\"\r\n\t}]}",
        "a",
        true,
        "\u{feff}{\"userStories\":[\r\n\t{\r\n\t\t\"id\" : \"a\",\r\n\t\t\"passes\" : true\r\n\t}]}",
    );
}

#[test]
fn flags_of_other_stories_are_restored_and_the_own_one_is_set() {
    let before = change(PLAN);
    let cheated = PLAN
        .replacen("\"passes\": true", "\"passes\": false", 1)
        .replace(r#""priority": 2}"#, r#""priority": 2, "passes": true}"#);
    let found = check(&before, &[file(&cheated)], &id("US-002"));
    let foreign: Vec<_> = found.foreign.iter().map(|it| it.story.0.as_str()).collect();
    assert_eq!(foreign, ["US-001", "US-003"]);
    assert_eq!((found.missing.len(), found.still_open.len()), (0, 0));
    let edits: Vec<&BoxEdit> = found.foreign.iter().map(|it| &it.edit).collect();
    let restored = String::from_utf8(apply(cheated.as_bytes(), &edits)).unwrap();
    assert_eq!(
        restored,
        PLAN.replace(r#""priority": 2}"#, r#""priority": 2, "passes": false}"#)
    );
    let edits: Vec<&BoxEdit> = found.ticks.iter().collect();
    let ticked = apply(restored.as_bytes(), &edits);
    let states: Vec<_> = change(&String::from_utf8(ticked).unwrap())
        .stories
        .iter()
        .map(|story| story.state)
        .collect();
    assert_eq!(
        states,
        [StoryState::Done, StoryState::Done, StoryState::Open]
    );
}

#[test]
fn stories_and_criteria_that_are_gone_are_missed() {
    #[track_caller]
    fn case(after: &str, missing: &[&str], elsewhere: &[&str]) {
        let found = check(&change(PLAN), &[file(after)], &id("US-002"));
        assert_eq!(
            (&found.missing[..], &found.foreign_missing[..]),
            (
                &missing
                    .iter()
                    .map(|it| (*it).to_owned())
                    .collect::<Vec<_>>()[..],
                &elsewhere
                    .iter()
                    .map(|it| (*it).to_owned())
                    .collect::<Vec<_>>()[..],
            )
        );
    }
    case(PLAN, &[], &[]);
    case(
        &PLAN.replace("The price falls", "Anything"),
        &["The price falls"],
        &[],
    );
    case(
        &PLAN.replace("A table exists", "Anything"),
        &[],
        &["A table exists"],
    );
    case(&PLAN.replace("US-002", "US-004"), &["Apply a coupon"], &[]);
    case(
        "{",
        &[
            "`prd.json` cannot be read any more: it is not JSON: EOF while parsing an object at line 1 column 1",
        ],
        &[],
    );
}

prop_compose! {
    fn any_story()(
        id in "[A-Z]{1,3}-[0-9]{1,2}",
        title in "[ -~]{1,20}",
        passes in proptest::option::of(any::<bool>()),
        priority in 0..4_i32,
        extra in "[ -~\"\\\\\n]{0,10}",
    ) -> Value {
        let mut story = json!({"id": id, "title": format!("t{title}"), "priority": priority, "extra": extra});
        if let Some(passes) = passes {
            story["passes"] = passes.into();
        }
        story
    }
}

proptest! {
    #[test]
    fn only_the_bytes_of_one_flag_ever_differ(
        stories in prop::collection::vec(any_story(), 1..6),
        which: prop::sample::Index,
        indent in prop::sample::select(vec!["", "  ", "\t"]),
        feed: bool,
    ) {
        let root = json!({"name": "n", "userStories": stories, "rest": {"passes": false}});
        let mut bytes = Vec::new();
        if indent.is_empty() {
            serde_json::to_writer(&mut bytes, &root).unwrap();
        } else {
            let style = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
            let mut out = serde_json::Serializer::with_formatter(&mut bytes, style);
            serde::Serialize::serialize(&root, &mut out).unwrap();
        }
        if feed {
            bytes.push(b'\n');
        }
        let prd = Prd::read(&bytes).unwrap();
        let place = which.index(prd.items.len());
        let (story, was) = (prd.ids()[place].clone(), prd.items[place].done);
        let edited = set_flag(bytes.clone(), &story, !was);
        let again = Prd::read(&edited).unwrap();
        for (index, (old, new)) in prd.items.iter().zip(&again.items).enumerate() {
            prop_assert_eq!(new.done, if index == place { !was } else { old.done });
        }
        prop_assert_eq!(again.ids(), prd.ids());
        // Taken out, or set back, the flag leaves what was there, byte for byte.
        let had = spans::member(prd.items[place].raw, "passes").is_some();
        let end = |raw, bytes: &[u8]| {
            let members = spans::members(raw);
            let ends = members.values().map(|value| spans::span(value, bytes).end);
            ends.max().unwrap()
        };
        let back = if had {
            set_flag(edited.clone(), &story, was)
        } else {
            let mut text = edited.clone();
            text.drain(end(prd.items[place].raw, &bytes)..end(again.items[place].raw, &edited));
            text
        };
        prop_assert_eq!(back, bytes);
    }
}
