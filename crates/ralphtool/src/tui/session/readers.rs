//! Keeps transcripts and logs open and reads parts of them.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::tui::message::{Answer, Export, FileWindow, Needle, Part, Query, TranscriptId, Window};
use crate::ui::text::clean;
use ralph_agents::agent_event::AgentEvent;
use ralph_run::windows::text_window::{Search, TextWindow};
use ralph_run::windows::transcript::Transcript;

/// How many transcripts and logs stay open.
const OPEN: usize = 4;

/// How much of a file is read at once, so that no answer has to wait long.
const AT_ONCE: usize = 64 << 10;

/// How much is searched at once.
const SEARCHED: usize = 4 << 20;

/// How many entries are exported at a time.
const BATCH: usize = 500;

/// The highest number in the name of an export.
const MOST_OF_A_NAME: u32 = 999;

/// What is open.
#[derive(Default)]
pub(super) struct Readers {
    transcripts: Vec<(TranscriptId, Transcript)>,
    /// Whether the transcript that was asked for last has more than was read.
    behind: bool,
    files: Vec<(PathBuf, TextWindow)>,
}

impl Readers {
    /// Answers a query about a file.
    pub(super) fn answer(&mut self, query: Query) -> Option<Answer> {
        match query {
            Query::Window(id, part) => {
                let found = window(self.transcript(&id), part);
                self.behind |= found.as_ref().is_ok_and(|window| window.more);
                Some(Answer::Window(id, found.map_err(|error| error.to_string())))
            }
            Query::Find(id, needle) => {
                let place = find(self.transcript(&id), &needle);
                Some(Answer::Found(id, needle, place))
            }
            Query::Detail(id, source) => {
                let lines = self.transcript(&id).detail(source);
                let lines = lines.unwrap_or_else(|error| vec![error.to_string()]);
                Some(Answer::Detail(id, source, lines))
            }
            Query::File(path, count) => {
                let found = last_lines(self.file(&path), count);
                Some(Answer::File(path, found.map_err(|error| error.to_string())))
            }
            _ => None,
        }
    }

    /// Whether something can be read while no query waits.
    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Reads a little of what will be asked for.
    pub(super) fn read_ahead(&mut self) {
        let read = self
            .transcripts
            .first_mut()
            .map(|(_, it)| it.refresh(AT_ONCE));
        self.behind = matches!(read, Some(Ok(caught)) if !caught.at_end);
    }

    fn transcript(&mut self, id: &TranscriptId) -> &mut Transcript {
        let open = || Transcript::open(&id.folder, id.output);
        open_or_reuse(&mut self.transcripts, id, open)
    }

    fn file(&mut self, path: &PathBuf) -> &mut TextWindow {
        open_or_reuse(&mut self.files, path, || TextWindow::open(path))
    }
}

/// Returns the open value of a key, opening it if necessary; the least recently used are closed.
fn open_or_reuse<'a, K: PartialEq + Clone, V>(
    all: &'a mut Vec<(K, V)>,
    key: &K,
    open: impl FnOnce() -> V,
) -> &'a mut V {
    let place = all.iter().position(|(open, _)| open == key);
    let entry = match place {
        Some(place) => all.remove(place),
        None => (key.clone(), open()),
    };
    all.truncate(OPEN - 1);
    all.insert(0, entry);
    &mut all[0].1
}

fn window(transcript: &mut Transcript, part: Part) -> std::io::Result<Window> {
    // Entries that were counted already need not wait for the others.
    let is_counted = matches!(part, Part::From(from, count) if from + count <= transcript.len());
    let more = !is_counted && !transcript.refresh(AT_ONCE)?.at_end;
    let total = transcript.len();
    let (from, count) = part.of(total);
    Ok(Window {
        entries: transcript.window(from, count)?,
        total,
        more,
    })
}

/// Searches from the cursor, then from the other end.
fn find(transcript: &Transcript, needle: &Needle) -> Option<usize> {
    let last = transcript.len().saturating_sub(1);
    let (next, other_end) = if needle.forward {
        (Some(needle.here + 1), 0)
    } else {
        (needle.here.checked_sub(1), last)
    };
    next.and_then(|from| find_from(transcript, needle, from))
        .or_else(|| find_from(transcript, needle, other_end))
}

fn find_from(transcript: &Transcript, needle: &Needle, mut from: usize) -> Option<usize> {
    loop {
        match transcript.find(&needle.text, from, needle.forward, SEARCHED) {
            Ok(Search::Found(place)) => return Some(place),
            Ok(Search::NotYet(next)) if next != from => from = next,
            Ok(Search::NotYet(_) | Search::Nowhere) | Err(_) => return None,
        }
    }
}

fn last_lines(file: &mut TextWindow, count: usize) -> std::io::Result<FileWindow> {
    while !file.refresh(AT_ONCE)?.at_end {}
    let first = file.len().saturating_sub(count);
    let lines = file.window(first, count)?;
    Ok(FileWindow { first, lines })
}

/// Writes an export to a new file and returns its path.
pub(super) fn export(path: &Path, export: Export) -> Result<PathBuf, String> {
    let describe = |path: &Path, error| format!("`{}`: {error}", path.display());
    let (path, file) = new_file(path).map_err(|error| describe(path, error))?;
    let mut out = BufWriter::new(file);
    let written = match export {
        Export::Text(text) => out.write_all(text.as_bytes()),
        Export::Transcript(id) => write_transcript(&mut out, &id),
    };
    match written.and_then(|()| out.flush()) {
        Ok(()) => Ok(path),
        Err(error) => Err(describe(&path, error)),
    }
}

/// Creates a file of that name, or with a number if the name exists: an existing file is never
/// written to, because it may be the user's work, or a pipe without a reader.
fn new_file(path: &Path) -> std::io::Result<(PathBuf, File)> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let mut number = 1;
    loop {
        let place = numbered(path, number);
        match File::create_new(&place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MOST_OF_A_NAME => {
                number += 1;
            }
            made => return Ok((place, made?)),
        }
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn write_transcript(out: &mut impl Write, id: &TranscriptId) -> std::io::Result<()> {
    let mut transcript = Transcript::open(&id.folder, id.output);
    while !transcript.refresh(AT_ONCE)?.at_end {}
    let mut from = 0;
    while from < transcript.len() {
        let entries = transcript.window(from, BATCH)?;
        if entries.is_empty() {
            break;
        }
        from += entries.len();
        for entry in entries {
            write_event(out, &entry.event)?;
        }
    }
    Ok(())
}

fn write_event(out: &mut impl Write, event: &AgentEvent) -> std::io::Result<()> {
    match event {
        AgentEvent::Text { text } => writeln!(out, "{}\n", text.trim_end()),
        AgentEvent::Thinking { text } => {
            let lines = text.trim_end().lines();
            for line in lines {
                writeln!(out, "> {line}")?;
            }
            writeln!(out)
        }
        AgentEvent::ToolCall { tool, summary } => {
            writeln!(out, "[{}] {}", clean(tool), clean(summary))
        }
        AgentEvent::ToolResult {
            bytes, is_error, ..
        } => {
            let how = if *is_error { "failed" } else { "answered" };
            writeln!(out, "  {how}, {bytes} bytes")
        }
        AgentEvent::Session { id, .. } => writeln!(out, "session {}\n", clean(id)),
        AgentEvent::Retrying { message }
        | AgentEvent::Limit { message, .. }
        | AgentEvent::Auth { message, .. }
        | AgentEvent::Overflow { message }
        | AgentEvent::Error { message } => writeln!(out, "! {}", clean(message)),
        AgentEvent::Final { .. } | AgentEvent::Usage { .. } => Ok(()),
        AgentEvent::Unknown { line } => writeln!(out, "? {}", clean(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ralph_agents::dialect::Output;

    #[test]
    fn a_search_wraps_around_both_ends() {
        let folder = tempfile::tempdir().unwrap();
        let said = ["one", "two", "one", "three"].map(|text| {
            format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
        });
        std::fs::write(folder.path().join("stdout"), said.join("\n") + "\n").unwrap();
        let mut transcript = Transcript::open(folder.path(), Output::ClaudeJson);
        assert!(transcript.refresh(AT_ONCE).unwrap().at_end);
        let found = |text: &str, here, forward| {
            let text = text.to_owned();
            let needle = Needle {
                text,
                here,
                forward,
            };
            find(&transcript, &needle)
        };
        assert_eq!(found("one", 0, true), Some(2));
        assert_eq!(found("one", 2, true), Some(0));
        assert_eq!(found("one", 2, false), Some(0));
        assert_eq!(found("one", 0, false), Some(2));
        assert_eq!(found("three", 3, true), Some(3));
        assert_eq!(found("never", 0, true), None);
        assert_eq!(found("never", 0, false), None);
    }

    #[test]
    fn an_export_writes_over_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pane.txt");
        let text = |text: &str| Export::Text(text.to_owned());
        assert_eq!(export(&path, text("one")), Ok(path.clone()));
        let second = folder.path().join("pane-2.txt");
        assert_eq!(export(&path, text("two")), Ok(second.clone()));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "one");
        assert_eq!(std::fs::read_to_string(second).unwrap(), "two");
        assert!(export(folder.path(), text("three")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
