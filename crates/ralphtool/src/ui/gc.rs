//! What a housekeeping removes, or has removed.

use std::io::{self, Write};

use jiff::Timestamp;

use super::style::{DIM, NAME, Paint, STRONG, WARN};
use super::text::{clean, columns, pad};
use super::words::{self, Count, Noun};
use ralph_vault::gc::policy::{Fate, Housekeeping, RunRow, StoreRow, VaultKind};

/// Writes the report for people.
pub(crate) fn write(
    out: &mut dyn Write,
    paint: Paint,
    report: &Housekeeping,
    now: Timestamp,
) -> io::Result<()> {
    if report.done {
        return write_done(out, report);
    }
    writeln!(
        out,
        "{}",
        paint.apply(STRONG, format!("vault {}", clean(&report.vault)))
    )?;
    writeln!(out, "  size   {}", words::bytes(report.bytes_before))?;
    writeln!(out, "  stays  {}", Count(report.kept_runs, Noun::Run))?;
    write_runs(out, paint, &report.runs, now)?;
    write_rest(out, paint, report)?;
    write_vaults(out, paint, report, now)?;
    for note in &report.notes {
        writeln!(out, "{} {}", paint.apply(WARN, "note:"), clean(note))?;
    }
    writeln!(out)?;
    if report.is_empty() {
        return writeln!(out, "nothing to remove");
    }
    let after = words::bytes(report.bytes_after);
    writeln!(out, "the vault would then take up about {after}")
}

fn write_done(out: &mut dyn Write, report: &Housekeeping) -> io::Result<()> {
    let vaults = report.vaults.iter().filter(|row| row.fate == Fate::Goes);
    let freed: u64 = vaults.map(|row| row.bytes).sum();
    let freed = freed + report.bytes_before.saturating_sub(report.bytes_after);
    writeln!(
        out,
        "removed: {} freed, the vault takes up {}",
        words::bytes(freed),
        words::bytes(report.bytes_after)
    )
}

fn write_runs(
    out: &mut dyn Write,
    paint: Paint,
    runs: &[RunRow],
    now: Timestamp,
) -> io::Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    heading(
        out,
        paint,
        &format!("{} to remove", Count(runs.len(), Noun::Run)),
    )?;
    let width = runs.iter().map(|run| columns(&clean(&run.change))).max();
    for run in runs {
        let age = words::ago(now.duration_since(run.ended).as_secs());
        writeln!(
            out,
            "  {}  {}  ended {age}  {}",
            paint.apply(NAME, clean(&run.run.0)),
            pad(&clean(&run.change), width.unwrap_or(0)),
            words::bytes(run.bytes()),
        )?;
        let parts = format!(
            "{}, {} {}, trash {}, logs {}",
            Count(run.attempts, Noun::Attempt),
            Count(run.snapshots.count, Noun::Snapshot),
            words::bytes(run.snapshots.bytes),
            words::bytes(run.trash.bytes),
            words::bytes(run.logs),
        );
        writeln!(out, "    {}", paint.apply(DIM, parts))?;
    }
    Ok(())
}

fn write_rest(out: &mut dyn Write, paint: Paint, report: &Housekeeping) -> io::Result<()> {
    let rest = [
        ("leftovers of no run", report.orphans),
        ("copies no snapshot needs", report.copies),
        ("objects nothing needs", report.store.gone()),
    ];
    if rest.iter().any(|(_, tally)| tally.count > 0) {
        heading(out, paint, "what no run needs")?;
    }
    for (what, tally) in rest.iter().filter(|(_, tally)| tally.count > 0) {
        let (count, size) = (tally.count, words::bytes(tally.bytes));
        writeln!(out, "  {}  {count}, {size}", pad(what, 24))?;
    }
    if let StoreRow::LeftAlone { reason } = &report.store {
        let note = paint.apply(WARN, "note:");
        let reason = clean(reason);
        writeln!(
            out,
            "\n{note} objects of the store are left alone: {reason}"
        )?;
    }
    Ok(())
}

fn write_vaults(
    out: &mut dyn Write,
    paint: Paint,
    report: &Housekeeping,
    now: Timestamp,
) -> io::Result<()> {
    if !report.vaults.is_empty() {
        heading(out, paint, "other vaults")?;
    }
    for row in &report.vaults {
        let kind = match (row.kind, &row.work_tree) {
            (VaultKind::SetAside, _) => "set aside for a new repository".to_owned(),
            (VaultKind::Vanished, Some(tree)) => format!("`{tree}` is gone"),
            (VaultKind::Away, Some(tree)) => {
                format!("`{tree}` is not there at the moment")
            }
            (_, Some(tree)) => format!("of `{tree}`"),
            (_, None) => "of no known work tree".to_owned(),
        };
        let used = row.used.map(|used| now.duration_since(used).as_secs());
        let used = used.map_or_else(|| "never used".to_owned(), words::ago);
        let fate = match &row.fate {
            Fate::Goes => "to remove".to_owned(),
            Fate::Stays { reason } => format!("stays: {reason}"),
        };
        writeln!(out, "  {}", paint.apply(NAME, clean(&row.folder)))?;
        let parts = format!("{kind}, {used}, {}, {fate}", words::bytes(row.bytes));
        writeln!(out, "    {}", paint.apply(DIM, clean(&parts)))?;
    }
    Ok(())
}

fn heading(out: &mut dyn Write, paint: Paint, text: &str) -> io::Result<()> {
    writeln!(out, "\n{}", paint.apply(STRONG, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_base::ids::RunId;
    use ralph_vault::gc::policy::{Tally, VaultRow};

    fn report() -> Housekeeping {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        Housekeeping {
            vault: "/state/ralphtool/repo-0123".to_owned(),
            done: false,
            kept_runs: 1,
            bytes_before: 1_250_000_000,
            bytes_after: 812,
            runs: vec![RunRow {
                run: RunId("20260101-101010-x7k2".to_owned()),
                change: "add-retry".to_owned(),
                ended: at("2026-01-01T10:20:00Z"),
                attempts: 1,
                snapshots: Tally {
                    count: 3,
                    bytes: 45_000,
                },
                trash: Tally::default(),
                logs: 4_500,
            }],
            orphans: Tally {
                count: 1,
                bytes: 4096,
            },
            copies: Tally::default(),
            store: StoreRow::Known {
                gone: Tally {
                    count: 12,
                    bytes: 1_000_000,
                },
            },
            vaults: vec![VaultRow {
                folder: "/state/ralphtool/old-4567".to_owned(),
                work_tree: Some("/home/ann/old".to_owned()),
                kind: VaultKind::Vanished,
                used: Some(at("2026-02-01T00:00:00Z")),
                bytes: 5_000_000,
                fate: Fate::Goes,
            }],
            notes: vec!["a note".to_owned()],
        }
    }

    #[test]
    fn a_housekeeping_says_what_goes_and_what_stays() {
        let now = "2026-03-01T00:00:00Z".parse().unwrap();
        let mut out = Vec::new();
        let mut show = |report: &Housekeeping| write(&mut out, Paint::Plain, report, now).unwrap();
        show(&report());
        show(&Housekeeping {
            done: true,
            ..report()
        });
        show(&Housekeeping {
            runs: Vec::new(),
            orphans: Tally::default(),
            store: StoreRow::LeftAlone {
                reason: "a run is open".to_owned(),
            },
            vaults: Vec::new(),
            notes: Vec::new(),
            ..report()
        });
        serde_json::to_writer_pretty(&mut out, &report()).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
