//! Patterns of code, as small as tables need them: `*` is the rest of a word, `$` is a word that is
//! taken, a blank is any space. What begins or ends with a word begins or ends at a word's border.

use super::code::is_word;

/// Where a pattern was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// Where it begins.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// Where the word that is taken begins and ends.
    pub(super) word: (usize, usize),
}

/// Everything a pattern matches.
pub(super) fn hits<'a>(bytes: &'a [u8], pattern: &'a str) -> impl Iterator<Item = Hit> + 'a {
    let first = pattern.as_bytes().first().copied();
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < bytes.len() {
            let at = next;
            next += 1;
            let may_begin = match first {
                Some(b'$') => is_word(bytes[at]) && (at == 0 || !is_word(bytes[at - 1])),
                first => first == Some(bytes[at]),
            };
            if may_begin && let Some(hit) = hit_at(bytes, at, pattern.as_bytes()) {
                next = hit.end.max(at + 1);
                return Some(hit);
            }
        }
        None
    })
}

/// How often any of the patterns matches.
pub(super) fn count(bytes: &[u8], patterns: &[&str]) -> usize {
    patterns
        .iter()
        .map(|pattern| hits(bytes, pattern).count())
        .sum()
}

fn hit_at(bytes: &[u8], start: usize, pattern: &[u8]) -> Option<Hit> {
    if start > 0 && is_word(*pattern.first()?) && is_word(bytes[start - 1]) {
        return None;
    }
    let mut at = start;
    let mut word = (start, start);
    for (place, sign) in pattern.iter().enumerate() {
        match sign {
            b' ' => {
                let from = at;
                at = skip_space(bytes, at);
                let before = place.checked_sub(1).map(|before| pattern[before]);
                let after = pattern.get(place + 1).copied();
                let is_between_words = before.is_some_and(is_word)
                    && after.is_some_and(|sign| is_word(sign) || sign == b'$');
                if is_between_words && at == from {
                    return None;
                }
            }
            b'*' => at = skip_word(bytes, at),
            b'$' => {
                let end = skip_word(bytes, at);
                if end == at {
                    return None;
                }
                word = (at, end);
                at = end;
            }
            sign if bytes.get(at) == Some(sign) => at += 1,
            _ => return None,
        }
    }
    let ends_in_word = pattern.last().is_some_and(|sign| is_word(*sign));
    if ends_in_word && bytes.get(at).is_some_and(|byte| is_word(*byte)) {
        return None;
    }
    Some(Hit {
        start,
        end: at,
        word,
    })
}

/// The first place that is no space.
pub(super) fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
}

/// The first place that is not of the word.
pub(super) fn skip_word(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| is_word(**byte)).count()
}

/// The place after the bracket that closes the one at `from`; the end where none does.
pub(super) fn skip_group(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_pattern_keeps_to_the_borders_of_words() {
        #[track_caller]
        fn case(pattern: &str, text: &str, want: &[&str]) {
            let found: Vec<&str> = hits(text.as_bytes(), pattern)
                .map(|hit| &text[hit.start..hit.end])
                .collect();
            assert_eq!(found, want, "{pattern}");
        }
        case(
            "assert*",
            "assert_eq!(a); reassert(b); assert!(c)",
            &["assert_eq", "assert"],
        );
        case("def $ (", "def test_x (): undef x(", &["def test_x ("]);
        case("def $", "defx", &[]);
        case(
            "t.Skip*(",
            "t.Skip(\"x\"); st.Skip(); t.Skipf()",
            &["t.Skip(", "t.Skipf("],
        );
        case("skip", "skip skipped :skip", &["skip", "skip"]);
        case("Skip = \"", "[Fact(Skip=\"\")] x.Skip = 1", &["Skip=\""]);
    }

    #[test]
    fn a_group_ends_where_its_bracket_is_closed() {
        assert_eq!(skip_group(b"(a(b)[c]) d", 0), 9);
        assert_eq!(skip_group(b"(a", 0), 2);
    }
}
