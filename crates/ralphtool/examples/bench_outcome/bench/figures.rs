//! The results, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::draw::{SHARES, STORIES};
use super::setup::Setup;
use super::starts::Starts;
use super::{Ending, Record, Series};

/// What something costs, with its name.
type Cost = (&'static str, fn(&Figures) -> f64);

/// All that is counted of one setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figures {
    /// What the program was asked to do.
    pub(crate) setup: Setup,
    /// All changes.
    pub(crate) changes: usize,
    /// Those the program says are done.
    pub(crate) claimed: usize,
    /// Those of these that are.
    pub(crate) really_done: usize,
    /// Those of these that are not.
    pub(crate) falsely_done: usize,
    /// Those that had no attempts left.
    pub(crate) exhausted: usize,
    /// How the others ended.
    pub(crate) others: Vec<String>,
    /// Stories the program saved as done, in all changes.
    pub(crate) stories: usize,
    /// Those of these that are.
    pub(crate) true_stories: usize,
    /// Those of these that are not, whatever became of their change.
    pub(crate) false_stories: usize,
    /// All attempts.
    pub(crate) attempts: usize,
    /// All processes of agents.
    pub(crate) starts: Starts,
    /// Stories that do not hold in changes that are falsely done, by the deed behind them.
    pub(crate) causes: BTreeMap<String, usize>,
    /// Attempts the program failed, by kind.
    pub(crate) failures: BTreeMap<String, usize>,
    /// The time of all runs together, less what ran at the same time.
    pub(crate) took: Duration,
}

impl Figures {
    /// Counts.
    pub(crate) fn of(setup: Setup, records: &[Record], took: Duration) -> Self {
        let number =
            |is_it: &dyn Fn(&Record) -> bool| records.iter().filter(|it| is_it(it)).count();
        let mut causes = BTreeMap::new();
        let mut failures = BTreeMap::new();
        let mut others = Vec::new();
        let mut starts = Starts::default();
        for record in records {
            starts.add(record.starts);
            for (flaw, cause) in record.flaws.iter().filter(|_| record.is_false()) {
                let key = format!("{cause}: {}", flaw.what.words());
                *causes.entry(key).or_default() += 1;
            }
            for (kind, count) in &record.failures {
                *failures.entry(kind.clone()).or_default() += count;
            }
            if let Ending::Other(told) = &record.ending {
                others.push(format!("change {}: {told}", record.change));
            }
        }
        let stories: usize = records.iter().map(|it| it.claimed.len()).sum();
        let true_stories: usize = records.iter().map(Record::stories_really_done).sum();
        Self {
            setup,
            changes: records.len(),
            claimed: number(&|it| it.ending == Ending::Done),
            really_done: number(&Record::is_really_done),
            falsely_done: number(&Record::is_false),
            exhausted: number(&|it| it.ending == Ending::Exhausted),
            others,
            stories,
            true_stories,
            false_stories: stories - true_stories,
            attempts: records.iter().map(|it| it.attempts.len()).sum(),
            starts,
            causes,
            failures,
            took,
        }
    }

    /// Whether something passed that is not done, although nothing may, or a run ended oddly.
    pub(crate) fn is_broken(&self) -> bool {
        self.setup.is_watertight() && (self.falsely_done > 0 || !self.others.is_empty())
    }

    fn json(&self) -> Value {
        json!({
            "setup": self.setup.name,
            "changes": self.changes,
            "claimed_done": self.claimed,
            "really_done": self.really_done,
            "falsely_done": self.falsely_done,
            "exhausted": self.exhausted,
            "others": self.others,
            "stories_saved": self.stories,
            "stories_really_done": self.true_stories,
            "stories_falsely_saved": self.false_stories,
            "attempts": self.attempts,
            "repairs": self.starts.again,
            "reviews": self.starts.reviews,
            "agent_starts": self.starts.all(),
            "tokens": self.starts.used.warm,
            "tokens_without_cache": self.starts.used.cold,
            "causes": self.causes,
            "failures": self.failures,
            "seconds": self.took.as_secs_f64(),
        })
    }
}

/// One object with everything.
pub(crate) fn json(series: &Series<'_>, all: &[Figures]) -> String {
    let setups: Vec<Value> = all.iter().map(Figures::json).collect();
    let value = json!({
        "seed": series.seed,
        "changes": series.changes,
        "stories_each": STORIES,
        "max_retries": series.max_retries,
        "repairs": series.repairs,
        "fix": series.odds.fix,
        "flake": series.odds.flake,
        "setups": setups,
    });
    format!("{value:#}\n")
}

/// A column for each setup. Of costs it is also said how they compare with those of the first one.
pub(crate) fn table(series: &Series<'_>, all: &[Figures]) -> String {
    let mut text = opening(series);
    let mut row = |name: &str, cell: &dyn Fn(&Figures) -> String| {
        let _ = write!(text, "{name:<36}");
        for figures in all {
            let _ = write!(text, "{:>18}", cell(figures));
        }
        text.push('\n');
    };
    row("", &|it| it.setup.name.to_owned());
    row("changes that are done, it says", &|it| {
        it.claimed.to_string()
    });
    row("  really done", &|it| of(it.really_done, it.claimed));
    row("  false \"done\"", &|it| of(it.falsely_done, it.claimed));
    row("changes that ran out of attempts", &|it| {
        it.exhausted.to_string()
    });
    row("changes that ended otherwise", &|it| {
        it.others.len().to_string()
    });
    row("really done, of all changes", &|it| {
        of(it.really_done, it.changes)
    });
    row("stories saved as done", &|it| it.stories.to_string());
    row("  of these not done", &|it| {
        of(it.false_stories, it.stories)
    });
    row("stories done, of those tried", &|it| {
        of(it.true_stories, it.true_stories + it.exhausted)
    });
    row("attempts", &|it| it.attempts.to_string());
    row("repairs in the same session", &|it| {
        it.starts.again.to_string()
    });
    row("reviews", &|it| it.starts.reviews.to_string());
    let costs: [Cost; 4] = [
        ("attempts a story really done", |it| {
            ratio(it.attempts, it.true_stories)
        }),
        ("agent starts a story really done", |it| {
            ratio(it.starts.all(), it.true_stories)
        }),
        ("thousand tokens a story really done", |it| {
            tokens(it.starts.used.warm) / ratio(it.true_stories, 1).max(1.0)
        }),
        ("  if no session is still cached", |it| {
            tokens(it.starts.used.cold) / ratio(it.true_stories, 1).max(1.0)
        }),
    ];
    for (name, cost) in costs {
        let first = all.first().map_or(0.0, cost);
        row(name, &|it| {
            format!("{:.1} ({:.2}x)", cost(it), cost(it) / first)
        });
    }
    row("time", &|it| format!("{:.0} s", it.took.as_secs_f64()));
    for figures in all {
        let name = figures.setup.name;
        list(&mut text, name, "attempts that failed", &figures.failures);
        let what = "stories that do not hold where it says done";
        list(&mut text, name, what, &figures.causes);
        for other in &figures.others {
            let _ = writeln!(text, "\n{name}, {other}");
        }
    }
    text
}

/// What the figures are about.
fn opening(series: &Series<'_>) -> String {
    let shares: Vec<String> = SHARES
        .iter()
        .map(|(deed, share)| format!("{} 0.{share:02}", deed.name()))
        .collect();
    let odds = series.odds;
    format!(
        "{} changes of {STORIES} stories, seed {}, {} retries, at most {} repairs\n\
         agents: {}, honest otherwise; they fix what they are told with 0.{:02}\n\
         reviewers notice a fault with 0.{:02}, and find one in right work with 0.{:02}; tests are red for no \
         reason with 0.{:02}\n\n",
        series.changes,
        series.seed,
        series.max_retries,
        series.repairs,
        shares.join(", "),
        odds.fix,
        odds.notice,
        odds.false_alarm,
        odds.flake,
    )
}

fn list(text: &mut String, setup: &str, what: &str, counts: &BTreeMap<String, usize>) {
    if counts.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{setup}, {what}:");
    for (name, count) in counts {
        let _ = writeln!(text, "  {count:>5}  {name}");
    }
}

fn of(part: usize, whole: usize) -> String {
    format!("{part} ({:.1} %)", ratio(part * 100, whole))
}

/// Thousands of tokens.
fn tokens(number: u64) -> f64 {
    ratio(usize::try_from(number).unwrap_or(usize::MAX), 1000)
}

#[expect(clippy::cast_precision_loss, reason = "nothing is counted that high")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
