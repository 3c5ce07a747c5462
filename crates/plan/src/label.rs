//! What a heading calls its story: a number, a title, and the slug made of the title.

/// The longest slug, in characters.
const SLUG_LENGTH: usize = 40;

/// The longest text that counts as a number: `2026.11.15` does, a page of digits does not.
const NUMBER_LENGTH: usize = 16;

/// Words that may stand before the number of a group.
const GROUP_WORDS: [&str; 12] = [
    "phase",
    "stage",
    "wave",
    "milestone",
    "task",
    "step",
    "sprint",
    "part",
    "group",
    "story",
    "阶段",
    "任务",
];

/// The parts of a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// The group's number as written, such as `2` or `1.1`.
    pub number: Option<String>,
    /// The title without the number; the whole heading where nothing else is left.
    pub title: String,
}

/// Reads `2. Retry`, `2) Retry`, `Phase 2: Retry`, `Task 1.1: Retry` and plain titles.
pub(crate) fn label(heading: &str) -> Label {
    let plain = Label {
        number: None,
        title: heading.to_owned(),
    };
    let (worded, rest) = strip_group_word(heading);
    let Some((number, rest)) = split_number(rest) else {
        return plain;
    };
    let stops: &[char] = if worded {
        &['.', ':', ')', '：', '、', '-', '–', '—']
    } else {
        &['.', ':', ')', '：', '、']
    };
    let spaced = rest.trim_start();
    // `Phase 2 - Retry` has its stop after a space; `2 - Retry` is left as it is.
    let candidate = if worded { spaced } else { rest };
    let stopped = candidate.strip_prefix(stops);
    let title = stopped.unwrap_or(rest);
    let wide = candidate.starts_with(['：', '、']);
    if !(title.is_empty() || title.starts_with(char::is_whitespace) || wide) {
        return plain;
    }
    let title = title.trim();
    Label {
        number: Some(number.to_owned()),
        title: if title.is_empty() { heading } else { title }.to_owned(),
    }
}

fn strip_group_word(heading: &str) -> (bool, &str) {
    GROUP_WORDS
        .iter()
        .find_map(|word| {
            let head = heading.get(..word.len())?;
            let rest = &heading[word.len()..];
            let apart = !word.is_ascii() || rest.starts_with(char::is_whitespace);
            (head.eq_ignore_ascii_case(word) && apart).then(|| (true, rest.trim_start()))
        })
        .unwrap_or((false, heading))
}

/// Splits `1.2: rest` after the number.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = number_length(text);
    (1..=NUMBER_LENGTH)
        .contains(&end)
        .then(|| text.split_at(end))
}

/// The length of `1`, `1.2` or `1.2.3` at the start of a text; a dot only where a digit follows.
pub(crate) fn number_length(text: &str) -> usize {
    let is_of_number = |(at, c): (usize, char)| {
        let digit_follows = || text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
        c.is_ascii_digit() || (c == '.' && at > 0 && digit_follows())
    };
    let mut others = text.char_indices().filter(|it| !is_of_number(*it));
    others.next().map_or(text.len(), |(end, _)| end)
}

/// Whether a text can name folders, refs and commits as it is.
pub(crate) fn is_safe_name(text: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().all(safe)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.contains("..")
        && !text.ends_with('.')
}

/// A name made of a title that is safe in file names and commit subjects.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') && !matches!(c, '\'' | '’') {
            slug.push('-');
        }
    }
    let slug = shorten(slug.trim_end_matches('-'));
    if slug.is_empty() {
        "story".to_owned()
    } else {
        slug.to_owned()
    }
}

/// Cuts at the last whole word that fits, or hard where the word is too long for that.
fn shorten(slug: &str) -> &str {
    let Some((limit, _)) = slug.char_indices().nth(SLUG_LENGTH) else {
        return slug;
    };
    let cut = &slug[..limit];
    if slug[limit..].starts_with('-') {
        return cut;
    }
    match cut.rfind('-') {
        Some(word) if word >= limit / 2 => &cut[..word],
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn headings_come_apart_into_number_and_title() {
        #[track_caller]
        fn case(heading: &str, number: Option<&str>, title: &str) {
            let want = Label {
                number: number.map(str::to_owned),
                title: title.to_owned(),
            };
            assert_eq!(label(heading), want);
        }
        case("2. Retry", Some("2"), "Retry");
        case("2) Retry", Some("2"), "Retry");
        case("2: Retry", Some("2"), "Retry");
        case("2 Retry", Some("2"), "Retry");
        case("0. Prepare", Some("0"), "Prepare");
        case("1.1 Retry", Some("1.1"), "Retry");
        case("2、重试", Some("2"), "重试");
        case("Phase 2: Retry", Some("2"), "Retry");
        case("phase 2 — Retry", Some("2"), "Retry");
        case("Phase 2 - Retry", Some("2"), "Retry");
        case("Phase 2", Some("2"), "Phase 2");
        case("阶段 2：重试", Some("2"), "重试");
        case("Task 1.1: Retry", Some("1.1"), "Retry");
        case("2.", Some("2"), "2.");
        case("Retry", None, "Retry");
        case("2nd pass", None, "2nd pass");
        case("Phase two", None, "Phase two");
        case("Tasks", None, "Tasks");
        case("A. Retry", None, "A. Retry");
        case("", None, "");
        case("12345678901234567 Retry", None, "12345678901234567 Retry");
    }

    #[test]
    fn slugs_are_safe_names() {
        #[track_caller]
        fn case(title: &str, want: &str) {
            assert_eq!(slug(title), want);
        }
        case("Retry & back-off", "retry-back-off");
        case("  Don't / break \\ paths..", "dont-break-paths");
        case("重试 逻辑", "重试-逻辑");
        case("İstanbul", "i-stanbul");
        case("🚀", "story");
        case("", "story");
        case(
            "A title that goes on and on beyond what a name may hold",
            "a-title-that-goes-on-and-on-beyond-what",
        );
        case(&"x".repeat(60), &"x".repeat(40));
    }
}
