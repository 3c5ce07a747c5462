//! The table of changes and other plans.

use std::collections::HashMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use super::style::{BAD, DIM, GOOD, NAME, Paint, STRONG, WARN};
use super::text::{clean, columns, pad};
use super::words;
use ralph_plan::change::SourceKind;
use ralph_plan::summary::{self, ChangeSummary};

/// How wide a bar is.
const BAR: usize = 10;

/// How wide the table is at most, if leaving out the bar can help it.
const WIDTH: usize = 80;

/// What stands between two columns.
const GAP: &str = "  ";

/// What the columns are called.
const HEAD: [&str; COLUMNS] = [
    "change", "kind", "", "stories", "tasks", "modified", "state",
];

/// How many columns there are.
const COLUMNS: usize = 7;

/// The columns that may be left out.
const KIND: usize = 1;
const BAR_COLUMN: usize = 2;

/// The texts of one line.
type Cells = [String; COLUMNS];

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
    /// What kind of plan it is.
    pub(crate) kind: SourceKind,
    /// Its folder or file.
    pub(crate) path: String,
    /// What to say to mean this one: its name, or its path where another has the same name.
    pub(crate) target: String,
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

/// The lines of the list.
pub(crate) fn rows(found: Vec<ChangeSummary>) -> Vec<ChangeRow> {
    let mut names: HashMap<String, usize> = HashMap::new();
    for summary in &found {
        *names.entry(summary.name.clone()).or_default() += 1;
    }
    let is_unique = |summary: &ChangeSummary| names.get(&summary.name) == Some(&1);
    found
        .into_iter()
        .map(|summary| {
            let path = summary.path.display().to_string();
            let target = if is_unique(&summary) {
                summary.name.clone()
            } else {
                path.clone()
            };
            ChangeRow::new(summary, path, target)
        })
        .collect()
}

impl ChangeRow {
    fn new(summary: ChangeSummary, path: String, target: String) -> Self {
        let state = match summary.state {
            summary::ChangeState::Ready => ChangeState::Open,
            summary::ChangeState::NothingLeft if summary.stories.done == summary.stories.total => {
                ChangeState::Done
            }
            summary::ChangeState::NothingLeft => ChangeState::Deferred,
            summary::ChangeState::NoTasks => ChangeState::NoTasks,
            summary::ChangeState::Invalid { reason } => ChangeState::Unreadable { reason },
        };
        Self {
            name: summary.name,
            kind: summary.kind,
            path,
            target,
            stories_done: summary.stories.done,
            stories_total: summary.stories.total,
            tasks_done: summary.tasks.done,
            tasks_total: summary.tasks.total,
            modified: summary.modified,
            state,
        }
    }
}

/// Writes the table, and below it why changes could not be read.
pub(crate) fn write(
    out: &mut dyn Write,
    paint: Paint,
    rows: &[ChangeRow],
    now: Timestamp,
) -> io::Result<()> {
    let cells: Vec<Cells> = rows.iter().map(|row| cells(row, now)).collect();
    let widths = widths(rows, &cells);
    writeln!(
        out,
        "{}",
        line(paint, &HEAD.map(str::to_owned), widths, [DIM; COLUMNS])
    )?;
    for (row, cells) in rows.iter().zip(&cells) {
        let (state, plain) = (style(&row.state), anstyle::Style::new());
        let styles = [STRONG, DIM, state, plain, plain, DIM, state];
        writeln!(out, "{}", line(paint, cells, widths, styles))?;
    }
    write_reasons(out, paint, rows)?;
    write_namesakes(out, paint, rows)
}

fn write_reasons(out: &mut dyn Write, paint: Paint, rows: &[ChangeRow]) -> io::Result<()> {
    let reasons = rows.iter().filter_map(|row| match &row.state {
        ChangeState::Unreadable { reason } => Some((&row.name, reason)),
        _ => None,
    });
    for (index, (name, reason)) in reasons.enumerate() {
        if index == 0 {
            writeln!(out)?;
        }
        let name = paint.apply(STRONG, clean(name));
        writeln!(out, "{name}: {}", clean(reason))?;
    }
    Ok(())
}

/// Writes the paths of changes that share a name.
fn write_namesakes(out: &mut dyn Write, paint: Paint, rows: &[ChangeRow]) -> io::Result<()> {
    let shared = rows.iter().filter(|row| row.target != row.name);
    for (index, row) in shared.enumerate() {
        if index == 0 {
            writeln!(out, "\nseveral have the same name: say their path instead")?;
        }
        let target = paint.apply(STRONG, clean(&row.target));
        writeln!(out, "  {}  {target}", clean(&row.name))?;
    }
    Ok(())
}

/// Writes that there is no change, where they were looked for, and how to make one.
pub(crate) fn write_empty(out: &mut dyn Write, paint: Paint, folder: &str) -> io::Result<()> {
    writeln!(out, "no changes in `{}`", clean(folder))?;
    let command = paint.apply(NAME, "openspec new change NAME");
    writeln!(
        out,
        "make one with `{command}`, or run a checklist or `prd.json` by its path"
    )
}

/// How wide each column is. The kind is left out where all are `OpenSpec`'s, the bar where the
/// table would not fit.
fn widths(rows: &[ChangeRow], cells: &[Cells]) -> [usize; COLUMNS] {
    let mut widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let all = cells.iter().map(|row| columns(&row[column]));
        all.max().unwrap_or(0).max(columns(HEAD[column]))
    });
    if !shows_kind(rows) {
        widths[KIND] = 0;
    }
    let shown = widths.iter().filter(|width| **width > 0).count();
    if widths.iter().sum::<usize>() + GAP.len() * (shown - 1) > WIDTH {
        widths[BAR_COLUMN] = 0;
    }
    widths
}

/// Whether the kinds of plans are worth a column.
pub(crate) fn shows_kind(rows: &[ChangeRow]) -> bool {
    rows.iter().any(|row| row.kind != SourceKind::OpenSpec)
}

fn line(
    paint: Paint,
    row: &Cells,
    widths: [usize; COLUMNS],
    styles: [anstyle::Style; COLUMNS],
) -> String {
    let padded = row.iter().zip(widths).zip(styles).enumerate();
    let parts: Vec<String> = padded
        .filter(|(_, ((_, width), _))| *width > 0)
        .map(|(column, ((cell, width), style))| {
            let width = if column == COLUMNS - 1 { 0 } else { width };
            paint.apply(style, pad(cell, width))
        })
        .collect();
    parts.join(GAP)
}

fn cells(row: &ChangeRow, now: Timestamp) -> Cells {
    let age = row.modified.map(|at| now.duration_since(at).as_secs());
    [
        clean(&row.name),
        row.kind.word().to_owned(),
        bar(row.tasks_done, row.tasks_total),
        format!("{}/{}", row.stories_done, row.stories_total),
        format!("{}/{}", row.tasks_done, row.tasks_total),
        age.map(words::ago).unwrap_or_default(),
        state(&row.state).to_owned(),
    ]
}

const fn state(state: &ChangeState) -> &'static str {
    match state {
        ChangeState::Open => "open",
        ChangeState::Done => "done",
        ChangeState::Deferred => "set aside",
        ChangeState::NoTasks => "no tasks",
        ChangeState::Unreadable { .. } => "unreadable",
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
            kind: SourceKind::OpenSpec,
            path: format!("openspec/changes/{name}"),
            target: name.to_owned(),
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
        write(&mut out, Paint::Plain, &rows(), now).unwrap();
        write_empty(&mut out, Paint::Plain, "openspec/changes").unwrap();
        serde_json::to_writer_pretty(&mut out, &rows()[3..]).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn the_kinds_of_plans_are_told_where_they_differ() {
        let of_kind = |kind, path: &str, row: ChangeRow| ChangeRow {
            kind,
            path: path.to_owned(),
            target: path.to_owned(),
            ..row
        };
        let mut rows = rows();
        rows.truncate(1);
        let prd = row("prd", (1, 6), ChangeState::Open);
        rows.extend([
            of_kind(SourceKind::PrdJson, "prd.json", prd.clone()),
            of_kind(SourceKind::Checklist, "PRD.md", prd),
        ]);
        let now = "2026-11-15T22:00:00Z".parse().unwrap();
        let mut out = Vec::new();
        write(&mut out, Paint::Plain, &rows, now).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn the_bar_gives_way_to_a_long_name() {
        let now = "2026-11-15T22:00:00Z".parse().unwrap();
        let long = row(&"n".repeat(46), (8, 9), ChangeState::Open);
        let mut out = Vec::new();
        write(&mut out, Paint::Plain, &[long], now).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains('█') && text.lines().all(|line| columns(line) <= 80));
    }

    #[test]
    fn a_bar_is_full_only_when_all_is_done() {
        assert_eq!(bar(0, 0), "░░░░░░░░░░");
        assert_eq!(bar(1, 1000), "█░░░░░░░░░");
        assert_eq!(bar(999, 1000), "█████████░");
        assert_eq!(bar(5, 5), "██████████");
    }
}
