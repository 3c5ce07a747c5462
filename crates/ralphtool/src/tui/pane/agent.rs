//! What an agent says and does: a window of its transcript, which stays on disk.
//!
//! While the pane follows, the window is the end of the transcript, and is queried again when the
//! agent has said more. Otherwise the pane queries other parts when the cursor comes near the border
//! of its window.

mod drawing;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::keys::Action;
use crate::tui::message::{FileWindow, Needle, Part, Query, TranscriptId, Window};
use crate::tui::palette::DIM;
use crate::tui::text_pane::{Item, TextPane};
use crate::tui::wrap;
use crate::ui::text::clean;
use ralph_agents::agent_event::AgentEvent;
use ralph_agents::transcript::{Entry, Source};

use drawing::Drawing;

/// How many more entries than visible lines are queried.
const SPARE: usize = 8;

/// How many lines of the stderr of an agent that crashed are shown.
const STDERR_LINES: usize = 60;

/// The pane of one transcript.
#[derive(Debug, Default)]
pub(crate) struct AgentPane {
    transcript: Option<TranscriptId>,
    pub(crate) text: TextPane,
    entries: Vec<Entry>,
    total: usize,
    /// Expanded entries, each with its full text once that has been received.
    expanded: BTreeMap<usize, Vec<String>>,
    /// Rendered entries by their number, each with the length of the text that was rendered.
    rendered: BTreeMap<usize, (usize, Vec<Line<'static>>)>,
    /// Whether the terminal shows colours.
    colored: bool,
    /// The transcript has grown since the window was queried.
    stale: bool,
    /// A query is not answered yet.
    waiting: bool,
    /// The entry to go to when a window with it arrives.
    destination: Option<usize>,
    /// Go to the line of that entry that was searched for: to its first one, or to its last.
    hit: Option<Hit>,
    problem: Option<String>,
    stderr: Option<Stderr>,
}

/// Which line with a text that is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hit {
    First,
    Last,
}

/// What an agent that crashed printed on stderr.
#[derive(Debug)]
struct Stderr {
    path: PathBuf,
    is_queried: bool,
    lines: Vec<String>,
}

impl AgentPane {
    /// A pane without a transcript.
    pub(crate) fn new(colored: bool) -> Self {
        Self {
            text: TextPane::following(),
            colored,
            ..Self::default()
        }
    }

    pub(crate) fn transcript(&self) -> Option<&TranscriptId> {
        self.transcript.as_ref()
    }

    /// Shows a transcript, from its end.
    pub(crate) fn show(&mut self, transcript: Option<TranscriptId>) {
        if self.transcript == transcript {
            return;
        }
        *self = Self {
            text: self.text.emptied(),
            colored: self.colored,
            stale: transcript.is_some(),
            transcript,
            ..Self::default()
        };
        self.lay_out();
    }

    /// Shows the end of the stderr of an agent that crashed below what it said.
    pub(crate) fn show_stderr(&mut self, path: Option<PathBuf>) {
        if self.stderr.as_ref().map(|it| &it.path) == path.as_ref() {
            return;
        }
        self.stderr = path.map(|path| Stderr {
            path,
            is_queried: false,
            lines: Vec::new(),
        });
        self.lay_out();
    }

    /// Receives a file; returns false if it is not the stderr of this agent.
    pub(crate) fn receive_stderr(
        &mut self,
        path: &PathBuf,
        found: &Result<FileWindow, String>,
    ) -> bool {
        let Some(stderr) = self.stderr.as_mut().filter(|it| it.path == *path) else {
            return false;
        };
        if let Ok(window) = found {
            stderr.lines.clone_from(&window.lines);
            self.lay_out();
        }
        true
    }

    /// The transcript may have grown.
    pub(crate) fn grew(&mut self) {
        self.stale = true;
    }

    pub(crate) fn fit(&mut self, area: Rect) {
        let is_resized = self.text.height() != usize::from(area.height);
        self.stale |= is_resized && self.transcript.is_some();
        if self.text.fit(area) {
            self.rendered.clear();
            self.lay_out();
        }
    }

    /// A query for the part that is missing, unless one is not answered yet.
    pub(crate) fn query(&mut self) -> Option<Query> {
        let transcript = self.transcript.clone()?;
        if self.waiting {
            return None;
        }
        let Some(part) = self.missing() else {
            return self.query_stderr();
        };
        self.waiting = true;
        self.stale = false;
        Some(Query::Window(transcript, part))
    }

    fn query_stderr(&mut self) -> Option<Query> {
        let stderr = self.stderr.as_mut().filter(|it| !it.is_queried)?;
        stderr.is_queried = true;
        Some(Query::File(stderr.path.clone(), STDERR_LINES))
    }

    fn missing(&self) -> Option<Part> {
        if let Some(entry) = self.destination {
            return Some(self.around(entry));
        }
        if self.text.is_following() {
            return self.stale.then_some(Part::Last(self.text.height() + SPARE));
        }
        let (first, end) = (self.first(), self.first() + self.entries.len());
        let cursor = self.text.cursor();
        let below = self.text.lines().len().saturating_sub(cursor);
        let near_top = cursor < self.text.height() && first > 0;
        let near_end = below < self.text.height() && end < self.total;
        let here = self.text.item().unwrap_or(first);
        (near_top || near_end || (self.entries.is_empty() && self.stale)).then(|| self.around(here))
    }

    /// An entry and enough on both sides to fill the pane wherever the entry is on it.
    fn around(&self, entry: usize) -> Part {
        let side = self.text.height() + 2 * SPARE;
        Part::From(entry.saturating_sub(side), 2 * side)
    }

    fn first(&self) -> usize {
        self.entries.first().map_or(0, |entry| entry.index)
    }

    /// Receives a part of the transcript.
    pub(crate) fn receive(&mut self, found: Result<Window, String>) {
        self.waiting = false;
        match found {
            Ok(window) => {
                self.entries = window.entries;
                self.total = window.total;
                self.stale |= window.more && self.text.is_following();
                self.problem = None;
                // An entry that does not exist would be queried again and again.
                self.destination = self.destination.filter(|entry| *entry < self.total);
            }
            Err(problem) => {
                self.problem = Some(problem);
                self.destination = None;
            }
        }
        self.lay_out();
    }

    /// Receives the full text of an entry.
    pub(crate) fn receive_detail(&mut self, source: Source, lines: Vec<String>) {
        if let Some(entry) = self.entries.iter().find(|it| it.source == source) {
            let index = entry.index;
            self.expanded.insert(index, lines);
            self.rendered.remove(&index);
            self.lay_out();
            if self.text.item() == Some(index) {
                self.text.reveal_item();
            }
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Home => self.destination = Some(0),
            Action::End => {
                self.stale = true;
                self.destination = None;
            }
            _ => {}
        }
        self.text.act(action);
    }

    /// Expands or folds the entry at the cursor; returns a query for its full text.
    pub(crate) fn toggle(&mut self) -> Option<Query> {
        let item = self.text.item()?;
        let transcript = self.transcript.clone()?;
        let entry = self.entries.iter().find(|entry| entry.index == item)?;
        let can_fold = matches!(
            entry.event,
            AgentEvent::ToolCall { .. }
                | AgentEvent::ToolResult { .. }
                | AgentEvent::Thinking { .. }
        );
        if !can_fold {
            return None;
        }
        let source = entry.source;
        self.rendered.remove(&item);
        if self.expanded.remove(&item).is_some() {
            self.lay_out();
            return None;
        }
        self.expanded.insert(item, Vec::new());
        let line = self.text.line_in_item();
        self.lay_out();
        self.text.go_to(item, line);
        Some(Query::Detail(transcript, source))
    }

    /// A query for the next or the previous entry with a text.
    pub(crate) fn find(&self, text: &str, forward: bool) -> Option<Query> {
        let needle = Needle {
            text: text.to_owned(),
            here: self.text.item().unwrap_or(0),
            forward,
        };
        Some(Query::Find(self.transcript.clone()?, needle))
    }

    /// Goes to the next line with the text that is searched for, in the entry at the cursor.
    pub(crate) fn find_in_entry(&mut self, forward: bool) -> bool {
        self.text.find_in_item(forward)
    }

    /// Goes to an entry that contains the text that is searched for; it may be outside the window.
    pub(crate) fn go_to(&mut self, entry: usize, forward: bool) {
        self.destination = Some(entry);
        self.hit = Some(if forward { Hit::First } else { Hit::Last });
        // Following would query the end.
        self.text.go_to(entry, 0);
    }

    /// Goes to the line that was searched for in the entry at the cursor, which is expanded if it
    /// does not show that line.
    fn go_to_hit(&mut self, entry: usize) {
        let Some(hit) = self.hit.take() else {
            return;
        };
        if self.text.find_edge_of_item(hit == Hit::First) {
            return;
        }
        let of_entry = |it: &&Entry| it.index == entry;
        let found = self.entries.iter().find(of_entry).map(|it| &it.event);
        if matches!(found, Some(AgentEvent::Thinking { .. })) && !self.expanded.contains_key(&entry)
        {
            self.expanded.insert(entry, Vec::new());
            self.rendered.remove(&entry);
            self.lay_out();
            self.text.go_to(entry, 0);
            self.text.find_edge_of_item(hit == Hit::First);
        }
    }

    fn lay_out(&mut self) {
        let item = self.text.item().filter(|_| !self.text.is_following());
        let anchor = item.map(|item| (item, self.text.line_in_item()));
        self.render_all();
        let rendered = self.rendered.values().map(|(_, lines)| lines.clone());
        let mut items: Vec<Item> = rendered.collect();
        if items.iter().all(Vec::is_empty) {
            items = vec![wrap::wrap(&self.nothing(), self.text.columns(), 0)];
        }
        let is_end = self.first() + self.entries.len() == self.total;
        let stderr = self.stderr.as_ref().filter(|it| !it.lines.is_empty());
        if let Some(stderr) = stderr.filter(|_| is_end) {
            items.push(self.drawing().stderr(&stderr.lines));
        }
        self.text.set_from(self.first(), items);
        match (self.destination, anchor) {
            (Some(entry), _) if self.has(entry) => {
                self.destination = None;
                self.text.go_to(entry, 0);
                self.go_to_hit(entry);
            }
            (_, Some((item, line))) if self.has(item) => self.text.go_to(item, line),
            _ => {}
        }
    }

    /// Renders new entries; while following, only as many as can be visible.
    fn render_all(&mut self) {
        let drawing = self.drawing();
        let mut before = std::mem::take(&mut self.rendered);
        let enough = if self.text.is_following() {
            2 * self.text.height()
        } else {
            usize::MAX
        };
        let mut kept = BTreeMap::new();
        let mut lines = 0;
        let mut first = self.entries.len();
        while lines < enough && first > 0 {
            first -= 1;
            let entry = &self.entries[first];
            let size = size(&entry.event);
            let rendered = match before.remove(&entry.index) {
                Some((old_size, rendered)) if old_size == size => rendered,
                _ => drawing.entry(&entry.event, self.expanded.get(&entry.index)),
            };
            lines += rendered.len();
            kept.insert(entry.index, (size, rendered));
        }
        self.entries.drain(..first);
        self.rendered = kept;
    }

    fn drawing(&self) -> Drawing {
        Drawing {
            columns: self.text.columns(),
            colored: self.colored,
        }
    }

    fn has(&self, entry: usize) -> bool {
        self.entries.iter().any(|it| it.index == entry)
    }

    fn nothing(&self) -> Line<'static> {
        let text = match (&self.problem, &self.transcript) {
            (Some(problem), _) => format!("the transcript cannot be read: {}", clean(problem)),
            (None, Some(_)) => "the agent has not said anything yet".to_owned(),
            (None, None) => "no agent has worked on this story yet".to_owned(),
        };
        wrap::styled(text, DIM)
    }

    /// The number of the entry at the cursor and how many there are, if they do not all fit.
    pub(crate) fn place(&self) -> Option<String> {
        let item = self.text.item()?;
        let here = (item + 1).min(self.total);
        (self.total > self.text.height()).then(|| format!("{here}/{}", self.total))
    }
}

/// The length of a text that can grow: an entry rendered at another length is out of date.
fn size(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Text { text } | AgentEvent::Thinking { text } => text.len(),
        _ => 0,
    }
}
