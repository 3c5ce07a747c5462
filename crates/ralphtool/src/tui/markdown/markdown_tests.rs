//! What Markdown looks like in a terminal.

use super::*;
use crate::tui::palette::{CODE, STRONG, heading};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn drawn(text: &str, columns: usize) -> Vec<String> {
    let lines = render(text, columns, false);
    lines.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn case(text: &str, columns: usize, want: &[&str]) {
    assert_eq!(drawn(text, columns), want);
}

#[test]
fn blocks_are_a_blank_line_apart() {
    case(
        "# Title\nOne\ntwo.\n\n\nThree  \nfour.\n\n---\nlast",
        12,
        &[
            "Title",
            "",
            "One two.",
            "",
            "Three",
            "four.",
            "",
            "────────────",
            "",
            "last",
        ],
    );
    case("", 10, &[]);
}

#[test]
fn words_are_styled() {
    let italic = Style::new().add_modifier(Modifier::ITALIC);
    let lines = render("a *b **c*** `d` ~~e~~", 80, true);
    let want = Line::from(vec![
        Span::raw("a "),
        Span::styled("b ", italic),
        Span::styled("c", italic.patch(STRONG)),
        Span::raw(" "),
        Span::styled("d", CODE),
        Span::raw(" "),
        Span::styled("e", Style::new().add_modifier(Modifier::CROSSED_OUT)),
    ]);
    assert_eq!(lines, [want]);
    let want = Line::from(Span::styled("Title", heading(2)));
    assert_eq!(render("## Title", 80, true), [want]);
}

#[test]
fn inline_code_has_backticks_without_colour() {
    case("a `b` c", 20, &["a `b` c"]);
}

#[test]
fn lists_are_nested_numbered_and_ticked() {
    case(
        "Before:\n\n- one two three\n  - nested\n    more\n- last\n\nafter",
        11,
        &[
            "Before:",
            "",
            "• one two",
            "  three",
            "  • nested",
            "    more",
            "• last",
            "",
            "after",
        ],
    );
    case(
        "9. nine\n10. ten and more\n",
        10,
        &["9. nine", "10. ten", "    and", "    more"],
    );
    case(
        "- [ ] open\n- [x] done\n  - [ ] nested\n\n1. [x] numbered",
        20,
        &["☐ open", "☑ done", "  ☐ nested", "", "1. ☑ numbered"],
    );
    case(
        "- one\n\n- two\n\n  more",
        20,
        &["• one", "", "• two", "", "  more"],
    );
    case("-\n- a", 20, &["• ", "• a"]);
    case("- - deep", 20, &["• • deep"]);
    case(
        "- > quoted\n- ```\n  code\n  ```",
        20,
        &["• ▎ quoted", "", "• │ code"],
    );
}

#[test]
fn quotes_have_a_bar() {
    case(
        "> one two three\n>\n> > four\n\nafter",
        9,
        &["▎ one two", "▎ three", "▎", "▎ ▎ four", "", "after"],
    );
}

#[test]
fn code_is_broken_not_cut_and_keeps_its_spaces() {
    case(
        "```rust\nfn main() {\n    x\n}\n```\nafter",
        10,
        &[
            "│ rust",
            "│ fn main(",
            "│ ) {",
            "│     x",
            "│ }",
            "",
            "after",
        ],
    );
    case(
        "    indented\n\n    code",
        20,
        &["│ indented", "│ ", "│ code"],
    );
}

#[test]
fn incomplete_text_is_rendered() {
    case(
        "text\n\n```rust\nlet a",
        20,
        &["text", "", "│ rust", "│ let a"],
    );
    case("text\n\n```", 20, &["text"]);
    case("- one\n- **bo", 20, &["• one", "• **bo"]);
    case("| a | b |\n|---|", 20, &["| a | b | |---|"]);
}

#[test]
fn tables_fit() {
    let table = "| Name | 数 |\n|:-----|---:|\n| one | 1 |\n| a longer one | 漢字 |\n";
    case(
        table,
        40,
        &[
            "Name         │   数",
            "─────────────┼─────",
            "one          │    1",
            "a longer one │ 漢字",
        ],
    );
    case(
        table,
        14,
        &[
            "Name    │   数",
            "────────┼─────",
            "one     │    1",
            "a       │ 漢字",
            "longer  │ ",
            "one     │ ",
        ],
    );
    case(
        table,
        8,
        &["Name │", "数", "one │ 1", "a longer", "one │ 漢", "字"],
    );
}

#[test]
fn the_head_of_a_table_is_strong_and_nothing_after_it() {
    let lines = render("| a |\n|---|\n| b |\n", 20, true);
    assert_eq!(lines[0].spans[0], Span::styled("a", STRONG));
    assert_eq!(lines[2].spans[0], Span::raw("b"));
}

#[test]
fn links_show_their_target() {
    case(
        "[text](https://a.b) <https://c.d> ![](x.png) ![alt](y.png)",
        80,
        &["text (https://a.b) https://c.d x.png alt (y.png)"],
    );
}

#[test]
fn html_is_dim_text() {
    case(
        "a<br>b <b>c</b>\n\n<div>\nx\n</div>",
        20,
        &["a", "b <b>c</b>", "", "<div>", "x", "</div>"],
    );
}

#[test]
fn escape_sequences_never_reach_the_terminal() {
    let text = "\u{1b}[31mred\u{1b}[0m &#27;[2J &#x9b;x `\u{1b}]0;t\u{7}c` [l](<\u{1b}[1mu>)\n\n```\u{1b}[5m\n\u{1b}[H\u{7}x\n```\n<b \u{1b}[1m>\n";
    for line in drawn(text, 40) {
        assert!(!line.contains(char::is_control), "{line:?}");
    }
    case("\u{1b}[31mred\u{1b}[0m", 20, &["red"]);
}

#[test]
fn a_text_that_is_too_long_is_cut_with_a_note() {
    let lines = drawn(&"word ".repeat(100_000), 80);
    assert_eq!(lines.last().unwrap(), CUT);
    let shown: usize = lines.iter().map(String::len).sum();
    assert!(shown < LONGEST + 100, "{shown}");
    let lines = drawn(&"漢".repeat(LONGEST), 80);
    assert_eq!(lines.last().unwrap(), CUT);
}

#[test]
fn deep_nesting_leaves_room_for_the_text() {
    let deep = format!("{}text", "> ".repeat(10_000));
    case(&deep, 10, &["▎ ▎ text"]);
    let lines = drawn(&"- ".repeat(30_000), 10);
    assert!(!lines.is_empty());
}

proptest! {
    #[test]
    fn no_line_is_too_wide(text in markdown(), columns in 8_usize..60, colored: bool) {
        for line in render(&text, columns, colored) {
            prop_assert!(wrap::width(&line) <= columns, "{line}");
            prop_assert!(line.width() <= columns, "{line}");
            prop_assert!(!line.to_string().contains(char::is_control), "{line}");
        }
    }

    #[test]
    fn any_width_is_survived(text in markdown(), columns in 0_usize..8) {
        render(&text, columns, true);
    }
}

/// Texts with a lot of what means something in Markdown.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("    ".to_owned()),
        Just("```\n".to_owned()),
        Just("\n|---|:--:|\n".to_owned()),
        Just("漢字🎉👨‍👩‍👧‍👦e\u{301}".to_owned()),
        Just("\u{1b}[31m&#27;".to_owned()),
        "[-+*>|`#_~\\[\\]()!<&; \\t\\n0-9a-z.]{0,8}",
        "\\PC{0,12}",
        ".{0,4}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}
