//! Finding parked attempts by what people call them.

use crate::failure::Failure;
use ralph_vault::ParkedAttempt;

/// How many names a hint lists.
const NEAR: usize = 5;

/// The attempt of that name; where several runs have one, that of the newest run.
pub fn find<'a>(
    attempts: &'a [ParkedAttempt],
    label: &str,
    run: Option<&str>,
) -> Result<&'a ParkedAttempt, Failure> {
    let of_run = of_run(attempts, run)?;
    let named = of_run.iter().rev().find(|it| it.note.label == label);
    named.copied().ok_or_else(|| unknown(&of_run, label))
}

/// The attempts of one run, or of all; the run must have some.
pub fn of_run<'a>(
    attempts: &'a [ParkedAttempt],
    run: Option<&str>,
) -> Result<Vec<&'a ParkedAttempt>, Failure> {
    let Some(run) = run else {
        return Ok(attempts.iter().collect());
    };
    let found: Vec<&ParkedAttempt> = attempts.iter().filter(|it| it.run.0 == run).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let failure = Failure::refused(format!("no attempt of a run `{run}` is parked here"));
    let mut runs: Vec<&str> = attempts.iter().rev().map(|it| it.run.0.as_str()).collect();
    runs.dedup();
    Err(match runs.as_slice() {
        [] => failure,
        runs => failure.hint(format!("runs that have some: {}", some_of(runs))),
    })
}

fn unknown(attempts: &[&ParkedAttempt], label: &str) -> Failure {
    let failure = Failure::refused(format!("no attempt `{label}` is parked here"));
    let mut near: Vec<(f64, &str)> = attempts
        .iter()
        .rev()
        .map(|it| {
            let name = it.note.label.as_str();
            (strsim::jaro_winkler(label, name), name)
        })
        .collect();
    near.sort_by(|one, two| two.0.total_cmp(&one.0));
    let mut names: Vec<&str> = near.into_iter().map(|(_, name)| name).collect();
    names.dedup();
    match names.as_slice() {
        [] => failure.hint("attempts that fail are parked, and listed by `ralphtool attempts`"),
        names => failure.hint(format!("parked are: {}", some_of(names))),
    }
}

fn some_of(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().take(NEAR).copied().collect();
    let more = names.len() - shown.len();
    let shown = shown.join(", ");
    if more == 0 {
        return shown;
    }
    format!("{shown} and {more} more: `ralphtool attempts --all` lists them")
}
