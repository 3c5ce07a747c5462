//! Where the parts of the completion screen are.

use ratatui::layout::Constraint::{Length, Max, Min, Percentage};
use ratatui::layout::{Layout, Rect};

/// From this width on the changed files are beside the review.
const WIDE: u16 = 100;

/// Below this width the review, which is a table, gets more than half.
const ROOM_FOR_BOTH: u16 = 160;

/// Below this height, the choices and the review take turns.
const ROOMY: u16 = 16;

/// How many lines the review should have at least.
const LEAST_REVIEW: u16 = 6;

/// How many lines the parts above and below the review want.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    pub(super) head: u16,
    pub(super) choices: u16,
    /// The review has the focus, and shows the changed files.
    pub(super) on_review: bool,
    pub(super) on_files: bool,
}

/// The parts; each but the title has a title line of its own if there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) title: Rect,
    /// Why the run ended, and what it took.
    pub(super) head: Rect,
    /// Empty while the changed files take its place.
    pub(super) review: Rect,
    pub(super) files: Rect,
    pub(super) choices: Rect,
    /// The review and the changed files are both visible.
    pub(super) is_wide: bool,
}

impl Areas {
    pub(super) fn of(area: Rect, wanted: Wanted) -> Self {
        let [title, below] = Layout::vertical([Length(1), Min(0)]).areas(area);
        let is_compact = area.height < ROOMY;
        let is_reading = wanted.on_review || wanted.on_files;
        // With a line for the title, and none where nothing can be chosen.
        let choices = match wanted.choices {
            0 => 0,
            _ if is_compact && is_reading => 0,
            choices if is_compact => choices,
            choices => choices + 1,
        };
        let rest = below.height.saturating_sub(choices);
        let most_head = if is_compact && !is_reading {
            rest
        } else {
            (rest / 2).max(rest.saturating_sub(LEAST_REVIEW + 1).min(3))
        };
        let [head, middle, choices] =
            Layout::vertical([Max(wanted.head.min(most_head)), Min(0), Length(choices)])
                .areas(below);
        let is_wide = area.width >= WIDE;
        let (review, files) = if is_wide {
            let share = if area.width < ROOM_FOR_BOTH { 62 } else { 50 };
            let [review, files] = Layout::horizontal([Percentage(share), Min(0)])
                .spacing(1)
                .areas(middle);
            (review, files)
        } else if wanted.on_files {
            (Rect::default(), middle)
        } else {
            (middle, Rect::default())
        };
        Self {
            title,
            head,
            review,
            files,
            choices,
            is_wide,
        }
    }

    /// The one of the review and the changed files that is visible where only one is.
    pub(super) fn shown(&self) -> Rect {
        if self.files.is_empty() {
            self.review
        } else {
            self.files
        }
    }

    /// What is below the title line of a part.
    pub(super) fn inside(part: Rect) -> Rect {
        let title = 1.min(part.height);
        Rect {
            y: part.y + title,
            height: part.height - title,
            ..part
        }
    }
}
