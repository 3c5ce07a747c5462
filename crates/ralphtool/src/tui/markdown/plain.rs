//! The last words of a Markdown text, without its marks.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::ui::text::clean;

/// How much of a text is read.
const ENOUGH: usize = 8 * 1024;

/// The last line of a text, without the marks of Markdown; tables and code are left out, unless there
/// is nothing else.
pub(crate) fn last_words(text: &str) -> Option<String> {
    let mut last = None;
    let mut block = String::new();
    let mut skipped = 0_usize;
    let mut end_block = |block: &mut String| {
        let words = clean(std::mem::take(block).trim());
        if words.chars().any(char::is_alphanumeric) {
            last = Some(words);
        }
    };
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    for event in Parser::new_ext(end_of(text), options) {
        match event {
            Event::Start(Tag::Table(_) | Tag::CodeBlock(_)) => {
                end_block(&mut block);
                skipped += 1;
            }
            Event::End(TagEnd::Table | TagEnd::CodeBlock) => skipped = skipped.saturating_sub(1),
            _ if skipped > 0 => {}
            Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Item)
            | Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) => {
                end_block(&mut block);
            }
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                block.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak => end_block(&mut block),
            _ => {}
        }
    }
    end_block(&mut block);
    last.or_else(|| last_line(text))
}

/// The end of a text, which is enough for its last line.
fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(ENOUGH);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    match text[start..].find('\n') {
        Some(end) if start > 0 => &text[start + end..],
        _ => &text[start..],
    }
}

/// The last line with a word in it.
fn last_line(text: &str) -> Option<String> {
    let mut lines = text.lines().rev();
    let line = lines.find(|line| line.chars().any(char::is_alphanumeric))?;
    Some(clean(line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[track_caller]
    fn case(text: &str, want: Option<&str>) {
        assert_eq!(last_words(text).as_deref(), want);
    }

    #[test]
    fn marks_are_left_out() {
        case("# All **done**", Some("All done"));
        case("I read `a.rs` and\n[the docs](x).", Some("the docs."));
        case("First:\n\n- one\n- *two*\n", Some("two"));
    }

    #[test]
    fn tables_and_code_are_left_out() {
        case(
            "Times:\n\n| n | time |\n| - | - |\n| 2 | 2s |\n",
            Some("Times:"),
        );
        case("Now this:\n```\nlet a = 1;\n```", Some("Now this:"));
        case("| 2 | 2s |", Some("| 2 | 2s |"));
        case("```\nlet a = 1;\n```", Some("let a = 1;"));
        case("---\n", None);
    }
}
