//! Task lines: which lines of a file are checkboxes, exactly as `OpenSpec` counts them.
//!
//! A hand-written reader of `OpenSpec`'s one pattern,
//! `^\s*(?:[-*+]|\d{1,9}[.)])\s*\[(?:\s*([^\]\s]?)\s*\](?![([])|\s+\])\s*(.*)`, over each line
//! of the bytes. Headings, stories and fences are not its business: a box counts wherever it is.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{js, task_id};

/// How a box is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// Still to be done.
    Open,
    /// Ticked.
    Done,
    /// Skipped with `[~]`, `[-]` or `[/]`, or optional: unfinished, but not to be run.
    Deferred,
}

/// What a box is to the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// Work to be done.
    Work,
    /// A box without text: counted in progress, but not listed by `OpenSpec`.
    Textless,
    /// A box inside a code fence: counted and listed by `OpenSpec`, but only text, never work.
    Fenced,
    /// Work that may be left undone: shown, never run alone, never waited for.
    Optional,
}

/// One checkbox of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The line it stands on, from 1.
    pub line: usize,
    /// The bytes between `[` and `]` in the file it was read from.
    pub mark: Range<usize>,
    /// How the box is marked.
    pub state: TaskState,
    /// What the box is to the loop.
    pub kind: TaskKind,
    /// The description as `OpenSpec` gives it.
    pub raw: String,
    /// The id written in front of the description, such as `1.1`.
    pub id: Option<String>,
    /// The description without the id.
    pub text: String,
    /// Columns of white space before the bullet.
    pub indent: usize,
    /// The task it is nested under: an index into the same list.
    pub parent: Option<usize>,
}

impl Task {
    /// Whether `OpenSpec` lists it: text-less boxes are counted only.
    pub fn is_listed(&self) -> bool {
        !self.raw.is_empty()
    }

    /// Whether the loop has to see to it: boxes in fences are text.
    pub(crate) fn is_work(&self) -> bool {
        self.kind != TaskKind::Fenced
    }

    /// Whether its story is not done without it.
    pub fn is_required(&self) -> bool {
        self.is_work() && self.kind != TaskKind::Optional
    }

    /// Makes it optional; it is not to be done then unless it is done already.
    pub(crate) fn make_optional(&mut self) {
        self.kind = TaskKind::Optional;
        if self.state == TaskState::Open {
            self.state = TaskState::Deferred;
        }
    }

    /// Whether it is work that is neither done nor skipped.
    pub(crate) fn is_open_work(&self) -> bool {
        self.is_work() && self.state == TaskState::Open
    }
}

/// Reads every task line of a file, in order, with byte ranges into `bytes`.
///
/// Parents and fences are unknown here: every task comes out without a parent and not fenced.
pub fn read_tasks(bytes: &[u8]) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut start = 0;
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if let Some(mut task) = read_line(line) {
            task.line = index + 1;
            task.mark = start + task.mark.start..start + task.mark.end;
            tasks.push(task);
        }
        start += line.len() + 1;
    }
    tasks
}

/// Reads one line without its line feed, as if it were the whole file.
fn read_line(line: &[u8]) -> Option<Task> {
    // Most lines are prose: no bracket, no task, no decoding.
    if !line.contains(&b'[') {
        return None;
    }
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => match_box(text),
        Cow::Owned(text) => {
            let mut found = match_box(&text)?;
            found.mark =
                original_offset(line, found.mark.start)..original_offset(line, found.mark.end);
            Some(found)
        }
    }
}

/// Where an offset into the lossily decoded line lies in its bytes.
fn original_offset(line: &[u8], decoded: usize) -> usize {
    let (mut bytes, mut chars) = (0, 0);
    for chunk in line.utf8_chunks() {
        let valid = chunk.valid().len();
        if decoded <= chars + valid {
            return bytes + (decoded - chars);
        }
        let invalid = chunk.invalid().len();
        bytes += valid + invalid;
        if invalid > 0 {
            chars += valid + char::REPLACEMENT_CHARACTER.len_utf8();
        }
    }
    bytes
}

fn match_box(line: &str) -> Option<Task> {
    let bulleted = js::trim_start(line);
    let rest = js::trim_start(skip_bullet(bulleted)?).strip_prefix('[')?;
    let open = line.len() - rest.len();
    let (mark, after) = split_mark(rest)?;
    let text = js::trim_start(after);
    let end = text.find(js::ends_line).unwrap_or(text.len());
    let raw = js::trim(&text[..end]).to_owned();
    let (id, text) = task_id::split(&raw);
    Some(Task {
        line: 1,
        mark: open..open + mark.len(),
        state: state_of(mark),
        kind: if raw.is_empty() {
            TaskKind::Textless
        } else {
            TaskKind::Work
        },
        raw,
        id,
        text,
        indent: columns(&line[..line.len() - bulleted.len()]),
        parent: None,
    })
}

/// What follows `-`, `*`, `+`, `1.` or `1)`.
fn skip_bullet(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(['-', '*', '+']) {
        return Some(rest);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=9).contains(&digits) {
        return None;
    }
    text[digits..].strip_prefix(['.', ')'])
}

/// Splits `x] text` into what is in the box and what follows it.
fn split_mark(text: &str) -> Option<(&str, &str)> {
    let spaced = js::trim_start(text);
    let mut rest = spaced;
    // One UTF-16 unit fits into a box: an astral character is two and makes it no box.
    if let Some(c) = spaced
        .chars()
        .next()
        .filter(|c| *c != ']' && c.len_utf16() == 1)
    {
        rest = js::trim_start(&spaced[c.len_utf8()..]);
    }
    let after = rest.strip_prefix(']')?;
    let mark = &text[..text.len() - rest.len()];
    // `[x](url)` and `[x][ref]` are links, but `[ ](…` is a box.
    let blank_box = !mark.is_empty() && js::trim(mark).is_empty();
    if after.starts_with(['(', '[']) && !blank_box {
        return None;
    }
    Some((mark, after))
}

fn state_of(mark: &str) -> TaskState {
    match js::trim(mark) {
        "x" | "X" => TaskState::Done,
        "~" | "-" | "/" => TaskState::Deferred,
        _ => TaskState::Open,
    }
}

fn columns(space: &str) -> usize {
    space.chars().fold(0, |column, c| match c {
        '\t' => (column / 4 + 1) * 4,
        '\u{feff}' => column,
        _ => column + 1,
    })
}

#[cfg(test)]
mod tests;
