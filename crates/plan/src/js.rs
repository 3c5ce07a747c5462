//! What `JavaScript` calls white space and a line end.
//!
//! `OpenSpec` reads its files with `JavaScript` patterns; counting as it counts needs its idea of
//! `\s`, `trim` and `.`. Nothing else belongs here.

/// Whether `\s` matches the character: unlike Rust's notion with U+FEFF and without U+0085.
pub(crate) const fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// Whether `.` stops at the character.
pub(crate) const fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// `String.prototype.trim`.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `String.prototype.trimStart`.
pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// `String.prototype.trimEnd`.
pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_differs_from_rust_in_exactly_two_characters() {
        let different: Vec<char> = ('\0'..=char::MAX)
            .filter(|c| is_space(*c) != c.is_whitespace())
            .collect();
        assert_eq!(different, ['\u{85}', '\u{feff}']);
    }

    #[test]
    fn trims_the_byte_order_mark_and_keeps_next_line() {
        assert_eq!(trim("\u{feff} a\u{85}\u{a0}"), "a\u{85}");
    }
}
