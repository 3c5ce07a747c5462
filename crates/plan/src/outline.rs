//! The outline of a markdown file: where lines start, which are headings, which are fenced.
//!
//! Only ATX headings and code fences; everything else in markdown is of no interest here.

use std::ops::Range;

/// One ATX heading outside code fences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// The line it stands on, from 0.
    pub line: usize,
    /// The number of hashes, 1 to 6.
    pub level: usize,
    /// The text without hashes.
    pub title: String,
}

/// Headings and fences of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outline {
    /// All headings, in order.
    pub headings: Vec<Heading>,
    /// For every line whether it is inside a code fence.
    fenced: Vec<bool>,
    /// Where every line starts, and last where the file ends.
    starts: Vec<usize>,
}

impl Outline {
    /// Reads the outline of a file.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let lines: Vec<&[u8]> = bytes
            .strip_prefix(BYTE_ORDER_MARK)
            .unwrap_or(bytes)
            .split(|byte| *byte == b'\n')
            .collect();
        let fenced = fence_mask(&lines);
        let headings = lines
            .iter()
            .enumerate()
            .filter(|(line, _)| !fenced[*line])
            .filter_map(|(line, text)| heading(line, text))
            .collect();
        Self {
            headings,
            fenced,
            starts: line_starts(bytes),
        }
    }

    /// How many lines the file has.
    pub(crate) fn lines(&self) -> usize {
        self.fenced.len()
    }

    /// Whether a line, counted from 0, is inside a code fence.
    pub(crate) fn is_fenced(&self, line: usize) -> bool {
        self.fenced.get(line).copied().unwrap_or(false)
    }

    /// The titles of the headings a line, counted from 0, stands under, the nearest first.
    pub(crate) fn around(&self, line: usize) -> impl Iterator<Item = &str> {
        let mut level = usize::MAX;
        let above = self.headings.iter().rev();
        above
            .filter(move |heading| heading.line <= line)
            .filter(move |heading| {
                let encloses = heading.level < level;
                level = level.min(heading.level);
                encloses
            })
            .map(|heading| heading.title.as_str())
    }

    /// The text of lines that are counted from 0.
    pub(crate) fn text(&self, bytes: &[u8], lines: Range<usize>) -> String {
        let start_of = |line: usize| self.starts.get(line).copied().unwrap_or(bytes.len());
        let (start, stop) = (start_of(lines.start), start_of(lines.end));
        let slice = &bytes[start.min(stop)..stop];
        String::from_utf8_lossy(slice.strip_prefix(BYTE_ORDER_MARK).unwrap_or(slice)).into_owned()
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let after_feeds = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(index, _)| index + 1);
    std::iter::once(0).chain(after_feeds).collect()
}

fn heading(line: usize, text: &[u8]) -> Option<Heading> {
    let indent = text.iter().take_while(|byte| **byte == b' ').count();
    let rest = &text[indent..];
    let level = rest.iter().take_while(|byte| **byte == b'#').count();
    let after = &rest[level..];
    let spaced = after.first().is_none_or(u8::is_ascii_whitespace);
    if indent > 3 || !(1..=6).contains(&level) || !spaced {
        return None;
    }
    let title = String::from_utf8_lossy(after);
    Some(Heading {
        line,
        level,
        title: strip_closing_hashes(title.trim()).to_owned(),
    })
}

/// `Retry ##` is `Retry`, but `C#` stays.
fn strip_closing_hashes(title: &str) -> &str {
    let bare = title.trim_end_matches('#');
    if bare.is_empty() || bare.ends_with([' ', '\t']) {
        bare.trim_end()
    } else {
        title
    }
}

/// A line of three or more backticks or tildes.
#[derive(Clone, Copy)]
struct Fence {
    marker: u8,
    length: usize,
    /// Nothing follows: the line can close a fence.
    bare: bool,
}

fn fence(line: &[u8]) -> Option<Fence> {
    let text = line.trim_ascii_start();
    let marker = *text.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let text = text.trim_ascii_end();
    let length = text.iter().take_while(|byte| **byte == marker).count();
    let info = &text[length..];
    // A run of backticks with a backtick after it is code within a sentence.
    if length < 3 || (marker == b'`' && info.contains(&b'`')) {
        return None;
    }
    Some(Fence {
        marker,
        length,
        bare: info.is_empty(),
    })
}

/// A fence may start right after a bullet; indentation never matters, lists nest.
fn opening_fence(line: &[u8]) -> Option<Fence> {
    let text = line.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let bullet = match text.get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        Some(b'.' | b')') if digits > 0 => digits + 1,
        _ => 0,
    };
    fence(line).or_else(|| {
        let item = &text[bullet..];
        (bullet > 0 && item.first().is_some_and(u8::is_ascii_whitespace))
            .then(|| fence(item))
            .flatten()
    })
}

fn fence_mask(lines: &[&[u8]]) -> Vec<bool> {
    let closers = longest_closers(lines);
    let mut mask = vec![false; lines.len()];
    let mut active: Option<Fence> = None;
    for (index, line) in lines.iter().enumerate() {
        if let Some(open) = active {
            mask[index] = true;
            if fence(line).is_some_and(|end| closes(end, open)) {
                active = None;
            }
            continue;
        }
        // An opener that never closes must not swallow the headings after it.
        active =
            opening_fence(line).filter(|open| closers[index + 1][slot(open.marker)] >= open.length);
        mask[index] = active.is_some();
    }
    mask
}

fn closes(end: Fence, open: Fence) -> bool {
    end.bare && end.marker == open.marker && end.length >= open.length
}

const fn slot(marker: u8) -> usize {
    if marker == b'`' { 0 } else { 1 }
}

/// For every line the longest closing fence at or after it, by marker.
fn longest_closers(lines: &[&[u8]]) -> Vec<[usize; 2]> {
    let mut longest = vec![[0, 0]; lines.len() + 1];
    for (index, line) in lines.iter().enumerate().rev() {
        longest[index] = longest[index + 1];
        if let Some(end) = fence(line).filter(|end| end.bare) {
            let best = &mut longest[index][slot(end.marker)];
            *best = end.length.max(*best);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use indoc::indoc;
    use pretty_assertions::assert_eq;

    use super::*;

    fn titles(text: &str) -> Vec<(usize, String)> {
        Outline::of(text.as_bytes())
            .headings
            .into_iter()
            .map(|heading| (heading.level, heading.title))
            .collect()
    }

    #[test]
    fn a_heading_needs_up_to_six_hashes_and_a_space() {
        #[track_caller]
        fn case(text: &str, want: Option<(usize, &str)>) {
            let want: Vec<_> = want
                .into_iter()
                .map(|(level, title)| (level, title.to_owned()))
                .collect();
            assert_eq!(titles(text), want, "{text:?}");
        }
        case("## 1. Setup", Some((2, "1. Setup")));
        case("   ### Deep ###  ", Some((3, "Deep")));
        case("    ## code", None);
        case("##Setup", None);
        case("####### seven", None);
        case("##", Some((2, "")));
        case("## C#", Some((2, "C#")));
        case("\u{feff}# Tasks\r", Some((1, "Tasks")));
        case("##\tTab", Some((2, "Tab")));
    }

    #[test]
    fn fences_hide_headings() {
        let text = indoc! {"
            # A
            ```md
            # no
            ~~~
            # no
            ```
            - ~~~~
              # no
              ~~~
              # no
              ~~~~
            # B
            ```inline``` text
            # C
        "};
        assert_eq!(
            titles(text),
            [
                (1, "A".to_owned()),
                (1, "B".to_owned()),
                (1, "C".to_owned())
            ]
        );
    }

    #[test]
    fn a_fence_that_never_closes_hides_nothing() {
        assert_eq!(titles("```\n# A\n~~~~\n~~~\n# B\n").len(), 2);
    }
}
