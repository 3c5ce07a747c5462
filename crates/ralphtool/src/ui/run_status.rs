//! Where a run stands, for a user at another terminal: a few lines, or one.

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::style::{BAD, DIM, GOOD, NAME, Paint, STRONG, WARN};
use super::text::{clean, clean_lines, columns, pad, truncate};
use super::words;
use ralph_run::records::event::{FinishChoice, Outcome};
use ralph_run::status::{Activity, State, Status};

/// How wide the names of the lines are.
const LABEL: usize = 9;

/// How much of a reason is shown.
const REASON: usize = 160;

/// How it is shown.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Whether it is coloured.
    pub(crate) paint: Paint,
    /// The zone of the times.
    pub(crate) zone: TimeZone,
    /// No line is longer; none where they may be of any length.
    pub(crate) columns: Option<usize>,
    /// The time it is.
    pub(crate) now: Timestamp,
}

/// Writes all that is known.
pub(crate) fn write(out: &mut dyn Write, view: &View, status: &Status) -> io::Result<()> {
    for line in lines(view, status) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// All that is known, line by line.
pub(crate) fn lines(view: &View, status: &Status) -> Vec<String> {
    let paint = view.paint;
    // Cut to the columns that are left beside those taken.
    let fit = |text: &str, taken: usize| match view.columns {
        Some(columns) => truncate(text, columns.saturating_sub(taken)),
        None => text.to_owned(),
    };
    let headline = match &status.change {
        Some(change) => format!("`{}`: {}", clean(change), headline(status, view)),
        None => headline(status, view),
    };
    let mut lines = vec![paint.apply(style(status), fit(&headline, 0))];
    let facts = facts(view, status);
    let indent = 2 + LABEL + 1;
    for (name, value) in facts {
        let name = paint.apply(DIM, pad(name, LABEL));
        lines.push(format!("  {name} {}", fit(&value, indent)));
    }
    if status.next.is_empty() {
        return lines;
    }
    lines.push(String::new());
    lines.push(paint.apply(STRONG, "next"));
    let widest = status.next.iter().map(|it| columns(it.command)).max();
    for step in &status.next {
        let command = format!("  {}", pad(step.command, widest.unwrap_or(0)));
        let command = fit(&command, 0);
        let why = fit(step.why, columns(&command) + 2);
        let (command, why) = (paint.apply(NAME, command), paint.apply(DIM, why));
        lines.push(format!("{command}  {why}"));
    }
    lines
}

/// One line for a log.
pub(crate) fn line(view: &View, status: &Status) -> String {
    let mut parts = vec![headline(status, view)];
    if let Some(story) = &status.story {
        parts.push(story_of(status, story.position, &story.title));
    }
    parts.extend(attempt(status));
    if status.state == State::AtWork {
        parts.extend(doing(status, view));
    }
    if let Some(failure) = &status.last_failure
        && status.state.is_live()
    {
        let why = words::failure(failure.kind);
        parts.push(format!("last failure {}: {why}", clean(&failure.attempt)));
    }
    parts.extend(words::used(status.tokens, status.cost_usd));
    let time = view.now.to_zoned(view.zone.clone());
    format!("{} {}", time.strftime("%H:%M:%S"), parts.join(" · "))
}

fn headline(status: &Status, view: &View) -> String {
    match (status.state, &status.outcome) {
        (State::None, _) => "no run took place in this repository".to_owned(),
        (State::AtWork, _) if status.run.is_none() => "a run is about to begin".to_owned(),
        (State::AtWork, _) => match status.asked {
            Some("stop") => "at work, about to stop".to_owned(),
            Some("skip") => "at work, about to skip the story".to_owned(),
            Some(_) => "at work, about to pause".to_owned(),
            None => "at work".to_owned(),
        },
        (State::Waiting, _) => match &status.doing {
            Some(Activity::Waiting { until, .. }) => {
                format!("waiting until {}", when(*until, view))
            }
            _ => "waiting".to_owned(),
        },
        (State::Paused, _) => "paused; p goes on in its terminal".to_owned(),
        (State::Choosing, outcome) => {
            let why = why(outcome.as_ref(), status);
            format!("{why}; what becomes of it is chosen in its terminal")
        }
        (State::Interrupted, _) => "interrupted".to_owned(),
        (State::Stopped, outcome) => format!("{}; not finished", why(outcome.as_ref(), status)),
        (State::Finished, outcome) => {
            let why = why(outcome.as_ref(), status);
            match status.finish {
                None => why,
                Some(FinishChoice::Keep) => format!("{why}; its branch is kept"),
                Some(FinishChoice::Cleanup) => format!("{why}; cleaned up"),
                Some(FinishChoice::Abandon) => format!("{why}; abandoned"),
            }
        }
    }
}

fn why(outcome: Option<&Outcome>, status: &Status) -> String {
    let open = status.stories_total.saturating_sub(status.stories_done);
    outcome.map_or_else(
        || "it did not come to its end".to_owned(),
        |outcome| words::outcome(outcome, open),
    )
}

fn style(status: &Status) -> anstyle::Style {
    match (status.state, &status.outcome) {
        (State::None | State::AtWork, _) => STRONG,
        (State::Waiting | State::Paused | State::Interrupted, _) => WARN.bold(),
        (_, Some(Outcome::AllDone | Outcome::StoryDone)) => GOOD.bold(),
        (_, Some(Outcome::Exhausted { .. } | Outcome::Broken { .. })) => BAD,
        _ => WARN.bold(),
    }
}

fn facts(view: &View, status: &Status) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let Some(run) = &status.run else {
        return facts;
    };
    facts.push(("run", clean(&run.0)));
    if let Some(branch) = &status.branch {
        facts.push(("branch", clean(branch)));
    }
    if status.stories_total > 0 {
        let done = format!("{} of {} done", status.stories_done, status.stories_total);
        facts.push(("stories", done));
    }
    if let Some(story) = &status.story {
        let mut text = story_of(status, story.position, &story.title);
        if let Some(attempt) = attempt(status) {
            text = format!("{text}, {attempt}");
        }
        facts.push(("story", text));
    }
    if let Some(agent) = &status.agent {
        let model = status.model.as_ref().map(|it| format!(" ({})", clean(it)));
        let agent = format!("{}{}", clean(agent), model.unwrap_or_default());
        facts.push(("agent", agent));
    }
    if let Some(doing) = doing(status, view) {
        facts.push(("doing", doing));
    }
    if let Some(left) = status.interrupted {
        let text = format!("{}; at the next start {}", left.found, left.then);
        facts.push(("left", text));
    }
    facts.push(("time", words::clock(status.elapsed_ms)));
    let used = words::used(status.tokens, status.cost_usd);
    facts.extend(used.map(|used| ("used", used)));
    facts.extend(words::budget(&status.budget).map(|budget| ("at most", budget)));
    if status.warnings > 0 {
        let text = format!("{}; `ralphtool log last` shows them", status.warnings);
        facts.push(("warnings", text));
    }
    if let Some(failure) = &status.last_failure {
        let reason = clean_lines(&failure.reason).join(" ");
        let why = words::failure(failure.kind);
        let mut text = format!("{} {why}", clean(&failure.attempt));
        if !reason.is_empty() {
            text = format!("{text}: {}", truncate(&reason, REASON));
        }
        facts.push(("failure", text));
    }
    if let Some(owner) = &status.owner {
        facts.push(("owner", clean(owner)));
    }
    facts
}

fn story_of(status: &Status, position: Option<usize>, title: &str) -> String {
    match position {
        Some(position) => format!("{position} of {}: {}", status.stories_total, clean(title)),
        None => clean(title),
    }
}

fn attempt(status: &Status) -> Option<String> {
    let story = status.story.as_ref()?;
    let (number, most) = (story.attempt?, story.max_attempts?);
    Some(format!("attempt {number} of {most}"))
}

fn doing(status: &Status, view: &View) -> Option<String> {
    let since = |at: Timestamp| words::clock_between(at, view.now);
    Some(match status.doing.as_ref()? {
        Activity::Between => "checking and saving".to_owned(),
        Activity::Agent { since: at, says } => {
            let says = says.as_ref().map(|it| format!(": {}", clean(it)));
            format!(
                "the agent works, {}{}",
                since(*at),
                says.unwrap_or_default()
            )
        }
        Activity::Gate {
            gate,
            baseline,
            since: at,
        } => {
            let place = if *baseline { " on the checkpoint" } else { "" };
            format!("gate `{}` runs{place}, {}", clean(gate), since(*at))
        }
        Activity::Waiting { reason, until } => {
            let left = words::clock_between(view.now, *until);
            format!("{left} to wait: {}", clean(reason))
        }
    })
}

/// A time of day, with the day where that is another one.
fn when(at: Timestamp, view: &View) -> String {
    let here = |time: Timestamp| time.to_zoned(view.zone.clone());
    let (at, now) = (here(at), here(view.now));
    let format = if at.date() == now.date() {
        "%H:%M:%S"
    } else {
        "%Y-%m-%d %H:%M"
    };
    at.strftime(format).to_string()
}

#[cfg(test)]
mod tests;
