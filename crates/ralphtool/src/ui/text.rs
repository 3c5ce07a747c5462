//! Text that came from elsewhere, made fit for a terminal: cleaned, cut, wrapped.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Removes escape sequences, control characters and direction overrides from one line.
///
/// What an agent or a tool prints must not move the cursor, recolour the screen, set the
/// title or hide what a line says.
pub(crate) fn clean(line: &str) -> String {
    let mut cleaned = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\t' => cleaned.push_str("    "),
            '\n' | '\r' => cleaned.push(' '),
            _ if c.is_control() || is_direction_override(c) => {}
            _ => cleaned.push(c),
        }
    }
    cleaned
}

/// The lines of a text, each cleaned, without blank ones at either end.
pub(crate) fn clean_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| clean(line).trim_end().to_owned())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| line.is_empty()).count();
    lines.split_off(blank)
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Skips what follows an escape character.
fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            chars.next();
        }
        Some(_) | None => {}
    }
}

/// Skips parameters and the final character of a control sequence.
fn skip_control_sequence(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips to the end of an operating-system command or similar: BEL or ESC \.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

fn is_direction_override(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts a text to a number of columns, with `…` where something is missing.
pub(crate) fn truncate(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else {
        return String::new();
    };
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// Fills a text with spaces up to a number of columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Breaks a line between words, or inside a word that is too long, keeping its indentation.
pub(crate) fn wrap(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    if line.width() <= columns {
        return vec![line.to_owned()];
    }
    let spaces = line.len() - line.trim_start_matches(' ').len();
    let indent = " ".repeat(spaces.min(columns / 2));
    let mut lines = Vec::new();
    let mut current = indent.clone();
    for word in line.split_whitespace() {
        let fresh = current.len() == indent.len();
        let gap = usize::from(!fresh);
        if current.width() + gap + word.width() > columns && !fresh {
            lines.push(std::mem::replace(&mut current, indent.clone()));
        } else if !fresh {
            current.push(' ');
        }
        for c in word.chars() {
            if current.width() + c.width().unwrap_or(0) > columns {
                lines.push(std::mem::replace(&mut current, indent.clone()));
            }
            current.push(c);
        }
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_cleaned_line_cannot_move_the_cursor() {
        #[track_caller]
        fn case(line: &str, want: &str) {
            assert_eq!(clean(line), want);
        }
        case("plain", "plain");
        case("\u{1b}[31mred\u{1b}[0m", "red");
        case("\u{1b}[2J\u{1b}[Hgone", "gone");
        case("\u{1b}]0;title\u{7}text", "text");
        case("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
        case("\u{1b}(Bset", "set");
        case("\u{1b}cfull reset", "full reset");
        case("\u{9b}31mc1", "c1");
        case("over\rwrite\u{8}\u{7f}", "over write");
        case("a\tb", "a    b");
        case("nul\0", "nul");
        case("\u{202e}evil\u{202c}", "evil");
        case("cut \u{1b}[", "cut ");
        case("cut \u{1b}", "cut ");
        case("漢字 é 🎉", "漢字 é 🎉");
    }

    #[test]
    fn lines_lose_blanks_at_the_ends_only() {
        assert_eq!(clean_lines("\n\na\n\nb  \r\n\n"), ["a", "", "b"]);
        assert_eq!(clean_lines("\n"), Vec::<String>::new());
    }

    #[test]
    fn cuts_by_columns_not_characters() {
        assert_eq!(truncate("hello", 5), "hello");
        assert_eq!(truncate("hello", 4), "hel…");
        assert_eq!(truncate("漢字漢字", 5), "漢字…");
        assert_eq!(truncate("漢字漢字", 4), "漢…");
        assert_eq!(truncate("hello", 0), "");
        assert_eq!(pad("漢", 4), "漢  ");
    }

    #[test]
    fn wraps_between_words_and_keeps_the_indentation() {
        assert_eq!(wrap("short", 10), ["short"]);
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(wrap("0123456789ab cd", 8), ["01234567", "89ab cd"]);
    }
}
