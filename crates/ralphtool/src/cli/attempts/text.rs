//! Parked attempts as text and JSON: the table of them, and one in full.

use std::io::{self, Write};

use anstyle::Style;
use jiff::Timestamp;
use serde::Serialize;

use crate::ui::rows::{write_commands, write_facts, write_table};
use crate::ui::style::{DIM, NAME, Paint, STRONG};
use crate::ui::text::{clean, clean_lines, truncate};
use crate::ui::words::{self, shell};
use ralph_run::records::event::FailureKind;
use ralph_vault::ParkedAttempt;

/// How much of a reason the table shows.
const REASON_WIDTH: usize = 60;

/// How wide the labels of one attempt are.
const LABEL: usize = 10;

/// One parked attempt in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AttemptRow {
    /// Its name, such as `2.1`.
    pub(super) attempt: String,
    pub(super) run: String,
    pub(super) story: String,
    pub(super) at: Timestamp,
    pub(super) kind: FailureKind,
    pub(super) reason: String,
    pub(super) changed_files: usize,
}

/// One parked attempt in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AttemptView {
    #[serde(flatten)]
    pub(super) row: AttemptRow,
    pub(super) created: Vec<String>,
    pub(super) modified: Vec<String>,
    pub(super) removed: Vec<String>,
    /// Those of them that git ignores.
    pub(super) ignored: Vec<String>,
    /// The folder with prompt, stdout and stderr.
    pub(super) transcript: String,
    /// The diff, where there is one.
    pub(super) diff: Option<String>,
    /// A newer run has an attempt of that name: this one must be asked for with its run.
    pub(super) is_shadowed: bool,
}

impl From<&ParkedAttempt> for AttemptRow {
    fn from(parked: &ParkedAttempt) -> Self {
        Self {
            attempt: parked.note.label.clone(),
            run: parked.run.0.clone(),
            story: parked.attempt.story.0.clone(),
            at: parked.at,
            kind: parked.note.kind,
            reason: parked.note.why.clone(),
            changed_files: parked.note.changed_files,
        }
    }
}

/// Writes a table for each run; the rows of a run stand together.
pub(super) fn write_list(
    out: &mut dyn Write,
    paint: Paint,
    rows: &[AttemptRow],
    now: Timestamp,
) -> io::Result<()> {
    let header = ["attempt", "parked", "files", "kind", "reason"];
    for (place, rows) in rows.chunk_by(|one, two| one.run == two.run).enumerate() {
        let gap = if place == 0 { "" } else { "\n" };
        let run = rows.first().map_or("", |row| row.run.as_str());
        let title = paint.apply(DIM, format!("run {}", clean(run)));
        writeln!(out, "{gap}{title}")?;
        let rows: Vec<_> = rows.iter().map(|row| cells(row, now)).collect();
        write_table(out, paint, header, &rows)?;
    }
    Ok(())
}

fn cells(row: &AttemptRow, now: Timestamp) -> [(Style, String); 5] {
    let plain = Style::new();
    let reason = clean_lines(&row.reason).into_iter().next();
    let parked = words::ago(now.duration_since(row.at).as_secs());
    [
        (STRONG, clean(&row.attempt)),
        (plain, parked),
        (plain, row.changed_files.to_string()),
        (plain, kind(row.kind)),
        (plain, truncate(&reason.unwrap_or_default(), REASON_WIDTH)),
    ]
}

/// The kind as the records call it: short, and what one would search for.
fn kind(kind: FailureKind) -> String {
    let text = serde_json::to_value(kind).unwrap_or_default();
    text.as_str().unwrap_or_default().to_owned()
}

/// Writes that there is none.
pub(super) fn write_empty(out: &mut dyn Write, story: Option<&str>, all: bool) -> io::Result<()> {
    let of = match (story, all) {
        (Some(story), _) => format!(" of story {}", clean(story)),
        (None, false) => " of the last run".to_owned(),
        (None, true) => String::new(),
    };
    writeln!(out, "no attempt{of} is parked here")
}

/// Writes one attempt.
pub(super) fn write_one(out: &mut dyn Write, paint: Paint, view: &AttemptView) -> io::Result<()> {
    let row = &view.row;
    let title = format!("attempt {}", clean(&row.attempt));
    writeln!(out, "{}", paint.apply(STRONG, title))?;
    let mut facts = vec![
        ("run", clean(&row.run)),
        ("story", clean(&row.story)),
        (
            "parked",
            row.at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        ),
        (
            "kind",
            format!("{}: {}", kind(row.kind), words::failure(row.kind)),
        ),
        ("transcript", clean(&view.transcript)),
    ];
    facts.extend(view.diff.iter().map(|diff| ("diff", clean(diff))));
    write_facts(out, paint, &facts, LABEL)?;
    writeln!(out)?;
    for line in clean_lines(&row.reason) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)?;
    for (mark, paths) in [
        ("A", &view.created),
        ("M", &view.modified),
        ("D", &view.removed),
    ] {
        for path in paths {
            let note = if view.ignored.contains(path) {
                paint.apply(DIM, "  (ignored by git, not in the diff)")
            } else {
                String::new()
            };
            writeln!(out, "  {} {}{note}", paint.apply(NAME, mark), clean(path))?;
        }
    }
    let none = view.created.is_empty() && view.modified.is_empty() && view.removed.is_empty();
    if none {
        writeln!(out, "  it changed no file")?;
        return Ok(());
    }
    writeln!(out)?;
    let label = shell(&row.attempt);
    let run = if view.is_shadowed {
        format!(" --run {}", shell(&row.run))
    } else {
        String::new()
    };
    let next = [
        (
            format!("ralphtool attempts diff {label}{run}"),
            "shows the changes",
        ),
        (
            format!("ralphtool attempts restore {label}{run}"),
            "puts them into the tree",
        ),
    ];
    write_commands(out, paint, &next)
}
