//! `ralphtool log`: past runs of this repository, and what happened in one of them.

use std::process::ExitCode;

use anstyle::Style;
use clap::Args;
use jiff::Timestamp;

use super::reporter;
use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::repository_to_read;
use crate::console::runtime::on_runtime;
use crate::tui::session;
use crate::ui::page::Page;
use crate::ui::style::{BAD, GOOD, STRONG, WARN};
use crate::ui::text::clean;
use crate::ui::{Reporter, receipt, words};
use ralph_run::failure::Failure;
use ralph_run::history::lookup::{find_run, past_runs, read_run};
use ralph_run::history::{RunState, RunSummary};
use ralph_run::receipt::Receipt;
use ralph_run::records::event::Record;
use ralph_run::records::state::with_finish;

const EXAMPLES: &str = "\
Examples:
  ralphtool log                     the runs of this repository, the newest first
  ralphtool log last                the receipt of the newest, story by story
  ralphtool log --markdown          the same, for the body of a pull request
  ralphtool log last --json         the same, as one JSON object for a program
  ralphtool log last --events       everything that happened in it, in order
  ralphtool log last --tui          the same, on the screen of a run";

/// Flags of `log`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag people can give"
)]
pub(super) struct LogArguments {
    /// The run, as `ralphtool log` lists it, or `last`, which the flags below mean if none is given
    run: Option<String>,
    /// Write JSON: an array of runs, the receipt of the run, or with `--events` its records, one per line
    #[arg(long)]
    json: bool,
    /// Write the receipt as Markdown, for the body of a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Show everything that happened, in order, as the log of the run
    #[arg(long, conflicts_with = "markdown")]
    events: bool,
    /// Show the run on the run screen
    #[arg(long, conflicts_with_all = ["json", "markdown", "events"])]
    tui: bool,
}

impl LogArguments {
    /// The run that is asked for; none for the list.
    fn wanted(&self) -> Option<&str> {
        let shows_one = self.markdown || self.events || self.tui;
        self.run.as_deref().or(shows_one.then_some("last"))
    }
}

/// Lists the runs, or shows one.
pub(super) fn run(arguments: &LogArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(list_or_show(arguments, context))
}

async fn list_or_show(arguments: &LogArguments, context: &Context) -> Result<ExitCode, Failure> {
    let repository = repository_to_read(context)?;
    let vault = context.vault(&repository)?;
    let runs = past_runs(&repository, &vault)?;
    if let Some(name) = arguments.wanted() {
        let run = find_run(&runs, name)?;
        let records = read_run(&vault, &run.run);
        if arguments.tui {
            return replay(records, context).await;
        }
        if arguments.events {
            return show(&records, reporter::of_past(arguments.json, context));
        }
        let receipt = Receipt::of(run, &records, Timestamp::now());
        if arguments.markdown {
            return output::print(receipt::markdown::page(&receipt).as_bytes());
        }
        return output::json_or_page(arguments.json, &receipt, context, receipt::write);
    }
    output::json_or_page(arguments.json, &runs, context, |page, runs| {
        if runs.is_empty() {
            return page.line("no run took place in this repository");
        }
        write(page, runs, Timestamp::now());
    })
}

async fn replay(records: Vec<Record>, context: &Context) -> Result<ExitCode, Failure> {
    if !context.has_screen() {
        return Err(Failure::refused("there is no terminal to show the run on")
            .hint("leave out `--tui` for a log"));
    }
    Box::pin(session::replay(records, context)).await
}

/// Shows what happened, as if it happened now.
fn show(records: &[Record], mut reporter: Box<dyn Reporter>) -> Result<ExitCode, Failure> {
    let mut all = records.iter();
    all.try_for_each(|record| reporter.show(record, record.at))
        .and_then(|()| reporter.close())
        .map_err(|error| Failure::system("could not write the output").because(error))?;
    Ok(ExitCode::SUCCESS)
}

fn write(page: &mut Page, runs: &[RunSummary], now: Timestamp) {
    let header = ["run", "change", "began", "stories", "cost", "outcome"];
    let rows: Vec<_> = runs.iter().map(|run| cells(run, now)).collect();
    page.table(header, &rows);
}

fn cells(run: &RunSummary, now: Timestamp) -> [(Style, String); 6] {
    let cost = match (run.cost_usd, run.tokens) {
        (Some(cost), _) => words::cost_of(cost, run.cost_is_partial),
        (None, 0) => "-".to_owned(),
        (None, tokens) => format!("{} tokens", words::tokens(tokens)),
    };
    let plain = Style::new();
    [
        (STRONG, clean(&run.run.0)),
        (plain, clean(&run.change)),
        (plain, words::ago(run.began, now)),
        (plain, format!("{}/{}", run.stories.done, run.stories.total)),
        (plain, cost),
        (
            style(run),
            with_finish(&run.with_warnings(&clean(&run.headline)), run.finish),
        ),
    ]
}

fn style(run: &RunSummary) -> Style {
    match run.state {
        state if state.is_live() => STRONG,
        RunState::Done | RunState::StoryDone if run.alerts.is_empty() => GOOD,
        RunState::Failed | RunState::GateBroken | RunState::Broken => BAD,
        _ => WARN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use ralph_base::ids::RunId;
    use ralph_run::records::counts::StoryCounts;
    use ralph_run::records::event::FinishChoice;

    #[test]
    fn runs_are_listed_in_a_table() {
        let now: Timestamp = "2026-01-02T12:00:00Z".parse().unwrap();
        let run = |id: &str, state, headline: &str, finish, cost_usd| RunSummary {
            run: RunId(id.to_owned()),
            change: "add-retry\u{1b}[31m".to_owned(),
            began: "2026-01-02T09:00:00Z".parse().unwrap(),
            ended: now,
            state,
            headline: headline.to_owned(),
            alerts: Vec::new(),
            branch: None,
            finish,
            stories: StoryCounts {
                total: 12,
                done: 2,
                ..StoryCounts::default()
            },
            attempts: 3,
            elapsed_ms: 95_000,
            tokens: 1200,
            cost_usd,
            cost_is_partial: false,
        };
        let runs = [
            run(
                "20260102-090000-abcd",
                RunState::Running,
                "running",
                None,
                None,
            ),
            run(
                "20260101-090000-abcd",
                RunState::Done,
                "all stories are done",
                Some(FinishChoice::Cleanup),
                Some(1.5),
            ),
            run(
                "20260101-080000-abcd",
                RunState::Failed,
                "story 2 failed after 3 attempts (gate `tests`)",
                Some(FinishChoice::Keep),
                None,
            ),
        ];
        let mut doubtful = runs[1].clone();
        doubtful.alerts = vec!["gate `lint` red since before the run".to_owned()];
        let runs = [runs.as_slice(), &[doubtful]].concat();
        let mut page = Page::new(Paint::Plain);
        write(&mut page, &runs, now);
        insta::assert_snapshot!(page.text);
    }
}
