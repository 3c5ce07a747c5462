//! From runs to a table: medians over the runs, with the lowest and highest beside them.

use std::fmt::Write;
use std::time::Duration;

use crate::contender::{CONTENDERS, Contender, Run};
use crate::options::Options;

/// What the numbers of one contender are.
struct Row {
    gap: Spread,
    overhead: Spread,
    first_agent: Spread,
    memory: Option<u64>,
}

/// A median between its extremes, in milliseconds.
#[derive(Clone, Copy)]
struct Spread {
    lowest: f64,
    median: f64,
    highest: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = Duration>) -> Self {
        let mut values: Vec<f64> = values.map(|value| value.as_secs_f64() * 1000.0).collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or_default();
        let middle = at(values.len().saturating_sub(1) / 2) + at(values.len() / 2);
        Self {
            lowest: at(0),
            median: middle / 2.0,
            highest: at(values.len().saturating_sub(1)),
        }
    }

    fn shown(self) -> String {
        let Self {
            lowest,
            median,
            highest,
        } = self;
        format!("{median:.1} ({lowest:.1}-{highest:.1})")
    }
}

impl Row {
    fn of(contender: Contender, runs: &[(Contender, Run)]) -> Self {
        let mine: Vec<&Run> = runs
            .iter()
            .filter(|(who, _)| *who == contender)
            .map(|(_, run)| run)
            .collect();
        Self {
            gap: Spread::of(mine.iter().map(|run| median(&run.gaps))),
            overhead: Spread::of(mine.iter().map(|run| overhead(run))),
            first_agent: Spread::of(mine.iter().map(|run| run.first_agent)),
            memory: mine.iter().filter_map(|run| run.peak_memory).max(),
        }
    }
}

fn median(durations: &[Duration]) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Everything but the agents, start and end included, shared among the stories.
fn overhead(run: &Run) -> Duration {
    let stories = u32::try_from(run.gaps.len() + 1).unwrap_or(u32::MAX);
    run.wall.saturating_sub(run.agents) / stories
}

/// One run, in short.
pub(crate) fn one_line(run: &Run) -> String {
    let gap = Spread::of(run.gaps.iter().copied());
    let first = run.first_agent.as_secs_f64() * 1000.0;
    format!("gap {} ms, first agent after {first:.0} ms", gap.shown())
}

/// All runs of all contenders.
pub(crate) fn table(options: &Options, runs: &[(Contender, Run)]) -> String {
    let mut text = format!(
        "\n{} files, {} stories, {} runs of each in turns; ms: median of the runs (lowest-highest)\n\n\
         | loop | gap between agents | ratio | overhead a story | ratio | first agent | peak memory |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
        options.files, options.stories, options.runs
    );
    let base = Row::of(CONTENDERS[0], runs);
    for contender in CONTENDERS {
        let row = Row::of(*contender, runs);
        let memory = row.memory.map_or("unknown".to_owned(), |kilobytes| {
            format!("{} MB", kilobytes.div_ceil(1024))
        });
        let _ = writeln!(
            text,
            "| {} | {} | {:.2}x | {} | {:.2}x | {} | {memory} |",
            contender.name(),
            row.gap.shown(),
            row.gap.median / base.gap.median,
            row.overhead.shown(),
            row.overhead.median / base.overhead.median,
            row.first_agent.shown(),
        );
    }
    if CONTENDERS.contains(&Contender::Unsynced) {
        text.push_str(&price_of_durability(runs));
    }
    text
}

/// What the journal and syncing add, by medians.
fn price_of_durability(runs: &[(Contender, Run)]) -> String {
    let with = Row::of(Contender::Ralphtool, runs);
    let without = Row::of(Contender::Unsynced, runs);
    let added = |with: Spread, without: Spread| (with.median / without.median - 1.0) * 100.0;
    format!(
        "\nthe journal and syncing add {:.1} % to the gap, {:.1} % to the overhead\n",
        added(with.gap, without.gap),
        added(with.overhead, without.overhead)
    )
}

/// The git processes between two agents in the middle of a run.
pub(crate) fn git_calls(contender: Contender, run: &Run) -> String {
    let all: Vec<usize> = run.git_calls.iter().map(Vec::len).collect();
    let (lowest, highest) = (all.iter().min(), all.iter().max());
    let mut text = format!(
        "\n{}: {} to {} git processes a story, for example\n",
        contender.name(),
        lowest.unwrap_or(&0),
        highest.unwrap_or(&0)
    );
    for call in run.git_calls.get(all.len() / 2).into_iter().flatten() {
        let _ = writeln!(text, "  git {}", without_settings(call));
    }
    text
}

/// A call without the settings that are given on its command line.
fn without_settings(call: &str) -> String {
    let mut words = call.split(' ');
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == "-c" {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}
