//! A setting that is being edited in its row.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use crate::tui::line_edit::LineEdit;
use crate::tui::palette::{ACTIVE, BAD, DIM, INPUT, SELECTED};
use crate::tui::wrap;
use crate::ui::text::clean;

/// How wide the labels of the settings are.
pub(super) const LABEL: usize = 11;

/// How wide an input is at least.
const LEAST_INPUT: usize = 6;

/// An input in the row of a setting, with what may be typed, or what is wrong, below it.
#[derive(Debug)]
pub(super) struct Editor {
    /// What the setting is called.
    label: &'static str,
    /// What may be typed.
    hint: &'static str,
    edit: LineEdit,
    /// Why the text was refused, until it is changed.
    problem: Option<String>,
}

/// The effect of a key on an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pressed {
    /// The text changed, or the cursor moved.
    Edited,
    /// The text is to be applied.
    Entered(String),
    GivenUp,
}

/// An input as it is drawn.
pub(super) struct Drawn {
    pub(super) lines: Vec<Line<'static>>,
    /// The column of the cursor, in the first line.
    pub(super) cursor: usize,
}

impl Editor {
    /// An input with the value so far, which the first letter replaces.
    pub(super) fn new(label: &'static str, hint: &'static str, value: &str) -> Self {
        Self {
            label,
            hint,
            edit: LineEdit::selected(value),
            problem: None,
        }
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Pressed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Pressed::GivenUp,
            KeyCode::Char('c' | 'g') if control => return Pressed::GivenUp,
            KeyCode::Enter => return Pressed::Entered(self.edit.text().to_owned()),
            _ => {}
        }
        self.problem = None;
        self.edit.press(key);
        Pressed::Edited
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.problem = None;
        self.edit.paste(text);
    }

    /// The text was refused.
    pub(super) fn refuse(&mut self, problem: String) {
        self.problem = Some(problem);
    }

    /// The row of the setting, and below it what may be typed or what is wrong.
    pub(super) fn draw(&self, columns: usize) -> Drawn {
        let label = match self.label {
            "" => String::new(),
            label => format!("{label:LABEL$}"),
        };
        let before = 1 + wrap::columns(&label);
        let room = columns.saturating_sub(before).max(LEAST_INPUT);
        let view = self.edit.view(room);
        let style = if self.edit.is_selected() {
            SELECTED
        } else {
            INPUT
        };
        let rest = room.saturating_sub(wrap::columns(&view.text));
        let row = Line::from(vec![
            Span::styled("▌", ACTIVE),
            Span::styled(label, DIM),
            Span::styled(view.text, style),
            Span::styled(" ".repeat(rest), INPUT),
        ]);
        let below = match &self.problem {
            Some(problem) => wrap::styled(format!(" ✗ {}", clean(problem)), BAD),
            None => wrap::styled(format!("   {}", self.hint), DIM),
        };
        let mut lines = vec![wrap::cut(&row, columns)];
        lines.extend(wrap::wrap(&below, columns, 3));
        Drawn {
            lines,
            cursor: before + view.cursor,
        }
    }
}
