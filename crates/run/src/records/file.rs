//! The record of a run, `events.jsonl`: the one reader of it and the one way to append to it.
//!
//! Lines are not synced one by one, so a power cut or a full disk can leave half a line, zeros or
//! bytes that are no UTF-8. Such lines are skipped and counted; they never hide the lines after
//! them, and their numbers are not given out a second time.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::records::event::Record;
use ralph_base::files::{FileError, Tried, create_private_folder, open_append, read_if_present};

/// The name of the file in the folder of a run.
const NAME: &str = "events.jsonl";

/// How every record begins; used to find one that was glued to half of another.
const START: &[u8] = br#"{"v":"#;

/// Where the record of a run is.
pub(crate) fn path_in(run_folder: &Path) -> PathBuf {
    run_folder.join(NAME)
}

/// What the record of a run says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RunRecords {
    /// Every record that can be read, in order.
    pub records: Vec<Record>,
    /// How many lines are damaged; half a line at the very end is what a crash leaves, and is not
    /// counted.
    pub damaged: usize,
    /// The number of the next record: higher than all in the file, damaged lines included.
    next: u64,
}

/// Reads the record in a run's folder; none where there is no file.
pub(crate) fn read(run_folder: &Path) -> Result<Option<RunRecords>, FileError> {
    let bytes = read_if_present(&path_in(run_folder))?;
    Ok(bytes.map(|bytes| parse(&bytes).0))
}

/// One line of the file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RecordLine {
    /// The record on it; the last one where several are glued together.
    pub record: Option<Record>,
    /// There are bytes on it that are no record.
    pub is_damaged: bool,
}

/// Reads one line.
pub(crate) fn read_line(line: &[u8]) -> RecordLine {
    if line.trim_ascii().is_empty() {
        return RecordLine::default();
    }
    if let Ok(record) = serde_json::from_slice(line) {
        return RecordLine {
            record: Some(record),
            is_damaged: false,
        };
    }
    let mut starts = (1..line.len()).filter(|at| line[*at..].starts_with(START));
    RecordLine {
        record: starts.find_map(|at| serde_json::from_slice(&line[at..]).ok()),
        is_damaged: true,
    }
}

/// What the bytes say, and how many of them to keep before something is appended.
fn parse(bytes: &[u8]) -> (RunRecords, usize) {
    let mut found = RunRecords::default();
    let mut keep = 0;
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = read_line(raw);
        let numbers = line.record.iter().map(|record| record.seq);
        let numbers = numbers.chain(line.is_damaged.then(|| highest_number(raw)).flatten());
        let next = numbers.map(|number| number.saturating_add(1)).max();
        found.next = found.next.max(next.unwrap_or(0));
        let is_torn = line.record.is_none() && !raw.ends_with(b"\n");
        if !is_torn {
            keep += raw.len();
            found.damaged += usize::from(line.is_damaged);
        }
        found.records.extend(line.record);
    }
    (found, keep)
}

/// The highest number a damaged line mentions: it may have been shown.
fn highest_number(line: &[u8]) -> Option<u64> {
    const KEY: &[u8] = br#""seq":"#;
    let starts = (0..line.len()).filter(|at| line[*at..].starts_with(KEY));
    let numbers = starts.filter_map(|at| {
        let rest = &line[at + KEY.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
        let digits: String = digits.map(|byte| char::from(*byte)).collect();
        digits.parse().ok()
    });
    numbers.max()
}

/// The record of a run, open for appending. Its last line is whole.
#[derive(Debug)]
pub(crate) struct RecordFile {
    file: File,
    path: PathBuf,
    next: u64,
}

impl RecordFile {
    /// Opens the record in a run's folder, and repairs its end: half a line is cut off.
    pub(crate) fn open(run_folder: &Path) -> Result<Self, FileError> {
        create_private_folder(run_folder)?;
        let path = path_in(run_folder);
        let mut file = open_append(&path)?;
        let bytes = read_if_present(&path)?.unwrap_or_default();
        let (found, keep) = parse(&bytes);
        if keep < bytes.len() {
            file.set_len(keep as u64).tried("repair", &path)?;
        }
        if !matches!(bytes[..keep].last(), None | Some(b'\n')) {
            file.write_all(b"\n").tried("repair", &path)?;
        }
        let next = found.next;
        Ok(Self { file, path, next })
    }

    /// A number that no record of this run has.
    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        number
    }

    /// Appends a record to lines that are to be written.
    pub(crate) fn add(&self, lines: &mut Vec<u8>, record: &Record) -> Result<(), FileError> {
        serde_json::to_writer(&mut *lines, record)
            .map_err(std::io::Error::other)
            .tried("write", &self.path)?;
        lines.push(b'\n');
        Ok(())
    }

    /// Writes lines, all of them or none.
    pub(crate) fn write(&mut self, lines: &[u8]) -> Result<(), FileError> {
        let length = self.file.metadata().tried("write", &self.path)?.len();
        let written = self.file.write_all(lines);
        if written.is_err() {
            // A full disk takes half a line, which the next one would be glued to.
            let _ = self.file.set_len(length);
        }
        written.tried("write", &self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::Timestamp;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::records::event::{Event, WIRE_VERSION};
    use ralph_base::ids::RunId;

    fn record(seq: u64, message: &str) -> Record {
        Record {
            v: WIRE_VERSION,
            seq,
            at: Timestamp::UNIX_EPOCH,
            run: RunId("r".to_owned()),
            event: Event::Warning {
                code: "c".to_owned(),
                message: message.to_owned(),
            },
        }
    }

    fn line(seq: u64, message: &str) -> Vec<u8> {
        let mut line = serde_json::to_vec(&record(seq, message)).unwrap();
        line.push(b'\n');
        line
    }

    fn folder_with(bytes: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path_in(folder.path()), bytes).unwrap();
        folder
    }

    #[test]
    fn damaged_lines_hide_nothing_that_follows_them() {
        let mut half = line(1, "b")[..30].to_vec();
        half.extend(b"\xc3\n");
        let zeros = b"\0\0\0\0\n".to_vec();
        let glued = [&line(4, "x")[..40], &line(5, "e")].concat();
        let bytes = [line(0, "a"), half, line(2, "c"), zeros, glued].concat();
        let found = read(folder_with(&bytes).path()).unwrap().unwrap();
        assert_eq!(
            found,
            RunRecords {
                records: vec![record(0, "a"), record(2, "c"), record(5, "e")],
                damaged: 3,
                next: 6,
            }
        );
    }

    #[test]
    fn a_record_that_is_missing_or_cannot_be_read_is_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        fs::create_dir(path_in(folder.path())).unwrap();
        assert!(read(folder.path()).is_err());
    }

    #[test]
    fn a_torn_end_is_repaired_at_every_cut_and_no_number_is_given_twice() {
        let whole = [line(7, "a"), line(8, "ü")].concat();
        let first = line(7, "a").len();
        for cut in first..whole.len() {
            let folder = folder_with(&whole[..cut]);
            let mut file = RecordFile::open(folder.path()).unwrap();
            let number = file.next_number();
            let mut lines = Vec::new();
            file.add(&mut lines, &record(number, "z")).unwrap();
            file.write(&lines).unwrap();
            let found = read(folder.path()).unwrap().unwrap();
            assert_eq!(found.damaged, 0, "cut at {cut}");
            let is_whole = cut == whole.len() - 1;
            assert_eq!(found.records.len(), if is_whole { 3 } else { 2 });
            assert_eq!(found.records.last(), Some(&record(number, "z")));
            let says_its_number = whole[first..cut].windows(8).any(|it| it == br#""seq":8,"#);
            assert_eq!(number > 8, says_its_number || whole[..cut].ends_with(b"8"));
        }
    }
}
