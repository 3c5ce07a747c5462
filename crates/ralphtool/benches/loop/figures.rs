//! From runs to a table: medians over the runs, with the lowest and highest beside them.

use std::fmt::Write;

use crate::contender::{Contender, contenders};
use crate::repository::Repository;
use crate::run::{Gap, Run};
use crate::spread::{Spread, float, ms};
use crate::watch::Memory;

/// All runs in one repository.
pub(crate) type Runs = Vec<(Contender, Run)>;

/// The head of the table.
pub(crate) const HEAD: &str = "\
| repository | loop | story, ms | ratio | restore, ms | ratio | processor, ms: story, restore | first agent, ms | end, ms | memory, MB: alone, tree | written, kB: story, restore | walks: start, story, restore |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

/// What the columns of the table mean.
pub(crate) const LEGEND: &str = "
Times are medians: of all gaps of a run, then of the runs (lowest-highest run). Ratios are those of runs
that were made one after the other. `story`: from the end of an agent to the start of the next, `restore`:
the same after a failed attempt; `processor`: the processor time of the program and git in these, a mean,
which a busy machine disturbs least; `first agent`: from the start of the command; `end`: from the last
agent to the end of the command. Memory: the peak of the program alone, and of it with git and the agent,
summed resident sets, sampled every 5 ms. Written: what Linux counts as written by the program and by
git, in the median gap. Walks: how often one of the folders was opened, at most. 0 if the system does
not report it.
";

fn story(run: &Run) -> f64 {
    time(&run.stories)
}

fn restore(run: &Run) -> f64 {
    time(&run.restores)
}

fn time(gaps: &[Gap]) -> f64 {
    Spread::of(gaps.iter().map(|gap| ms(gap.time))).median
}

fn processor(gaps: &[Gap]) -> f64 {
    let sum: f64 = gaps.iter().map(|gap| ms(gap.used.processor())).sum();
    sum / float(gaps.len().max(1) as u64)
}

fn story_processor(run: &Run) -> f64 {
    processor(&run.stories)
}

fn restore_processor(run: &Run) -> f64 {
    processor(&run.restores)
}

fn written(gaps: &[Gap]) -> f64 {
    Spread::of(gaps.iter().map(|gap| float(gap.used.written) / 1000.0)).median
}

/// One run, in short.
pub(crate) fn one_line(run: &Run) -> String {
    let (story, restore) = (story(run), restore(run));
    let first = ms(run.first_agent);
    format!("story {story:.1} ms, restore {restore:.1} ms, first agent after {first:.1} ms")
}

/// The rows of one repository.
pub(crate) fn rows(repository: &Repository, runs: &Runs) -> String {
    let mut text = String::new();
    for contender in contenders() {
        let mine = of(contender, runs);
        let over = |what: fn(&Run) -> f64| Spread::of(mine.iter().map(|run| what(run)));
        let memory = mine
            .iter()
            .fold(Memory::default(), |peak, run| peak.max(run.memory));
        let label = match contender {
            Contender::Shell => format!("{}, {} runs", repository.described(), repository.runs),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "| {label} | {} | {} | {} | {} | {} | {:.1} ({:.2}x), {:.1} ({:.2}x) | {} | {} | {:.0}, {:.0} | {:.0}, {:.0} | {}, {}, {} |",
            contender.name(),
            over(story).shown(),
            ratio(contender, runs, story).shown_as_ratio(),
            over(restore).shown(),
            ratio(contender, runs, restore).shown_as_ratio(),
            over(story_processor).median,
            ratio(contender, runs, story_processor).median,
            over(restore_processor).median,
            ratio(contender, runs, restore_processor).median,
            over(|run| ms(run.first_agent)).shown(),
            over(|run| ms(run.end)).shown(),
            float(memory.alone) / 1024.0,
            float(memory.tree) / 1024.0,
            over(|run| written(&run.stories)).median,
            over(|run| written(&run.restores)).median,
            most(&mine, |run| run.walks_to_first_agent),
            most(&mine, |run| walks(&run.stories)),
            most(&mine, |run| walks(&run.restores)),
        );
    }
    if contenders().contains(&Contender::Unsynced) {
        text.push_str(&price_of_durability(runs));
    }
    if contenders().contains(&Contender::Other) {
        text.push_str(&beside_other(runs));
    }
    text
}

fn walks(gaps: &[Gap]) -> usize {
    gaps.iter().map(|gap| gap.walks).max().unwrap_or(0)
}

fn most(runs: &[&Run], what: fn(&Run) -> usize) -> usize {
    runs.iter().map(|run| what(run)).max().unwrap_or(0)
}

fn of(contender: Contender, runs: &Runs) -> Vec<&Run> {
    let mine = runs.iter().filter(|(who, _)| *who == contender);
    mine.map(|(_, run)| run).collect()
}

/// Relative to the shell loop of the same turn: both ran under about the same load.
fn ratio(contender: Contender, runs: &Runs, what: fn(&Run) -> f64) -> Spread {
    ratio_to(Contender::Shell, contender, runs, what)
}

fn ratio_to(base: Contender, contender: Contender, runs: &Runs, what: fn(&Run) -> f64) -> Spread {
    let pairs = of(contender, runs).into_iter().zip(of(base, runs));
    let ratios = pairs.map(|(mine, base)| what(mine) / what(base));
    Spread::of(ratios.filter(|ratio| ratio.is_finite()))
}

/// This program against the other one, turn by turn.
fn beside_other(runs: &Runs) -> String {
    let ratio = |what| {
        let spread = ratio_to(Contender::Other, Contender::Ralphtool, runs, what);
        spread.shown_as_ratio()
    };
    format!(
        "\nthis program against the other one: story {}, restore {}; processor: story {}, restore {}\n\n",
        ratio(story),
        ratio(restore),
        ratio(story_processor),
        ratio(restore_processor),
    )
}

/// What the journal and syncing add, by medians.
fn price_of_durability(runs: &Runs) -> String {
    let median = |who| Spread::of(of(who, runs).into_iter().map(story)).median;
    let added = median(Contender::Ralphtool) / median(Contender::Unsynced) - 1.0;
    format!(
        "\nthe journal and syncing add {:.1} % to a story\n\n",
        added * 100.0
    )
}
