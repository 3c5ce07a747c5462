//! `ralphtool list`: the changes of this repository, and its other plans.

use std::process::ExitCode;

use anstyle::Style;
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::last_runs_of;
use crate::ui::page::Page;
use crate::ui::style::{BAD, DIM, GOOD, Paint, STRONG, WARN};
use crate::ui::text::{clean, columns};
use crate::ui::words;
use ralph_plan::source;
use ralph_plan::summary::{ChangeState, ChangeSummary, shows_kind};
use ralph_run::failure::Failure;
use ralph_run::history::listed::{ChangeStanding, LastRun, LastRuns, Tone};

/// How wide a bar is.
const BAR: usize = 10;

/// How wide the table is at most, if leaving out the bar can help it.
const WIDTH: usize = 80;

/// How to come to a plan.
const WAYS: [(&str, &str); 3] = [
    (
        "ralphtool new NAME",
        "writes a small change from a template",
    ),
    (
        "ralphtool run ./TODO.md",
        "runs a checklist or a `prd.json` of yours",
    ),
    (
        "ralphtool demo",
        "shows how it works, on a temporary repository",
    ),
];

/// Flags of `list`.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  ralphtool list                    what there is, of which kind, and how far it is
  ralphtool list --json             the same, for a program

Next: `ralphtool show CHANGE` shows one, `ralphtool run CHANGE` runs it.")]
pub(super) struct ListArguments {
    /// Write a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(arguments: &ListArguments, context: &Context) -> Result<ExitCode, Failure> {
    let around = context.surroundings()?;
    let found = source::survey(&around)?;
    output::warn(context, found.warnings.iter().map(|it| &it.message));
    let runs = last_runs_of(context)?;
    let rows: Vec<Row> = found
        .changes
        .into_iter()
        .map(|it| Row::of(it, &runs))
        .collect();
    output::json_or_page(arguments.json, &rows, context, |page, rows| {
        if rows.is_empty() {
            return write_empty(page, &found.folder.display().to_string());
        }
        write(page, rows, Timestamp::now());
    })
}

/// A change with its last run.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    change: ChangeSummary,
    /// Where it stands, in the words of the table.
    standing: String,
    #[serde(skip)]
    style: Style,
    /// Its last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<LastRun>,
}

impl Row {
    fn of(change: ChangeSummary, runs: &LastRuns) -> Self {
        let last_run = runs.of(&change).cloned();
        let standing = ChangeStanding::of(&change, last_run.as_ref());
        Self {
            style: style(standing.tone),
            standing: standing.words,
            last_run,
            change,
        }
    }
}

/// Writes the table, and below it why changes could not be read and which share a name.
fn write(page: &mut Page, rows: &[Row], now: Timestamp) {
    let mut trial = Page::new(Paint::Plain);
    write_table(&mut trial, rows, now, true);
    let fits = trial.text.lines().all(|line| columns(line) <= WIDTH);
    write_table(page, rows, now, fits);
    let reasons = rows.iter().filter_map(|row| match &row.change.state {
        ChangeState::Unreadable { reason } => Some((&row.change.name, reason)),
        _ => None,
    });
    for (index, (name, reason)) in reasons.enumerate() {
        if index == 0 {
            page.blank();
        }
        let name = page.paint(STRONG, clean(name));
        page.line(format!("{name}: {}", clean(reason)));
    }
    let changes = rows.iter().map(|row| &row.change);
    let shared = changes.filter(|row| row.target != row.name);
    for (index, row) in shared.enumerate() {
        if index == 0 {
            page.line("\nseveral have the same name: give the path instead");
        }
        let target = page.paint(STRONG, clean(&row.target));
        page.line(format!("  {}  {target}", clean(&row.name)));
    }
}

/// Writes the table, with bars or without. The kind is left out where all are `OpenSpec`'s.
fn write_table(page: &mut Page, rows: &[Row], now: Timestamp, bars: bool) {
    let kinds = shows_kind(rows.iter().map(|row| &row.change));
    let kind = if kinds { "kind" } else { "" };
    let header = ["change", kind, "", "stories", "tasks", "modified", "state"];
    let cells = |it: &Row| {
        let (row, style) = (&it.change, it.style);
        let age = row.modified.map(|at| words::ago(at, now));
        let kind = if kinds { row.kind.word() } else { "" };
        let bar = bars.then(|| bar(row.tasks_done, row.tasks_total));
        let stories = format!("{}/{}", row.stories_done, row.stories_total);
        let tasks = format!("{}/{}", row.tasks_done, row.tasks_total);
        [
            (STRONG, clean(&row.name)),
            (DIM, kind.to_owned()),
            (style, bar.unwrap_or_default()),
            (Style::new(), stories),
            (Style::new(), tasks),
            (DIM, age.unwrap_or_default()),
            (style, clean(&it.standing)),
        ]
    };
    page.table(header, &rows.iter().map(cells).collect::<Vec<_>>());
}

/// Writes that there is no plan, and the ways to one.
fn write_empty(page: &mut Page, folder: &str) {
    page.line(format!("found no plan in `{}`", clean(folder)));
    page.heading("start with one of these");
    page.commands(&WAYS);
}

const fn style(tone: Tone) -> Style {
    match tone {
        Tone::Ready => Style::new(),
        Tone::Live => STRONG,
        Tone::Good => GOOD,
        Tone::Warning => WARN,
        Tone::Bad => BAD,
        Tone::Quiet => DIM,
    }
}

/// A bar that is full only when everything is done, and empty only when nothing is.
fn bar(done: usize, total: usize) -> String {
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
    use ralph_plan::change::SourceKind;

    fn plain(changes: Vec<ChangeSummary>) -> Vec<Row> {
        let runs = LastRuns::default();
        changes.into_iter().map(|it| Row::of(it, &runs)).collect()
    }

    fn row(name: &str, tasks: (usize, usize), state: ChangeState) -> ChangeSummary {
        ChangeSummary {
            name: name.to_owned(),
            kind: SourceKind::OpenSpec,
            path: format!("openspec/changes/{name}"),
            target: name.to_owned(),
            stories_done: tasks.0 / 3,
            stories_total: tasks.1 / 3,
            tasks_done: tasks.0,
            tasks_total: tasks.1,
            depends_on: None,
            modified: Some("2026-11-15T20:00:00Z".parse().unwrap()),
            state,
        }
    }

    fn rows() -> Vec<ChangeSummary> {
        let reason = "permission denied\u{1b}[2J".to_owned();
        vec![
            row("add-retry", (1, 12), ChangeState::Open),
            row("漢字", (12, 12), ChangeState::Done),
            row("later", (8, 9), ChangeState::Deferred),
            ChangeSummary {
                modified: None,
                ..row("empty", (0, 0), ChangeState::NoTasks)
            },
            row("broken", (0, 0), ChangeState::Unreadable { reason }),
        ]
    }

    #[test]
    fn the_list_is_a_table() {
        let now = "2026-11-15T22:00:00Z".parse().unwrap();
        let mut page = Page::new(Paint::Plain);
        write(&mut page, &plain(rows()), now);
        write_empty(&mut page, "openspec/changes");
        page.text += &serde_json::to_string_pretty(&plain(rows())[3..]).unwrap();
        insta::assert_snapshot!(page.text);
    }

    #[test]
    fn kinds_of_plans_are_listed_if_they_differ() {
        let of_kind = |kind, path: &str, row: ChangeSummary| ChangeSummary {
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
        let mut page = Page::new(Paint::Plain);
        write(&mut page, &plain(rows), now);
        insta::assert_snapshot!(page.text);
    }

    #[test]
    fn the_bar_gives_way_to_a_long_name() {
        let now = "2026-11-15T22:00:00Z".parse().unwrap();
        let long = row(&"n".repeat(46), (8, 9), ChangeState::Open);
        let mut page = Page::new(Paint::Plain);
        write(&mut page, &plain(vec![long]), now);
        let text = page.text;
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
