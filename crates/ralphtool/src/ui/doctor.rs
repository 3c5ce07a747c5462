//! What the doctor found: a line for each check, with a mark, and what to do about it.

use std::io::{self, Write};

use super::style::{BAD, DIM, GOOD, Paint, STRONG, WARN};
use super::text::{clean, columns, pad};
use ralph_run::doctor::{Diagnosis, Level};

/// Writes the diagnosis for people.
pub(crate) fn write(out: &mut dyn Write, paint: Paint, diagnosis: &Diagnosis) -> io::Result<()> {
    let width = diagnosis.findings.iter().map(|it| columns(it.check)).max();
    let width = width.unwrap_or(0);
    for finding in &diagnosis.findings {
        let (style, mark) = match finding.level {
            Level::Good => (GOOD, "✓"),
            Level::Warning => (WARN, "!"),
            Level::Refusal | Level::Fault => (BAD, "✗"),
        };
        let mark = paint.apply(style, mark);
        let check = paint.apply(DIM, pad(finding.check, width));
        writeln!(out, "{mark} {check}  {}", clean(&finding.message))?;
        if let Some(hint) = &finding.hint {
            let margin = " ".repeat(width + 4);
            let hint = paint.apply(DIM, format!("→ {}", clean(hint)));
            writeln!(out, "{margin}{hint}")?;
        }
    }
    writeln!(out)?;
    writeln!(out, "{}", paint.apply(STRONG, verdict(diagnosis)))
}

fn verdict(diagnosis: &Diagnosis) -> &'static str {
    let is_well = |level: Level| level == Level::Good;
    match diagnosis.can_run {
        true if diagnosis.findings.iter().all(|it| is_well(it.level)) => "all is well",
        true => "a run can start",
        false => "a run cannot start",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_run::doctor::Finding;

    #[test]
    fn a_diagnosis_is_a_list_of_marks_with_ways_out() {
        let good = Finding::good("git", "git 2.47.3");
        let warning = Finding::warning("vault", "large\u{1b}[2J").hint("`ralphtool gc`");
        let refusal = Finding::refusal("repository", "a merge is in progress");
        let mut out = Vec::new();
        for findings in [
            vec![good.clone()],
            vec![good.clone(), warning.clone()],
            vec![good, warning, refusal],
        ] {
            write(&mut out, Paint::Plain, &Diagnosis::of(findings)).unwrap();
            writeln!(out).unwrap();
        }
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
