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

    /// Gives the line and begins the next one.
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

/// A promise tag that begins on a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// It ends there too.
    Whole {
        /// What stands between the tags.
        body: String,
    },
    /// It continues on the next line.
    Begun {
        /// The emphasis before it, which must close after it.
        emphasis: String,
        /// What stands after the opening tag.
        body: String,
    },
}

/// The tag that begins on this line and has nothing but emphasis before it.
pub(super) fn opening(line: &str) -> Option<Opening> {
    let text = line.trim();
    let start = text.find(|c| !matches!(c, '*' | '_' | '`'))?;
    let (emphasis, rest) = text.split_at(start);
    let body = tag(rest, Slash::Without)?;
    match closing(body, emphasis) {
        Some(Some(body)) => Some(Opening::Whole {
            body: body.to_owned(),
        }),
        Some(None) => None,
        None => Some(Opening::Begun {
            emphasis: emphasis.to_owned(),
            body: body.to_owned(),
        }),
    }
}

/// Where a tag ends on a line: `Some(Some(text before))` if the end stands last on it,
/// `Some(None)` if something follows, which makes the whole tag prose.
#[allow(
    clippy::option_option,
    reason = "no end, a good end and a spoilt end are three cases of one look"
)]
pub(super) fn closing<'a>(line: &'a str, emphasis: &str) -> Option<Option<&'a str>> {
    let (before, after) = line
        .match_indices('<')
        .find_map(|(at, _)| tag(&line[at..], Slash::With).map(|after| (&line[..at], after)))?;
    let mirrored: String = emphasis.chars().rev().collect();
    Some((after.trim() == mirrored).then_some(before))
}

/// Whether a tag is an opening or a closing one.
#[derive(Clone, Copy)]
enum Slash {
    With,
    Without,
}

/// What follows a promise tag at the start of the text, in any case and spacing.
fn tag(text: &str, slash: Slash) -> Option<&str> {
    let inner = text.strip_prefix('<')?.trim_start();
    let inner = match slash {
        Slash::With => inner.strip_prefix('/')?.trim_start(),
        Slash::Without => inner,
    };
    let (word, rest) = inner.split_at_checked("promise".len())?;
    if !word.eq_ignore_ascii_case("promise") {
        return None;
    }
    rest.trim_start().strip_prefix('>')
}
