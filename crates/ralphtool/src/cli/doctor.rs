//! `ralphtool doctor`: what would keep a run from starting, and what earlier ones left behind.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use crate::console::context::Context;
use crate::console::output;
use crate::console::runtime::on_runtime;
use crate::ui::page::Page;
use crate::ui::style::{BAD, DIM, GOOD, WARN};
use crate::ui::text::{clean, columns, pad};
use ralph_run::doctor::{Diagnosis, Level, RunGates, Scope, examine};
use ralph_run::failure::Failure;
use ralph_vault::store::state_directory;

const EXAMPLES: &str = "\
Examples:
  ralphtool doctor                  before the first run, and when something is wrong
  ralphtool doctor --gates          also runs every gate, and says what is red and how long each takes
  ralphtool doctor --json           the same, for a program

";

const EXIT_CODES: &str = "\
Exit codes:
  0    a run can start; there may be warnings
  2    a run would refuse to start
  4    git or the system does not work";

/// Flags of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
pub(super) struct DoctorArguments {
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,

    /// Run every gate in the work tree as it is
    ///
    /// Each gate runs once, with its own time limit, as it would before a story. What it writes stays. Gates of a
    /// `ralphtool.toml` that you have not allowed with `ralphtool trust` are not run.
    #[arg(long)]
    pub(super) gates: bool,
}

/// Checks everything a run needs.
pub(super) fn run(arguments: &DoctorArguments, context: &Context) -> Result<ExitCode, Failure> {
    let scope = Scope {
        directory: context.folder()?,
        state: state_directory(&context.environment),
        config: context.config.clone(),
        home: std::env::home_dir(),
        surroundings: context.surroundings()?,
        environment: context.environment.clone(),
        run_gates: if arguments.gates {
            RunGates::Yes(announce)
        } else {
            RunGates::No
        },
    };
    let diagnosis = on_runtime(async { Ok(examine(&scope).await) })?;
    output::json_or_page(arguments.json, &diagnosis, context, write)?;
    Ok(diagnosis.exit_code().into())
}

/// Writes a line for each finding, with a mark, and what to do about it.
fn write(page: &mut Page, diagnosis: &Diagnosis) {
    let width = diagnosis.findings.iter().map(|it| columns(it.check)).max();
    let width = width.unwrap_or(0);
    for finding in &diagnosis.findings {
        let (style, mark) = match finding.level {
            Level::Good => (GOOD, "✓"),
            Level::Note => (DIM, "·"),
            Level::Warning => (WARN, "!"),
            Level::Refusal | Level::Fault => (BAD, "✗"),
        };
        let mark = page.paint(style, mark);
        let check = page.paint(DIM, pad(finding.check, width));
        let message = match finding.level {
            Level::Note => page.paint(DIM, clean(&finding.message)),
            _ => clean(&finding.message),
        };
        page.line(format!("{mark} {check}  {message}"));
        if let Some(hint) = &finding.hint {
            let margin = " ".repeat(width + 4);
            let hint = page.paint(DIM, format!("→ {}", clean(hint)));
            page.line(format!("{margin}{hint}"));
        }
    }
    page.heading(diagnosis.verdict());
}

/// Says on standard error what takes the time.
fn announce(gate: &str) {
    let _ = writeln!(std::io::stderr(), "running gate `{}` …", clean(gate));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use ralph_run::doctor::Finding;

    #[test]
    fn findings_are_listed_with_marks_and_hints() {
        let good = Finding::good("git", "git 2.47.3");
        let note = Finding::note("agent", "not installed: `pi`");
        let warning = Finding::warning("private files", "large\u{1b}[2J").hint("`ralphtool gc`");
        let refusal = Finding::refusal("repository", "a merge is in progress");
        let mut page = Page::new(Paint::Plain);
        for findings in [
            vec![good.clone()],
            vec![good.clone(), note, warning.clone()],
            vec![good, warning, refusal],
        ] {
            let diagnosis = Diagnosis {
                open_changes: 1,
                ..Diagnosis::of(findings)
            };
            write(&mut page, &diagnosis);
            page.blank();
        }
        insta::assert_snapshot!(page.text);
    }
}
