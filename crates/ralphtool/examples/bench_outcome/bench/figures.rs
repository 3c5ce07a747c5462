//! The results, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::draw::{SHARES, STORIES};
use super::{Ending, Record, Series, Setting};

/// All that is counted of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figures {
    /// What the program checked.
    pub(crate) setting: Setting,
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
    /// Those of these that are not, whatever became of their change.
    pub(crate) false_stories: usize,
    /// All attempts.
    pub(crate) attempts: usize,
    /// Stories that do not hold in changes that are falsely done, by the deed behind them.
    pub(crate) causes: BTreeMap<String, usize>,
    /// Attempts the program failed, by kind.
    pub(crate) failures: BTreeMap<String, usize>,
    /// The time of all runs together, less what ran at the same time.
    pub(crate) took: Duration,
}

impl Figures {
    /// Counts.
    pub(crate) fn of(setting: Setting, records: &[Record], took: Duration) -> Self {
        let number =
            |is_it: &dyn Fn(&Record) -> bool| records.iter().filter(|it| is_it(it)).count();
        let mut causes = BTreeMap::new();
        let mut failures = BTreeMap::new();
        let mut others = Vec::new();
        let mut false_stories = 0;
        for record in records {
            let is_saved = |story: &usize| record.claimed.contains(story);
            let flawed = record.flaws.iter().map(|(flaw, _)| flaw.story);
            false_stories += flawed.filter(is_saved).count();
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
        Self {
            setting,
            changes: records.len(),
            claimed: number(&|it| it.ending == Ending::Done),
            really_done: number(&Record::is_really_done),
            falsely_done: number(&Record::is_false),
            exhausted: number(&|it| it.ending == Ending::Exhausted),
            others,
            stories: records.iter().map(|it| it.claimed.len()).sum(),
            false_stories,
            attempts: records.iter().map(|it| it.attempts.len()).sum(),
            causes,
            failures,
            took,
        }
    }

    fn json(&self) -> Value {
        json!({
            "gates": self.setting.name(),
            "changes": self.changes,
            "claimed_done": self.claimed,
            "really_done": self.really_done,
            "falsely_done": self.falsely_done,
            "exhausted": self.exhausted,
            "others": self.others,
            "stories_saved": self.stories,
            "stories_falsely_saved": self.false_stories,
            "attempts": self.attempts,
            "causes": self.causes,
            "failures": self.failures,
            "seconds": self.took.as_secs_f64(),
        })
    }
}

/// One object with everything.
pub(crate) fn json(series: &Series<'_>, all: &[Figures]) -> String {
    let settings: Vec<Value> = all.iter().map(Figures::json).collect();
    let value = json!({
        "seed": series.seed,
        "changes": series.changes,
        "stories_each": STORIES,
        "max_retries": series.max_retries,
        "settings": settings,
    });
    format!("{value:#}\n")
}

/// A column for each setting.
pub(crate) fn table(series: &Series<'_>, all: &[Figures]) -> String {
    let shares: Vec<String> = SHARES
        .iter()
        .map(|(deed, share)| format!("{} 0.{share:02}", deed.name()))
        .collect();
    let mut text = format!(
        "{} changes of {STORIES} stories, seed {}, {} retries; agents: {}, honest otherwise\n\n",
        series.changes,
        series.seed,
        series.max_retries,
        shares.join(", "),
    );
    let mut row = |name: &str, cell: &dyn Fn(&Figures) -> String| {
        let _ = write!(text, "{name:<34}");
        for figures in all {
            let _ = write!(text, "{:>18}", cell(figures));
        }
        text.push('\n');
    };
    row("gates", &|it| it.setting.name().to_owned());
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
    row("attempts", &|it| it.attempts.to_string());
    row("  a change", &|it| mean(it.attempts, it.changes));
    row("  a story saved", &|it| mean(it.attempts, it.stories));
    row("  a change really done", &|it| {
        mean(it.attempts, it.really_done)
    });
    row("time", &|it| format!("{:.0} s", it.took.as_secs_f64()));
    for figures in all {
        let name = figures.setting.name();
        list(&mut text, name, "attempts that failed", &figures.failures);
        let what = "stories that do not hold where it says done";
        list(&mut text, name, what, &figures.causes);
        for other in &figures.others {
            let _ = writeln!(text, "\ngates {name}, {other}");
        }
    }
    text
}

fn list(text: &mut String, setting: &str, what: &str, counts: &BTreeMap<String, usize>) {
    if counts.is_empty() {
        return;
    }
    let _ = writeln!(text, "\ngates {setting}, {what}:");
    for (name, count) in counts {
        let _ = writeln!(text, "  {count:>5}  {name}");
    }
}

fn of(part: usize, whole: usize) -> String {
    format!("{part} ({:.1} %)", ratio(part * 100, whole))
}

fn mean(sum: usize, number: usize) -> String {
    format!("{:.1}", ratio(sum, number))
}

#[expect(clippy::cast_precision_loss, reason = "nothing is counted that high")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
