//! `ralphtool init`: writes a commented `ralphtool.toml` with the gates it finds.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::repository;
use crate::ui::page::Page;
use crate::ui::style::{DIM, GOOD, WARN};
use crate::ui::text::{clean, columns, pad};
use ralph_base::files::write_new;
use ralph_run::failure::Failure;
use ralph_run::init::{Proposal, candidates, decide, survey, text};
use ralph_run::settings::files::REPOSITORY_FILE;
use ralph_run::settings::trust::Allowance;

const EXAMPLES: &str = "\
Examples:
  ralphtool init                    write `ralphtool.toml` in the top folder
  ralphtool init --print            just show what would be written";

const NEXT: [(&str, &str); 2] = [
    ("ralphtool doctor", "checks that all is there for a run"),
    ("ralphtool loop", "works through a change, story by story"),
];

/// How wide the labels are.
const LABEL: usize = 7;

/// Flags of `init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InitArguments {
    /// Print the file instead of writing it
    #[arg(long)]
    print: bool,
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
            .hint("`ralphtool init --print` shows what a new one would say"));
    }
    trust_own(context, &file, page.as_bytes());
    output::page(context, |page| write_report(page, &file, &agents, &gates))
}

/// Allows what `init` has just written: the user asked for it. If that cannot be stored, the first
/// run asks.
fn trust_own(context: &Context, file: &Path, page: &[u8]) {
    if let Ok(state) = context.state() {
        let _ = Allowance::of(file, page).give(&state);
    }
}

/// Says which agent and gates the new file has, and what comes next.
fn write_report(page: &mut Page, file: &Path, agents: &[&str], gates: &[Proposal]) {
    let file = clean(&file.display().to_string());
    page.line(format!("{} {file}\n", page.paint(GOOD, "wrote")));
    let agent = match agents {
        [] => "left open; none was found".to_owned(),
        [only] => format!("{only}, the only one that was found"),
        several => format!("left open; found were {}", several.join(", ")),
    };
    page.facts(&[("agent", agent)], LABEL);
    write_gates(page, gates);
    page.heading("next");
    page.commands(&NEXT);
}

fn write_gates(page: &mut Page, gates: &[Proposal]) {
    let (active, inactive): (Vec<&Proposal>, Vec<&Proposal>) =
        gates.iter().partition(|gate| gate.inactive.is_none());
    if active.is_empty() {
        let text = "no command that checks this repository was found: add one to the file";
        let label = page.paint(WARN, pad("gates", LABEL));
        page.line(format!("  {label} {text}"));
    }
    let widest = gates.iter().map(|gate| columns(&gate.name)).max();
    let name = |gate: &Proposal| pad(&clean(&gate.name), widest.unwrap_or(0));
    let labels = std::iter::once("gates").chain(std::iter::repeat(""));
    for (label, gate) in labels.zip(active) {
        let text = format!("{}  {}", name(gate), gate.run);
        page.facts(&[(label, text)], LABEL);
    }
    for gate in inactive {
        let why = clean(gate.inactive.as_deref().unwrap_or(""));
        let text = format!("{}  not active: {why}", name(gate));
        page.line(format!("  {} {}", pad("", LABEL), page.paint(DIM, text)));
    }
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
            gate("api", Some("`go` was not found in PATH")),
        ];
        let file = Path::new("/repo/ralphtool.toml");
        let mut page = Page::new(Paint::Plain);
        write_report(&mut page, file, &["claude"], &gates);
        write_report(&mut page, file, &[], &[]);
        insta::assert_snapshot!(page.text);
    }
}
