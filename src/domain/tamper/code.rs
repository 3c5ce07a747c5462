//! Source code with its comments and the insides of its strings blanked out, so that a word that is
//! found in it is really code. Every byte stays where it was.
//!
//! It is no parser: what it misreads, it misreads before and after an attempt alike.

/// How a language writes comments and strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Syntax {
    /// What begins a comment to the end of the line.
    pub(super) line_comments: &'static [&'static str],
    /// They only begin one behind a blank: `${name#start}` of a shell is none.
    pub(super) is_spaced: bool,
    /// What begins and ends a longer comment.
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// Longer comments are nested.
    pub(super) nested: bool,
    /// What begins and ends a string, the longest first.
    pub(super) strings: &'static [Quote],
    /// A single quote also begins a lifetime, and strings may have fences: `r#"…"#`.
    pub(super) is_rust: bool,
}

/// How a string begins and ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quote {
    /// On both sides of it.
    pub(super) mark: &'static str,
    /// It may go over several lines.
    pub(super) multiline: bool,
    /// A backslash takes the meaning from what follows.
    pub(super) escapes: bool,
}

/// Code with the same length as the text it was made of.
#[derive(Debug)]
pub(super) struct Code<'a> {
    /// As written.
    pub(super) text: &'a str,
    /// With blanks for comments and for what is inside of strings.
    pub(super) bare: Vec<u8>,
}

impl<'a> Code<'a> {
    /// Reads a text.
    pub(super) fn new(text: &'a str, syntax: &Syntax) -> Self {
        let mut reader = Reader {
            text: text.as_bytes(),
            bare: text.as_bytes().to_vec(),
            at: 0,
        };
        while reader.at < reader.text.len() {
            reader.step(syntax);
        }
        Self {
            text,
            bare: reader.bare,
        }
    }

    /// The text of a part, as written.
    pub(super) fn written(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// How much is left of a part without blanks and comments.
    pub(super) fn weight(&self, from: usize, to: usize) -> usize {
        let part = self.bare.get(from..to).unwrap_or_default();
        part.iter()
            .filter(|byte| !byte.is_ascii_whitespace())
            .count()
    }
}

/// Stands for a byte inside of a string.
const INSIDE: u8 = 0x1f;

struct Reader<'a> {
    text: &'a [u8],
    bare: Vec<u8>,
    at: usize,
}

impl Reader<'_> {
    fn step(&mut self, syntax: &Syntax) {
        let rest = &self.text[self.at..];
        let before = self.at.checked_sub(1).map(|at| self.text[at]);
        let is_behind_blank = before.is_none_or(|byte| byte.is_ascii_whitespace() || byte == b';');
        if let Some(mark) = starts_with_any(rest, syntax.line_comments)
            && (is_behind_blank || !syntax.is_spaced)
        {
            // PHP writes attributes like comments.
            if !(mark == "#" && rest.starts_with(b"#[") && syntax.block_comment.is_some()) {
                let end = find(rest, b"\n").unwrap_or(rest.len());
                return self.blank(end, b' ');
            }
        }
        if let Some((open, close)) = syntax.block_comment
            && rest.starts_with(open.as_bytes())
        {
            let end = block_end(rest, open.as_bytes(), close.as_bytes(), syntax.nested);
            return self.blank(end, b' ');
        }
        if syntax.is_rust && self.rust_special() {
            return;
        }
        let quote = syntax
            .strings
            .iter()
            .find(|quote| rest.starts_with(quote.mark.as_bytes()));
        match quote {
            Some(quote) => self.string(*quote),
            None => self.at += 1,
        }
    }

    fn string(&mut self, quote: Quote) {
        let mark = quote.mark.as_bytes();
        self.at += mark.len();
        let start = self.at;
        let mut end = start;
        while end < self.text.len() {
            let rest = &self.text[end..];
            if rest.starts_with(mark) || (!quote.multiline && rest[0] == b'\n') {
                break;
            }
            end += if quote.escapes && rest[0] == b'\\' {
                2
            } else {
                1
            };
        }
        let end = end.min(self.text.len());
        self.blank(end - start, INSIDE);
        if self.text[self.at..].starts_with(mark) {
            self.at += mark.len();
        }
    }

    /// Raw strings, characters and lifetimes.
    fn rust_special(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let is_word_before = self.at > 0 && is_word(self.text[self.at - 1]);
        if !is_word_before && (rest[0] == b'r' || rest.starts_with(b"br")) {
            let head = if rest[0] == b'b' { 2 } else { 1 };
            let fences = rest[head..]
                .iter()
                .take_while(|byte| **byte == b'#')
                .count();
            if rest.get(head + fences) == Some(&b'"') {
                let close = [b"\"".as_slice(), &vec![b'#'; fences]].concat();
                let start = head + fences + 1;
                let end = find(&rest[start..], &close).map_or(rest.len(), |end| start + end);
                let whole = (end + close.len()).min(rest.len());
                self.at += start;
                self.blank(end - start, INSIDE);
                self.at += whole - end;
                return true;
            }
        }
        if rest[0] == b'\'' {
            let closed = match rest {
                [_, b'\\', _, tail @ ..] => {
                    find(&tail[..tail.len().min(8)], b"'").map(|end| end + 4)
                }
                _ => find(&rest[1..rest.len().min(6)], b"'")
                    .filter(|end| {
                        std::str::from_utf8(&rest[1..=*end])
                            .is_ok_and(|inside| inside.chars().count() == 1)
                    })
                    .map(|end| end + 2),
            };
            match closed {
                Some(length) => self.blank(length, INSIDE),
                None => self.at += 1,
            }
            return true;
        }
        false
    }

    fn blank(&mut self, length: usize, with: u8) {
        let end = (self.at + length).min(self.bare.len());
        for byte in &mut self.bare[self.at..end] {
            if *byte != b'\n' {
                *byte = with;
            }
        }
        self.at = end;
    }
}

/// True for what a word is made of.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Where a sequence of bytes stands.
pub(super) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len().max(1))
        .position(|window| window == wanted)
}

fn starts_with_any(bytes: &[u8], starts: &'static [&'static str]) -> Option<&'static str> {
    let mut starts = starts.iter();
    starts
        .find(|start| bytes.starts_with(start.as_bytes()))
        .copied()
}

fn block_end(bytes: &[u8], open: &[u8], close: &[u8], nested: bool) -> usize {
    let mut depth = 1;
    let mut at = open.len();
    while at < bytes.len() {
        if bytes[at..].starts_with(close) {
            at += close.len();
            depth -= 1;
            if depth == 0 {
                return at;
            }
        } else if nested && bytes[at..].starts_with(open) {
            at += open.len();
            depth += 1;
        } else {
            at += 1;
        }
    }
    bytes.len()
}
