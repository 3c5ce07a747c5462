//! Escapes foreign text for our Markdown: it cannot be markup or a reference, and mentions no user.

use crate::ui::text::clean_lines;

/// Invisible, and enough to make `@name` and `#1` mean nothing: hosts look for them in the text
/// that is shown, so that escaping the character alone would not help.
const BREAK: char = '\u{200b}';

/// One line of foreign text, with at most `most` characters.
pub(super) fn inline(text: &str, most: usize) -> String {
    let line = clean_lines(text).join(" ");
    let mut escaped = String::with_capacity(line.len() + 16);
    let mut before = [' '; 2];
    for (count, c) in line.chars().enumerate() {
        if count == most {
            escaped.push('…');
            break;
        }
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '@' | '#' => {
                escaped.push(c);
                escaped.push(BREAK);
            }
            // `GH-1` is a reference, and so is the address of an issue.
            '-' if is_gh(before) => {
                escaped.push(BREAK);
                escaped.push(c);
            }
            '/' if before[1] == ':' => {
                escaped.push(BREAK);
                escaped.push(c);
            }
            c => escaped.push(c),
        }
        before = [before[1], c];
    }
    escaped
}

/// One line inside of HTML tags, where Markdown means nothing.
pub(super) fn in_html(text: &str, most: usize) -> String {
    let line = clean_lines(text).join(" ");
    let shown: String = line.chars().take(most).collect();
    let escaped = shown
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    escaped
        .replace('@', &format!("@{BREAK}"))
        .replace('#', &format!("#{BREAK}"))
}

const fn is_gh(before: [char; 2]) -> bool {
    before[0].eq_ignore_ascii_case(&'g') && before[1].eq_ignore_ascii_case(&'h')
}

/// Lines of foreign text as a block of code, at most `most` characters of it. Nothing in such a
/// block means anything, as long as it cannot end it.
pub(super) fn fenced(text: &str, most: usize) -> String {
    let all = clean_lines(text).join("\n");
    let mut shown: String = all.chars().take(most).collect();
    if shown.len() < all.len() {
        shown.push_str("\n…");
    }
    let runs = shown.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}text\n{shown}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn text_stays_text_in_a_line() {
        #[track_caller]
        fn case(text: &str, want: &str) {
            assert_eq!(inline(text, 100).replace(BREAK, "␣"), want);
        }
        case("a | b", "a \\| b");
        case("`x` *y* _z_", "\\`x\\` \\*y\\* \\_z\\_");
        case("<img src=x> & co", "&lt;img src=x&gt; &amp; co");
        case("one\ntwo\u{1b}[31m", "one two");
        case("by @octocat", "by @␣octocat");
        case(
            "closes #12, o/r#3 and gh-4",
            "closes #␣12, o/r#␣3 and gh␣-4",
        );
        case(
            "https://github.com/o/r/issues/1",
            "https:␣//github.com/o/r/issues/1",
        );
        case("[a](b) ![c](d) $x$", "\\[a\\](b) \\!\\[c\\](d) \\$x\\$");
        assert_eq!(inline("äöüß", 3), "äöü…");
    }

    #[test]
    fn text_stays_text_in_a_tag() {
        let text = in_html("2_a </summary> @me", 100).replace(BREAK, "␣");
        assert_eq!(text, "2_a &lt;/summary&gt; @␣me");
    }

    #[test]
    fn a_block_cannot_be_ended_from_within() {
        assert_eq!(fenced("a\nb", 100), "```text\na\nb\n```\n");
        assert_eq!(
            fenced("x\n```\n</details>", 100),
            "````text\nx\n```\n</details>\n````\n"
        );
        assert_eq!(fenced("abcdef", 3), "```text\nabc\n…\n```\n");
    }
}
