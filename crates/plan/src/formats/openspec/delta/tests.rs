use indoc::indoc;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn scenario(line: usize, requirement: &str, name: &str, text: &str) -> Scenario {
    Scenario {
        capability: "loop".to_owned(),
        requirement: requirement.to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        line,
    }
}

#[test]
fn reads_what_is_added_and_modified() {
    let delta = read_delta(
        "loop",
        indoc! {"
            # Retry Specification

            ## ADDED Requirements

            ### Requirement: Retry on failure ###
            **Priority**: high
            The loop SHALL retry
            a failed story.

            #### Scenario: First failure
            - **GIVEN** a story
            - **WHEN** it fails
            - **THEN** it is retried

              indented

            #### Scenario: Empty

            #### Any other heading ####
            Text.
            ##### Deeper
            More.
            ### Stray
            ignored
            ## modified requirements
            ###requirement:Back-off
            **Rule**: It MUST wait.
            ## REMOVED Requirements
            ### Requirement: Old
            **Reason**: gone
            - `### Requirement: Older`
            + ### Requirement: Oldest
            ## RENAMED Requirements
            - FROM: `### Requirement: A`
            - TO: `### Requirement: B`
            FROM: ### Requirement: C
            TO: ### Requirement: D
            - TO: `### Requirement: Alone`
            ## ADDED Requirements
            ### Requirement: Second section
            Text
            ## Notes
            ### Requirement: Orphan
            Text
        "}
        .as_bytes(),
    );
    let want = Delta {
        added: vec![
            Requirement {
                name: "Retry on failure".to_owned(),
                scenarios: vec![
                    scenario(
                        10,
                        "Retry on failure",
                        "First failure",
                        "- **GIVEN** a story\n- **WHEN** it fails\n- **THEN** it is retried\n\n  indented",
                    ),
                    scenario(
                        19,
                        "Retry on failure",
                        "Any other heading",
                        "Text.\n##### Deeper\nMore.",
                    ),
                ],
            },
            Requirement {
                name: "Second section".to_owned(),
                scenarios: vec![],
            },
        ],
        modified: vec![Requirement {
            name: "Back-off".to_owned(),
            scenarios: vec![],
        }],
    };
    assert_eq!(delta, want);
}

#[test]
fn fenced_lines_are_never_structure() {
    let delta = read_delta(
        "loop",
        indoc! {"
            ## ADDED Requirements
            ### Requirement: Shown
            Body MUST hold.
                ~~~md
            ## REMOVED Requirements
            #### Scenario: no
            ```
            ~~~
            #### Scenario: yes
            ```
            #### Scenario: in the text
            ```
        "}
        .as_bytes(),
    );
    assert_eq!(
        delta,
        Delta {
            added: vec![Requirement {
                name: "Shown".to_owned(),
                scenarios: vec![scenario(
                    9,
                    "Shown",
                    "yes",
                    "```\n#### Scenario: in the text\n```"
                )],
            }],
            ..Delta::default()
        }
    );
}

#[test]
fn only_the_exact_section_titles_count() {
    #[track_caller]
    fn case(text: &str, added: usize) {
        let text = format!("{text}\n### Requirement: X\nMUST\n");
        assert_eq!(
            read_delta("loop", text.as_bytes()).added.len(),
            added,
            "{text:?}"
        );
    }
    case("## ADDED Requirements", 1);
    case("\u{feff}## added REQUIREMENTS \r", 1);
    case("##\tADDED Requirements", 1);
    case("## ADDED  Requirements", 0);
    case("##ADDED Requirements", 0);
    case("### ADDED Requirements", 0);
    case(" ## ADDED Requirements", 0);
    case("## 新增需求", 0);
    case("##\u{2028}ADDED Requirements", 1);
    case("## ADDED Requirements\u{2028}", 0);
}

#[test]
fn a_requirement_has_its_name_on_one_line() {
    #[track_caller]
    fn case(line: &str, want: Option<&str>) {
        assert_eq!(requirement_name(line), want, "{line:?}");
    }
    case("### Requirement: A", Some("A"));
    case("###requirement:A ###", Some("A"));
    case("### Requirement: C#", Some("C#"));
    case("### Requirement:", None);
    case("### Requirement: ", Some(""));
    case("### Requirement:\u{2028}A\u{2029}", Some("A"));
    case("### Requirement: A\u{2028}B", None);
    case("#### Requirement: A", None);
    case(" ### Requirement: A", None);
}

proptest! {
    #[test]
    fn reading_never_panics(
        lines in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(vec![
                    "## ADDED Requirements", "## REMOVED Requirements", "## RENAMED Requirements",
                    "### Requirement: a", "###Requirement:", "### Requirement: ", "#### ", "#### Scenario:",
                    "FROM: `### Requirement: `", "- TO:###Requirement:`", "```", "~~~", "**a**:", "###é", "#",
                ]).prop_map(|line| line.as_bytes().to_vec()),
                proptest::collection::vec(any::<u8>(), 0..12),
            ],
            0..20,
        )
    ) {
        read_delta("loop", &lines.join(&b'\n'));
    }
}
