//! What the list shows of the selected change: why it was written, its last run, its gates and its
//! stories.

use jiff::Timestamp;
use ratatui::layout::Size;
use ratatui::text::{Line, Span};

use crate::tui::markdown;
use crate::tui::message::{ChangeDetail, ErrorText};
use crate::tui::palette::{DIM, NAME, STRONG, WARN};
use crate::tui::screen::error_lines;
use crate::tui::screen::preview::{story_lines, story_title};
use crate::tui::wrap;
use crate::ui::text::clean;
use crate::ui::words::{self, count};
use ralph_plan::change::Story;
use ralph_run::history::listed::LastRun;
use ralph_run::records::event::FinishChoice;
use ralph_run::records::progress::NO_GATES;
use ralph_run::records::state::with_finish;
use ralph_run::records::summary::RunSummary;

/// How many lines of the reason for a change are shown.
const WHY: usize = 6;

/// The lines of a detail, wrapped to the width of the room, with the tasks of the stories if they fit.
pub(super) fn lines(
    found: &Result<Box<ChangeDetail>, ErrorText>,
    last: Option<&LastRun>,
    room: Size,
    now: Timestamp,
) -> Vec<Line<'static>> {
    let (columns, rows) = (usize::from(room.width), usize::from(room.height));
    let detail = match found {
        Ok(detail) => detail,
        Err(error) => return error_lines(error),
    };
    let mut lines = Vec::new();
    let mut why = markdown::render(&why(&detail.proposal).join("\n"), columns, true);
    if why.len() > WHY {
        why.truncate(WHY);
        why.push(wrap::styled("…", DIM));
    }
    if !why.is_empty() {
        lines.extend(why);
        lines.push(Line::default());
    }
    for fact in facts(detail, last, now) {
        lines.extend(wrap::wrap(&fact, columns, LABEL));
    }
    lines.push(Line::default());
    let stories = detail.change.stories.iter();
    let with_tasks: Vec<_> = stories
        .clone()
        .flat_map(|story| story_lines(story, columns))
        .collect();
    let titles: Vec<_> = stories
        .clone()
        .flat_map(|story| wrap::wrap(&story_title(story), columns, 2))
        .collect();
    // The last line is empty.
    if lines.len() + with_tasks.len() <= rows + 1 {
        lines.extend(with_tasks);
    } else if lines.len() + titles.len() <= rows {
        lines.extend(titles);
    } else {
        lines.extend(stories.map(|story| short_title(story, columns)));
    }
    lines
}

/// The title of a story in one line, which keeps how many of its tasks are done.
fn short_title(story: &Story, columns: usize) -> Line<'static> {
    let mut title = story_title(story);
    let Some(tasks) = title.spans.pop() else {
        return title;
    };
    let room = columns.saturating_sub(wrap::columns(&tasks.content));
    let mut line = wrap::cut(&title, room);
    line.spans.push(tasks);
    wrap::cut(&line, columns)
}

/// The first paragraph of a proposal that is neither a heading nor empty.
fn why(proposal: &str) -> Vec<&str> {
    let lines = proposal.lines().map(str::trim);
    let text = lines.skip_while(|line| line.is_empty() || line.starts_with(['#', '>']));
    text.take_while(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// How wide the labels of the facts are.
const LABEL: usize = 10;

fn facts(detail: &ChangeDetail, last: Option<&LastRun>, now: Timestamp) -> Vec<Line<'static>> {
    let mut facts = Vec::new();
    match last.map(|last| &last.run) {
        None => facts.push(fact("last run", wrap::styled("none", DIM))),
        Some(run) => {
            facts.push(fact("last run", last_run(run, now)));
            let alerts = run.alerts.iter().map(|alert| words::one_line(alert));
            let alerts = alerts.map(|text| wrap::styled(format!("! {text}"), WARN));
            facts.extend(alerts.map(|alert| fact("", alert)));
            facts.push(fact("", Line::from(run.stories.in_full())));
            facts.push(fact("", Line::from(used(run))));
            // A cleanup and an abandon delete it.
            let is_there = run.finish.is_none_or(FinishChoice::keeps_branch);
            let branch = run.branch.as_ref().filter(|_| is_there);
            let branch = branch.map(|name| wrap::styled(clean(name), NAME));
            facts.extend(branch.map(|branch| fact("branch", branch)));
        }
    }
    let gates: Vec<String> = detail.gates.iter().map(|name| clean(name)).collect();
    let reviews: Vec<String> = detail.reviews.iter().map(|name| clean(name)).collect();
    if gates.is_empty() && reviews.is_empty() {
        let none = wrap::styled(format!("! {NO_GATES}"), WARN);
        facts.push(fact("gates", none));
    }
    for (label, names) in [("gates", gates), ("reviews", reviews)] {
        if !names.is_empty() {
            facts.push(fact(label, Line::from(names.join(", "))));
        }
    }
    facts
}

fn fact(label: &'static str, value: Line<'static>) -> Line<'static> {
    let mut line = Line::from(Span::styled(format!("{label:LABEL$}"), DIM));
    line.spans.extend(value.spans);
    line
}

/// How the last run stands or ended, and when.
fn last_run(run: &RunSummary, now: Timestamp) -> Line<'static> {
    let ago = words::ago(run.ended, now);
    Line::from(vec![
        Span::styled(clean(&with_finish(&run.headline, run.finish)), STRONG),
        Span::styled(format!("  {ago}"), DIM),
    ])
}

/// What it used.
fn used(run: &RunSummary) -> String {
    let time = words::elapsed(run.elapsed_ms);
    let mut used = vec![count(run.attempts, "attempt"), time];
    used.extend(words::used(
        run.tokens,
        run.cost_usd
            .map(|usd| words::cost_of(usd, run.cost_is_partial)),
    ));
    used.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn why_is_the_first_paragraph_below_the_headings() {
        let proposal = "# Add a retry\n\n## Why\nA server\nis busy.\n\n## What changes\n- more\n";
        assert_eq!(why(proposal), ["A server", "is busy."]);
        assert_eq!(why(""), [""; 0]);
        assert_eq!(why("# Only a title\n"), [""; 0]);
    }
}
