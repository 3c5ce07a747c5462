use super::*;
use pretty_assertions::assert_eq;
use ralph_agents::agent_event::AgentEvent;
use std::fmt::Write as _;
use std::io::Write as _;

/// A transcript whose file a test writes.
struct Stage {
    folder: tempfile::TempDir,
    transcript: Transcript,
}

impl Stage {
    fn new(output: Output) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let transcript = Transcript::open(folder.path(), output);
        Self { folder, transcript }
    }

    fn add(&self, bytes: &[u8]) {
        let path = self.folder.path().join("stdout");
        let options = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        options.unwrap().write_all(bytes).unwrap();
    }

    fn catch_up(&mut self, most: usize) -> Vec<Entry> {
        while !self.transcript.refresh(most).unwrap().at_end {}
        self.transcript.window(0, usize::MAX).unwrap()
    }
}

fn plain_text() -> Vec<u8> {
    let mut text = String::new();
    for number in 0..3_000 {
        match number % 50 {
            3 => text.push_str("```sh\n\nls -l\n"),
            7 => text.push_str("```\n"),
            20 | 33 => text.push('\n'),
            _ => writeln!(text, "line {number} **bold** Grüße").unwrap(),
        }
    }
    text.into_bytes()
}

fn claude(events: usize) -> Vec<u8> {
    let mut text = String::from(
        "{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/r\",\"session_id\":\"s\"}\n",
    );
    for number in 0..events {
        writeln!(text, "{{\"type\":\"assistant\",\"message\":{{\"id\":\"msg_{number:024}\",\"content\":[{{\"type\":\"text\",\"text\":\"Word {number} of it, which goes on for a while\"}}],\"usage\":{{\"input_tokens\":5,\"output_tokens\":{number}}}}}}}").unwrap();
    }
    text.into_bytes()
}

#[test]
fn entries_are_the_same_however_the_file_arrives() {
    for (output, bytes) in [
        (Output::Text, plain_text()),
        (Output::ClaudeJson, claude(200)),
    ] {
        let mut at_once = Stage::new(output);
        at_once.add(&bytes);
        let want = at_once.catch_up(usize::MAX);
        let mut piecewise = Stage::new(output);
        for piece in bytes.chunks(777) {
            piecewise.add(piece);
            piecewise.catch_up(100);
        }
        assert_eq!(piecewise.catch_up(100), want);
        for (place, entry) in want.iter().enumerate() {
            assert_eq!(entry.index, place);
        }
    }
}

#[test]
fn a_window_anywhere_is_what_the_whole_says() {
    for (output, bytes) in [
        (Output::Text, plain_text().repeat(15)),
        (Output::ClaudeJson, claude(6000)),
    ] {
        let mut stage = Stage::new(output);
        stage.add(&bytes);
        let whole = stage.catch_up(50_000);
        assert!(stage.transcript.marks.count() > 3);
        let len = stage.transcript.len();
        assert_eq!(whole.len(), len);
        for from in [
            0,
            1,
            len / 3,
            len / 2,
            len - 300,
            len - 3,
            len - 1,
            len,
            len + 5,
        ] {
            let want = &whole[from.min(len)..(from + 20).min(len)];
            assert_eq!(stage.transcript.window(from, 20).unwrap(), want);
        }
    }
}

#[test]
fn the_last_block_grows_while_it_is_written() {
    let mut stage = Stage::new(Output::Text);
    assert_eq!(stage.transcript.refresh(10).unwrap(), Caught::all(false));
    let texts = |entries: Vec<Entry>| -> Vec<String> {
        let text = |entry: Entry| match entry.event {
            AgentEvent::Text { text } => text,
            other => panic!("{other:?}"),
        };
        entries.into_iter().map(text).collect()
    };
    for (piece, want) in [
        ("one", vec!["one"]),
        (" more", vec!["one more"]),
        ("\ntwo\n", vec!["one more\ntwo"]),
        ("\n", vec!["one more\ntwo"]),
        ("thr\u{e9}", vec!["one more\ntwo", "thr\u{e9}"]),
    ] {
        stage.add(piece.as_bytes());
        assert_eq!(texts(stage.catch_up(1000)), want);
    }
}

#[test]
fn a_file_that_was_written_again_is_read_again() {
    let mut stage = Stage::new(Output::Text);
    stage.add(b"one\n\ntwo\n\nthree \xff\n");
    assert_eq!(stage.catch_up(1000).len(), 3);
    std::fs::write(stage.folder.path().join("stdout"), "new").unwrap();
    assert_eq!(stage.catch_up(1000).len(), 1);
    assert_eq!(stage.transcript.refresh(9).unwrap(), Caught::all(false));
}

#[test]
fn a_line_over_the_cap_is_an_entry_too() {
    let mut stage = Stage::new(Output::Text);
    let long = vec![b'x'; Output::Text.line_cap() + 10];
    stage.add(&long);
    stage.add(b"\nnext\n");
    let entries = stage.catch_up(300_000);
    let sources: Vec<Source> = entries.iter().map(|it| it.source).collect();
    let end = long.len() as u64 + 1;
    assert_eq!(
        sources,
        [Source::between(0, end), Source::between(end, end + 5)]
    );
    let detail = stage.transcript.detail(sources[0]).unwrap();
    assert_eq!(detail.len(), 2);
    assert_eq!(stage.transcript.detail(sources[1]).unwrap(), ["next"]);
}

#[test]
fn a_text_is_found_in_both_directions_in_small_steps() {
    let mut stage = Stage::new(Output::ClaudeJson);
    stage.add(&claude(6000));
    stage.catch_up(usize::MAX);
    let search = |needle: &str, from: usize, forward: bool| {
        let mut from = from;
        let mut steps = 0;
        loop {
            steps += 1;
            match stage
                .transcript
                .find(needle, from, forward, 20_000)
                .unwrap()
            {
                Search::NotYet(next) => from = next,
                other => return (other, steps > 1),
            }
        }
    };
    // The first entry is the session.
    assert_eq!(search("WORD 5000 OF", 0, true), (Search::Found(5001), true));
    assert_eq!(
        search("word 5000 of", 5001, true),
        (Search::Found(5001), false)
    );
    assert_eq!(search("word 5000 of", 5002, true), (Search::Nowhere, true));
    assert_eq!(search("word 17 of", 6000, false), (Search::Found(18), true));
    assert_eq!(search("word 17 of", 18, false), (Search::Found(18), false));
    assert_eq!(search("word 17 of", 17, false), (Search::Nowhere, false));
    assert_eq!(
        search("word 5999 of", usize::MAX, false),
        (Search::Found(6000), false)
    );
}

/// Resident memory of this process, in kB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are what it is for")]
#[ignore = "writes 400 MB and measures; run it alone and with --release"]
fn a_huge_transcript_needs_little_memory() {
    let lines = plain_text();
    let mut text = Stage::new(Output::Text);
    for _ in 0..200_000_000 / lines.len() {
        text.add(&lines);
    }
    let mut events = Stage::new(Output::ClaudeJson);
    for _ in 0..100 {
        events.add(&claude(10_000));
    }
    for (name, stage) in [("text", &mut text), ("events", &mut events)] {
        let before = resident();
        let begun = std::time::Instant::now();
        let mut longest = std::time::Duration::ZERO;
        loop {
            let step = std::time::Instant::now();
            let caught = stage.transcript.refresh(1 << 20).unwrap();
            longest = longest.max(step.elapsed());
            if caught.at_end {
                break;
            }
        }
        let indexed = begun.elapsed();
        let grown = resident().saturating_sub(before);
        let marks = stage.transcript.marks.count();
        let len = stage.transcript.len();
        let begun = std::time::Instant::now();
        assert_eq!(stage.transcript.window(len / 2, 100).unwrap().len(), 100);
        let window = begun.elapsed();
        let begun = std::time::Instant::now();
        let mut from = 0;
        while let Search::NotYet(next) = stage
            .transcript
            .find("not in there", from, true, 4 << 20)
            .unwrap()
        {
            from = next;
        }
        let search = begun.elapsed();
        let after = resident().saturating_sub(before);
        println!(
            "{name}: {len} entries, {marks} marks, +{grown} kB ({} bytes a mark), indexed in {indexed:?} \
             (longest step {longest:?}), window {window:?}, search {search:?}, +{after} kB at the end",
            grown * 1024 / marks
        );
        assert!(after < 32 * 1024);
    }
}
