//! The events of the run, with the texts of the plain log.

use std::collections::VecDeque;

use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::palette::{BAD, DIM, GOOD, PLAIN, STRONG, WARN};
use crate::tui::text_pane::{Item, TextPane};
use crate::tui::wrap;
use crate::ui::line;
use crate::ui::style;
use ralph_run::records::event::{Event, Record};

/// How many events are kept; all of them are in the record of the run.
const MOST: usize = 5_000;

#[derive(Debug)]
pub(crate) struct LogPane {
    pub(crate) text: TextPane,
    entries: VecDeque<Entry>,
    zone: TimeZone,
    stale: bool,
}

#[derive(Debug)]
struct Entry {
    time: String,
    line: line::Line,
}

impl LogPane {
    /// An empty log.
    pub(crate) const fn zone(&self) -> &TimeZone {
        &self.zone
    }

    pub(crate) fn new(zone: TimeZone) -> Self {
        Self {
            text: TextPane::following(),
            entries: VecDeque::new(),
            zone,
            stale: false,
        }
    }

    /// Adds a record; what agents say is in their transcripts.
    pub(crate) fn apply(&mut self, record: &Record) {
        if matches!(record.event, Event::Agent { .. } | Event::Reviewer { .. }) {
            return;
        }
        let Some(line) = line::of(record) else {
            return;
        };
        let time = record.at.to_zoned(self.zone.clone()).strftime("%H:%M:%S");
        if self.entries.len() == MOST {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry {
            time: time.to_string(),
            line,
        });
        self.stale = true;
    }

    pub(crate) fn fit(&mut self, area: Rect) {
        self.stale |= self.text.fit(area);
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let items = self.entries.iter().map(|entry| self.lines(entry));
        self.text.set(items.collect());
    }

    fn lines(&self, entry: &Entry) -> Item {
        const TIME: usize = 9;
        let style = match entry.line.style {
            style::GOOD => GOOD,
            style::BAD => BAD,
            style::WARN => WARN,
            style::STRONG => STRONG,
            style::DIM => DIM,
            _ => PLAIN,
        };
        let first = Line::from(vec![
            Span::styled(format!("{} ", entry.time), DIM),
            Span::styled(entry.line.text.clone(), style),
        ]);
        let mut lines = wrap::wrap(&first, self.text.columns(), TIME);
        for detail in &entry.line.details {
            let text = format!("{}{detail}", " ".repeat(TIME));
            let line = wrap::styled(text, DIM);
            lines.extend(wrap::wrap(&line, self.text.columns(), TIME));
        }
        lines
    }
}
