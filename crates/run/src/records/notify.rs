//! What is worth a notification to a user who is not watching, and in which words.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::counts::StoryCounts;
use super::event::{Event, Outcome, Record, RunEnded};
use super::progress::Progress;
use crate::settings::{NotifySettings, Occasion};

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// What for.
    pub occasion: Occasion,
    /// One line for people.
    pub message: String,
}

/// Listens to a run and says what is worth telling.
#[derive(Debug, Clone)]
pub struct Listener {
    wanted: Vec<Occasion>,
    change: String,
    /// What is said at the end counts the stories of the whole run.
    progress: Progress,
    /// The last notification was the end of the run: the choice that follows is part of it.
    ended: bool,
}

impl Listener {
    /// Listens for what the settings name.
    pub fn new(settings: &NotifySettings) -> Self {
        Self {
            wanted: settings.on.clone(),
            change: String::new(),
            progress: Progress::default(),
            ended: false,
        }
    }

    /// What the user is notified of when this is recorded, if anything.
    pub fn notification(&mut self, record: &Record) -> Option<Notification> {
        if let Event::RunStarted(started) = &record.event {
            self.change.clone_from(&started.change);
            self.ended = false;
        }
        if !matches!(record.event, Event::Agent { .. }) {
            self.progress.apply(record);
        }
        let at = record.at.to_zoned(TimeZone::system());
        let (occasion, what) = occasion_of(&record.event, &self.progress, &at)?;
        if !self.wanted.contains(&occasion) {
            return None;
        }
        if occasion == Occasion::Choice && std::mem::take(&mut self.ended) {
            return None;
        }
        self.ended = matches!(record.event, Event::RunEnded(_));
        Some(Notification {
            occasion,
            message: format!("{}: {what}", self.change),
        })
    }
}

fn occasion_of(event: &Event, progress: &Progress, at: &Zoned) -> Option<(Occasion, String)> {
    match event {
        Event::RunEnded(ended) => Some(how_it_ended(ended, progress, at)),
        // Otherwise the end of the run follows at once, and says it.
        Event::StoryExhausted(exhausted) if exhausted.continues => {
            let what = format!("{}; the run continues without it", exhausted.failed.words());
            Some((Occasion::Exhausted, what))
        }
        Event::Waiting { reason, until, .. } => {
            let what = format!("waits until {until:.0}: {reason}");
            Some((Occasion::Waiting, what))
        }
        Event::QuestionAsked(asked) => {
            let what = format!("story {} needs an answer: {}", asked.story, asked.question);
            Some((Occasion::Blocked, what))
        }
        Event::ChoiceNeeded => Some((Occasion::Choice, "needs a choice: cleanup or keep".into())),
        _ => None,
    }
}

fn how_it_ended(ended: &RunEnded, progress: &Progress, at: &Zoned) -> (Occasion, String) {
    let done = format!(
        "{} of {} stories done",
        ended.stories_done, ended.stories_total
    );
    let what = match &ended.outcome {
        Outcome::AllDone | Outcome::StoryDone { .. } => done,
        // It counts the stories itself.
        Outcome::Exhausted {
            continued: true, ..
        } => ended.outcome.headline(&progress.story_counts(), at),
        outcome => {
            let headline = outcome.headline(&StoryCounts::default(), at);
            format!("{headline}, {done}")
        }
    };
    if matches!(ended.outcome, Outcome::Exhausted { .. }) {
        return (Occasion::Exhausted, what);
    }
    (Occasion::Finished, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::event::{FailedStory, FailureKind, WIRE_VERSION};
    use pretty_assertions::assert_eq;
    use ralph_agents::agent_event::Usage;
    use ralph_base::ids::{RunId, StoryId};

    fn record(event: Event) -> Record {
        Record {
            v: WIRE_VERSION,
            seq: 0,
            at: jiff::Timestamp::UNIX_EPOCH,
            run: RunId("r".to_owned()),
            event,
        }
    }

    fn ended(outcome: Outcome) -> Event {
        Event::RunEnded(RunEnded {
            outcome,
            stories_done: 1,
            stories_total: 2,
            attempts: 3,
            duration_ms: 0,
            usage: Usage::default(),
        })
    }

    fn waiting() -> Event {
        Event::Waiting {
            story: StoryId("1".to_owned()),
            reason: "usage limit".to_owned(),
            until: jiff::Timestamp::UNIX_EPOCH,
            continues: None,
        }
    }

    /// What a listener says of each event in turn.
    fn told(on: &[Occasion], events: Vec<Event>) -> Vec<String> {
        let mut listener = Listener::new(&NotifySettings {
            on: on.to_vec(),
            ..NotifySettings::default()
        });
        listener.change = "c".to_owned();
        let events = events.into_iter();
        let said = events.filter_map(|event| listener.notification(&record(event)));
        said.map(|it| format!("{:?} {}", it.occasion, it.message))
            .collect()
    }

    #[test]
    fn each_occasion_is_told_in_one_line() {
        use Occasion::{Choice, Exhausted, Finished, Waiting};
        let all = [Finished, Exhausted, Waiting, Choice];
        let exhausted = Outcome::stopped_at(FailedStory {
            story: StoryId("2".to_owned()),
            kind: FailureKind::Gate,
            reason: "red".to_owned(),
            attempts: 3,
            gate: Some("tests".to_owned()),
        });
        let events = || {
            vec![
                waiting(),
                ended(exhausted.clone()),
                Event::ChoiceNeeded,
                ended(Outcome::AllDone),
                Event::NoteAdded {
                    text: "n".into(),
                    story: None,
                },
                Event::ChoiceNeeded,
                Event::ChoiceNeeded,
            ]
        };
        assert_eq!(
            told(&all, events()),
            [
                "Waiting c: waits until 1970-01-01T00:00:00Z: usage limit",
                "Exhausted c: story 2 failed after 3 attempts (gate `tests`), 1 of 2 stories done",
                "Finished c: 1 of 2 stories done",
                "Choice c: needs a choice: cleanup or keep",
            ],
            "the choice right after an end is part of it"
        );
        assert_eq!(told(&[Choice], events()).len(), 3);
        assert_eq!(told(&[Exhausted], events()).len(), 1);
        assert_eq!(told(&[], events()).len(), 0);
    }
}
