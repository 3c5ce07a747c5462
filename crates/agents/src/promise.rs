//! The promise: the agent's closing word, found in its own text. COMPLETE, FAILED with a reason, or
//! BLOCKED with a question.
//!
//! A promise tag stands alone on its line. Space around it and markdown emphasis or backticks
//! around the whole tag are forgiven; prose, list items, block quotes and code fences are not.
//! As in `CommonMark`, a fence that is never closed covers the rest of the text, except its last
//! line: models often lose count of fences, and a closing word is meant. The last
//! promise wins. A FAILED or BLOCKED tag whose end never came (a text cut short) still counts:
//! ignoring it would let an earlier COMPLETE stand.

mod line;

use super::agent_event::start_of;
pub use line::Fence;
use line::{LineBuffer, TagEnd, WHOLE_CAP, closing, opening};

/// How much of a reason or a question is kept, in bytes.
pub(crate) const REASON_CAP: usize = 8 * 1024;

/// The last line of one that was longer than that.
const CUT: &str = "\n… (cut: the whole text is in the transcript)";

/// What an agent says of its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// Everything asked for is done.
    Complete,
    /// It is not, for this reason (may be empty).
    Failed(String),
    /// The agent cannot continue before this question is answered (may be empty).
    Blocked(String),
}

/// Finds the promise in a text that arrives in pieces, in constant memory.
#[derive(Debug, Clone, Default)]
pub struct PromiseScanner {
    line: LineBuffer,
    fence: Option<Fence>,
    /// The tags outside of fences.
    tags: Tags,
    /// The tag that ends on the last line with text so far, inside a fence or not.
    last: Tags,
}

/// Follows promise tags from line to line.
#[derive(Debug, Clone, Default)]
struct Tags {
    open: Option<OpenTag>,
    /// The last promise whose tag has ended.
    found: Option<Promise>,
}

impl Tags {
    fn read_line(&mut self, line: &str) {
        if let Some((emphasis, rest)) = opening(line) {
            match closing(rest, emphasis) {
                TagEnd::After(body) => {
                    self.open = None;
                    return self.settle(body);
                }
                TagEnd::Missing => {
                    self.open = Some(OpenTag {
                        emphasis: emphasis.to_owned(),
                        body: rest.to_owned(),
                    });
                    return;
                }
                TagEnd::Spoilt => {}
            }
        }
        self.continue_tag(line);
    }

    /// Adds a line to the open tag; true if it ends there.
    fn continue_tag(&mut self, line: &str) -> bool {
        let Some(mut tag) = self.open.take() else {
            return false;
        };
        match closing(line, &tag.emphasis) {
            TagEnd::After(rest) => {
                append(&mut tag.body, rest);
                self.settle(&tag.body);
                return true;
            }
            TagEnd::Missing => {
                append(&mut tag.body, line);
                self.open = Some(tag);
            }
            TagEnd::Spoilt => {}
        }
        false
    }

    fn settle(&mut self, body: &str) {
        if let Some(promise) = complete(body).or_else(|| unfinished(body)) {
            self.found = Some(promise);
        }
    }
}

/// A tag that began on an earlier line and has not ended yet.
#[derive(Debug, Clone)]
struct OpenTag {
    emphasis: String,
    body: String,
}

impl PromiseScanner {
    /// Reads the next piece of the text; pieces may end anywhere.
    pub fn feed(&mut self, text: &str) {
        let mut pieces = text.split('\n');
        if let Some(first) = pieces.next() {
            self.line.push(first);
        }
        for piece in pieces {
            self.end_line();
            self.line.push(piece);
        }
    }

    /// True where a whole line, as it came and without its end, says nothing that matters here: a
    /// tag needs one of these characters, a fence one of the others.
    pub(crate) fn passes_over(&self, line: &[u8]) -> bool {
        self.tags.open.is_none()
            && self.last.open.is_none()
            && self.last.found.is_none()
            && self.line.is_empty()
            && memchr::memchr3(b'<', b'`', b'~', line).is_none()
    }

    /// Reads a whole line, without its end.
    pub fn line(&mut self, text: &str) {
        if self.line.is_empty() && text.len() <= WHOLE_CAP {
            return self.read_line(text);
        }
        self.line.push(text);
        self.end_line();
    }

    /// The last promise so far, the unfinished line included.
    pub fn found(&self) -> Option<Promise> {
        let mut end = self.clone();
        end.end_line();
        let cut_short = end.tags.open.and_then(|tag| unfinished(&tag.body));
        let in_fence = end.last.found.filter(|_| end.fence.is_some());
        in_fence.or(cut_short).or(end.tags.found)
    }

    fn end_line(&mut self) {
        let line = self.line.take();
        self.read_line(&line);
    }

    fn read_line(&mut self, line: &str) {
        if !line.trim().is_empty() || self.last.open.is_some() {
            self.last.found = None;
            self.last.read_line(line);
        }
        if !self.fence_line(line) {
            self.tags.read_line(line);
        } else if self.tags.continue_tag(line) {
            // A fence inside the reason ends with the tag.
            self.fence = None;
        }
    }

    /// Follows code fences; true if the line belongs to one.
    fn fence_line(&mut self, line: &str) -> bool {
        let Some(fence) = self.fence else {
            self.fence = Fence::opened_by(line);
            return self.fence.is_some();
        };
        if fence.closed_by(line) {
            self.fence = None;
        }
        true
    }
}

fn append(body: &mut String, line: &str) {
    if body.len() <= REASON_CAP + 64 {
        body.push('\n');
        body.push_str(line);
    }
}

fn complete(body: &str) -> Option<Promise> {
    body.trim()
        .eq_ignore_ascii_case("complete")
        .then_some(Promise::Complete)
}

/// FAILED or BLOCKED, with what follows it.
fn unfinished(body: &str) -> Option<Promise> {
    after("failed", body)
        .map(Promise::Failed)
        .or_else(|| after("blocked", body).map(Promise::Blocked))
}

/// The text after a promise's first word.
fn after(word: &str, body: &str) -> Option<String> {
    let (start, rest) = body.trim().split_at_checked(word.len())?;
    if !start.eq_ignore_ascii_case(word) || rest.starts_with(char::is_alphanumeric) {
        return None;
    }
    let text = rest.trim_start();
    let text = text.strip_prefix([':', '-', '–', '—']).unwrap_or(text);
    Some(capped(text.trim()))
}

/// A text of bounded length, which says so where its end is missing.
fn capped(reason: &str) -> String {
    if reason.len() <= REASON_CAP {
        return reason.to_owned();
    }
    let start = start_of(reason, REASON_CAP - CUT.len());
    format!("{start}{CUT}")
}

#[cfg(test)]
mod tests;
