//! What is read from sections "Dependencies" as spec-kit's template and its users write them.

use indoc::indoc;
use pretty_assertions::assert_eq;

use super::super::RULES;
use super::*;
use crate::change::TaskFile;
use crate::stories::read_markdown;

/// Setup, foundation, five user stories and polish, all as the template has them.
const PHASES: &str = indoc! {"
    # Tasks: Albums

    ## Phase 1: Setup (Shared Infrastructure)

    - [ ] T001 Make the project

    ## Phase 2: Foundational (Blocking Prerequisites)

    - [ ] T002 [P] Make the table

    ## Phase 3: User Story 1 - See albums (Priority: P1) 🎯 MVP

    - [ ] T003 [P] [US1] Test the list

    ## Phase 4: User Story 2 - Share albums (Priority: P2)

    - [ ] T004 [US2] Write the link

    ## Phase 5: User Story 3 - Print albums (Priority: P3)

    - [ ] T005 [US3] Write the page

    ## Phase 6: Polish & Cross-Cutting Concerns

    - [ ] T006 Write the manual

"};

/// What each phase depends on, `?` where that is not known.
fn read_plan(text: &str) -> Vec<String> {
    let file = TaskFile {
        path: "/p/tasks.md".into(),
        label: "tasks.md".to_owned(),
        bytes: text.into(),
    };
    let (stories, warnings) = read_markdown(&[file], &RULES);
    assert_eq!(warnings, []);
    let line = |story: &Story| match story.depends_on.known() {
        None => format!("{}: ?", story.id),
        Some(on) => {
            let on: Vec<&str> = on.iter().map(|it| it.0.as_str()).collect();
            format!("{}: {}", story.id, on.join(" "))
        }
    };
    stories.iter().map(line).collect()
}

/// What is read of the user stories of the plan above, with this text in its section.
#[track_caller]
fn case(section: &str, want: [&str; 3]) {
    let found = read_plan(&format!(
        "{PHASES}## Dependencies & Execution Order\n\n{section}"
    ));
    assert_eq!(found[2..5], want.map(str::to_owned), "{section}");
}

#[test]
fn the_sentences_of_the_template_are_understood() {
    let section = indoc! {"
        ## Dependencies & Execution Order

        ### Phase Dependencies

        - **Setup (Phase 1)**: No dependencies - can start immediately
        - **Foundational (Phase 2)**: Depends on Setup completion - BLOCKS all user stories
        - **User Stories (Phase 3+)**: All depend on Foundational phase completion
          - User stories can then proceed in parallel (if staffed)
          - Or sequentially in priority order (P1 → P2 → P3)
        - **Polish (Final Phase)**: Depends on all desired user stories being complete

        ### User Story Dependencies

        - **User Story 1 (P1)**: Can start after Foundational (Phase 2) - No dependencies on other stories
        - **User Story 2 (P2)**: Can start after Foundational (Phase 2) - May integrate with US1 but should be independently testable
        - **User Story 3 (P3)**: Can start after Foundational (Phase 2) - May integrate with US1/US2 but should be independently testable

        ### Within Each User Story

        - Story complete before moving to next priority

        ### Parallel Opportunities

        - Different user stories can be worked on in parallel by different team members
    "};
    assert_eq!(
        read_plan(&format!("{PHASES}{section}")),
        ["1: ", "2: 1", "3: 1 2", "4: 1 2", "5: 1 2", "6: 1 2 3 4 5"]
    );
}

#[test]
fn a_plan_that_says_nothing_of_its_user_stories_says_nothing_at_all() {
    let nothing = ["1: ?", "2: ?", "3: ?", "4: ?", "5: ?", "6: ?"];
    assert_eq!(read_plan(PHASES), nothing);
    let unclear = format!("{PHASES}## Dependencies\n\n- Setup comes first\n");
    assert_eq!(read_plan(&unclear), nothing);
    let drawn = format!("{PHASES}## Dependencies\n\n```\n- US2: depends on US1\n```\n");
    assert_eq!(read_plan(&drawn), nothing);
    let elsewhere = format!("{PHASES}## Notes\n\n- US2: depends on US1\n");
    assert_eq!(read_plan(&elsewhere), nothing);
}

#[test]
fn a_dependency_is_understood_in_many_words() {
    let free = "3: 1 2";
    for said in [
        "- **User Story 2 (P2)**: Depends on US1",
        "- **User Story 2 (P2)**: Depends on User Story 1 (needs a login)",
        "- **User Story 2 (Phase 4)**: Depends on Phase 3 being complete",
        "- **US2**: Can start after US1 is complete - no dependency on US3",
        "- US2 (P2): Can start after Foundational (Phase 2) — uses US1's reader",
        "* **Phase 4 (US2)**: Requires T003; can run in parallel with US3",
        "- **User Story 2 (P2)**: After Phase 2 **and after US1**",
        "- **User Story 2 (P2)**: Extends US1's list\n  with a link",
        "- **US2**: can run in parallel with US3 after US1",
        "- **US2**: cannot run in parallel with US1",
        "- **US2**: Depends on US1 for its data, independent of US3",
        "- **US2**: depends on US1 and is independent of US3",
        "- **US2**: Can start immediately\n- US1 must be complete before US2",
        "- **US2**: No dependencies\n- User Story 1 blocks User Story 2",
        "1. **US2**: Can start after Phase 2\n2. US1 → US2",
    ] {
        let section = format!("- **US1**: No dependencies\n{said}\n- **US3**: No dependencies\n");
        case(&section, [free, "4: 1 2 3", "5: 1 2"]);
    }
}

#[test]
fn several_stories_can_be_named_at_once() {
    let others = "- **US1**: no dependencies\n- **US2**: independent of US1\n";
    for said in [
        "- **US3**: Depends on US1, US2",
        "- **US3**: Depends on US1 and US2 being complete",
        "- **US3**: Depends on US1/US2",
        "- **US3**: Depends on User Stories 1-2",
        "- **US3**: Depends on phases 3–4",
        "- **US3**: no dependencies\n\nUS1 → US3\n\nUS2 before US3",
    ] {
        case(
            &format!("{others}{said}\n"),
            ["3: 1 2", "4: 1 2", "5: 1 2 3 4"],
        );
    }
}

#[test]
fn a_chain_makes_each_story_depend_on_the_one_before() {
    let entries = "- US1: No dependencies\n- US2: No dependencies\n- US3: No dependencies\n";
    case(
        &format!("{entries}\nUS1 → US2 → US3\n"),
        ["3: 1 2", "4: 1 2 3", "5: 1 2 3 4"],
    );
}

#[test]
fn an_entry_that_is_missing_or_not_understood_leaves_its_story_unknown() {
    case("- **US1**: no dependencies\n", ["3: 1 2", "4: ?", "5: ?"]);
    // An entry about several stories, one about a story that is not there, and one that says nothing.
    case(
        "- **US1-2**: no dependencies\n- **US3**: no dependencies\n",
        ["3: ?", "4: ?", "5: 1 2"],
    );
    case(
        "- **US1**: no dependencies\n- **US2**: depends on US9\n- **US3**: the last slice\n",
        ["3: 1 2", "4: ?", "5: ?"],
    );
}

#[test]
fn a_later_story_is_never_waited_for() {
    case(
        "- **US1**: needed by US2 and US3\n- **US2**: depends on US3\n- **US3**: no dependencies\n",
        ["3: 1 2", "4: 1 2", "5: 1 2"],
    );
}

#[test]
fn a_task_that_depends_on_one_of_another_story_counts() {
    let plan = PHASES.replace("Write the page", "Write the page (depends on T004)");
    let section = "## Dependencies\n\n- US2: no dependencies\n- US3: no dependencies\n";
    let found = read_plan(&format!("{plan}{section}"));
    assert_eq!(found[3..5], ["4: 1 2", "5: 1 2 4"]);
}

#[test]
fn a_phase_belongs_to_the_user_story_its_tasks_are_tagged_with() {
    let plan = PHASES
        .replace("User Story 2 - Share albums", "Sharing")
        .replace(
            "Phase 5: User Story 3 - Print albums",
            "Phase 5: Share more (US2)",
        );
    let section = "## Dependencies\n\n- US1: no dependencies\n- US2: no dependencies\n";
    let found = read_plan(&format!("{plan}{section}"));
    assert_eq!(found[2..], ["3: 1 2", "4: 1 2", "5: 1 2 4", "6: 1 2 3 4 5"]);
}
