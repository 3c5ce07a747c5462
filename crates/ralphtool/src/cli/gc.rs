//! `ralphtool gc`: makes room in the vault.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;

use crate::console::context::Context;
use crate::console::output;
use crate::ui::page::Page;
use crate::ui::style::{DIM, NAME, STRONG, WARN};
use crate::ui::text::{clean, columns, pad};
use crate::ui::words::{self, bytes, count};
use ralph_base::amount::BadAmount;
use ralph_base::duration::TimeLimit;
use ralph_run::engine::housekeeping::{Request, prepare};
use ralph_run::failure::Failure;
use ralph_vault::gc::policy::{Fate, Housekeeping, RunRow, StoreRow, VaultKind, VaultRow};
use ralph_vault::other_vaults::Scope;

const EXAMPLES: &str = "\
Examples:
  ralphtool gc --dry-run            show what would be removed, and its size
  ralphtool gc --older-than 7d      runs that ended more than a week ago
  ralphtool gc --all-vaults --yes   also vaults of work trees that no longer exist
  ralphtool gc --forget repo-1a2b3c4d5e6f
                                    one vault with kept runs and parked attempts in it";

/// Flags of `gc`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct GcArguments {
    /// Keep runs that ended less than this long ago
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = age)]
    pub(super) older_than: Duration,
    /// Check the vaults of all other work trees too; one whose work tree is gone is removed if it holds
    /// nothing you may want
    #[arg(long)]
    pub(super) all_vaults: bool,
    /// Remove one vault whose work tree is gone, with kept runs and parked attempts in it: its
    /// name, as `--all-vaults` lists it, or the path of its work tree
    #[arg(long, value_name = "VAULT", conflicts_with = "all_vaults")]
    pub(super) forget: Option<String>,
    /// Show what would be removed, and remove nothing
    #[arg(long, conflicts_with = "yes")]
    pub(super) dry_run: bool,
    /// Remove without asking
    #[arg(long, short)]
    pub(super) yes: bool,
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Reads an age; `off` has no meaning here.
fn age(text: &str) -> Result<Duration, BadAmount> {
    let limit: TimeLimit = text.parse()?;
    match limit.0 {
        None if text.trim().eq_ignore_ascii_case("off") => Err(TimeLimit::refuse(text)),
        limit => Ok(limit.unwrap_or_default()),
    }
}

pub(super) fn run(arguments: &GcArguments, context: &Context) -> Result<ExitCode, Failure> {
    let prepared = prepare(&Request {
        directory: &context.folder()?,
        state: &context.state()?,
        older_than: arguments.older_than,
        scope: if arguments.all_vaults {
            Scope::All
        } else {
            Scope::OwnOld
        },
        forget: arguments.forget.as_deref(),
    })?;
    let is_over = arguments.dry_run || prepared.report.is_empty();
    if is_over || !arguments.yes || !arguments.json {
        show(&prepared.report, arguments, context)?;
    }
    if is_over {
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.yes {
        if arguments.json || !output::can_ask() {
            return Err(
                Failure::refused("nothing was removed: there is no terminal to ask on")
                    .hint("pass `--yes` to remove it, or `--dry-run` to only show it"),
            );
        }
        if !output::confirm("remove it? [y/N] ")? {
            return output::print(b"nothing was removed\n");
        }
    }
    let report = prepared.carry_out()?;
    show(&report, arguments, context)
}

fn show(
    report: &Housekeeping,
    arguments: &GcArguments,
    context: &Context,
) -> Result<ExitCode, Failure> {
    output::json_or_page(arguments.json, report, context, |page, report| {
        write(page, report, Timestamp::now());
    })
}

fn write(page: &mut Page, report: &Housekeeping, now: Timestamp) {
    if report.done {
        return write_done(page, report);
    }
    page.styled(STRONG, format!("vault {}", clean(&report.vault)));
    page.line(format!("  size     {}", bytes(report.bytes_before)));
    page.line(format!("  keeping  {}", count(report.kept_runs, "run")));
    write_runs(page, &report.runs, now);
    write_rest(page, report);
    if !report.vaults.is_empty() {
        page.heading("other vaults");
    }
    for vault in &report.vaults {
        write_vault(page, vault, now);
    }
    for note in &report.notes {
        page.line(format!("{} {}", page.paint(WARN, "note:"), clean(note)));
    }
    page.blank();
    if report.is_empty() {
        return page.line("nothing to remove");
    }
    let after = bytes(report.bytes_after);
    page.line(format!("the vault would then use about {after}"));
}

fn write_done(page: &mut Page, report: &Housekeeping) {
    let removed = report.vaults.iter().filter(|row| row.fate == Fate::Goes);
    let of_vaults: u64 = removed.map(|row| row.bytes).sum();
    let own = report.bytes_before.saturating_sub(report.bytes_after);
    let (freed, after) = (bytes(of_vaults + own), bytes(report.bytes_after));
    page.line(format!(
        "removed: {freed} freed, the vault now uses {after}"
    ));
}

fn write_runs(page: &mut Page, runs: &[RunRow], now: Timestamp) {
    if !runs.is_empty() {
        page.heading(format!("{} to remove", count(runs.len(), "run")));
    }
    let width = runs.iter().map(|run| columns(&clean(&run.change))).max();
    for run in runs {
        let name = page.paint(NAME, clean(&run.run.0));
        let change = pad(&clean(&run.change), width.unwrap_or(0));
        let (age, size) = (words::ago(run.ended, now), bytes(run.bytes()));
        page.line(format!("  {name}  {change}  ended {age}  {size}"));
        let parts = format!(
            "{}, {} {}, trash {}, logs {}",
            count(run.attempts, "attempt"),
            count(run.snapshots.count, "snapshot"),
            bytes(run.snapshots.bytes),
            bytes(run.trash.bytes),
            bytes(run.logs),
        );
        page.line(format!("    {}", page.paint(DIM, parts)));
    }
}

fn write_rest(page: &mut Page, report: &Housekeeping) {
    let mut rest = vec![
        ("files of no run", report.orphans),
        ("copies without snapshot", report.copies),
        ("unneeded objects", report.store.gone()),
    ];
    rest.retain(|(_, tally)| tally.count > 0);
    if !rest.is_empty() {
        page.heading("not needed by any run");
    }
    for (what, tally) in rest {
        let (count, size) = (tally.count, bytes(tally.bytes));
        page.line(format!("  {}  {count}, {size}", pad(what, 24)));
    }
    if let StoreRow::LeftAlone { reason } = &report.store {
        let (note, reason) = (page.paint(WARN, "note:"), clean(reason));
        page.blank();
        page.line(format!("{note} object store skipped: {reason}"));
    }
}

fn write_vault(page: &mut Page, row: &VaultRow, now: Timestamp) {
    let kind = match (row.kind, &row.work_tree) {
        (VaultKind::SetAside, _) => "replaced by the vault of a new repository".to_owned(),
        (VaultKind::Vanished, Some(tree)) => format!("`{tree}` is gone"),
        (VaultKind::Away, Some(tree)) => format!("`{tree}` is not there at the moment"),
        (_, Some(tree)) => format!("of `{tree}`"),
        (_, None) => "of no known work tree".to_owned(),
    };
    let used = row.used.map(|used| words::ago(used, now));
    let used = used.unwrap_or_else(|| "never used".to_owned());
    let fate = match &row.fate {
        Fate::Goes => "to remove".to_owned(),
        Fate::Stays { reason } => format!("kept: {reason}"),
    };
    page.line(format!("  {}", page.paint(NAME, clean(&row.folder))));
    let parts = format!("{kind}, {used}, {}, {fate}", bytes(row.bytes));
    page.line(format!("    {}", page.paint(DIM, clean(&parts))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use ralph_base::ids::RunId;
    use ralph_vault::gc::policy::Tally;

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
    fn gc_lists_what_it_removes_and_keeps() {
        let now = "2026-03-01T00:00:00Z".parse().unwrap();
        let mut page = Page::new(Paint::Plain);
        let mut show = |report: &Housekeeping| write(&mut page, report, now);
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
        page.text += &serde_json::to_string_pretty(&report()).unwrap();
        insta::assert_snapshot!(page.text);
    }
}
