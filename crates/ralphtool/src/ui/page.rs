//! A text for the terminal, made line by line: headings, labelled facts, commands, tables.

use std::fmt::Display;

use anstyle::Style;

use super::style::{DIM, NAME, Paint, STRONG, WARN};
use super::text::{clean, clean_lines, columns, pad, truncate};

/// Longer commands do not push what the others do further to the right.
const COMMAND_WIDTH: usize = 40;

/// The lines of an output.
pub(crate) struct Page {
    paint: Paint,
    /// Headings, facts and commands are cut to this width.
    columns: Option<usize>,
    pub(crate) text: String,
}

impl Page {
    pub(crate) const fn new(paint: Paint) -> Self {
        Self::of_width(paint, None)
    }

    pub(crate) const fn of_width(paint: Paint, columns: Option<usize>) -> Self {
        Self {
            paint,
            columns,
            text: String::new(),
        }
    }

    /// Cuts a text to the width that is left beside `used` columns.
    fn cut(&self, text: &str, used: usize) -> String {
        match self.columns {
            Some(columns) => truncate(text, columns.saturating_sub(used)),
            None => text.to_owned(),
        }
    }

    /// A text in a style, for a part of a line.
    pub(crate) fn paint(&self, style: Style, text: impl Display) -> String {
        self.paint.apply(style, text)
    }

    pub(crate) fn line(&mut self, text: impl Display) {
        self.text += &text.to_string();
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.line("");
    }

    pub(crate) fn styled(&mut self, style: Style, text: impl Display) {
        self.line(self.paint(style, self.cut(&text.to_string(), 0)));
    }

    /// What the user should know before anything else.
    pub(crate) fn alerts(&mut self, alerts: &[String]) {
        for alert in alerts {
            self.styled(WARN, format!("  ! {}", clean_lines(alert).join(" ")));
        }
    }

    /// A heading, with an empty line above it.
    pub(crate) fn heading(&mut self, text: impl Display) {
        self.blank();
        self.styled(STRONG, text);
    }

    /// Facts, each after its label.
    pub(crate) fn facts<T: AsRef<str>>(&mut self, facts: &[(&str, T)], width: usize) {
        for (label, text) in facts {
            let text = self.cut(&clean(text.as_ref()), 2 + width + 1);
            let label = self.paint(DIM, pad(label, width));
            self.line(format!("  {label} {text}"));
        }
    }

    /// Commands to type next, each with what it does.
    pub(crate) fn commands<C: AsRef<str>>(&mut self, commands: &[(C, &str)]) {
        let widths = commands
            .iter()
            .map(|(command, _)| columns(command.as_ref()));
        let widest = widths.filter(|width| *width <= COMMAND_WIDTH).max();
        for (command, what) in commands {
            let command = pad(command.as_ref(), widest.unwrap_or(0));
            let command = self.cut(&format!("  {command}"), 0);
            let what = self.cut(what, columns(&command) + 2);
            let (command, what) = (self.paint(NAME, command), self.paint(DIM, what));
            self.line(format!("{command}  {what}"));
        }
    }

    /// A table below a dimmed header; each cell has its style. The last column is not padded, and
    /// one that is empty from its title on is left out.
    pub(crate) fn table<const N: usize>(
        &mut self,
        header: [&str; N],
        rows: &[[(Style, String); N]],
    ) {
        let header = header.map(|title| (DIM, title.to_owned()));
        let widths: [usize; N] = std::array::from_fn(|column| {
            let cells = rows.iter().chain([&header]).map(|row| &row[column].1);
            cells.map(|text| columns(text)).max().unwrap_or(0)
        });
        for row in std::iter::once(&header).chain(rows) {
            let cells = row.iter().zip(widths).enumerate();
            let cells: Vec<String> = cells
                .filter(|(_, (_, width))| *width > 0)
                .map(|(column, ((style, text), width))| {
                    let width = if column + 1 == N { 0 } else { width };
                    self.paint(*style, pad(text, width))
                })
                .collect();
            self.line(cells.join("  "));
        }
    }
}
