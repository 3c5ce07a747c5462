//! Where the parts of the run screen are, by the size of the terminal.

use ratatui::layout::Constraint::{Fill, Length, Min};
use ratatui::layout::{Layout, Rect};

use super::{Run, Tab, sidebar};

/// Below this width the stories are above the pane.
const SIDE_BY_SIDE: u16 = 60;

/// From this width on there is a third column.
const THREE_COLUMNS: u16 = 160;

/// How many rows one attempt takes.
const ONE_ATTEMPT: u16 = 5;

/// The log is shown below the story if it gets this many rows.
const LEAST_LOG: u16 = 6;

/// How many stories are shown above the pane.
const STACKED_STORIES: u16 = 3;

/// How many rows it gets why the last attempt failed.
const FAILURE_ROWS: usize = 2;

/// Below this height the second line of the header is left out.
const ROOMY: u16 = 14;

/// The parts of the screen; those that have no room are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) header: Rect,
    pub(super) status: Rect,
    pub(super) stories_title: Rect,
    pub(super) stories: Rect,
    /// What is known of the selected story.
    pub(super) story: Rect,
    pub(super) border: Rect,
    pub(super) tabs: Rect,
    /// Why the attempt before failed.
    pub(super) failure: Rect,
    pub(super) text: Rect,
    pub(super) side: Vec<SidePart>,
}

/// A pane beside that of the tab, which shows something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SidePart {
    pub(super) tab: Tab,
    pub(super) border: Rect,
    pub(super) title: Rect,
    pub(super) text: Rect,
}

impl Areas {
    pub(super) fn of(area: Rect, run: &Run) -> Self {
        let high = if area.height >= ROOMY { 2 } else { 1 };
        let [header, status, body] =
            Layout::vertical([Length(high), Length(1), Min(1)]).areas(area);
        let areas = Self {
            header,
            status,
            stories_title: Rect::default(),
            stories: Rect::default(),
            story: Rect::default(),
            border: Rect::default(),
            tabs: Rect::default(),
            failure: Rect::default(),
            text: Rect::default(),
            side: Vec::new(),
        };
        if run.is_zoomed {
            areas.with_pane(body, run)
        } else if area.width < SIDE_BY_SIDE {
            areas.stacked(body, run)
        } else {
            areas.side_by_side(body, run)
        }
    }

    fn stacked(mut self, body: Rect, run: &Run) -> Self {
        let count = u16::try_from(run.progress.stories.len()).unwrap_or(u16::MAX);
        let high = STACKED_STORIES.min(count.max(1));
        let [stories, pane] = Layout::vertical([Length(high), Min(1)]).areas(body);
        self.stories = stories;
        self.with_pane(pane, run)
    }

    fn side_by_side(self, body: Rect, run: &Run) -> Self {
        let wide = (body.width * 3 / 10).clamp(26, 52);
        let third = if body.width < THREE_COLUMNS {
            0
        } else {
            body.width / 4
        };
        let [left, border, pane, side] =
            Layout::horizontal([Length(wide), Length(1), Min(20), Length(third)]).areas(body);
        let mut areas = self.with_pane(pane, run);
        areas.border = border;
        if third > 0 {
            areas.side = third_column(side, run);
        }
        areas.with_stories(left, run)
    }

    /// The stories, what is known of the selected one below them, and the log if there is room.
    fn with_stories(mut self, area: Rect, run: &Run) -> Self {
        let [title, rest] = Layout::vertical([Length(1), Min(0)]).areas(area);
        let count = u16::try_from(run.progress.stories.len()).unwrap_or(u16::MAX);
        let needed = sidebar::height(run, area.width.into(), self.has(Tab::Attempts));
        let most = (rest.height / 2).max(rest.height.saturating_sub(needed));
        let [stories, below] =
            Layout::vertical([Length(count.min(most).max(1)), Min(0)]).areas(rest);
        self.stories_title = title;
        self.stories = stories;
        self.story = below;
        let free = below.height.saturating_sub(needed + 1);
        if !self.side.is_empty() && run.tab != Tab::Log && free >= LEAST_LOG {
            let [story, _, log] =
                Layout::vertical([Length(needed), Length(1), Min(0)]).areas(below);
            self.story = story;
            self.side.push(SidePart::new(Tab::Log, log));
        }
        self
    }

    /// Whether a pane is shown beside that of the tab.
    pub(super) fn has(&self, tab: Tab) -> bool {
        self.side.iter().any(|part| part.tab == tab)
    }

    fn with_pane(mut self, area: Rect, run: &Run) -> Self {
        let most = if area.height < ROOMY { 1 } else { FAILURE_ROWS };
        let high = match run.tab {
            Tab::Agent => run.failure_lines(area.width.into(), most).len(),
            _ => 0,
        };
        let high = u16::try_from(high).unwrap_or(0);
        [self.tabs, self.failure, self.text] =
            Layout::vertical([Length(1), Length(high), Min(1)]).areas(area);
        self
    }
}

/// The third column has what a user looks at beside the pane: the agent's words or what it changes, and
/// the attempts.
fn third_column(area: Rect, run: &Run) -> Vec<SidePart> {
    let first = match run.tab {
        Tab::Agent => Tab::Diff,
        _ => Tab::Agent,
    };
    let second = match run.tab {
        Tab::Attempts => Tab::Diff,
        _ => Tab::Attempts,
    };
    let is_short = second == Tab::Attempts && run.story().is_none_or(|it| it.attempts.len() < 2);
    let high = if is_short {
        Length(ONE_ATTEMPT)
    } else {
        Fill(2)
    };
    let parts = Layout::vertical([Fill(3), high]).split(area);
    [first, second]
        .into_iter()
        .zip(parts.iter())
        .map(|(tab, part)| {
            let [border, inner] = Layout::horizontal([Length(1), Min(0)]).areas(*part);
            SidePart {
                border,
                ..SidePart::new(tab, inner)
            }
        })
        .collect()
}

impl SidePart {
    /// A part without a border.
    fn new(tab: Tab, area: Rect) -> Self {
        let [title, text] = Layout::vertical([Length(1), Min(1)]).areas(area);
        Self {
            tab,
            border: Rect::default(),
            title,
            text,
        }
    }
}
