//! What an attempt changed, file by file.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::text::clean;
use crate::ui::tui::diff_view;
use crate::ui::tui::message::{DiffId, Query};
use crate::ui::tui::palette::{ADDED, BAD, DIM, REMOVED, STRONG, WARN};
use crate::ui::tui::text_pane::{PaneLine, TextPane};
use crate::ui::tui::wrap;
use crate::ui::words::{Count, Noun};
use ralph_vault::diff::{Cut, Diff, FileDiff, FileStatus};

/// How long a diff of the tree as it is now is believed.
const BELIEVED_MS: i128 = 2_000;

/// Changes.
#[derive(Debug, Default)]
pub(crate) struct DiffPane {
    id: Option<DiffId>,
    diff: Option<Result<Box<Diff>, String>>,
    /// Files that are folded in.
    folded: BTreeSet<String>,
    /// The lines that are shown.
    pub(crate) text: TextPane,
    /// When it was asked for.
    asked: Option<Timestamp>,
    waiting: bool,
    /// Something happened since.
    stale: bool,
}

impl DiffPane {
    /// Something happened that may have changed files.
    pub(crate) fn grew(&mut self) {
        self.stale = true;
    }

    /// What is missing, unless it was asked for already.
    pub(crate) fn query(&mut self, now: Timestamp) -> Option<Query> {
        let id = self.id.clone()?;
        let is_due = match self.asked {
            None => true,
            Some(at) => {
                let is_old = now.duration_since(at).as_millis() >= BELIEVED_MS;
                matches!(id, DiffId::Live { .. }) && self.stale && is_old
            }
        };
        if self.waiting || !is_due {
            return None;
        }
        self.asked = Some(now);
        self.stale = false;
        self.waiting = true;
        Some(Query::Diff(id))
    }

    /// Shows another diff, or none.
    pub(crate) fn show(&mut self, id: Option<DiffId>) {
        if self.id == id {
            return;
        }
        self.asked = None;
        self.waiting = false;
        self.id = id;
        self.diff = None;
        self.text.rewind();
        self.lay_out();
    }

    /// Receives a diff.
    pub(crate) fn receive(&mut self, id: &DiffId, found: Result<Box<Diff>, String>) {
        if self.id.as_ref() != Some(id) {
            return;
        }
        self.waiting = false;
        // A look that failed while files were on the move does not hide the last good one.
        if found.is_err() && matches!(self.diff, Some(Ok(_))) {
            return;
        }
        self.diff = Some(found);
        self.lay_out();
    }

    /// Lays it out for a pane of this size.
    pub(crate) fn fit(&mut self, columns: usize, height: usize) {
        if self.text.fit(columns, height) {
            self.lay_out();
        }
    }

    /// Folds the file at the cursor in or out.
    pub(crate) fn toggle(&mut self) {
        let (Some(Ok(diff)), Some(item)) = (&self.diff, self.text.item()) else {
            return;
        };
        let Some(file) = item.checked_sub(1).and_then(|place| diff.files.get(place)) else {
            return;
        };
        if !self.folded.remove(&file.path) {
            self.folded.insert(file.path.clone());
        }
        self.lay_out();
        self.text.go_to(item, 0);
    }

    fn lay_out(&mut self) {
        let lines = match &self.diff {
            None => {
                let text = match &self.id {
                    Some(_) => "looking …",
                    None => "nothing was changed yet",
                };
                self.note(text.to_owned(), DIM)
            }
            Some(Err(problem)) => {
                let text = format!("the changes cannot be shown: {}", clean(problem));
                self.note(text, BAD)
            }
            Some(Ok(diff)) => self.of(diff),
        };
        self.text.set(lines);
    }

    fn note(&self, text: String, style: Style) -> Vec<PaneLine> {
        let line = wrap::styled(text, style);
        PaneLine::wrapped(0, &line, self.text.columns())
    }

    fn of(&self, diff: &Diff) -> Vec<PaneLine> {
        let mut lines = vec![PaneLine::new(0, summary(diff))];
        for (place, file) in diff.files.iter().enumerate() {
            let item = place + 1;
            let folded = self.folded.contains(&file.path);
            let title = self.title(file, folded);
            lines.push(PaneLine::new(item, title));
            if folded {
                continue;
            }
            let shown = diff_view::lines(&file.lines, self.text.columns());
            lines.extend(PaneLine::all(item, shown));
        }
        if let Some(cut) = &diff.cut {
            let item = diff.files.len() + 1;
            let line = wrap::styled(left_out(*cut), WARN);
            lines.extend(PaneLine::wrapped(item, &line, self.text.columns()));
        }
        lines
    }

    fn title(&self, file: &FileDiff, folded: bool) -> Line<'static> {
        let mark = if folded { "▸" } else { "▾" };
        let (letter, style) = letter(file.status);
        let old = file
            .old_path
            .as_deref()
            .map(|old| format!("{} → ", clean(old)));
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), DIM),
            Span::styled(format!("{letter} "), style),
            Span::styled(
                format!("{}{}", old.unwrap_or_default(), clean(&file.path)),
                STRONG,
            ),
            Span::styled(format!("  +{}", file.added), ADDED),
            Span::styled(format!(" -{}", file.removed), REMOVED),
        ]);
        wrap::cut(&line, self.text.columns())
    }
}

/// The letter of a file's status and its colour.
pub(crate) fn letter(status: FileStatus) -> (char, Style) {
    match status {
        FileStatus::Added => ('A', ADDED),
        FileStatus::Modified => ('M', WARN),
        FileStatus::Deleted => ('D', REMOVED),
        FileStatus::Renamed => ('R', WARN),
        FileStatus::TypeChanged => ('T', WARN),
    }
}

/// How much was changed, in a line.
pub(crate) fn summary(diff: &Diff) -> Line<'static> {
    if diff.files.is_empty() {
        return wrap::styled("nothing was changed yet", DIM);
    }
    let added: usize = diff.files.iter().map(|file| file.added).sum();
    let removed: usize = diff.files.iter().map(|file| file.removed).sum();
    Line::from(vec![
        Span::raw(format!("{} ", Count(diff.files.len(), Noun::File))),
        Span::styled(format!("+{added}"), ADDED),
        Span::raw(" "),
        Span::styled(format!("-{removed}"), REMOVED),
    ])
}

/// What is not shown of a diff, in words.
fn left_out(cut: Cut) -> String {
    let mut parts = Vec::new();
    match cut.lines {
        0 => {}
        1 => parts.push("1 line".to_owned()),
        lines => parts.push(format!("{lines} lines")),
    }
    if cut.new_files > 0 {
        parts.push(format!("{} that are new", Count(cut.new_files, Noun::File)));
    }
    if cut.unread {
        parts.push("perhaps more files".to_owned());
    }
    format!("… not shown: {}", parts.join(", "))
}
