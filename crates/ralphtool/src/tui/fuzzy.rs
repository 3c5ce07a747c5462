//! A fuzzy filter of names.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::style::Style;
use ratatui::text::Line;

use super::wrap::{self, Row};

/// The names that match, best first, then in their order: the index of each, and which of its
/// characters matched, in rising order. An empty needle matches all names, in their order.
///
/// The characters are graphemes of the name, as [`wrap::graphemes`] has them.
pub(crate) fn matches<T: AsRef<str>>(needle: &str, names: &[T]) -> Vec<(usize, Vec<u32>)> {
    if needle.trim().is_empty() {
        return (0..names.len()).map(|index| (index, Vec::new())).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(needle, CaseMatching::Smart, Normalization::Smart);
    let mut found: Vec<(u32, usize, Vec<u32>)> = Vec::new();
    let mut buffer = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let mut positions = Vec::new();
        let name = characters(name.as_ref(), &mut buffer);
        if let Some(score) = pattern.indices(name, &mut matcher, &mut positions) {
            positions.sort_unstable();
            positions.dedup();
            found.push((score, index, positions));
        }
    }
    found.sort_unstable_by_key(|(score, index, _)| (std::cmp::Reverse(*score), *index));
    let found = found.into_iter().map(|(_, index, at)| (index, at));
    found.collect()
}

/// A name with the characters that matched in a style of their own.
pub(crate) fn highlighted(name: &str, matched: &[u32], style: Style) -> Line<'static> {
    let mut row = Row::default();
    for (index, text) in (0_u32..).zip(wrap::graphemes(name)) {
        let has_matched = matched.contains(&index);
        row.push(text, if has_matched { style } else { Style::new() });
    }
    Line::from(row.spans)
}

/// A name as the matcher wants it: the first code point of each grapheme.
///
/// `Utf32Str::new` counts in bytes where a name has marks on ASCII letters alone.
fn characters<'a>(name: &'a str, buffer: &'a mut Vec<char>) -> Utf32Str<'a> {
    if name.is_ascii() {
        return Utf32Str::Ascii(name.as_bytes());
    }
    buffer.clear();
    buffer.extend(wrap::graphemes(name).filter_map(|it| it.chars().next()));
    Utf32Str::Unicode(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn names(needle: &str, names: &[&'static str]) -> Vec<&'static str> {
        let found = matches(needle, names).into_iter();
        found.map(|(index, _)| names[index]).collect()
    }

    #[test]
    fn an_empty_needle_keeps_all_names_in_order() {
        assert_eq!(names("", &["b", "a"]), ["b", "a"]);
        assert_eq!(names("  ", &["b", "a"]), ["b", "a"]);
    }

    #[test]
    fn the_best_matches_come_first() {
        let all = ["remove-login-page", "add-user-login", "login", "theme"];
        assert_eq!(names("login", &all)[0], "login");
        assert_eq!(names("login", &all).len(), 3);
        assert_eq!(names("aul", &all), ["add-user-login"]);
        assert_eq!(names("user add", &all), ["add-user-login"]);
        assert_eq!(names("zzz", &all), Vec::<&str>::new());
    }

    #[test]
    fn equal_matches_keep_their_order() {
        assert_eq!(names("x", &["x1", "x2", "x3"]), ["x1", "x2", "x3"]);
    }

    #[test]
    fn says_which_characters_matched() {
        assert_eq!(matches("ds", &["add-scroll"]), [(0, vec![2, 4])]);
        assert_eq!(matches("字", &["漢字"]), [(0, vec![1])]);
        assert_eq!(matches("b", &["e\u{301}b"]), [(0, vec![1])]);
    }

    #[test]
    fn matched_characters_are_highlighted() {
        use ratatui::style::Stylize;
        let want = Line::from(vec!["e\u{301}".into(), "bc".bold(), "d".into()]);
        let style = Style::new().bold();
        assert_eq!(highlighted("e\u{301}bcd", &[1, 2], style), want);
    }
}
