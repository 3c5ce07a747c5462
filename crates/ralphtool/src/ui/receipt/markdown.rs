//! The receipt of a run as Markdown, fit for the body of a pull request.
//!
//! Whatever comes from agents or files is escaped: it cannot break the page, mention anyone or
//! refer to anything. What does not fit is left out, details first, with a note.

use std::fmt::Write as _;

use super::escape::{fenced, in_html, inline};
use super::{
    attempt_parts, attempts, checks, cost, reason_lines, repairs, result, review_verdict, short,
    story_state, tokens, top_reason, totals, verdict, warnings,
};
use crate::ui::reason;
use crate::ui::text::clean;
use crate::ui::words::{self, COST_UNKNOWN, count};
use ralph_run::receipt::{AttemptReceipt, AttemptResult, Receipt, StoryReceipt};
use ralph_run::records::progress::Importance;
use ralph_run::records::state::with_finish;

/// How long the page may get: a body may have 65,536 characters, and people want to add some.
const LIMIT: usize = 60_000;

/// Room for the notes that say what was left out.
const NOTES: usize = 400;

/// How much of a title, a reason in a line, and a reason in a block is shown, in characters.
const TITLE: usize = 200;
const LINE: usize = 600;
const BLOCK: usize = 4_000;

/// How many lines of the reason of an attempt are shown.
const REASON_LINES: usize = 20;

const HEAD: &str = "| Story | Result | Attempts | Time | Tokens | Cost | Gates | Files | Commit |
| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | --- |
";

const VERDICTS: &str = "| Story | Review | Task or scenario | Verdict | Evidence |
| --- | --- | --- | --- | --- |
";

pub(crate) fn page(receipt: &Receipt) -> String {
    let top = top(receipt);
    let bottom = bottom(receipt);
    let mut left = LIMIT.saturating_sub(top.len() + HEAD.len() + bottom.len() + NOTES);
    // What matters most gets its room first, although the details stand in the middle.
    let rows = fitting(receipt.stories.iter().map(row), "story", &mut left);
    let reviews = listed_verdicts(receipt, &mut left);
    let mut listed = |importance, noun| {
        let lines = warnings(receipt, importance).into_iter();
        let lines = lines.map(|it| format!("- {}\n", inline(&it, LINE)));
        fitting(lines, noun, &mut left)
    };
    let warnings = listed(Importance::Warning, "warning");
    let notes = listed(Importance::Note, "note");
    let failures = receipt.stories.iter().flat_map(failures);
    let failures = failures.map(|(story, it)| detail(story, it));
    let failures = fitting(failures, "attempt", &mut left);

    let parts = [
        Some(top),
        rows.map(|rows| format!("{HEAD}{rows}\n")),
        reviews.map(|reviews| format!("### Reviews\n\n{VERDICTS}{reviews}\n")),
        warnings.map(|warnings| format!("### Warnings\n\n{warnings}\n")),
        failures.map(|failures| format!("### Attempts that failed\n\n{failures}")),
        notes.map(|notes| format!("### Notes\n\n{notes}\n")),
        Some(bottom),
    ];
    parts.into_iter().flatten().collect()
}

/// The verdicts on the work that counts: of each story's last attempt, and of the whole change.
fn listed_verdicts(receipt: &Receipt, left: &mut usize) -> Option<String> {
    let of_stories = receipt.stories.iter().flat_map(|story| {
        let last = story.attempts.last();
        let repairs = last.map_or(0, repairs);
        let reviews = last.into_iter().flat_map(|it| &it.reviews);
        let reviews = reviews.filter(move |it| it.repair == repairs);
        reviews.map(|review| (story.id.0.as_str(), review))
    });
    let of_whole = receipt.reviews_at_end.iter().map(|review| ("all", review));
    let rows = of_stories.chain(of_whole).flat_map(|(story, review)| {
        let name = clean(&review.name);
        let head = [story.to_owned(), name];
        let items = review.items.iter().map(|item| {
            let what = format!("{} {}", item.item, item.text);
            [what, item.verdict.words().to_owned(), item.evidence.clone()]
        });
        let none = review
            .items
            .is_empty()
            .then(|| ["–".to_owned(), review_verdict(review), String::new()]);
        let rows: Vec<String> = items
            .chain(none)
            .map(|cells| {
                let cells = head.iter().chain(&cells);
                let cells: Vec<String> = cells.map(|cell| inline(cell, LINE)).collect();
                format!("| {} |\n", cells.join(" | "))
            })
            .collect();
        rows
    });
    fitting(rows, "verdict", left)
}

/// The first parts that fit into what is left of the page, and a note where some did not; none
/// where there are no parts.
fn fitting(parts: impl Iterator<Item = String>, noun: &str, left: &mut usize) -> Option<String> {
    let mut parts = parts.peekable();
    parts.peek()?;
    let mut text = String::new();
    let mut left_out = 0_usize;
    for part in parts {
        if left_out > 0 || part.len() > *left {
            left_out += 1;
        } else {
            *left -= part.len();
            text += &part;
        }
    }
    Some(match left_out {
        0 => text,
        _ => format!(
            "{text}\n*{} left out for length; `ralphtool log RUN` has all of it.*\n\n",
            count(left_out, noun)
        ),
    })
}

fn top(receipt: &Receipt) -> String {
    let totals = &receipt.totals;
    let headline = with_finish(&receipt.headline, receipt.finish);
    let mut parts = vec![
        format!("**{}**", receipt.counts.in_full()),
        inline(&headline, LINE),
        attempts(totals),
        words::elapsed(totals.duration_ms),
    ];
    parts.extend(tokens(&totals.spending, " tokens"));
    let unknown = receipt.is_cost_missing().then(|| COST_UNKNOWN.to_owned());
    let cost = cost(&totals.spending).or(unknown);
    parts.extend(cost.map(|it| inline(&it, LINE)));
    let mut text = format!(
        "## {}\n\n{}\n\n",
        inline(&receipt.change, TITLE),
        parts.join(" · ")
    );
    let reason = top_reason(receipt);
    if !reason.is_empty() {
        text += &fenced(&reason.join("\n"), BLOCK);
        text.push('\n');
    }
    for alert in &receipt.alerts {
        let _ = writeln!(text, "**Warning:** {}\n", inline(alert, LINE));
    }
    text
}

fn bottom(receipt: &Receipt) -> String {
    // Stories and attempts are in the first line of the page.
    let is_below = |name: &str| !matches!(name, "stories" | "attempts");
    let mut facts = totals(receipt);
    facts.retain(|(name, _)| is_below(name));
    facts.push(("run", receipt.run.0.clone()));
    let line = |(name, value): &(&str, String)| format!("- {name}: {}", inline(value, LINE));
    let lines: Vec<String> = facts.iter().map(line).collect();
    format!("### Totals\n\n{}\n", lines.join("\n"))
}

fn row(story: &StoryReceipt) -> String {
    let last = story.attempts.last();
    // What the gates said after the last repair.
    let last_repair = last.map_or(0, repairs);
    let gates = last.into_iter().flat_map(|it| &it.gates);
    let gates: Vec<String> = gates
        .filter(|gate| gate.repair == last_repair)
        .map(|gate| format!("{}: {}", clean(&gate.name), verdict(gate)))
        .collect();
    let commit = story.commits.iter().rfind(|it| !it.superseded);
    let dash = || "–".to_owned();
    let time = (!story.attempts.is_empty()).then(|| words::elapsed(story.duration_ms));
    let attempts = words::with_repairs(
        u32::try_from(story.attempts.len()).unwrap_or(u32::MAX),
        story.attempts.iter().map(repairs).sum(),
    );
    let cells = [
        inline(&format!("{} {}", story.id, story.title), TITLE),
        inline(&story_state(story), LINE),
        attempts,
        time.unwrap_or_else(dash),
        tokens(&story.spending, "").unwrap_or_else(dash),
        cost(&story.spending).map_or_else(dash, |it| inline(&it, LINE)),
        match gates.len() {
            0 => dash(),
            _ => inline(&gates.join(", "), LINE),
        },
        commit.map_or_else(dash, |it| it.changed_files.to_string()),
        commit.map_or_else(dash, |it| inline(&short(&it.id), TITLE)),
    ];
    format!("| {} |\n", cells.join(" | "))
}

fn failures(story: &StoryReceipt) -> impl Iterator<Item = (&StoryReceipt, &AttemptReceipt)> {
    let did_fail = |it: &&AttemptReceipt| {
        matches!(
            it.result,
            AttemptResult::Failed | AttemptResult::Interrupted
        )
    };
    let failed = story.attempts.iter().filter(did_fail);
    failed.map(move |attempt| (story, attempt))
}

fn detail(story: &StoryReceipt, attempt: &AttemptReceipt) -> String {
    let id = in_html(&story.id.0, TITLE);
    let why = attempt.kind.zip(attempt.reason.as_deref());
    let why = why.map(|(kind, reason)| in_html(&reason::brief(kind, reason), LINE));
    let why = why.unwrap_or_else(|| result(attempt).to_owned());
    let summary = format!("Attempt {} of story {id}: {why}", attempt.number);
    let mut parts = attempt_parts(attempt);
    parts.extend(checks(attempt));
    let mut text = format!("<details>\n<summary>{summary}</summary>\n\n");
    if !parts.is_empty() {
        text += &inline(&parts.join(" · "), LINE);
        text += "\n\n";
    }
    let reason = reason_lines(attempt, REASON_LINES);
    if !reason.is_empty() {
        text += &fenced(&reason.join("\n"), BLOCK);
        text.push('\n');
    }
    text + "</details>\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ralph_run::history::RunState;
    use ralph_run::receipt::examples::{everything, receipt};

    #[test]
    fn a_receipt_is_a_page() {
        insta::assert_snapshot!(page(&everything()));
    }

    #[test]
    fn a_receipt_without_stories_is_a_short_page() {
        insta::assert_snapshot!(page(&receipt("", RunState::Interrupted)));
    }

    #[test]
    fn what_does_not_fit_is_left_out_details_first() {
        let mut long = everything();
        let mut failed = long.stories[1].attempts[0].clone();
        failed.reason = Some("x".repeat(100_000));
        long.stories[1].attempts = vec![failed; 50];
        let text = page(&long);
        assert!(text.len() <= LIMIT, "{}", text.len());
        assert!(text.contains("attempts left out for length"), "{text}");
        assert!(text.contains("### Warnings"), "warnings come first");

        long.warnings = vec![long.warnings[0].clone(); 5_000];
        let story = long.stories[2].clone();
        long.stories = vec![story; 3_000];
        let text = page(&long);
        assert!(text.len() <= LIMIT, "{}", text.len());
        assert!(text.contains("stories left out for length"));
        assert!(text.contains("### Totals"));
        assert_eq!(
            text.matches("<details>").count(),
            text.matches("</details>").count()
        );
    }
}
