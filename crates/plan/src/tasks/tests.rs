use indoc::indoc;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn seen(bytes: &[u8]) -> Vec<(TaskState, String)> {
    read_tasks(bytes)
        .into_iter()
        .map(|task| (task.state, task.raw))
        .collect()
}

#[test]
fn a_line_is_a_task_exactly_where_openspec_says_so() {
    #[track_caller]
    fn case(line: &str, want: Option<(TaskState, &str)>) {
        let want: Vec<_> = want
            .into_iter()
            .map(|(state, raw)| (state, raw.to_owned()))
            .collect();
        assert_eq!(seen(line.as_bytes()), want, "{line:?}");
    }
    use TaskState::{Deferred, Done, Open};
    case("- [ ] 1.1 Add retry", Some((Open, "1.1 Add retry")));
    case("* [x] star", Some((Done, "star")));
    case("+ [X] plus", Some((Done, "plus")));
    case("12) [ ] ordered", Some((Open, "ordered")));
    case("123456789. [ ] nine digits", Some((Open, "nine digits")));
    case("1234567890. [ ] ten digits", None);
    case("-[ ] no space", Some((Open, "no space")));
    case("- [x]no space after", Some((Done, "no space after")));
    case("- [ x ] roomy", Some((Done, "roomy")));
    case("- [] empty", Some((Open, "empty")));
    case("- [~] later", Some((Deferred, "later")));
    case("- [-] dropped", Some((Deferred, "dropped")));
    case("- [/] half", Some((Deferred, "half")));
    case("- [1] odd", Some((Open, "odd")));
    case("- [P] odd", Some((Open, "odd")));
    case("- [✅] one unit", Some((Open, "one unit")));
    case("- [🚧] two units", None);
    case("- [WIP] word", None);
    case("- [A](url) link", None);
    case("- [x][ref] link", None);
    case("- [](url) link", None);
    case("- [ ](still) a box", Some((Open, "(still) a box")));
    case("- [ ][still] a box", Some((Open, "[still] a box")));
    case("- [ x ](url)", None);
    case("- [x] [US1] text", Some((Done, "[US1] text")));
    case("- [ ]", Some((Open, "")));
    case("- [ ]   ", Some((Open, "")));
    case("    - [ ] nested", Some((Open, "nested")));
    case("\t- [ ] tabbed", Some((Open, "tabbed")));
    case("> - [ ] quoted", None);
    case("<!-- - [ ] hidden -->", None);
    case("text - [ ] not at the start", None);
    case("- [ open", None);
    case("[ ] no bullet", None);
    case("-- [ ] two dashes", None);
    case(
        "\u{feff}- [ ] after a byte order mark",
        Some((Open, "after a byte order mark")),
    );
    case(
        "\u{3000}-\u{a0}[\u{2003}x\u{202f}] wide spaces",
        Some((Done, "wide spaces")),
    );
    case("\u{85}- [ ] next line is no space", None);
    case("- [ ] ends\u{85}", Some((Open, "ends\u{85}")));
    case("- [ ] stops\u{2028}here", Some((Open, "stops")));
    case("- [ ] stops\rhere", Some((Open, "stops")));
    case(
        "- [ ]\r text after a carriage return",
        Some((Open, "text after a carriage return")),
    );
    case("- [ ] crlf\r", Some((Open, "crlf")));
}

#[test]
fn a_file_with_lone_carriage_returns_is_one_line() {
    assert_eq!(
        seen(b"- [ ] one\r- [ ] two\r"),
        [(TaskState::Open, "one".to_owned())]
    );
}

#[test]
fn boxes_count_in_fences_and_comments() {
    let text = indoc! {"
        <!--
        - [ ] a
        -->
        ```
        - [x] b
        ```
    "};
    assert_eq!(
        seen(text.as_bytes()),
        [
            (TaskState::Open, "a".to_owned()),
            (TaskState::Done, "b".to_owned())
        ]
    );
}

#[test]
fn byte_ranges_point_into_the_original_bytes() {
    let bytes =
        b"\xff\xfe head\r\n- \xc3[ ] no\n- [ ] \xe9t\xe9\n  *\xc2\xa0[\xff] odd\n- [x] last";
    let marks: Vec<&[u8]> = read_tasks(bytes)
        .iter()
        .map(|task| &bytes[task.mark.clone()])
        .collect();
    assert_eq!(marks, [&b" "[..], b"\xff", b"x"]);
    assert_eq!(
        seen(bytes),
        [
            (TaskState::Open, "\u{fffd}t\u{fffd}".to_owned()),
            (TaskState::Open, "odd".to_owned()),
            (TaskState::Done, "last".to_owned()),
        ]
    );
}

#[test]
fn a_task_carries_line_indent_id_and_text() {
    let tasks = read_tasks(b"# T\n\n  - [~] **2.1** Retry\n");
    assert_eq!(
        tasks,
        [Task {
            line: 3,
            mark: 10..11,
            state: TaskState::Deferred,
            kind: TaskKind::Work,
            raw: "**2.1** Retry".to_owned(),
            id: Some("2.1".to_owned()),
            text: "Retry".to_owned(),
            indent: 2,
            parent: None,
        }]
    );
}

proptest! {
    #[test]
    fn reading_never_panics_and_every_mark_stands_in_brackets(
        bytes in proptest::collection::vec(
            prop_oneof![
                3 => proptest::sample::select(b"- [x]*+1.) \t\r\n(#`~".to_vec()),
                1 => any::<u8>(),
            ],
            0..200,
        )
    ) {
        for task in read_tasks(&bytes) {
            prop_assert_eq!(bytes[task.mark.start - 1], b'[');
            prop_assert_eq!(bytes[task.mark.end], b']');
        }
    }
}
