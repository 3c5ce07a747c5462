//! The table of past runs.

use std::io::{self, Write};

use anstyle::Style;
use jiff::Timestamp;

use super::rows::write_table;
use super::style::{BAD, GOOD, Paint, STRONG, WARN};
use super::text::clean;
use super::words;
use ralph_run::history::{RunState, RunSummary};

/// Writes the table.
pub(crate) fn write(
    out: &mut dyn Write,
    paint: Paint,
    runs: &[RunSummary],
    now: Timestamp,
) -> io::Result<()> {
    let header = ["run", "change", "began", "stories", "cost", "outcome"];
    let rows: Vec<_> = runs.iter().map(|run| cells(run, now)).collect();
    write_table(out, paint, header, &rows)
}

/// Writes that there is none.
pub(crate) fn write_empty(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "no run took place in this repository")
}

fn cells(run: &RunSummary, now: Timestamp) -> [(Style, String); 6] {
    let cost = match (run.cost_usd, run.tokens) {
        (Some(cost), _) => words::cost(cost),
        (None, 0) => "-".to_owned(),
        (None, tokens) => format!("{} tokens", words::tokens(tokens)),
    };
    let plain = Style::new();
    [
        (STRONG, clean(&run.run.0)),
        (plain, clean(&run.change)),
        (plain, words::ago(now.duration_since(run.began).as_secs())),
        (plain, format!("{}/{}", run.stories_done, run.stories_total)),
        (plain, cost),
        (style(run.state), words::run_state(run.state, run.finish)),
    ]
}

fn style(state: RunState) -> Style {
    match state {
        RunState::AtWork => STRONG,
        RunState::AllDone | RunState::StoryDone => GOOD,
        RunState::Exhausted | RunState::Broken => BAD,
        RunState::Interrupted | RunState::Stopped | RunState::Skipped | RunState::Limited => WARN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_base::ids::RunId;
    use ralph_run::records::event::FinishChoice;

    #[test]
    fn runs_stand_in_a_table() {
        let now: Timestamp = "2026-01-02T12:00:00Z".parse().unwrap();
        let run = |id: &str, state, finish, cost_usd| RunSummary {
            run: RunId(id.to_owned()),
            change: "add-retry\u{1b}[31m".to_owned(),
            began: "2026-01-02T09:00:00Z".parse().unwrap(),
            ended: now,
            state,
            finish,
            stories_done: 2,
            stories_total: 12,
            attempts: 3,
            tokens: 1200,
            cost_usd,
        };
        let runs = [
            run("20260102-090000-abcd", RunState::AtWork, None, None),
            run(
                "20260101-090000-abcd",
                RunState::AllDone,
                Some(FinishChoice::Cleanup),
                Some(1.5),
            ),
            run(
                "20260101-080000-abcd",
                RunState::Exhausted,
                Some(FinishChoice::Keep),
                None,
            ),
        ];
        let mut out = Vec::new();
        write(&mut out, Paint::Plain, &runs, now).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
