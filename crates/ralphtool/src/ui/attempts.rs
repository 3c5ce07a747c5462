//! Parked attempts, for people: the table of them, and one in full.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use super::style::{DIM, NAME, Paint, STRONG};
use super::text::{clean, clean_lines, columns, pad, truncate};
use super::words::{self, shell};
use ralph_run::records::event::FailureKind;

/// How wide the table is.
const WIDTH: usize = 100;

/// How wide the labels of one attempt are.
const LABEL: usize = 10;

/// What stands between two columns.
const GAP: &str = "  ";

/// What the columns are called.
const HEAD: [&str; 5] = ["attempt", "parked", "files", "kind", "reason"];

/// One parked attempt in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AttemptRow {
    /// Its name: `2.1`.
    pub(crate) attempt: String,
    /// Its run.
    pub(crate) run: String,
    /// Its story.
    pub(crate) story: String,
    /// When it was parked.
    pub(crate) at: Timestamp,
    /// What sort of failure ended it.
    pub(crate) kind: FailureKind,
    /// Why it was parked.
    pub(crate) reason: String,
    /// Files it had changed.
    pub(crate) changed_files: usize,
}

/// One parked attempt in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AttemptView {
    /// What the table says of it.
    #[serde(flatten)]
    pub(crate) row: AttemptRow,
    /// New files.
    pub(crate) created: Vec<String>,
    /// Changed files.
    pub(crate) modified: Vec<String>,
    /// Files that were gone.
    pub(crate) removed: Vec<String>,
    /// Those of them that git ignores.
    pub(crate) ignored: Vec<String>,
    /// The folder with prompt, stdout and stderr.
    pub(crate) transcript: String,
    /// The diff, where there is one.
    pub(crate) diff: Option<String>,
    /// A newer run has an attempt of that name: this one must be asked for with its run.
    pub(crate) is_shadowed: bool,
}

/// Writes the table; runs are named where there are several.
pub(crate) fn write(
    out: &mut dyn Write,
    paint: Paint,
    rows: &[AttemptRow],
    now: Timestamp,
) -> io::Result<()> {
    let mut run = "";
    for row in rows {
        if row.run != run {
            let gap = if run.is_empty() { "" } else { "\n" };
            run = &row.run;
            writeln!(
                out,
                "{gap}{}",
                paint.apply(DIM, format!("run {}", clean(run)))
            )?;
            let rows: Vec<&AttemptRow> = rows.iter().filter(|it| it.run == *run).collect();
            write_run(out, paint, &rows, now)?;
        }
    }
    Ok(())
}

fn write_run(
    out: &mut dyn Write,
    paint: Paint,
    rows: &[&AttemptRow],
    now: Timestamp,
) -> io::Result<()> {
    let cells: Vec<[String; 5]> = rows.iter().map(|row| cells(row, now)).collect();
    let head = HEAD.map(str::to_owned);
    let widths: [usize; 4] = std::array::from_fn(|column| {
        let all = cells.iter().chain([&head]).map(|row| columns(&row[column]));
        all.max().unwrap_or(0)
    });
    let used = widths.iter().sum::<usize>() + GAP.len() * 4;
    let room = WIDTH.saturating_sub(used).max(20);
    let line = |row: &[String; 5]| {
        let mut parts: Vec<String> = (0..4).map(|at| pad(&row[at], widths[at])).collect();
        parts.push(truncate(&row[4], room));
        parts
    };
    writeln!(out, "{}", paint.apply(DIM, line(&head).join(GAP)))?;
    for row in &cells {
        let mut parts = line(row);
        parts[0] = paint.apply(STRONG, &parts[0]);
        writeln!(out, "{}", parts.join(GAP))?;
    }
    Ok(())
}

fn cells(row: &AttemptRow, now: Timestamp) -> [String; 5] {
    let first = clean_lines(&row.reason).into_iter().next();
    [
        clean(&row.attempt),
        words::ago(now.duration_since(row.at).as_secs()),
        row.changed_files.to_string(),
        kind(row.kind),
        first.unwrap_or_default(),
    ]
}

/// The kind as the records call it: short, and what one would search for.
fn kind(kind: FailureKind) -> String {
    let text = serde_json::to_value(kind).unwrap_or_default();
    text.as_str().unwrap_or_default().to_owned()
}

/// Writes that there is none.
pub(crate) fn write_empty(out: &mut dyn Write, story: Option<&str>, all: bool) -> io::Result<()> {
    let of = match (story, all) {
        (Some(story), _) => format!(" of story {}", clean(story)),
        (None, false) => " of the last run".to_owned(),
        (None, true) => String::new(),
    };
    writeln!(out, "no attempt{of} is parked here")
}

/// Writes one attempt.
pub(crate) fn write_one(out: &mut dyn Write, paint: Paint, view: &AttemptView) -> io::Result<()> {
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
    for (name, value) in facts {
        writeln!(out, "  {} {value}", paint.apply(DIM, pad(name, LABEL)))?;
    }
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
    let widest = next.iter().map(|(command, _)| columns(command)).max();
    for (command, what) in next {
        let command = paint.apply(NAME, pad(&command, widest.unwrap_or(0)));
        writeln!(out, "  {command}  {}", paint.apply(DIM, what))?;
    }
    Ok(())
}
