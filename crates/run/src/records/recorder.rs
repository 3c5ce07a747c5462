//! The record of a run: every event is written to the run's file before any face sees it. What an
//! agent says is not written again: it is in the attempt's transcript. What it used is, so that a
//! run that is killed and resumed knows what it has spent.

use std::path::Path;

use jiff::Timestamp;
use tokio::sync::mpsc;

use crate::records::event::{Event, Record};
use crate::records::file::RecordFile;
use crate::records::notifier::Notifier;
use ralph_agents::agent_event::AgentEvent;
use ralph_base::files::FileError;
use ralph_base::ids::RunId;

/// Whether an event is part of the record.
const fn is_kept(event: &Event) -> bool {
    match event {
        Event::Agent { agent, .. } | Event::Reviewer { agent, .. } => {
            matches!(agent, AgentEvent::Usage { .. })
        }
        _ => true,
    }
}

/// How many records of what an agent says may wait to be sent at once.
const MOST_WAITING: usize = 64;

/// Writes and passes on.
pub(crate) struct Recorder {
    file: RecordFile,
    run: RunId,
    sink: mpsc::Sender<Vec<Record>>,
    /// What an agent said, not sent yet.
    waiting: Vec<Record>,
    /// Lines for the file of what waits.
    unwritten: Vec<u8>,
    notifier: Option<Notifier>,
}

impl Recorder {
    /// Opens the record of a run; what is in it stays. The notifier's program, if there is one, gets
    /// what is worth a notification.
    pub(crate) fn open(
        folder: &Path,
        run: RunId,
        sink: mpsc::Sender<Vec<Record>>,
        notifier: Option<Notifier>,
    ) -> Result<Self, FileError> {
        Ok(Self {
            file: RecordFile::open(folder)?,
            run,
            sink,
            waiting: Vec::new(),
            unwritten: Vec::new(),
            notifier,
        })
    }

    /// Records an event; what an agent says is sent with what follows it, or by [`Self::flush`].
    pub(crate) async fn record(&mut self, event: Event) -> Result<(), FileError> {
        let complaint = self.notifier.as_mut().and_then(Notifier::complaint);
        self.complain(complaint).await?;
        self.write(event).await
    }

    /// Waits until every notification is over.
    pub(crate) async fn finish(&mut self) -> Result<(), FileError> {
        let complaint = match &mut self.notifier {
            Some(notifier) => notifier.finish().await,
            None => None,
        };
        self.complain(complaint).await
    }

    async fn complain(&mut self, complaint: Option<String>) -> Result<(), FileError> {
        let Some(message) = complaint else {
            return Ok(());
        };
        self.write(Event::warning("notify", message)).await
    }

    async fn write(&mut self, event: Event) -> Result<(), FileError> {
        let number = self.file.next_number();
        let record = Record::new(number, Timestamp::now(), self.run.clone(), event);
        if is_kept(&record.event) {
            self.file.add(&mut self.unwritten, &record)?;
        }
        let is_of_agent = matches!(record.event, Event::Agent { .. } | Event::Reviewer { .. });
        if !is_of_agent {
            self.write_down()?;
            if let Some(notifier) = &mut self.notifier {
                notifier.notify(&record);
            }
        }
        self.waiting.push(record);
        if is_of_agent && self.waiting.len() < MOST_WAITING {
            return Ok(());
        }
        self.flush().await
    }

    fn write_down(&mut self) -> Result<(), FileError> {
        if !self.unwritten.is_empty() {
            let lines = std::mem::take(&mut self.unwritten);
            self.file.write(&lines)?;
        }
        Ok(())
    }

    /// Writes and sends what waits.
    pub(crate) async fn flush(&mut self) -> Result<(), FileError> {
        self.write_down()?;
        if !self.waiting.is_empty() {
            // A face that is gone is no reason to stop the run.
            let _ = self.sink.send(std::mem::take(&mut self.waiting)).await;
        }
        Ok(())
    }
}
