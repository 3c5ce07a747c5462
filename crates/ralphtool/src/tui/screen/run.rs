//! A run, live or from its records: the stories on the left, the panes of the selected story on the
//! right.

mod acting;
mod areas;
mod draw;
mod header;
mod sidebar;

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::failure::{self, Failure};
use crate::tui::message::{Answer, DiffId, Export, Query, RunOver, TranscriptId};
use crate::tui::palette::{DIM, WARN};
use crate::tui::pane::agent::AgentPane;
use crate::tui::pane::attempts;
use crate::tui::pane::diff::DiffPane;
use crate::tui::pane::gates::GatesPane;
use crate::tui::pane::log::LogPane;
use crate::tui::step::Step;
use crate::tui::text_pane::{TextPane, scrolled};
use crate::tui::wrap;
use crate::ui::words;
use ralph_base::ids::{AttemptId, AttemptNumber, StoryId};
use ralph_run::records::event::{Event, FailureKind, Record};
use ralph_run::records::progress::{
    AttemptProgress, AttemptStanding, Doing, NO_GATES, Progress, StoryProgress, StoryStanding,
};

use areas::Areas;
pub(crate) use sidebar::glyph;

/// The tabs, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Agent,
    Diff,
    Attempts,
    Gates,
    Log,
}

impl Tab {
    pub(crate) const ALL: [Self; 5] = [
        Self::Agent,
        Self::Diff,
        Self::Attempts,
        Self::Gates,
        Self::Log,
    ];

    /// What they are called.
    const TITLES: [&str; 5] = ["Agent", "Diff", "Attempts", "Gates", "Log"];

    const fn title(self) -> &'static str {
        Self::TITLES[self.place()]
    }

    const fn place(self) -> usize {
        self as usize
    }

    fn moved(self, by: usize) -> Self {
        Self::ALL[(self.place() + by) % Self::ALL.len()]
    }
}

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// This program runs it and controls it.
    Live,
    /// Another terminal runs it and controls it.
    Attached {
        /// Its process died before the run ended.
        interrupted: bool,
    },
    /// It is shown from its records.
    Replay,
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) progress: Progress,
    pub(crate) mode: RunMode,
    /// How the loop ended.
    pub(crate) over: Option<RunOver>,
    selected: usize,
    top: usize,
    following: bool,
    /// The attempt that the user chose; if none, the last one is shown.
    attempt: Option<AttemptNumber>,
    /// Whether keys act on the pane; otherwise on the stories.
    on_pane: bool,
    /// Whether the pane has the whole width.
    is_zoomed: bool,
    tab: Tab,
    agent: AgentPane,
    diff: DiffPane,
    attempts: TextPane,
    gates: GatesPane,
    log: LogPane,
    needle: String,
    zone: TimeZone,
    /// The panes that are shown beside that of the tab.
    beside: Vec<Tab>,
    /// When the agent at work last said or did something.
    heard_at: Option<Timestamp>,
}

impl Run {
    /// A run without records.
    pub(crate) fn new(colored: bool, zone: TimeZone, mode: RunMode) -> Self {
        let mut gates = GatesPane::default();
        gates.reset();
        Self {
            progress: Progress::default(),
            mode,
            over: None,
            selected: 0,
            top: 0,
            following: true,
            attempt: None,
            on_pane: false,
            is_zoomed: false,
            tab: Tab::Agent,
            agent: AgentPane::new(colored),
            diff: DiffPane::default(),
            attempts: TextPane::default(),
            gates,
            log: LogPane::new(zone.clone()),
            needle: String::new(),
            zone,
            beside: Vec::new(),
            heard_at: None,
        }
    }

    /// The zone of the times on the screen.
    pub(crate) const fn zone(&self) -> &TimeZone {
        self.log.zone()
    }

    /// Applies a record; returns what the user should be told at once.
    pub(crate) fn apply(&mut self, record: &Record) -> Option<String> {
        let starts = match &record.event {
            Event::AttemptStarted(it) => Some((&it.story, format!("attempt {}", it.attempt))),
            Event::AttemptContinued(it) => Some((&it.story, format!("attempt {}", it.attempt))),
            Event::RepairStarted(it) => Some((&it.story, words::repair(it))),
            _ => None,
        };
        let starts = starts.as_ref();
        let notice = starts.and_then(|(story, what)| self.notes_for(story, what));
        self.progress.apply(record);
        let is_heard = matches!(
            record.event,
            Event::Agent { .. } | Event::TasksChanged { .. }
        );
        if is_heard || starts.is_some() {
            self.heard_at = Some(record.at);
        }
        self.log.apply(record);
        self.diff.invalidate();
        match &record.event {
            Event::Agent { story, attempt, .. } => {
                let shown = self.agent.transcript().map(|it| &it.attempt);
                if shown.is_some_and(|it| it.story == *story && it.attempt == *attempt) {
                    self.agent.grew();
                }
            }
            Event::GateStarted(_)
            | Event::GateNotRun(_)
            | Event::GateRetried(_)
            | Event::GateFinished(_)
            | Event::ReviewStarted(_)
            | Event::ReviewFinished(_) => {
                self.gates.grew();
            }
            Event::Reviewer { .. } => {}
            _ => self.agent.grew(),
        }
        if self.following {
            self.go_to_live();
        }
        self.point_panes();
        notice
    }

    /// Says that an attempt or a repair got the notes that waited for it.
    fn notes_for(&self, story: &StoryId, what: &str) -> Option<String> {
        let waiting = self.progress.notes.waiting();
        let is_meant = |meant: Option<&StoryId>| meant.is_none_or(|it| it == story);
        let notes = match waiting.filter(|note| is_meant(note.story)).count() {
            0 => return None,
            1 => "your note".to_owned(),
            count => format!("your {count} notes"),
        };
        Some(format!("{what} at story {story} got {notes}"))
    }

    fn go_to_live(&mut self) {
        let live = |story: &StoryProgress| story.state == StoryStanding::Running;
        let place = self.progress.stories.iter().position(live);
        // Between two stories, the last one with an attempt stays selected.
        let last = || {
            let worked = |story: &StoryProgress| !story.attempts.is_empty();
            self.progress.stories.iter().rposition(worked)
        };
        if let Some(place) = place.or_else(last) {
            self.attempt = None;
            self.show_story(place);
        }
    }

    /// Selects a story; returns whether it was not selected before.
    fn show_story(&mut self, story: usize) -> bool {
        let is_other = std::mem::replace(&mut self.selected, story) != story;
        if is_other {
            self.attempts.rewind();
            self.gates.reset();
        }
        is_other
    }

    pub(crate) fn story(&self) -> Option<&StoryProgress> {
        self.progress.stories.get(self.selected)
    }

    /// The attempt that is shown.
    fn shown_attempt(&self) -> Option<&AttemptProgress> {
        let attempts = &self.story()?.attempts;
        match self.attempt {
            Some(number) => attempts.iter().find(|it| it.number == number),
            None => attempts.last(),
        }
    }

    /// What the agent is to repair, or why the attempt before the one that is shown failed.
    fn failure_before(&self) -> Option<Failure<'_>> {
        failure::before(self.story()?, self.shown_attempt()?)
    }

    /// Lets the panes show the attempt that is selected.
    fn point_panes(&mut self) {
        let shown = self.story().zip(self.shown_attempt());
        let recorded = shown.filter(|(_, attempt)| !attempt.transcript.is_empty());
        let transcript = recorded.map(|(story, attempt)| TranscriptId {
            attempt: AttemptId {
                story: story.id.clone(),
                attempt: attempt.number,
            },
            folder: attempt.transcript.clone().into(),
            output: attempt.output,
        });
        let stderr = self.shown_attempt().filter(|it| has_crashed(&it.state));
        let stderr = stderr.map(|it| PathBuf::from(&it.transcript).join("stderr"));
        self.agent.show(transcript);
        self.agent.show_stderr(stderr);
        self.diff.show(self.shown_diff());
    }

    /// The changes that belong to the attempt that is shown.
    fn shown_diff(&self) -> Option<DiffId> {
        let (story, attempt) = self.story().zip(self.shown_attempt())?;
        let parked = || DiffId::Parked {
            folder: attempt.transcript.clone().into(),
        };
        match (&attempt.state, &story.state, attempt.base.clone()) {
            (AttemptStanding::Failed { .. } | AttemptStanding::Interrupted, _, _) => Some(parked()),
            (AttemptStanding::Succeeded, StoryStanding::Completed(it), Some(from)) => {
                let to = it.commit.clone();
                Some(DiffId::Between { from, to })
            }
            // The records of a killed run end in the middle of an attempt.
            (AttemptStanding::Running, _, _) if self.stands_still() => Some(parked()),
            (AttemptStanding::Running, _, Some(base)) => Some(DiffId::Live { base }),
            _ => None,
        }
    }

    /// Whether the pane has the whole width.
    #[cfg(test)]
    pub(crate) fn is_zoomed(&self) -> bool {
        self.is_zoomed
    }

    pub(crate) fn pane(&self) -> &TextPane {
        self.pane_of(self.tab)
    }

    fn pane_of(&self, tab: Tab) -> &TextPane {
        match tab {
            Tab::Agent => &self.agent.text,
            Tab::Diff => &self.diff.text,
            Tab::Attempts => &self.attempts,
            Tab::Gates => &self.gates.text,
            Tab::Log => &self.log.text,
        }
    }

    fn pane_mut(&mut self) -> &mut TextPane {
        self.pane_of_mut(self.tab)
    }

    fn pane_of_mut(&mut self, tab: Tab) -> &mut TextPane {
        match tab {
            Tab::Agent => &mut self.agent.text,
            Tab::Diff => &mut self.diff.text,
            Tab::Attempts => &mut self.attempts,
            Tab::Gates => &mut self.gates.text,
            Tab::Log => &mut self.log.text,
        }
    }

    /// The name of the change for a file name.
    pub(crate) fn change_or_run(&self) -> &str {
        let header = self.progress.header.as_ref();
        header.map_or("run", |header| header.change.as_str())
    }

    /// The file name of an export of the current pane, without extension.
    pub(crate) fn pane_name(&self) -> String {
        let change = self.change_or_run();
        let story = self.story().map_or("", |story| story.id.0.as_str());
        let tab = self.tab.title().to_lowercase();
        match (self.tab, self.shown_attempt()) {
            (Tab::Log, _) => format!("{change}-{tab}"),
            (_, Some(attempt)) => format!("{change}-{story}.{}-{tab}", attempt.number),
            (_, None) => format!("{change}-{story}-{tab}"),
        }
    }

    /// What an export of the pane writes.
    pub(crate) fn export(&self) -> Export {
        match (self.tab, self.agent.transcript()) {
            (Tab::Agent, Some(transcript)) => Export::Transcript(transcript.clone()),
            _ => Export::Text(self.pane().text()),
        }
    }

    /// Whether no more records will come.
    fn stands_still(&self) -> bool {
        match self.mode {
            RunMode::Live => false,
            RunMode::Attached { interrupted } => interrupted,
            RunMode::Replay => true,
        }
    }

    /// Whether its screen shows a running clock.
    pub(crate) fn is_ticking(&self) -> bool {
        !self.stands_still() && self.over.is_none() && self.progress.ended.is_none()
    }

    /// The time for its clocks: that of the last record, if no more records will come.
    fn clock(&self, now: Timestamp) -> Timestamp {
        let then = self.progress.last_at.filter(|_| self.stands_still());
        then.unwrap_or(now)
    }

    /// Lays everything out for a screen of this size.
    pub(crate) fn fit(&mut self, area: Rect, now: Timestamp) {
        let now = self.clock(now);
        let areas = Areas::of(area, self);
        self.settle_list(areas.stories.height.into());
        self.fit_pane(self.tab, areas.text, now);
        self.beside = areas.side.iter().map(|part| part.tab).collect();
        for part in areas.side {
            self.fit_pane(part.tab, part.text, now);
        }
    }

    fn fit_pane(&mut self, tab: Tab, area: Rect, now: Timestamp) {
        match tab {
            Tab::Agent => self.agent.fit(area),
            Tab::Diff => self.diff.fit(area),
            Tab::Attempts => {
                self.attempts.fit(area);
                let size = (self.attempts.columns(), self.attempts.height());
                let items = attempts::items(self.story(), size, now);
                self.attempts.set(items);
            }
            Tab::Gates => {
                let nothing = self.without_gates();
                let story = self.progress.stories.get(self.selected);
                self.gates.fit(area, story, &nothing, now);
            }
            Tab::Log => self.log.fit(area),
        }
    }

    /// What the Gates tab says where no gate ran.
    fn without_gates(&self) -> Line<'static> {
        let header = self.progress.header.as_ref();
        if header.is_some_and(|it| it.gates.is_empty() && it.reviews.is_empty()) {
            return wrap::styled(format!("! {NO_GATES}"), WARN);
        }
        wrap::styled("no gate has run for this story", DIM)
    }

    fn settle_list(&mut self, height: usize) {
        // While the list is hidden, its place stays.
        if height == 0 {
            return;
        }
        let last = self.progress.stories.len().saturating_sub(1);
        self.selected = self.selected.min(last);
        self.top = self.top.min(last.saturating_sub(height - 1));
        self.top = scrolled(self.top, self.selected, height);
    }

    /// A query for what the panes that are shown are missing.
    pub(crate) fn query(&mut self, now: Timestamp) -> Option<Query> {
        let mut shown = vec![self.tab];
        shown.extend(&self.beside);
        shown.into_iter().find_map(|tab| self.query_of(tab, now))
    }

    fn query_of(&mut self, tab: Tab, now: Timestamp) -> Option<Query> {
        match tab {
            Tab::Agent => self.agent.query(),
            Tab::Diff => self.diff.query(now),
            Tab::Gates => {
                if matches!(self.progress.doing, Doing::Gate { .. }) {
                    self.gates.grew();
                }
                self.gates.query(self.progress.stories.get(self.selected))
            }
            Tab::Attempts | Tab::Log => None,
        }
    }

    /// Receives an answer; one for a transcript that is no longer shown is ignored.
    pub(crate) fn receive(&mut self, answer: Answer) -> Step {
        match answer {
            Answer::Window(id, _) | Answer::Detail(id, ..) | Answer::Found(id, ..)
                if self.agent.transcript() != Some(&id) => {}
            Answer::Window(_, found) => self.agent.receive(found),
            Answer::Detail(_, source, lines) => self.agent.receive_detail(source, lines),
            Answer::Found(_, needle, place) => {
                let Some(entry) = place else {
                    return Step::Say(format!("`{}` is not in the transcript", needle.text));
                };
                self.agent.go_to(entry, needle.forward);
            }
            Answer::Diff(id, found) => self.diff.receive(&id, found),
            Answer::File(path, found) if self.agent.receive_stderr(&path, &found) => {}
            Answer::File(path, found) => self.gates.receive(path, found),
            _ => {}
        }
        Step::Stay
    }
}

fn has_crashed(state: &AttemptStanding) -> bool {
    matches!(state, AttemptStanding::Failed(it) if it.kind == FailureKind::Crashed)
}
