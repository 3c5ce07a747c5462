//! The receipt of a run, as text for a terminal and as Markdown for a pull request. Both use the same
//! words for the same facts.

mod escape;
pub(crate) mod markdown;

use super::page::Page;
use super::reason;
use super::style::{BAD, DIM, GOOD, STRONG, WARN};
use super::text::{clean, clean_lines};
use super::words::{self, count};
use ralph_run::policy::prices::heading;
use ralph_run::receipt::{
    AttemptReceipt, AttemptResult, CommitReceipt, CostSource, GateReceipt, GateVerdict, Receipt,
    RepairReceipt, ReviewReceipt, ReviewVerdict, Spending, StoryReceipt, StoryResult, Totals,
};
use ralph_run::records::progress::Importance;
use ralph_run::records::state::with_finish;

/// How many lines of the reason of an attempt are shown.
const REASON_LINES: usize = 6;

/// How many lines of the reason why the run ended are shown.
const TOP_REASON_LINES: usize = 10;

/// How wide the labels are.
const LABEL: usize = 8;

/// How much of a commit's id is shown.
const SHORT_ID: usize = 10;

pub(crate) fn write(page: &mut Page, receipt: &Receipt) {
    let head = format!("run {}: `{}`", receipt.run, clean(&receipt.change));
    let state = with_finish(&clean(&receipt.headline), receipt.finish);
    page.line(format!("{}, {state}", page.paint(STRONG, head)));
    for line in top_reason(receipt) {
        page.line(format!("  {line}"));
    }
    page.alerts(&receipt.alerts);
    page.facts(&totals(receipt), LABEL);
    for story in &receipt.stories {
        page.blank();
        write_story(page, story);
    }
    for review in &receipt.reviews_at_end {
        write_verdicts(page, review, "  ");
    }
    for (heading, importance, style) in [
        ("warnings", Importance::Warning, WARN),
        ("notes", Importance::Note, DIM),
    ] {
        let lines = warnings(receipt, importance);
        if !lines.is_empty() {
            page.heading(heading);
        }
        for line in lines {
            page.line(format!("  {}", page.paint(style, line)));
        }
    }
}

/// The warnings, or the notes, of a run.
fn warnings(receipt: &Receipt, importance: Importance) -> Vec<String> {
    let warnings = receipt.warnings.iter();
    let warnings = warnings.filter(|it| it.importance == importance);
    warnings.map(words::warning).collect()
}

/// What the run did as a whole.
fn totals(receipt: &Receipt) -> Vec<(&'static str, String)> {
    let totals = &receipt.totals;
    let attempts = attempts(totals);
    let mut figures = vec![
        ("stories", receipt.counts.in_words()),
        ("attempts", attempts),
        ("time", words::elapsed(totals.duration_ms)),
    ];
    figures.extend(tokens_apart(&totals.spending).map(|it| ("tokens", it)));
    let unknown = receipt.is_cost_missing().then(|| "unknown".to_owned());
    let cost = cost_and_source(&totals.spending).or(unknown);
    figures.extend(cost.map(|it| ("cost", it)));
    figures.extend(words::budget(&receipt.budget).map(|it| ("budget", it)));
    let of_story = words::budget(&receipt.story_budget);
    figures.extend(of_story.map(|it| ("budget", format!("{it} per story"))));
    if totals.commits > 0 {
        let files = totals.changed_files;
        let files = files.map(|it| format!(", {} changed", count(it, "file")));
        let commits = count(totals.commits, "commit");
        figures.push(("commits", format!("{commits}{}", files.unwrap_or_default())));
    }
    figures.extend(receipt.branch.as_deref().map(|it| ("branch", clean(it))));
    let gates = receipt.gates_at_end.iter();
    figures.extend(gates.map(|gate| ("at end", gate_line(gate))));
    let not_run = words::gates_not_run(&receipt.gates_not_run);
    figures.extend(not_run.map(|gates| ("not run", gates)));
    let reviews = receipt.reviews_at_end.iter();
    figures.extend(reviews.map(|review| ("at end", review_line(review))));
    figures
}

fn write_story(page: &mut Page, story: &StoryReceipt) {
    let (mark, style) = match standing(story.state) {
        _ if story.is_doubtful => (words::done_mark(true), WARN),
        (mark, _, style) => (mark, style),
    };
    let head = format!("{mark} {} {}", clean(&story.id.0), clean(&story.title));
    let mut parts = vec![story_state(story)];
    if !story.attempts.is_empty() {
        parts.push(count(story.attempts.len(), "attempt"));
        parts.extend(words::repairs(story.attempts.iter().map(repairs).sum()));
        parts.push(words::elapsed(story.duration_ms));
    }
    parts.extend(spending(&story.spending));
    page.styled(style, head);
    page.line(format!("    {}", page.paint(DIM, parts.join(" · "))));
    for commit in &story.commits {
        page.line(format!("    {}", commit_line(commit)));
    }
    for gate in &story.gates_before {
        page.line(format!("    before: {}", gate_line(gate)));
    }
    for attempt in &story.attempts {
        write_attempt(page, attempt);
    }
}

fn write_attempt(page: &mut Page, attempt: &AttemptReceipt) {
    let style = match attempt.result {
        AttemptResult::Completed => GOOD,
        AttemptResult::Running => STRONG,
        AttemptResult::Failed | AttemptResult::Interrupted => BAD,
    };
    let head = format!("attempt {}: {}", attempt.number, result(attempt));
    let tail = page.paint(DIM, attempt_parts(attempt).join(" · "));
    page.line(format!("    {}  {tail}", page.paint(style, head)));
    for line in reason_lines(attempt, REASON_LINES) {
        page.line(format!("        {line}"));
    }
    write_checks(page, attempt, 0);
    for repair in &attempt.repairs {
        page.line(format!("        {}", repair_line(repair)));
        write_checks(page, attempt, repair.number);
    }
}

/// The gates and reviews of an attempt after this many repairs.
fn write_checks(page: &mut Page, attempt: &AttemptReceipt, repair: u32) {
    for gate in attempt.gates.iter().filter(|it| it.repair == repair) {
        page.line(format!("        {}", gate_line(gate)));
    }
    for review in attempt.reviews.iter().filter(|it| it.repair == repair) {
        page.line(format!("        {}", review_line(review)));
        write_verdicts(page, review, "            ");
    }
}

/// The verdict on each task and scenario, with its evidence.
fn write_verdicts(page: &mut Page, review: &ReviewReceipt, margin: &str) {
    for item in &review.items {
        page.line(format!(
            "{margin}{}",
            page.paint(DIM, words::one_line(&item.line()))
        ));
    }
}

/// The gates and reviews that judged an attempt, and its repairs, in order, a line each.
fn checks(attempt: &AttemptReceipt) -> Vec<String> {
    let of = |repair: u32| {
        let gates = attempt.gates.iter().filter(move |it| it.repair == repair);
        let reviews = attempt.reviews.iter().filter(move |it| it.repair == repair);
        gates.map(gate_line).chain(reviews.map(review_line))
    };
    let mut lines: Vec<String> = of(0).collect();
    for repair in &attempt.repairs {
        lines.push(repair_line(repair));
        lines.extend(of(repair.number));
    }
    lines
}

/// Which repair it was, and of what.
fn repair_line(repair: &RepairReceipt) -> String {
    let what = match &repair.gate {
        Some(gate) => format!("gate `{}`", clean(gate)),
        None => words::failure(repair.kind).to_owned(),
    };
    format!("repair {} in the same session: {what}", repair.number)
}

/// The lines below the headline.
fn top_reason(receipt: &Receipt) -> Vec<String> {
    let lines = clean_lines(receipt.reason.as_deref().unwrap_or_default());
    words::head_and_tail(lines, TOP_REASON_LINES)
}

/// Why an attempt failed, in a few lines.
fn reason_lines(attempt: &AttemptReceipt, most: usize) -> Vec<String> {
    let why = attempt.kind.zip(attempt.reason.as_deref());
    why.map(|(kind, why)| reason::shortened(kind, why, most))
        .unwrap_or_default()
}

/// What an attempt took, used and left.
fn attempt_parts(attempt: &AttemptReceipt) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(words::repairs(repairs(attempt)));
    parts.extend(attempt.duration_ms.map(words::elapsed));
    parts.extend(attempt.agent.as_deref().map(clean));
    parts.extend(spending(&attempt.spending));
    let files = attempt.changed_files;
    parts.extend(files.map(|it| format!("{} changed", count(it, "file"))));
    let parked = attempt.parked.as_deref();
    parts.extend(parked.map(|it| format!("parked as {}", clean(it))));
    parts
}

fn repairs(attempt: &AttemptReceipt) -> u32 {
    attempt.repairs.last().map_or(0, |last| last.number)
}

/// How a story stands: a sign, a word and their style.
const fn standing(state: StoryResult) -> (&'static str, &'static str, anstyle::Style) {
    match state {
        StoryResult::Completed => ("✓", "done", GOOD),
        StoryResult::DoneBefore => ("✓", "done before", DIM),
        StoryResult::Running => ("▶", "running", STRONG),
        StoryResult::Unfinished => ("✗", "not done", BAD),
        StoryResult::Skipped => ("⊘", "skipped", WARN),
        StoryResult::Failed => ("✗", "failed", BAD),
        StoryResult::NotRun => ("◌", "not run", WARN),
        StoryResult::Deferred => ("⊘", "deferred", DIM),
        StoryResult::Open => ("○", "open", DIM),
    }
}

/// How a story stands, and why.
fn story_state(story: &StoryReceipt) -> String {
    let (_, state, _) = standing(story.state);
    match &story.reason {
        Some(reason) => format!("{state}: {}", clean(reason)),
        None if !story.findings.is_empty() => {
            format!("{state}, {}", count(story.findings.len(), "warning"))
        }
        None => state.to_owned(),
    }
}

/// How an attempt ended.
fn result(attempt: &AttemptReceipt) -> &'static str {
    match (attempt.result, attempt.kind) {
        (AttemptResult::Completed, _) => "done",
        (AttemptResult::Running, _) => "running",
        (_, Some(kind)) => words::failure(kind),
        (AttemptResult::Failed | AttemptResult::Interrupted, None) => "interrupted",
    }
}

/// How many attempts, how many of them failed, and how many repairs there were.
fn attempts(totals: &Totals) -> String {
    let mut parts = vec![count(totals.attempts, "attempt")];
    if totals.failed_attempts > 0 {
        parts.push(format!("{} failed", totals.failed_attempts));
    }
    parts.extend(words::repairs(totals.repairs));
    parts.join(", ")
}

/// A gate's result, with its name.
fn gate_line(gate: &GateReceipt) -> String {
    format!("gate `{}` {}", clean(&gate.name), verdict(gate))
}

/// A gate's result.
fn verdict(gate: &GateReceipt) -> String {
    let tests = match (gate.failed_tests, gate.new_failures.len()) {
        (None, _) => None,
        (Some(failed), 0) => Some(format!("{} failed", count(failed, "test"))),
        (Some(failed), new) => Some(format!(
            "{} failed, {new} of them new",
            count(failed, "test")
        )),
    };
    let how: Vec<String> = gate
        .how
        .as_deref()
        .map(clean)
        .into_iter()
        .chain(tests)
        .collect();
    let how = (!how.is_empty()).then(|| format!(" ({})", how.join("; ")));
    let how = how.unwrap_or_default();
    let took = gate.duration_ms.map(words::elapsed);
    let took = took.map(|took| format!(" in {took}")).unwrap_or_default();
    let tries = u32::try_from(gate.red_tries.len()).map_or(u32::MAX, |red| red.saturating_add(1));
    match gate.verdict {
        GateVerdict::Passed if tries > 1 => format!("{}{took}", words::flaky(tries)),
        GateVerdict::Passed => format!("passed{took}"),
        GateVerdict::Failed if tries > 1 => {
            format!("failed at the {} try{took}{how}", words::ordinal(tries))
        }
        GateVerdict::Failed => format!("failed{took}{how}"),
        GateVerdict::RedBefore => format!("red before{how}"),
        GateVerdict::CannotRun => format!("cannot run{how}"),
        GateVerdict::NotRun => words::NOT_RUN.to_owned(),
        GateVerdict::Unknown => "did not end".to_owned(),
    }
}

/// A review in one line: its name, who reviewed, what it comes to and what it used.
fn review_line(review: &ReviewReceipt) -> String {
    let model = review.model.as_deref();
    let agent = words::one_line(
        &[Some(review.agent.as_str()), model]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    );
    let mut parts = vec![review_verdict(review)];
    parts.extend(review.duration_ms.map(words::elapsed));
    if review.agent != review.name || model.is_some() {
        parts.push(agent);
    }
    parts.extend(spending(&review.spending));
    format!("review `{}` {}", clean(&review.name), parts.join(" · "))
}

/// What a review comes to.
fn review_verdict(review: &ReviewReceipt) -> String {
    let word = match review.verdict {
        ReviewVerdict::Met => "met".to_owned(),
        ReviewVerdict::NotMet => "not met".to_owned(),
        ReviewVerdict::CannotTell => "cannot tell".to_owned(),
        ReviewVerdict::NoVerdict => {
            let reason = review.reason.as_deref().unwrap_or_default();
            format!("gave no verdict ({})", clean(reason))
        }
        ReviewVerdict::Unknown => "did not end".to_owned(),
    };
    if review.advisory {
        format!("{word}, advisory")
    } else {
        word
    }
}

fn commit_line(commit: &CommitReceipt) -> String {
    let files = count(commit.changed_files, "file");
    let note = if commit.superseded {
        ", done again since"
    } else {
        ""
    };
    format!("commit {}, {files} changed{note}", short(&commit.id))
}

/// The start of a commit's id.
fn short(commit: &str) -> String {
    clean(commit).chars().take(SHORT_ID).collect()
}

/// Tokens and cost in short, the cached ones apart.
fn spending(spending: &Spending) -> Vec<String> {
    let parts = [tokens(spending, " tokens"), cost_and_source(spending)];
    parts.into_iter().flatten().collect()
}

/// Tokens in short: `72k tokens (30k cached)`.
fn tokens(spending: &Spending, unit: &str) -> Option<String> {
    let total = spending.total_tokens();
    let cached = match spending.cache_read_tokens {
        0 => String::new(),
        cached => format!(" ({} cached)", words::tokens(cached)),
    };
    (total > 0).then(|| format!("{}{unit}{cached}", words::tokens(total)))
}

/// All sorts of tokens.
fn tokens_apart(spending: &Spending) -> Option<String> {
    let sorts = [
        (spending.input_tokens, "in"),
        (spending.output_tokens, "out"),
        (spending.cache_read_tokens, "read from a cache"),
        (spending.cache_write_tokens, "written to a cache"),
    ];
    let sorts: Vec<String> = sorts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, sort)| format!("{} {sort}", words::tokens(count)))
        .collect();
    let total = words::tokens(spending.total_tokens());
    (!sorts.is_empty()).then(|| format!("{total}: {}", sorts.join(", ")))
}

/// The cost as a figure: `$0.42`, or `at least $0.42` where not all of it is known.
fn cost(spending: &Spending) -> Option<String> {
    Some(words::cost_of(spending.cost_usd?, spending.cost_is_partial))
}

/// The cost and where it comes from.
fn cost_and_source(spending: &Spending) -> Option<String> {
    let cost = cost(spending)?;
    let sources: Vec<String> = spending.cost_from.iter().map(source).collect();
    Some(format!("{cost}, {}", sources.join(" and ")))
}

fn source(source: &CostSource) -> String {
    match source {
        CostSource::Agent => "reported by the agent".to_owned(),
        CostSource::Prices { name } => format!("computed from `{}`", clean(&heading(name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_run::history::RunState;
    use ralph_run::receipt::examples::{everything, receipt};

    fn text(receipt: &Receipt) -> String {
        let mut page = Page::new(crate::ui::style::Paint::Plain);
        write(&mut page, receipt);
        page.text
    }

    #[test]
    fn a_receipt_lists_stories_and_attempts() {
        insta::assert_snapshot!(text(&everything()));
    }

    #[test]
    fn a_receipt_without_stories_is_short() {
        insta::assert_snapshot!(text(&receipt("", RunState::Interrupted)));
    }
}
