//! Carries records to the screen.
//!
//! The loop must never wait for a terminal, however slow it is, and the screen reads an agent's text
//! from the transcript. So of consecutive events of an agent, the queue keeps only the last one and
//! the last usage report.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;

use ralph_agents::agent_event::AgentEvent;
use ralph_base::ids::{AttemptNumber, StoryId};
use ralph_run::records::event::{Event, Record};

/// Records that wait to be shown.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordQueue {
    waiting: Arc<Mutex<VecDeque<Record>>>,
    waker: Arc<Notify>,
}

impl RecordQueue {
    /// Collects records until the sender is dropped; `listen` sees each of them first.
    pub(super) fn collect(
        &self,
        mut records: Receiver<Vec<Record>>,
        mut listen: impl FnMut(&Record) + Send + 'static,
    ) -> std::thread::JoinHandle<()> {
        let queue = self.clone();
        std::thread::spawn(move || {
            while let Some(records) = records.blocking_recv() {
                for record in records {
                    listen(&record);
                    queue.put(record);
                }
            }
        })
    }

    fn put(&self, record: Record) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let source = agent_source(&record);
        let is_replaced = |it: &Record| source.is_some() && agent_source(it) == source;
        let replaced = waiting.iter().rev().take(2).position(is_replaced);
        match replaced.and_then(|back| waiting.len().checked_sub(back + 1)) {
            // A blank line says less than the line before it.
            Some(_) if is_blank(&record) => {}
            Some(place) => {
                waiting.remove(place);
                waiting.push_back(record);
            }
            None => waiting.push_back(record),
        }
        drop(waiting);
        self.waker.notify_one();
    }

    /// Waits until a record has arrived.
    pub(super) async fn filled(&self) {
        self.waker.notified().await;
    }

    /// Empties the queue.
    pub(super) fn take(&self) -> VecDeque<Record> {
        std::mem::take(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn is_blank(record: &Record) -> bool {
    match &record.event {
        Event::Agent {
            agent: AgentEvent::Text { text },
            ..
        }
        | Event::Reviewer {
            agent: AgentEvent::Text { text },
            ..
        } => text.trim().is_empty(),
        _ => false,
    }
}

/// For an agent's event: its story, its attempt or its review, and whether it reports usage. A later
/// record with the same values replaces it.
fn agent_source(record: &Record) -> Option<(&StoryId, AttemptNumber, &str, bool)> {
    match &record.event {
        Event::Agent {
            story,
            attempt,
            agent,
        } => Some((
            story,
            *attempt,
            "",
            matches!(agent, AgentEvent::Usage { .. }),
        )),
        Event::Reviewer {
            story,
            review,
            agent,
        } => {
            let is_usage = matches!(agent, AgentEvent::Usage { .. });
            Some((story, AttemptNumber(0), review, is_usage))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ralph_agents::agent_event::Usage;
    use ralph_base::ids::RunId;
    use ralph_run::records::event::WIRE_VERSION;

    fn record(seq: u64, event: Event) -> Record {
        Record {
            v: WIRE_VERSION,
            seq,
            at: jiff::Timestamp::UNIX_EPOCH,
            run: RunId("r".to_owned()),
            event,
        }
    }

    fn said(seq: u64, attempt: u32, agent: AgentEvent) -> Record {
        record(
            seq,
            Event::Agent {
                story: StoryId("1".to_owned()),
                attempt: AttemptNumber(attempt),
                agent,
            },
        )
    }

    #[test]
    fn only_the_last_event_of_an_agent_is_kept_and_every_other_record() {
        let queue = RecordQueue::default();
        let text = |seq| {
            let text = format!("word {seq}");
            said(seq, 1, AgentEvent::Text { text })
        };
        let figures = |seq| {
            let usage = Usage {
                output_tokens: seq,
                ..Usage::default()
            };
            said(seq, 1, AgentEvent::usage(usage))
        };
        let warning = |seq: u64| {
            let warning = Event::Warning {
                code: "w".to_owned(),
                message: seq.to_string(),
            };
            record(seq, warning)
        };
        for it in [
            text(0),
            text(1),
            figures(2),
            text(3),
            figures(4),
            warning(5),
            warning(6),
        ] {
            queue.put(it);
        }
        queue.put(text(7));
        queue.put(said(8, 2, AgentEvent::Final { is_error: false }));
        let kept: Vec<u64> = queue.take().into_iter().map(|it| it.seq).collect();
        assert_eq!(kept, [3, 4, 5, 6, 7, 8]);
        assert!(queue.take().is_empty());
    }
}
