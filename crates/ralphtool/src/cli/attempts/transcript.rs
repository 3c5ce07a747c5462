//! `ralphtool attempts transcript`: what the agent said and did in an attempt, to read.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::OneAttempt;
use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::repository_to_read;
use crate::ui::page::Page;
use crate::ui::text::clean_lines;
use crate::ui::transcript::{write_entry, write_errors};
use ralph_agents::transcript::Entry;
use ralph_run::failure::Failure;
use ralph_run::history::lookup::{find_run, past_runs, read_run};
use ralph_run::records::event::{AttemptStarted, Event};
use ralph_run::windows::transcript::Transcript;

/// How much is read at once.
const AT_ONCE: usize = 1 << 20;

/// How many entries are written at a time.
const BATCH: usize = 500;

/// How many of the last lines of the standard error are shown.
const ERROR_LINES: usize = 50;

/// Flags of `attempts transcript`.
#[derive(Debug, Args)]
pub(super) struct TranscriptArguments {
    #[command(flatten)]
    which: OneAttempt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(super) fn show(given: &TranscriptArguments, context: &Context) -> Result<ExitCode, Failure> {
    let started = find(&given.which, context)?;
    let folder = Path::new(&started.transcript);
    let transcript = Transcript::open(folder, started.output);
    let unread = |error| {
        Failure::system(format!(
            "could not read the transcript of `{}`",
            given.which.attempt
        ))
        .because(error)
    };
    let paint = context.paint_for(&std::io::stdout());
    let mut out = output::stdout();
    each_batch(transcript, |entries| {
        if given.json {
            for entry in entries {
                serde_json::to_writer(&mut out, &entry.event)?;
                writeln!(out)?;
            }
            return Ok(());
        }
        let mut page = Page::new(paint);
        for entry in entries {
            write_entry(&mut page, &entry.event);
        }
        out.write_all(page.text.as_bytes())
    })
    .map_err(unread)?;
    if !given.json {
        let mut page = Page::new(paint);
        write_errors(&mut page, &last_errors(folder));
        out.write_all(page.text.as_bytes()).map_err(unread)?;
    }
    out.flush().map_err(unread)?;
    Ok(ExitCode::SUCCESS)
}

/// The start of the attempt, parked or not, in the newest run that has it, or in the given one.
fn find(which: &OneAttempt, context: &Context) -> Result<AttemptStarted, Failure> {
    let repository = repository_to_read(context)?;
    let vault = context.vault(&repository)?;
    let runs = past_runs(&repository, &vault)?;
    let chosen = match &which.run {
        Some(name) => std::slice::from_ref(find_run(&runs, name)?),
        None => runs.as_slice(),
    };
    let mut attempts = chosen.iter().filter_map(|run| {
        let records = read_run(&vault, &run.run).into_iter().rev();
        let mut started = records.filter_map(|record| match record.event {
            Event::AttemptStarted(started) => Some(started),
            _ => None,
        });
        started.find(|it| format!("{}.{}", it.story.0, it.attempt.0) == which.attempt)
    });
    attempts.next().ok_or_else(|| {
        Failure::refused(format!("found no attempt `{}`", which.attempt))
            .hint("an attempt is named by its story and its number, such as `2.1`")
            .hint("`ralphtool log last` lists the attempts of the last run")
    })
}

/// Reads a transcript from its start to its present end.
fn each_batch(
    mut transcript: Transcript,
    mut write: impl FnMut(&[Entry]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    while !transcript.refresh(AT_ONCE)?.at_end {}
    let mut from = 0;
    loop {
        let entries = transcript.window(from, BATCH)?;
        if entries.is_empty() {
            return Ok(());
        }
        write(&entries)?;
        from += entries.len();
    }
}

/// The last lines of the standard error; none where it cannot be read.
fn last_errors(folder: &Path) -> Vec<String> {
    let bytes = std::fs::read(folder.join("stderr")).unwrap_or_default();
    let lines = clean_lines(&String::from_utf8_lossy(&bytes));
    lines[lines.len().saturating_sub(ERROR_LINES)..].to_vec()
}
