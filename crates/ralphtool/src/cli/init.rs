//! `ralphtool init`: writes a commented `ralphtool.toml` with the gates it finds, and tries them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::repository;
use crate::console::runtime::on_runtime;
use crate::ui::page::Page;
use crate::ui::style::{BAD, DIM, GOOD, WARN};
use crate::ui::text::{clean, clean_lines, columns, pad};
use crate::ui::words;
use ralph_base::files::write_new;
use ralph_plan::source;
use ralph_run::failure::Failure;
use ralph_run::init::trial::{self, Trial, TrialError, TrialResult};
use ralph_run::init::{Proposal, candidates, decide, survey, text};
use ralph_run::settings::files::REPOSITORY_FILE;
use ralph_run::settings::trust::Allowance;

const EXAMPLES: &str = "\
Examples:
  ralphtool init                    write `ralphtool.toml`, and run each gate once
  ralphtool init --no-run           write it, and run nothing
  ralphtool init --print            only show what would be written";

/// How long a gate is tried.
const LIMIT: Duration = Duration::from_secs(60);

/// How many lines of a gate that failed are shown.
const TAIL: usize = 5;

/// How wide the labels are.
const LABEL: usize = 7;

/// Flags of `init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InitArguments {
    /// Print the file instead of writing it; runs nothing
    #[arg(long)]
    print: bool,
    /// Do not run the gates
    #[arg(long)]
    no_run: bool,
}

/// Writes the file, or prints it.
pub(super) fn run(arguments: &InitArguments, context: &Context) -> Result<ExitCode, Failure> {
    let top = &repository(context)?.work_tree;
    let unread = |error| Failure::system("could not look at the repository").because(error);
    let found = candidates(&survey::folders(top).map_err(unread)?);
    let path = context.variable("PATH");
    let gates = decide(&found, &survey::installed(&found, path, top));
    let agents = survey::agents(path, top);
    let page = text::write(&agents, &gates);
    if arguments.print {
        return output::print(page.as_bytes());
    }
    let file = top.join(REPOSITORY_FILE);
    let unwritten = |error| Failure::system("could not write the configuration").because(error);
    if !write_new(&file, page.as_bytes(), 0o644).map_err(unwritten)? {
        let message = format!("`{}` already exists; not overwritten", file.display());
        return Err(Failure::refused(message)
            .hint("`ralphtool init --print` shows what a new one would contain"));
    }
    trust_own(context, &file, page.as_bytes());
    output::page(context, |page| write_file(page, &file, &agents))?;
    let has_failed = if arguments.no_run {
        write_untried(&gates, context)?;
        false
    } else {
        on_runtime(try_gates(&gates, top, context))?
    };
    let has_plan = has_plan(context);
    output::page(context, |page| {
        if has_failed {
            write_failed(page);
        }
        write_others(page, &gates);
        page.heading("next");
        page.commands(&next(has_plan));
    })
}

/// Allows what `init` has just written: the user asked for it. If that cannot be stored, the first
/// run asks.
fn trust_own(context: &Context, file: &Path, page: &[u8]) {
    if let Ok(state) = context.state() {
        let _ = Allowance::of(file, page).give(&state);
    }
}

fn has_plan(context: &Context) -> bool {
    let found = context.surroundings().map(|around| source::survey(&around));
    matches!(found, Ok(Ok(survey)) if !survey.changes.is_empty())
}

fn write_untried(gates: &[Proposal], context: &Context) -> Result<ExitCode, Failure> {
    output::page(context, |page| {
        for gate in active(gates) {
            write_gate(page, gate, gates);
            page.blank();
        }
    })
}

/// Says what a gate that fails now means for a run.
fn write_failed(page: &mut Page) {
    let text = "A gate that fails before a story cannot check it: make it pass, or remove it.";
    page.line(format!("  {} {text}", pad("", LABEL)));
}

/// Runs each gate once, and prints how it goes; returns whether one failed.
async fn try_gates(gates: &[Proposal], top: &Path, context: &Context) -> Result<bool, Failure> {
    let unwritten = |error| Failure::system("could not write the output").because(error);
    let mut out = output::stdout();
    let paint = context.paint_for(&std::io::stdout());
    let mut has_failed = false;
    for gate in active(gates) {
        let mut page = Page::new(paint);
        write_gate(&mut page, gate, gates);
        out.write_all(page.text.as_bytes()).map_err(unwritten)?;
        out.flush().map_err(unwritten)?;
        let trial = trial::run(&gate.run, top, LIMIT).await;
        let is_failed = |it: &Trial| matches!(it.result, TrialResult::Failed { .. });
        has_failed |= trial.as_ref().is_ok_and(is_failed);
        let mut page = Page::new(paint);
        write_trial(&mut page, &trial);
        out.write_all(page.text.as_bytes()).map_err(unwritten)?;
        out.flush().map_err(unwritten)?;
    }
    Ok(has_failed)
}

fn active(gates: &[Proposal]) -> impl Iterator<Item = &Proposal> {
    gates.iter().filter(|gate| gate.inactive.is_none())
}

/// Says which agent the new file has.
fn write_file(page: &mut Page, file: &Path, agents: &[&str]) {
    let file = clean(&file.display().to_string());
    page.line(format!("{} {file}\n", page.paint(GOOD, "wrote")));
    let agent = match agents {
        [] => "none was found; `ralphtool doctor` says how to install one".to_owned(),
        [only] => format!("{only}, detected on this machine"),
        several => format!(
            "not chosen; detected on this machine: {}",
            several.join(", ")
        ),
    };
    page.facts(&[("agent", agent)], LABEL);
}

/// Writes the name and the command of a gate, without an end of line.
fn write_gate(page: &mut Page, gate: &Proposal, gates: &[Proposal]) {
    let is_first = active(gates).next() == Some(gate);
    let label = pad(if is_first { "gates" } else { "" }, LABEL);
    let name = pad(&clean(&gate.name), name_width(gates));
    let label = page.paint(DIM, label);
    let run = clean(&gate.run);
    // Writing to a string cannot fail.
    let _ = write!(page.text, "  {label} {name}  {run}");
}

fn name_width(gates: &[Proposal]) -> usize {
    let widths = gates.iter().map(|gate| columns(&gate.name));
    widths.max().unwrap_or(0)
}

/// Completes the line of a gate with how it went.
fn write_trial(page: &mut Page, trial: &Result<Trial, TrialError>) {
    let (style, told, tail) = match trial {
        Err(error) => (WARN, format!("! not tried: {error}"), ""),
        Ok(Trial { result, took }) => {
            let took = words::elapsed(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
            match result {
                TrialResult::Passed => (GOOD, format!("✓ passed in {took}"), ""),
                TrialResult::Failed { how, tail } => {
                    let told = format!("✗ failed in {took} ({how})");
                    (BAD, told, tail.as_str())
                }
                TrialResult::Unfinished => (
                    WARN,
                    format!(
                        "! stopped after {took}; `ralphtool doctor --gates` runs it to its end"
                    ),
                    "",
                ),
            }
        }
    };
    let told = page.paint(style, told);
    page.line(format!("  {told}"));
    let mut lines = clean_lines(tail);
    lines.retain(|line| !line.is_empty());
    for line in &lines[lines.len().saturating_sub(TAIL)..] {
        let line = page.paint(DIM, line);
        page.line(format!("  {}   {line}", pad("", LABEL)));
    }
}

/// Names the gates that are written as comments, or says that there is none.
fn write_others(page: &mut Page, gates: &[Proposal]) {
    if active(gates).next().is_none() {
        let label = page.paint(DIM, pad("gates", LABEL));
        let warning = page.paint(WARN, "! no gates: the agent's word is the only check");
        page.line(format!("  {label} {warning}"));
    }
    for gate in gates {
        if let Some(why) = &gate.inactive {
            let name = pad(&clean(&gate.name), name_width(gates));
            let text = format!("{name}  not active: {}", clean(why));
            page.line(format!("  {} {}", pad("", LABEL), page.paint(DIM, text)));
        }
    }
    if gates.is_empty() {
        let indent = pad("", LABEL);
        page.line(format!(
            "  {indent} No command that tests this repository was found. Add yours to the file:"
        ));
        for line in ["[[gate]]", "name = \"tests\"", "run = \"./run-my-tests\""] {
            page.line(format!("  {indent}   {line}"));
        }
    } else if active(gates).next().is_none() {
        let indent = pad("", LABEL);
        let text = "Install what is missing, and remove the `# ` before the gate in the file.";
        page.line(format!("  {indent} {text}"));
    }
}

/// What to type next.
fn next(has_plan: bool) -> Vec<(&'static str, &'static str)> {
    let mut commands = vec![(
        "git add ralphtool.toml && git commit",
        "keeps the settings with the code",
    )];
    if !has_plan {
        commands.push((
            "ralphtool new NAME",
            "writes a small change, for you to fill in",
        ));
    }
    commands.push(("ralphtool doctor", "checks everything a run needs"));
    let run = if has_plan {
        "ralphtool run"
    } else {
        "ralphtool run NAME"
    };
    commands.push((run, "works through the change, story by story"));
    commands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;

    #[test]
    fn init_reports_the_new_file_and_its_gates() {
        let gate = |name: &str, inactive: Option<&str>| Proposal {
            name: name.to_owned(),
            run: "cargo test".to_owned(),
            because: "Cargo.toml".to_owned(),
            inactive: inactive.map(str::to_owned),
        };
        let gates = [
            gate("tests", None),
            gate("web tests", None),
            gate("lint", None),
            gate("api", Some("`go` was not found in PATH")),
        ];
        let results = [
            TrialResult::Passed,
            TrialResult::Failed {
                how: "exit code 1".to_owned(),
                tail: "one\ntwo\nthree\nfour\nfive\nsix\n".to_owned(),
            },
            TrialResult::Unfinished,
        ];
        let mut page = Page::new(Paint::Plain);
        write_file(&mut page, Path::new("/repo/ralphtool.toml"), &["claude"]);
        for (gate, result) in gates.iter().zip(results) {
            write_gate(&mut page, gate, &gates);
            let took = Duration::from_millis(3_400);
            write_trial(&mut page, &Ok(Trial { result, took }));
        }
        write_failed(&mut page);
        write_others(&mut page, &gates);
        page.heading("next");
        page.commands(&next(true));
        page.blank();
        write_file(&mut page, Path::new("/repo/ralphtool.toml"), &[]);
        write_others(&mut page, &[]);
        page.heading("next");
        page.commands(&next(false));
        page.blank();
        write_others(&mut page, &gates[3..]);
        insta::assert_snapshot!(page.text);
    }
}
