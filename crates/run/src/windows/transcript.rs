//! One attempt's transcript, read through windows while it is written and after: it is never in memory
//! as a whole.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::file_lines::{GrowingFile, Mark, Marks};
use super::text_window::{Caught, Search};
use ralph_agents::dialect::Output;
use ralph_agents::transcript::{Entry, EntryReader, Needle, Source, StreamLine, detail};
use ralph_process::lines::Line;

/// How many of the last entries are held, so that following the end reads nothing twice.
const LAST_KEPT: usize = 256;

/// The transcript of one attempt.
#[derive(Debug)]
pub struct Transcript {
    output: Output,
    file: GrowingFile,
    reader: EntryReader,
    marks: Marks<EntryReader>,
    /// The last finished entries.
    last: VecDeque<Entry>,
    /// Entries that may still grow.
    unfinished: Vec<Entry>,
}

impl Transcript {
    /// The transcript in an attempt's folder, which may not exist yet. Reads nothing.
    pub fn open(folder: &Path, output: Output) -> Self {
        let reader = EntryReader::new(output);
        Self {
            output,
            file: GrowingFile::new(folder.join("stdout"), output.line_cap()),
            marks: Marks::new(reader.clone()),
            reader,
            last: VecDeque::new(),
            unfinished: Vec::new(),
        }
    }

    /// Reads at most `most_bytes` further; returns whether the present end was reached.
    pub fn refresh(&mut self, most_bytes: usize) -> io::Result<Caught> {
        let is_replaced = self.file.rewind_if_replaced()?;
        if is_replaced {
            self.reader = EntryReader::new(self.output);
            self.marks = Marks::new(self.reader.clone());
            self.last.clear();
            self.unfinished.clear();
        }
        let read = self.read_on(most_bytes)?;
        if read > 0 {
            let unfinished = self.file.lines.unfinished();
            self.unfinished = self.reader.unfinished(unfinished.map(stream_line));
        }
        Ok(Caught {
            changed: is_replaced || read > 0,
            at_end: read < most_bytes,
        })
    }

    fn read_on(&mut self, most_bytes: usize) -> io::Result<usize> {
        let Self {
            file,
            reader,
            marks,
            last,
            ..
        } = self;
        let mut entries = Vec::new();
        file.read_on(most_bytes, |line| {
            reader.line(stream_line(line), &mut entries);
            if reader.is_light() {
                marks.reached(line.end, reader.count(), || reader.clone());
            }
            last.extend(entries.drain(..));
            while last.len() > LAST_KEPT {
                last.pop_front();
            }
            ControlFlow::Continue(())
        })
    }

    /// How many entries there are as far as the file was read, unfinished ones included.
    pub fn len(&self) -> usize {
        self.reader.count() + self.unfinished.len()
    }

    /// Whether nothing was read yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `count` entries, beginning with the one at `from`.
    pub fn window(&self, from: usize, count: usize) -> io::Result<Vec<Entry>> {
        let end = from.saturating_add(count).min(self.len());
        let mut shown = Vec::new();
        if from >= end {
            return Ok(shown);
        }
        let finished = end.min(self.reader.count());
        if self.last.front().is_some_and(|first| first.index <= from) || from >= finished {
            let held = self.last.iter().chain(&self.unfinished);
            return Ok(held
                .filter(|it| (from..end).contains(&it.index))
                .cloned()
                .collect());
        }
        if let Some(mark) = self.marks.get(self.marks.place_before(from)) {
            self.read_from(mark, |entry, _| {
                let is_last = entry.index + 1 >= finished;
                if (from..finished).contains(&entry.index) {
                    shown.push(entry);
                }
                stop_if(is_last)
            })?;
        }
        let grown = self.unfinished.iter().filter(|it| it.index < end);
        shown.extend(grown.cloned());
        Ok(shown)
    }

    /// Searches for a text from an entry on, itself included, forward or backward, and stops after
    /// about that many bytes.
    pub fn find(
        &self,
        needle: &str,
        from: usize,
        forward: bool,
        most_bytes: usize,
    ) -> io::Result<Search> {
        let needle = Needle::new(needle);
        if forward {
            self.find_forward(&needle, from, most_bytes as u64)
        } else {
            self.find_backward(&needle, from, most_bytes as u64)
        }
    }

    fn find_forward(&self, needle: &Needle, from: usize, most: u64) -> io::Result<Search> {
        let mut found = None;
        let mut begun_at = None;
        if let Some(mark) = self.marks.get(self.marks.place_before(from)) {
            self.read_from(mark, |entry, offset| {
                if entry.index < from {
                    return ControlFlow::Continue(());
                }
                let start = *begun_at.get_or_insert(offset);
                if needle.is_in(&entry.event) {
                    found = Some(Search::Found(entry.index));
                } else if offset - start >= most {
                    found = Some(Search::NotYet(entry.index + 1));
                }
                stop_if(found.is_some())
            })?;
        }
        let grown = || {
            let mut later = self.unfinished.iter().filter(|entry| entry.index >= from);
            later.find(|entry| needle.is_in(&entry.event))
        };
        Ok(found
            .or_else(|| Some(Search::Found(grown()?.index)))
            .unwrap_or(Search::Nowhere))
    }

    fn find_backward(&self, needle: &Needle, from: usize, most: u64) -> io::Result<Search> {
        let mut earlier = self.unfinished.iter().rev().filter(|it| it.index <= from);
        if let Some(entry) = earlier.find(|entry| needle.is_in(&entry.event)) {
            return Ok(Search::Found(entry.index));
        }
        let mut upto = from;
        let mut place = self.marks.place_before(from);
        let mut read = 0;
        while let Some(mark) = self.marks.get(place) {
            let mut found = None;
            let mut offset = mark.offset;
            self.read_from(mark, |entry, at| {
                offset = at;
                if entry.index <= upto && needle.is_in(&entry.event) {
                    found = Some(entry.index);
                }
                stop_if(entry.index >= upto)
            })?;
            read += offset - mark.offset;
            if let Some(index) = found {
                return Ok(Search::Found(index));
            }
            // The mark at the start has no entry before it.
            let Some(before) = mark.number.checked_sub(1) else {
                break;
            };
            if read >= most {
                return Ok(Search::NotYet(before));
            }
            upto = before;
            place -= 1;
        }
        Ok(Search::Nowhere)
    }

    /// The whole of what stands behind an entry, as lines.
    pub fn detail(&self, source: Source) -> io::Result<Vec<String>> {
        let Some(file) = &self.file.file else {
            return Ok(Vec::new());
        };
        let length = (source.len as usize).min(self.output.line_cap());
        let mut bytes = vec![0; length];
        let mut read = 0;
        while read < length {
            match file.read_at(&mut bytes[read..], source.offset + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        bytes.truncate(read);
        Ok(detail(&bytes))
    }

    /// Reads finished entries again from a mark on; `each` also gets the offset where the entry ended.
    fn read_from(
        &self,
        mark: &Mark<EntryReader>,
        mut each: impl FnMut(Entry, u64) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let count = self.reader.count();
        let mut reader = mark.state.clone();
        let mut entries = Vec::new();
        self.file.read_again(mark.offset, |line| {
            reader.line(stream_line(line), &mut entries);
            for entry in entries.drain(..) {
                // Entries that were added meanwhile are not counted yet.
                if entry.index >= count {
                    return ControlFlow::Break(());
                }
                each(entry, line.end)?;
            }
            ControlFlow::Continue(())
        })
    }
}

fn stop_if(enough: bool) -> ControlFlow<()> {
    if enough {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

fn stream_line(line: Line<'_>) -> StreamLine<'_> {
    StreamLine {
        bytes: line.bytes,
        truncated: line.truncated,
        source: Source::between(line.start, line.end),
    }
}

#[cfg(test)]
mod tests;
