//! Gaps in the record of a run: a program that dies between a step and the event that records it
//! leaves one. The journal knows what happened; the record is completed from it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;

use crate::records::event::{
    AttemptFailed, AttemptStarted, Event, FinishChoice, Finished, Record, StoryCompleted,
    UndoneStep,
};
use crate::records::file::{self, RecordFile};
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_base::files::FileError;
use ralph_base::ids::{AttemptId, AttemptNumber, RunId, StoryId};
use ralph_vault::Vault;
use ralph_vault::journal::moved::{Moved, moves_of};
use ralph_vault::journal::steps::{
    BeginIntent, Line, MoveKind, ParkedNote, SavedWork, Step, StoryNote,
};

/// Adds what the record of the last run lacks.
pub(crate) fn fill_gaps(checkpoints: &Vault) -> Result<(), FileError> {
    let lines = checkpoints.journal_lines()?;
    let Some(run) = lines.last().map(|line| &line.run) else {
        return Ok(());
    };
    let folder = checkpoints.run_folder(run);
    let known = file::read(&folder)?.unwrap_or_default();
    let missing = missing_events(&lines, run, &known.records);
    append(&folder, run, missing)
}

/// Adds events to the record of a run that no loop is at work on.
pub(crate) fn append(folder: &Path, run: &RunId, events: Vec<Event>) -> Result<(), FileError> {
    if events.is_empty() {
        return Ok(());
    }
    let mut file = RecordFile::open(folder)?;
    let mut lines = Vec::new();
    for event in events {
        let record = Record::new(file.next_number(), Timestamp::now(), run.clone(), event);
        file.add(&mut lines, &record)?;
    }
    file.write(&lines)
}

/// What the journal says of a run and its record does not.
fn missing_events(lines: &[Line], run: &RunId, records: &[Record]) -> Vec<Event> {
    let mut recorded = Recorded::of(records);
    let mut missing = Vec::new();
    let mut begun: Option<&BeginIntent> = None;
    let mut story: Option<&StoryNote> = None;
    let mut saving: Option<(&SavedWork, String, usize)> = None;
    let mut moving: Option<&MoveKind> = None;
    let mut finishes = 0;
    let mut rewinds = moves_of(lines, run).into_iter().peekable();
    for (index, line) in lines.iter().enumerate() {
        if line.run != *run {
            continue;
        }
        while let Some(rewind) = rewinds.next_if(|it| it.line <= index) {
            if recorded.moves == 0 {
                missing.push(moved_to(rewind));
            } else {
                recorded.moves -= 1;
            }
        }
        if let Step::Parked { .. } | Step::RestoreIntent = &line.step {
            // It was verified, but undone before it was saved.
            story = None;
        }
        match &line.step {
            Step::BeginIntent { intent } => begun = Some(intent),
            Step::Parked { attempt, note, .. }
                if note.label == attempt.to_string()
                    && recorded.failed.insert(note.label.clone()) =>
            {
                missing.push(recorded.failed(attempt, note));
            }
            Step::Verified { story: note } => story = Some(note),
            Step::SaveIntent {
                commit,
                work,
                changed_files,
                ..
            } => saving = Some((work, commit.to_string(), *changed_files)),
            Step::Saved => {
                let verified = story.take();
                let Some((work, commit, files)) = saving.take() else {
                    continue;
                };
                let event = match (work, verified) {
                    (SavedWork::Reopened(it), _) => Event::reopened(it.clone(), commit.clone()),
                    (SavedWork::Story(of), Some(note)) if *of == note.id => {
                        recorded.completed(note, commit.clone(), files)
                    }
                    _ => continue,
                };
                if recorded.saved.insert(commit) {
                    missing.push(event);
                }
            }
            Step::Kept { changed_files } => {
                finishes += 1;
                if finishes > recorded.finishes {
                    missing.extend(begun.map(|it| kept(it, *changed_files)));
                }
            }
            Step::MoveIntent { intent } => moving = Some(&intent.kind),
            Step::Moved => {
                let moved = moving.take().zip(begun);
                if let Some(event) = moved.and_then(|(kind, it)| home(kind, it)) {
                    finishes += 1;
                    if finishes > recorded.finishes {
                        missing.push(event);
                    }
                }
            }
            _ => {}
        }
    }
    missing
}

/// What the record has already.
#[derive(Default)]
struct Recorded {
    /// When attempts started, when they last reported what they used, and what that was.
    spent: HashMap<String, (Timestamp, Timestamp, Usage)>,
    /// How often attempts were to be repaired.
    repairs: HashMap<String, u32>,
    failed: HashSet<String>,
    saved: HashSet<String>,
    finishes: usize,
    /// How many rewinds and undos.
    moves: usize,
}

impl Recorded {
    fn of(records: &[Record]) -> Self {
        let mut recorded = Self::default();
        for record in records {
            match &record.event {
                Event::AttemptStarted(AttemptStarted { story, attempt, .. }) => {
                    let spent = (record.at, record.at, Usage::default());
                    recorded.spent.insert(label(story, *attempt), spent);
                }
                Event::Agent {
                    story,
                    attempt,
                    agent: AgentEvent::Usage { usage, .. },
                } => {
                    if let Some(spent) = recorded.spent.get_mut(&label(story, *attempt)) {
                        (spent.1, spent.2) = (record.at, *usage);
                    }
                }
                Event::RepairStarted(repair) => {
                    let label = label(&repair.story, repair.attempt);
                    recorded.repairs.insert(label, repair.repair);
                }
                Event::AttemptFailed(AttemptFailed { parked, .. }) => {
                    recorded.failed.insert(parked.clone());
                }
                Event::StoryCompleted(StoryCompleted { commit, .. })
                | Event::StoryReopened { commit, .. } => {
                    recorded.saved.insert(commit.clone());
                }
                Event::Finished { .. } => recorded.finishes += 1,
                Event::Rewound { .. } | Event::Undone { .. } => recorded.moves += 1,
                _ => {}
            }
        }
        recorded
    }

    /// What an attempt used, and how long it was surely at work.
    fn spent(&self, label: &str) -> (Usage, u64) {
        let Some((started, last, usage)) = self.spent.get(label) else {
            return (Usage::default(), 0);
        };
        let time = last.duration_since(*started).as_millis();
        (*usage, u64::try_from(time).unwrap_or(0))
    }

    fn repairs(&self, label: &str) -> u32 {
        self.repairs.get(label).copied().unwrap_or(0)
    }

    fn failed(&self, attempt: &AttemptId, note: &ParkedNote) -> Event {
        let (usage, duration_ms) = self.spent(&note.label);
        Event::AttemptFailed(AttemptFailed {
            story: attempt.story.clone(),
            attempt: attempt.attempt,
            kind: note.kind,
            reason: note.why.clone(),
            parked: note.label.clone(),
            changed_files: note.changed_files,
            retrying: true,
            duration_ms,
            usage,
            repairs: self.repairs(&note.label),
        })
    }

    fn completed(&self, note: &StoryNote, commit: String, changed_files: usize) -> Event {
        let attempts = (1..=note.attempts).map(AttemptNumber);
        let repairs = attempts.map(|number| self.repairs(&label(&note.id, number)));
        Event::StoryCompleted(StoryCompleted {
            story: note.id.clone(),
            title: note.title.clone(),
            attempts: note.attempts,
            commit,
            changed_files,
            duration_ms: 0,
            usage: Usage::default(),
            repairs: repairs.sum(),
        })
    }
}

fn label(story: &StoryId, attempt: AttemptNumber) -> String {
    let story = story.clone();
    AttemptId { story, attempt }.to_string()
}

fn kept(begun: &BeginIntent, changed_files: usize) -> Event {
    let branch = short(&begun.branch);
    Event::Finished(Finished {
        choice: FinishChoice::Keep,
        head: branch.clone(),
        branch,
        changed_files,
    })
}

fn home(kind: &MoveKind, begun: &BeginIntent) -> Option<Event> {
    let (head, changed_files) = match kind {
        MoveKind::Cleanup { changed_files } => (begun.original.recorded(), *changed_files),
        MoveKind::Squash { changed_files } | MoveKind::Reword { changed_files } => {
            (short(&begun.branch), *changed_files)
        }
        MoveKind::Abandon => (begun.head_before().recorded(), 0),
        MoveKind::StartOver { changed_files } => (begun.head.recorded(), *changed_files),
        MoveKind::Rewind { .. } | MoveKind::RestoreAttempt { .. } | MoveKind::Undo => return None,
    };
    Some(Event::Finished(Finished {
        choice: kind.finish()?,
        head,
        branch: short(&begun.branch),
        changed_files,
    }))
}

fn moved_to(moved: Moved) -> Event {
    let checkpoints = moved.checkpoints.iter().map(ToString::to_string).collect();
    match moved.story {
        Some(story) => Event::Rewound { story, checkpoints },
        None => Event::Undone {
            checkpoints,
            open: moved.is_open,
            step: moved.undone.as_ref().and_then(undone_step),
        },
    }
}

const fn undone_step(kind: &MoveKind) -> Option<UndoneStep> {
    Some(match kind {
        MoveKind::Cleanup { .. } => UndoneStep::Cleanup,
        MoveKind::Abandon => UndoneStep::Abandon,
        MoveKind::Squash { .. } => UndoneStep::Squash,
        MoveKind::Reword { .. } => UndoneStep::Reword,
        MoveKind::StartOver { .. } => UndoneStep::StartOver,
        MoveKind::Rewind { .. } => UndoneStep::Rewind,
        MoveKind::RestoreAttempt { .. } => UndoneStep::RestoreAttempt,
        MoveKind::Undo => return None,
    })
}

fn short(branch: &str) -> String {
    branch
        .strip_prefix("refs/heads/")
        .unwrap_or(branch)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ralph_vault::git::object_id::ObjectId;

    fn run() -> RunId {
        RunId("test-run".to_owned())
    }

    fn lines(steps: Vec<Step>) -> Vec<Line> {
        let line = |step| Line {
            run: run(),
            at: Timestamp::UNIX_EPOCH,
            uptime: None,
            step,
        };
        steps.into_iter().map(line).collect()
    }

    fn note() -> StoryNote {
        StoryNote {
            id: StoryId("1".to_owned()),
            title: "First".to_owned(),
            attempts: 1,
            gates: Vec::new(),
        }
    }

    fn saved(work: SavedWork) -> [Step; 2] {
        let commit = ObjectId::parse(&[b'a'; 40]).unwrap();
        let intent = Step::SaveIntent {
            commit,
            snapshot: "s".to_owned(),
            work,
            changed_files: 1,
        };
        [intent, Step::Saved]
    }

    fn completed_in(steps: Vec<Step>) -> usize {
        let missing = missing_events(&lines(steps), &run(), &[]);
        let is_completed = |event: &&Event| matches!(event, Event::StoryCompleted { .. });
        missing.iter().filter(is_completed).count()
    }

    #[test]
    fn a_story_that_was_verified_and_saved_is_completed() {
        let [intent, saved] = saved(SavedWork::Story(note().id));
        let verified = Step::Verified { story: note() };
        assert_eq!(completed_in(vec![verified, intent, saved]), 1);
    }

    #[test]
    fn a_story_that_was_parked_after_it_was_verified_is_not_completed_by_a_later_save() {
        let parked = Step::Parked {
            attempt: AttemptId {
                story: StoryId("1".to_owned()),
                attempt: AttemptNumber(1),
            },
            snapshot: "p".to_owned(),
            counts: false,
            reason: None,
            note: ParkedNote {
                label: "1.1".to_owned(),
                kind: crate::records::event::FailureKind::Interrupted,
                why: "interrupted".to_owned(),
                changed_files: 1,
                commit: None,
                rounds: 1,
            },
        };
        let verified = || Step::Verified { story: note() };
        let [intent, done] = saved(SavedWork::Resumed);
        let undone = vec![
            verified(),
            parked,
            Step::RestoreIntent,
            Step::Restored,
            intent,
            done,
        ];
        assert_eq!(completed_in(undone), 0);
        // Nor by a save of something else.
        let [intent, done] = saved(SavedWork::Resumed);
        assert_eq!(completed_in(vec![verified(), intent, done]), 0);
    }
}
