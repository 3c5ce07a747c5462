//! Follows a run that another process works on: its records as they are written, and of what its
//! agent says the last word and the last figures, which are in the attempt's transcript alone.

use std::io;
use std::path::Path;

use jiff::Timestamp;

use crate::records::event::{AttemptStarted, Event, Record};
use crate::records::file;
use crate::windows::file_lines::GrowingFile;
use ralph_agents::agent_event::AgentEvent;
use ralph_agents::dialect::{Output, StreamReader};
use ralph_base::ids::{AttemptNumber, RunId, StoryId};

use crate::history::lookup::{complaint_after, damage};

/// A record is not longer.
const RECORD_CAP: usize = 64 << 20;

/// Of a transcript that is longer just the end is read.
const TRANSCRIPT_CAP: u64 = 64 << 20;

/// Follows one run.
pub(crate) struct Follower {
    run: RunId,
    work_tree: String,
    records: GrowingFile,
    agent_output: Option<AgentOutput>,
    last_number: u64,
}

impl Follower {
    /// Follows the run of that name from its beginning.
    pub(crate) fn of(vault: &Path, run: &RunId, work_tree: &Path) -> Self {
        let path = file::path_in(&vault.join("runs").join(&run.0));
        Self {
            run: run.clone(),
            work_tree: work_tree.to_string_lossy().into_owned(),
            records: GrowingFile::new(path, RECORD_CAP),
            agent_output: None,
            last_number: 0,
        }
    }

    /// What was written since the last time.
    pub(crate) fn read_on(&mut self, now: Timestamp) -> io::Result<Vec<Record>> {
        let mut news = Vec::new();
        let mut damaged = 0;
        self.records.read_to_end(|line| {
            let line = file::read_line(line.bytes);
            damaged += usize::from(line.is_damaged);
            news.extend(line.record);
        })?;
        if let Some(message) = damage(damaged) {
            news.push(complaint_after(news.last(), &self.run, message));
        }
        for record in &news {
            self.last_number = record.seq;
            self.turn_to(&record.event);
        }
        if let Some(output) = &mut self.agent_output {
            let events = output.read_on()?;
            news.extend(events.into_iter().map(|agent| {
                let story = output.story.clone();
                let event = match &output.of {
                    OutputOf::Attempt(attempt) => Event::Agent {
                        story,
                        attempt: *attempt,
                        agent,
                    },
                    OutputOf::Review(review) => Event::Reviewer {
                        story,
                        review: review.clone(),
                        agent,
                    },
                };
                Record::new(self.last_number, now, self.run.clone(), event)
            }));
        }
        Ok(news)
    }

    fn listen(&mut self, mut output: AgentOutput) {
        output.reader.set_folder(&self.work_tree);
        self.agent_output = Some(output);
    }

    /// Listens to the agent of the attempt at hand, or to the one that reviews it.
    fn turn_to(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted(AttemptStarted {
                story,
                attempt,
                transcript,
                output,
                ..
            }) => {
                let folder = Path::new(transcript);
                let of = OutputOf::Attempt(*attempt);
                self.listen(AgentOutput::of(folder, *output, story.clone(), of));
            }
            Event::ReviewStarted(started) => {
                let folder = Path::new(&started.transcript);
                let of = OutputOf::Review(started.review.clone());
                let story = started.story.clone();
                self.listen(AgentOutput::of(folder, started.output, story, of));
            }
            Event::ReviewFinished(_)
            | Event::AttemptFailed { .. }
            | Event::StoryCompleted { .. }
            | Event::RunEnded { .. }
            | Event::RunStarted { .. } => self.agent_output = None,
            _ => {}
        }
    }
}

/// Whose output it is.
enum OutputOf {
    Attempt(AttemptNumber),
    Review(String),
}

/// What the agent of one attempt, or of one review, says.
struct AgentOutput {
    story: StoryId,
    of: OutputOf,
    stream: GrowingFile,
    reader: Box<dyn StreamReader + Send>,
}

impl AgentOutput {
    fn of(folder: &Path, output: Output, story: StoryId, of: OutputOf) -> Self {
        Self {
            story,
            of,
            stream: GrowingFile::new(folder.join("stdout"), output.line_cap()),
            reader: output.reader(&jiff::Zoned::now()),
        }
    }

    /// The last figures and the last word since the last time.
    fn read_on(&mut self) -> io::Result<Vec<AgentEvent>> {
        if self.stream.position() == 0 {
            let length = self.stream.length()?.unwrap_or(0);
            self.stream.skip_to(length.saturating_sub(TRANSCRIPT_CAP));
        }
        let (mut figures, mut word) = (None, None);
        let reader = &mut self.reader;
        self.stream.read_to_end(|line| {
            for event in reader.line(line.bytes, line.truncated) {
                match &event {
                    AgentEvent::Usage { .. } => figures = Some(event),
                    AgentEvent::Text { text } if text.trim().is_empty() => {}
                    _ => word = Some(event),
                }
            }
        })?;
        Ok([figures, word].into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn records_and_the_last_words_of_the_agent_come_as_they_are_written() {
        let vault = tempfile::tempdir().unwrap();
        let run = RunId("r".to_owned());
        let attempt = vault.path().join("attempt");
        std::fs::create_dir_all(&attempt).unwrap();
        let folder = vault.path().join("runs/r");
        let mut follower = Follower::of(vault.path(), &run, Path::new("/repo"));
        let mut told = || -> Vec<String> {
            let records = follower.read_on(Timestamp::UNIX_EPOCH).unwrap();
            let names = records.iter().map(|record| match &record.event {
                Event::AttemptStarted { .. } => "attempt".to_owned(),
                Event::Agent { agent, .. } => match agent {
                    AgentEvent::Usage { usage, .. } => format!("{} tokens", usage.total_tokens()),
                    AgentEvent::Text { text } => text.clone(),
                    other => format!("{other:?}"),
                },
                Event::AttemptFailed { .. } => "failed".to_owned(),
                other => format!("{other:?}"),
            });
            names.collect()
        };
        // Nothing is there yet.
        assert_eq!(told(), Vec::<String>::new());
        std::fs::create_dir_all(&folder).unwrap();
        let mut events = File::create(folder.join("events.jsonl")).unwrap();
        let started = format!(
            r#"{{"v":1,"seq":0,"at":"2026-01-01T00:00:00Z","run":"r","event":"attempt_started","story":"1","attempt":1,"max_attempts":4,"transcript":"{}","output":"claude-json"}}"#,
            attempt.display()
        );
        let (first, rest) = started.split_at(40);
        write!(events, "{first}").unwrap();
        assert_eq!(told(), Vec::<String>::new());
        writeln!(events, "{rest}").unwrap();
        assert_eq!(told(), ["attempt"]);

        let mut stdout = File::create(attempt.join("stdout")).unwrap();
        for text in ["one", "two"] {
            writeln!(
                stdout,
                r#"{{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{{"id":"{text}","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":3,"output_tokens":4}}}}}}"#
            )
            .unwrap();
        }
        let said = told();
        assert_eq!(said.last().map(String::as_str), Some("two"));
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].ends_with(" tokens"), "{said:?}");
        assert_eq!(told(), Vec::<String>::new());
        let failed = r#"{"v":1,"seq":1,"at":"2026-01-01T00:00:00Z","run":"r","event":"attempt_failed","story":"1","attempt":1,"kind":"failed","reason":"","parked":"1.1","changed_files":0,"retrying":false,"duration_ms":1,"usage":{"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}"#;
        writeln!(events, "{failed}").unwrap();
        writeln!(stdout, "more").unwrap();
        assert_eq!(told(), ["failed"]);
    }

    #[test]
    fn what_a_reviewer_says_is_followed_until_its_review_ends() {
        let vault = tempfile::tempdir().unwrap();
        let folder = vault.path().join("runs/r");
        std::fs::create_dir_all(&folder).unwrap();
        let transcript = vault.path().join("review");
        std::fs::create_dir_all(&transcript).unwrap();
        let mut follower = Follower::of(vault.path(), &RunId("r".to_owned()), Path::new("/repo"));
        let mut events = File::create(folder.join("events.jsonl")).unwrap();
        writeln!(
            events,
            r#"{{"v":1,"seq":0,"at":"2026-01-01T00:00:00Z","run":"r","event":"review_started","story":"1","attempt":1,"review":"judge","agent":{{"agent":"mine"}},"transcript":"{}","output":"text"}}"#,
            transcript.display()
        )
        .unwrap();
        let mut stdout = File::create(transcript.join("stdout")).unwrap();
        writeln!(stdout, "I look").unwrap();
        let told = follower.read_on(Timestamp::UNIX_EPOCH).unwrap();
        let said = Event::Reviewer {
            story: StoryId("1".to_owned()),
            review: "judge".to_owned(),
            agent: AgentEvent::Text {
                text: "I look".to_owned(),
            },
        };
        assert_eq!(told.last().map(|it| &it.event), Some(&said));
        writeln!(
            events,
            r#"{{"v":1,"seq":1,"at":"2026-01-01T00:00:00Z","run":"r","event":"review_finished","story":"1","attempt":1,"review":"judge","result":{{"ended":"no_verdict","reason":"r"}},"duration_ms":1,"usage":{{"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}}}}"#
        )
        .unwrap();
        writeln!(stdout, "more").unwrap();
        assert_eq!(follower.read_on(Timestamp::UNIX_EPOCH).unwrap().len(), 1);
    }
}
