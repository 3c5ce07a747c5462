//! Git's own matching of a pattern and a path: one star stops at a slash, two may pass it.

/// What came of a comparison. The last two say that no longer match of a star can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It matches.
    Match,
    /// It does not, as things stand.
    Differs,
    /// It does not, and no star before can change that.
    Never,
    /// It does not, and only two stars before can change that.
    OnlyAcrossFolders,
}

/// Matches a whole text.
pub(super) fn wildmatch(pattern: &[u8], text: &[u8]) -> Outcome {
    let (mut p, mut t) = (0, 0);
    while let Some(&wanted) = pattern.get(p) {
        let present = text.get(t).copied();
        if present.is_none() && wanted != b'*' {
            return Outcome::Never;
        }
        match wanted {
            b'*' => return star(pattern, p, &text[t..]),
            b'?' if present == Some(b'/') => return Outcome::Differs,
            b'?' => {}
            b'[' => match class(&pattern[p + 1..], present.unwrap_or_default()) {
                None => return Outcome::Never,
                Some((false, _)) => return Outcome::Differs,
                Some((true, length)) => p += length,
            },
            b'\\' => {
                p += 1;
                if pattern.get(p).copied() != present {
                    return Outcome::Differs;
                }
            }
            _ if Some(wanted) != present => return Outcome::Differs,
            _ => {}
        }
        p += 1;
        t += 1;
    }
    if t == text.len() {
        Outcome::Match
    } else {
        Outcome::Differs
    }
}

/// Matches from a star on.
fn star(pattern: &[u8], at: usize, text: &[u8]) -> Outcome {
    let stars = pattern[at..].iter().take_while(|byte| **byte == b'*');
    let count = stars.count();
    let rest = &pattern[at + count..];
    let is_alone = (at == 0 || pattern[at - 1] == b'/')
        && (rest.is_empty() || rest.starts_with(b"/") || rest.starts_with(b"\\/"));
    let passes_slashes = count > 1 && is_alone;
    // Two stars between slashes may stand for no folder at all.
    if passes_slashes
        && let Some(after) = rest.strip_prefix(b"/")
        && wildmatch(after, text) == Outcome::Match
    {
        return Outcome::Match;
    }
    if rest.is_empty() {
        return if passes_slashes || !text.contains(&b'/') {
            Outcome::Match
        } else {
            Outcome::OnlyAcrossFolders
        };
    }
    if !passes_slashes && rest.starts_with(b"/") {
        let slash = text.iter().position(|byte| *byte == b'/');
        return slash.map_or(Outcome::Never, |slash| wildmatch(rest, &text[slash..]));
    }
    for start in 0..text.len() {
        match wildmatch(rest, &text[start..]) {
            Outcome::Differs if !passes_slashes && text[start] == b'/' => {
                return Outcome::OnlyAcrossFolders;
            }
            Outcome::Differs => {}
            Outcome::OnlyAcrossFolders if passes_slashes => {}
            other => return other,
        }
    }
    Outcome::Never
}

/// Matches one byte with what follows a `[`: whether it is in the class, and how long that is.
/// None where the class does not end.
fn class(pattern: &[u8], byte: u8) -> Option<(bool, usize)> {
    let is_negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let first = usize::from(is_negated);
    let mut at = first;
    let mut is_in = false;
    let mut before = None;
    loop {
        let mut here = *pattern.get(at)?;
        if here == b']' && at > first {
            break;
        }
        if here == b'-'
            && let Some(from) = before
            && pattern.get(at + 1).is_some_and(|end| *end != b']')
        {
            at += 1;
            if pattern[at] == b'\\' {
                at += 1;
            }
            is_in |= (from..=*pattern.get(at)?).contains(&byte);
            before = None;
        } else {
            if here == b'\\' {
                at += 1;
                here = *pattern.get(at)?;
            }
            is_in |= here == byte;
            before = Some(here);
        }
        at += 1;
    }
    Some((is_in != is_negated && byte != b'/', at + 1))
}
