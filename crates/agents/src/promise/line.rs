//! One line of an agent's text: is it a fence, does a promise tag begin or end on it.

use super::REASON_CAP;

/// How much of a line's start is kept.
const HEAD_CAP: usize = REASON_CAP + 256;
/// How much of a line's end is kept beyond its start; enough for a closing tag.
const TAIL_CAP: usize = 64;
/// A line that is not longer is kept whole.
pub(super) const WHOLE_CAP: usize = HEAD_CAP;

/// The current line in bounded memory: its start, and its very end.
#[derive(Debug, Clone, Default)]
pub(super) struct LineBuffer {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl LineBuffer {
    /// Adds a piece of the line.
    pub(super) fn push(&mut self, piece: &str) {
        let bytes = piece.as_bytes();
        let room = HEAD_CAP.saturating_sub(self.head.len()).min(bytes.len());
        let (start, rest) = bytes.split_at(room);
        self.head.extend_from_slice(start);
        // Only the last bytes can matter; this keeps a huge piece from being copied.
        let rest = &rest[rest.len().saturating_sub(TAIL_CAP)..];
        self.tail.extend_from_slice(rest);
        let excess = self.tail.len().saturating_sub(TAIL_CAP);
        self.tail.drain(..excess);
    }

    /// True where nothing of the line was there yet.
    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Returns the line and begins the next one.
    pub(super) fn take(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.head);
        bytes.append(&mut self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// An open code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence a line opens, also as the first line of a list item.
    pub(crate) fn opened_by(line: &str) -> Option<Self> {
        // Nearly no line has either, and that is quickly seen.
        memchr::memchr2(b'`', b'~', line.as_bytes())?;
        let text = without_bullets(line);
        let mark = text
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let length = run_length(text, mark);
        let info = text.get(length..).unwrap_or_default();
        // Backticks after backticks are inline code, not a fence.
        let inline = mark == '`' && info.contains('`');
        (length >= 3 && !inline).then_some(Self { mark, length })
    }

    /// True if the line ends this fence.
    pub(crate) fn closed_by(self, line: &str) -> bool {
        let text = line.trim();
        let length = run_length(text, self.mark);
        length >= self.length && length == text.len()
    }

    /// The line that ends this fence.
    pub(crate) fn closing_line(self) -> String {
        self.mark.to_string().repeat(self.length)
    }
}

fn run_length(text: &str, mark: char) -> usize {
    text.chars().take_while(|c| *c == mark).count()
}

fn without_bullets(line: &str) -> &str {
    let mut text = line.trim_start();
    loop {
        let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = if digits.len() < text.len() {
            digits.strip_prefix(['.', ')'])
        } else {
            text.strip_prefix(['-', '*', '+'])
        };
        match rest {
            Some(rest) if rest.starts_with([' ', '\t']) => text = rest.trim_start(),
            _ => return text,
        }
    }
}

/// The emphasis before a promise tag that begins on this line, and what follows the tag.
pub(super) fn opening(line: &str) -> Option<(&str, &str)> {
    let text = line.trim();
    let start = text.find(|c| !matches!(c, '*' | '_' | '`'))?;
    let (emphasis, rest) = text.split_at(start);
    Some((emphasis, tag(rest, "")?))
}

/// How a tag ends on a line.
pub(super) enum TagEnd<'a> {
    /// Not on this line.
    Missing,
    /// Last on the line, after this text.
    After(&'a str),
    /// With something behind it, which makes the whole tag prose.
    Spoilt,
}

/// Where a tag with this emphasis before it ends.
pub(super) fn closing<'a>(line: &'a str, emphasis: &str) -> TagEnd<'a> {
    let mut places = line.match_indices('<').map(|(at, _)| line.split_at(at));
    let end = places.find_map(|(before, end)| Some((before, tag(end, "/")?)));
    match end {
        Some((before, after)) if after.trim().chars().eq(emphasis.chars().rev()) => {
            TagEnd::After(before)
        }
        Some(_) => TagEnd::Spoilt,
        None => TagEnd::Missing,
    }
}

/// What follows a promise tag at the start of the text, in any case and spacing.
fn tag<'a>(text: &'a str, slash: &str) -> Option<&'a str> {
    let inner = text.strip_prefix('<')?.trim_start();
    let inner = inner.strip_prefix(slash)?.trim_start();
    let (word, rest) = inner.split_at_checked("promise".len())?;
    if !word.eq_ignore_ascii_case("promise") {
        return None;
    }
    rest.trim_start().strip_prefix('>')
}
