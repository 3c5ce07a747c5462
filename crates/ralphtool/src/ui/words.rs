//! Values as words: counts, times, sizes, and what outcomes are called.

use std::time::Duration;

use jiff::Timestamp;

use super::text::{clean, clean_lines};
use ralph_agents::agent_event::Usage;
pub(crate) use ralph_base::allowance::limit_dollars as cost_limit;
use ralph_base::ids::AttemptNumber;
pub(crate) use ralph_base::size::rounded as bytes;
use ralph_plan::change::Story;
use ralph_run::records::event::{BudgetLimits, FinishChoice, RepairStarted, Request, Tries};
pub(crate) use ralph_run::records::outcome::failure;
use ralph_run::records::progress::{NO_GATES, Warning};
pub(crate) use ralph_run::words::{cost, count, elapsed, ordinal, tokens};

/// The mark of a story that is done, with or without a warning.
pub(crate) const fn done_mark(is_doubtful: bool) -> &'static str {
    if is_doubtful { "✓!" } else { "✓" }
}

/// The gates of a run: their names, or that there are none. With reviews the agent's word is not
/// the only check.
pub(crate) fn gates<T: AsRef<str>>(names: &[T], reviews: &[T]) -> String {
    if names.is_empty() {
        let none = if reviews.is_empty() {
            NO_GATES
        } else {
            "no gates"
        };
        return none.to_owned();
    }
    in_backticks(names)
}

/// The reviews of a run, where it has some.
pub(crate) fn reviews<T: AsRef<str>>(names: &[T]) -> Option<String> {
    (!names.is_empty()).then(|| in_backticks(names))
}

fn in_backticks<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<String> = names.iter().map(|name| clean(name.as_ref())).collect();
    format!("`{}`", names.join("`, `"))
}

/// The stories that a story of a plan depends on; none where there are none, or it is not known.
pub(crate) fn depends_on(story: &Story) -> Option<String> {
    let known = story.depends_on.known().filter(|known| !known.is_empty())?;
    let ids: Vec<String> = known.iter().map(|id| clean(&id.0)).collect();
    Some(format!("depends on {}", ids.join(", ")))
}

/// A warning as one line, with the story it is about.
pub(crate) fn warning(warning: &Warning) -> String {
    one_line(&warning.with_story())
}

/// Foreign words as one line.
pub(crate) fn one_line(text: &str) -> String {
    clean_lines(text).join(" ")
}

/// A running clock: as [`elapsed`], without parts of a second.
pub(crate) fn clock(ms: u64) -> String {
    if ms < 1000 {
        return "0s".to_owned();
    }
    elapsed(ms)
}

/// A running clock from one time to a later one.
pub(crate) fn clock_between(from: Timestamp, to: Timestamp) -> String {
    clock(millis_between(from, to))
}

/// The milliseconds from one time to a later one; none where it is earlier.
pub(crate) fn millis_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0)
}

/// The milliseconds of a duration.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How long ago something was, roughly: `just now`, `5m ago`, `3h ago`, `2d ago`.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        ..60 => "just now".to_owned(),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// Tokens and cost, where there are any: `45k tokens · $0.42`.
pub(crate) fn usage(usage: &Usage) -> Option<String> {
    used(usage.total_tokens(), usage.cost_usd.map(cost))
}

/// The same, from the number of tokens and the cost in words.
pub(crate) fn used(total: u64, cost: Option<String>) -> Option<String> {
    let tokens = (total > 0).then(|| match total {
        1 => "1 token".to_owned(),
        _ => format!("{} tokens", tokens(total)),
    });
    let parts: Vec<String> = tokens.into_iter().chain(cost).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Said where a budget of money is set and no agent has reported a cost.
pub(crate) const COST_UNKNOWN: &str = "cost unknown";

/// A cost: `$0.42`, or `at least $0.42` where not all of it is known.
pub(crate) fn cost_of(usd: f64, is_partial: bool) -> String {
    let cost = cost(usd);
    if is_partial {
        format!("at least {cost}")
    } else {
        cost
    }
}

/// What a run may use, where it has bounds: `$5.00, 1.2M tokens, 2h00m`.
pub(crate) fn budget(budget: &BudgetLimits) -> Option<String> {
    let tokens = budget.tokens.map(|most| format!("{} tokens", tokens(most)));
    let bounds = [
        budget.usd.map(cost_limit),
        tokens,
        budget.time_ms.map(elapsed),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

/// Which attempt at a story it is: `attempt 2/4`, and where earlier ones do not count
/// `attempt 5, try 1/4`.
pub(crate) fn attempt(number: AttemptNumber, tries: Tries) -> String {
    match tries.uncounted {
        0 => format!("attempt {number}/{}", tries.most),
        _ => format!("attempt {number}, try {}/{}", tries.number, tries.most),
    }
}

/// Which repair of an attempt it is: `repair 1/2`.
pub(crate) fn repair(it: &RepairStarted) -> String {
    format!("repair {}/{}", it.repair, it.max_repairs)
}

/// How many repairs there were, where there were any.
pub(crate) fn repairs(number: u32) -> Option<String> {
    (number > 0).then(|| count(number, "repair"))
}

/// How many attempts, and how many repairs where there were any: `3, 2 repairs`.
pub(crate) fn with_repairs(attempts: u32, number: u32) -> String {
    let parts = std::iter::once(attempts.to_string()).chain(repairs(number));
    parts.collect::<Vec<_>>().join(", ")
}

/// What is said of a gate that passed after it had been red on the same tree.
pub(crate) fn flaky(tries: u32) -> String {
    format!("passed at the {} try (flaky)", ordinal(tries))
}

/// What is said of a gate with paths that did not run.
pub(crate) const NOT_RUN: &str = "not run: no file in its paths changed";

/// The gates that judged none of the work, because no file in their paths was changed.
pub(crate) fn gates_not_run(gates: &[String]) -> Option<String> {
    let names: Vec<String> = gates.iter().map(|gate| clean(gate)).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("gate `{}`: no file in its paths changed", names[0])),
        _ => Some(format!(
            "gates `{}`: no file in their paths changed",
            names.join("`, `")
        )),
    }
}

/// What a finish does, as a name.
pub(crate) const fn finish(choice: FinishChoice) -> &'static str {
    match choice {
        FinishChoice::Cleanup => "cleaning up",
        FinishChoice::Keep => "keeping the branch",
        FinishChoice::Squash => "squashing the commits",
        FinishChoice::Reword => "rewording the commits",
        FinishChoice::Abandon => "abandoning the run",
    }
}

/// What a request does.
pub(crate) const fn request(request: Request) -> &'static str {
    match request {
        Request::Stop => "stopping: waiting for the agent to exit (Ctrl-C again kills it)",
        Request::StopNow => "stopping at once",
        Request::Pause => "pausing before the agent starts again",
        Request::GoOn => "continuing",
        Request::Skip => "skipping the story",
        Request::TryNow => "trying again without waiting",
    }
}

/// The message for a change that needs no run; `done` of `total` stories are done.
pub(crate) fn nothing_left(change: &str, done: usize, total: usize) -> String {
    let stories = count(total, "story");
    if done == total {
        return format!("`{change}`: nothing left to do, {stories} done");
    }
    format!("`{change}`: nothing left to do, {done} of {stories} done and the rest deferred")
}

/// The first line and the last ones of a text, at most `most` in all: a failed gate says at the end
/// what is wrong.
pub(crate) fn head_and_tail(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        let tail = lines.len() - (most - 2);
        lines.splice(1..tail, ["…".to_owned()]);
    }
    lines
}

/// A word for the shell, quoted where it must be.
pub(crate) fn shell(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,~".contains(c);
    if !word.is_empty() && word.chars().all(safe) && !word.starts_with('~') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn counts_have_grammar() {
        assert_eq!(count(1_usize, "story"), "1 story");
        assert_eq!(count(0_usize, "story"), "0 stories");
        assert_eq!(count(2_u32, "task"), "2 tasks");
    }

    #[test]
    fn times_are_short() {
        let cases = [
            (0, "0.0s"),
            (412, "0.4s"),
            (1_000, "1s"),
            (59_999, "59s"),
            (192_000, "3m12s"),
            (3_900_000, "1h05m"),
            (183_600_000, "2d03h"),
        ];
        for (ms, want) in cases {
            assert_eq!(elapsed(ms), want);
        }
        let ago = |seconds| {
            let now = Timestamp::from_second(seconds).unwrap();
            super::ago(Timestamp::UNIX_EPOCH, now)
        };
        assert_eq!(ago(-5), "just now");
        assert_eq!(ago(7_300), "2h ago");
    }

    #[test]
    fn figures_are_short() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0k"),
            (4_520, "4.5k"),
            (45_999, "45k"),
            (999_999, "999k"),
            (1_250_000, "1.2M"),
        ];
        for (count, want) in cases {
            assert_eq!(tokens(count), want);
        }
        assert_eq!(bytes(812), "812 B");
        assert_eq!(bytes(45_000), "45 kB");
        assert_eq!(cost(0.4242), "$0.42");
        assert_eq!(cost(0.0), "$0.00");
        assert_eq!(cost(0.004), "$0.004");
    }

    #[test]
    fn a_change_without_open_stories_needs_no_run() {
        assert_eq!(
            nothing_left("x", 3, 3),
            "`x`: nothing left to do, 3 stories done"
        );
        assert_eq!(
            nothing_left("x", 2, 3),
            "`x`: nothing left to do, 2 of 3 stories done and the rest deferred"
        );
    }

    #[test]
    fn shell_words_are_quoted_where_they_must_be() {
        assert_eq!(shell("ralph/add-retry"), "ralph/add-retry");
        assert_eq!(shell("my plan.md"), "'my plan.md'");
        assert_eq!(shell("it's"), "'it'\\''s'");
        assert_eq!(shell("$(x)"), "'$(x)'");
        assert_eq!(shell(""), "''");
    }
}
