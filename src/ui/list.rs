//! The table of changes.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use super::style::{BAD, DIM, GOOD, Paint, STRONG, WARN};
use super::text::{clean, columns, pad};
use super::words;

/// How wide a bar is.
const BAR: usize = 10;

/// What can be done with a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum ChangeState {
    /// There is work left.
    Open,
    /// Every task is done.
    Done,
    /// What is left is set aside.
    Deferred,
    /// There is nothing to do in it yet.
    NoTasks,
    /// It cannot be read.
    Unreadable {
        /// Why.
        reason: String,
    },
}

/// One change of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChangeRow {
    /// Its name.
    pub(crate) name: String,
    /// Complete stories.
    pub(crate) stories_done: usize,
    /// All stories.
    pub(crate) stories_total: usize,
    /// Ticked tasks.
    pub(crate) tasks_done: usize,
    /// All tasks.
    pub(crate) tasks_total: usize,
    /// When one of its files was last changed.
    pub(crate) modified: Option<Timestamp>,
    /// What can be done with it.
    #[serde(flatten)]
    pub(crate) state: ChangeState,
}

/// Writes the table; `folder` is where the changes were looked for.
pub(crate) fn write(
    out: &mut dyn Write,
    paint: Paint,
    folder: &str,
    rows: &[ChangeRow],
    now: Timestamp,
) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "no changes in `{}`", clean(folder));
    }
    let head = ["change", "", "stories", "tasks", "modified", "state"].map(str::to_owned);
    let cells: Vec<[String; 6]> = rows.iter().map(|row| cells(row, now)).collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let all = cells.iter().chain([&head]);
        all.map(|row| columns(&row[column])).max().unwrap_or(0)
    });
    let line = |row: &[String; 6], styles: [anstyle::Style; 6]| {
        let padded = row.iter().zip(widths).zip(styles).enumerate();
        let parts: Vec<String> = padded
            .map(|(column, ((cell, width), style))| {
                let width = if column == 5 { 0 } else { width };
                paint.apply(style, pad(cell, width))
            })
            .collect();
        parts.join("  ")
    };
    writeln!(out, "{}", line(&head, [DIM; 6]))?;
    for (row, cells) in rows.iter().zip(&cells) {
        let (state, plain) = (style(&row.state), anstyle::Style::new());
        writeln!(
            out,
            "{}",
            line(cells, [STRONG, state, plain, plain, DIM, state])
        )?;
    }
    Ok(())
}

/// Writes the list as one JSON array.
pub(crate) fn write_json(out: &mut dyn Write, rows: &[ChangeRow]) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, rows)?;
    writeln!(out)
}

fn cells(row: &ChangeRow, now: Timestamp) -> [String; 6] {
    let age = row.modified.map(|at| now.duration_since(at).as_secs());
    [
        clean(&row.name),
        bar(row.tasks_done, row.tasks_total),
        format!("{}/{}", row.stories_done, row.stories_total),
        format!("{}/{}", row.tasks_done, row.tasks_total),
        age.map(words::ago).unwrap_or_default(),
        state(&row.state),
    ]
}

fn state(state: &ChangeState) -> String {
    match state {
        ChangeState::Open => "open".to_owned(),
        ChangeState::Done => "done".to_owned(),
        ChangeState::Deferred => "set aside".to_owned(),
        ChangeState::NoTasks => "no tasks".to_owned(),
        ChangeState::Unreadable { reason } => format!("unreadable: {}", clean(reason)),
    }
}

fn style(state: &ChangeState) -> anstyle::Style {
    match state {
        ChangeState::Open => anstyle::Style::new(),
        ChangeState::Done => GOOD,
        ChangeState::Deferred | ChangeState::NoTasks => WARN,
        ChangeState::Unreadable { .. } => BAD,
    }
}

/// A bar that is full only when everything is done, and empty only when nothing is.
pub(crate) fn bar(done: usize, total: usize) -> String {
    let filled = match (done, total) {
        (0, _) | (_, 0) => 0,
        (done, total) if done >= total => BAR,
        (done, total) => (done * BAR / total).clamp(1, BAR - 1),
    };
    format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn row(name: &str, tasks: (usize, usize), state: ChangeState) -> ChangeRow {
        ChangeRow {
            name: name.to_owned(),
            stories_done: tasks.0 / 3,
            stories_total: tasks.1 / 3,
            tasks_done: tasks.0,
            tasks_total: tasks.1,
            modified: Some("2026-11-15T20:00:00Z".parse().unwrap()),
            state,
        }
    }

    fn rows() -> Vec<ChangeRow> {
        let reason = "permission denied\u{1b}[2J".to_owned();
        vec![
            row("add-retry", (1, 12), ChangeState::Open),
            row("漢字", (12, 12), ChangeState::Done),
            row("later", (8, 9), ChangeState::Deferred),
            ChangeRow {
                modified: None,
                ..row("empty", (0, 0), ChangeState::NoTasks)
            },
            row("broken", (0, 0), ChangeState::Unreadable { reason }),
        ]
    }

    #[test]
    fn the_list_is_a_table() {
        let now = "2026-11-15T22:00:00Z".parse().unwrap();
        let mut out = Vec::new();
        write(&mut out, Paint::Plain, "openspec/changes", &rows(), now).unwrap();
        write(&mut out, Paint::Plain, "openspec/changes", &[], now).unwrap();
        write_json(&mut out, &rows()[3..]).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_bar_is_full_only_when_all_is_done() {
        assert_eq!(bar(0, 0), "░░░░░░░░░░");
        assert_eq!(bar(1, 1000), "█░░░░░░░░░");
        assert_eq!(bar(999, 1000), "█████████░");
        assert_eq!(bar(5, 5), "██████████");
    }
}
