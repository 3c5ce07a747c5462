//! The journal without some runs: written whole beside the old one, durable before it takes its
//! place. A kill leaves the old journal or the new one, never half of one.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::Deserialize;

use ralph_base::files::{FileError, Tried, place, sync_file_system};
use ralph_base::ids::RunId;

/// The part of a line that names its run.
#[derive(Deserialize)]
struct Owner {
    run: RunId,
}

/// Leaves out the lines of some runs; all others stay byte for byte.
pub(super) fn rewrite(path: &Path, goes: &BTreeSet<RunId>) -> Result<(), FileError> {
    let bytes = fs::read(path).tried("read", path)?;
    let stays = without(&bytes, goes);
    place(path, |file| {
        file.write_all(&stays)?;
        file.sync_all()
    })?;
    sync_file_system(path.parent().unwrap_or(Path::new("/")))
}

/// The lines of all other runs; whatever is not known to go stays.
fn without(bytes: &[u8], goes: &BTreeSet<RunId>) -> Vec<u8> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| owner(line).is_none_or(|run| !goes.contains(&run)))
        .flatten()
        .copied()
        .collect()
}

fn owner(line: &[u8]) -> Option<RunId> {
    let json = line.splitn(2, |byte| *byte == b' ').nth(1)?;
    let owner: Owner = serde_json::from_slice(json).ok()?;
    Some(owner.run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::steps::{Journal, Line, Step};
    use pretty_assertions::assert_eq;

    fn line(run: &str, step: Step) -> Line {
        Line {
            run: RunId(run.to_owned()),
            at: jiff::Timestamp::UNIX_EPOCH,
            uptime: None,
            step,
        }
    }

    fn written(path: &Path, lines: &[Line]) -> Vec<u8> {
        let (mut journal, _) = Journal::open(path, Vec::new()).unwrap();
        for line in lines {
            journal.write(line).unwrap();
        }
        fs::read(path).unwrap()
    }

    #[test]
    fn only_the_lines_of_the_runs_that_go_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let all = [
            line("a", Step::Begun),
            line("b", Step::Begun),
            line("a", Step::Saved),
            line("b", Step::Saved),
        ];
        let whole = written(&path, &all);
        rewrite(&path, &BTreeSet::new()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        rewrite(&path, &BTreeSet::from([RunId("a".to_owned())])).unwrap();
        let (mut journal, lines) = Journal::open(&path, Vec::new()).unwrap();
        assert_eq!(lines, [all[1].clone(), all[3].clone()]);
        journal.write(&all[0]).unwrap();
        assert_eq!(crate::journal::steps::read(&path).unwrap().len(), 3);
    }

    #[test]
    fn a_line_that_cannot_be_read_stays() {
        let goes = BTreeSet::from([RunId("a".to_owned())]);
        let odd = b"00000000 {\"run\":1}\nno line at all\n\n00 {\"run\":\"a\"}";
        assert_eq!(
            without(odd, &goes),
            b"00000000 {\"run\":1}\nno line at all\n\n"
        );
    }

    #[test]
    fn a_kill_while_it_is_written_leaves_the_old_journal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let all = [line("a", Step::Begun), line("b", Step::Begun)];
        let whole = written(&path, &all);
        let new = without(&whole, &BTreeSet::from([RunId("a".to_owned())]));
        // Whatever was written of the new one by then lies beside it, under another name.
        for cut in 0..=new.len() {
            let name = format!("{}killed", super::super::folders::TEMPORARY);
            fs::write(folder.path().join(name), &new[..cut]).unwrap();
            let (_, lines) = Journal::open(&path, Vec::new()).unwrap();
            assert_eq!(lines, all);
        }
        fs::write(&path, &new).unwrap();
        let (_, lines) = Journal::open(&path, Vec::new()).unwrap();
        assert_eq!(lines, all[1..]);
    }
}
