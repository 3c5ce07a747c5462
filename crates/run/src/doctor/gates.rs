//! The gates: whether their programs are there, and on request what they say of the work tree.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::{Finding, Level, RunGates};
use crate::gate::process::{GateEnding, GateProcess, process_of};
use crate::gate::{GatePlace, Readiness, pipe_warning};
use crate::policy::{Gate, in_words};
use crate::records::event::GateResult;
use crate::records::progress::NO_GATES;
use crate::settings::Settings;
use crate::settings::files::REPOSITORY_FILE;
use crate::words::in_ms;
use ralph_process::{ProcessError, Supervisors};

/// What the checks of gates are called.
const CHECK: &str = "gates";
/// How many of the last lines of a red gate are shown.
const SHOWN_LINES: usize = 3;

/// What was found about one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateHealth {
    pub name: String,
    /// The shell line.
    pub run: String,
    /// How often it runs again while it is red.
    pub retries: u32,
    /// The patterns of files without which it does not run; empty where it always runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The pattern of its test report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub junit: Option<String>,
    /// The file of its program, where that is known before it runs.
    pub program: Option<PathBuf>,
    /// How it went; none where it did not run.
    pub result: Option<GateResult>,
    pub duration_ms: Option<u64>,
    /// Why a run would not start with it.
    pub trouble: Option<String>,
}

/// Looks for the programs of all gates, and runs the gates if that is asked and allowed.
pub(super) async fn check(
    settings: &Settings,
    place: GatePlace<'_>,
    run: RunGates,
) -> (Vec<Finding>, Vec<GateHealth>) {
    let gates = &settings.gates.value;
    if gates.is_empty() && !settings.reviews.value.is_empty() {
        let finding = Finding::note(CHECK, "no gates: reviews are the only check");
        return (vec![finding], Vec::new());
    }
    if gates.is_empty() {
        let hint = if place.root.join(REPOSITORY_FILE).exists() {
            "add a `[[gate]]` with the command that tests this repository"
        } else {
            "`ralphtool init` writes a configuration with the tests of this repository"
        };
        return (
            vec![Finding::warning(CHECK, NO_GATES).hint(hint)],
            Vec::new(),
        );
    }
    let (mut findings, mut healths) = (Vec::new(), Vec::new());
    for gate in gates {
        // What an earlier gate builds is there when a later one runs.
        let may_be_built = !healths.is_empty();
        let (finding, health) = examine(gate, place, run, may_be_built).await;
        findings.push(finding);
        findings.extend(pipe_warning(gate).map(|it| {
            let message = format!("`{}`: {}", gate.name, it.text);
            Finding::warning(CHECK, message).hint(it.hint)
        }));
        healths.push(health);
    }
    if let RunGates::Withheld(why) = run {
        findings.push(Finding::warning(CHECK, format!("no gate was run: {why}")));
    }
    (findings, healths)
}

async fn examine(
    gate: &Gate,
    place: GatePlace<'_>,
    run: RunGates,
    may_be_built: bool,
) -> (Finding, GateHealth) {
    let mut health = GateHealth {
        name: gate.name.clone(),
        run: gate.run.clone(),
        retries: gate.retries,
        paths: gate.path_texts(),
        junit: gate.junit.as_ref().map(ToString::to_string),
        program: None,
        result: None,
        duration_ms: None,
        trouble: None,
    };
    let shown = shown(gate);
    let ready = match place.check(&gate.run) {
        Ok(ready) => ready,
        Err(problem) => {
            let reason = problem.reason();
            health.trouble = Some(reason.clone());
            let finding = Finding::refusal(CHECK, format!("{shown} cannot run: {reason}"));
            return (finding.hint(problem.hint()), health);
        }
    };
    if let Readiness::Program(program) = &ready {
        health.program = Some(program.clone());
    }
    if let RunGates::Yes(announce) = run {
        announce(&gate.name);
        return match run_gate(gate, place).await {
            Ok(ending) => (judged(gate, ending, &mut health), health),
            Err(error) => (Finding::fault(CHECK, format!("{shown}: {error}")), health),
        };
    }
    let finding = match ready {
        Readiness::Program(program) => {
            Finding::good(CHECK, format!("{shown} (`{}`)", program.display()))
        }
        Readiness::Unknown => {
            let message = format!("{shown} (only running it shows whether it can run)");
            Finding::good(CHECK, message)
        }
        Readiness::NotYet(program) => not_yet(gate, &program, may_be_built),
    };
    if finding.level == Level::Refusal {
        health.trouble = Some(finding.message.clone());
    }
    (finding, health)
}

/// A gate whose program is not in the repository yet. Where it runs before the first story, a run
/// would end there.
fn not_yet(gate: &Gate, program: &str, may_be_built: bool) -> Finding {
    let shown = shown(gate);
    if !gate.baseline {
        let message = format!("{shown}: there is no executable `{program}` yet");
        return Finding::warning(CHECK, message).hint("a story must write it");
    }
    let hint = "if a story is to write it, set `baseline = false` on the gate";
    if may_be_built {
        let message = format!(
            "{shown}: there is no executable `{program}` yet; unless an earlier gate builds it, a run \
             ends before its first story"
        );
        return Finding::warning(CHECK, message).hint(hint);
    }
    let message = format!("{shown} cannot run: there is no executable `{program}`");
    Finding::refusal(CHECK, message).hint(format!("write it, or make it executable; {hint}"))
}

fn shown(gate: &Gate) -> String {
    let mut shown = format!("`{}`", gate.run);
    if gate.name != gate.run {
        shown = format!("`{}`: {shown}", gate.name);
    }
    let extras = gate.extras().into_iter();
    std::iter::once(shown)
        .chain(extras)
        .collect::<Vec<_>>()
        .join(", ")
}

/// What a gate that ran says.
fn judged(gate: &Gate, ending: GateEnding, health: &mut GateHealth) -> Finding {
    let (name, took) = (&gate.name, seconds(ending.duration));
    health.duration_ms = Some(in_ms(ending.duration));
    let result = match ending.result {
        Ok(result) => result,
        Err(survivors) => {
            let left = survivors.join(", ");
            let message = format!("`{name}` left processes that cannot be ended: {left}");
            return Finding::fault(CHECK, message).hint("end them: `kill -9 PID`");
        }
    };
    health.result = Some(result.clone());
    match result {
        GateResult::Passed => Finding::good(CHECK, format!("`{name}` passed in {took}")),
        GateResult::Failed {
            how,
            tail,
            cannot_run,
        } if cannot_run && gate.baseline => {
            let reason = how_and_last_line(&how, &tail);
            health.trouble = Some(reason.clone());
            let hint = "correct the gate's `run`, or install the program; if a story is to write it, set \
                        `baseline = false` on the gate";
            Finding::refusal(CHECK, format!("`{name}` cannot run: {reason}")).hint(hint)
        }
        GateResult::Failed { how, tail, .. } => {
            let finding = Finding::warning(CHECK, format!("`{name}` is red after {took}: {how}"));
            let lines: Vec<&str> = tail
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
            if last.is_empty() {
                return finding;
            }
            finding.hint(last.join(" / "))
        }
    }
}

fn how_and_last_line(how: &str, tail: &str) -> String {
    match tail.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => format!("{how}: {}", last.trim()),
        None => how.to_owned(),
    }
}

/// `0.4s`, `12.3s`, and longer times in words.
fn seconds(duration: Duration) -> String {
    if duration < Duration::from_secs(60) {
        return format!("{}.{}s", duration.as_secs(), duration.subsec_millis() / 100);
    }
    in_words(Duration::from_secs(duration.as_secs()))
}

/// Runs a gate in the work tree as it is.
async fn run_gate(gate: &Gate, place: GatePlace<'_>) -> Result<GateEnding, GateTrouble> {
    let folder = tempfile::Builder::new().prefix("ralphtool-").tempdir()?;
    let environment: &[(OsString, OsString)] = place.environment;
    let root: &Path = place.root;
    let log = folder.path().join("gate.log");
    let marker = folder.path().display().to_string();
    let spec = process_of(gate, root, environment, log, marker);
    let supervisors = Supervisors::default();
    let mut process = GateProcess::new(supervisors.start(spec).await?, gate.timeout.0);
    process.ended().await;
    let ending = process.finish().await;
    supervisors.shutdown().await;
    Ok(ending)
}

/// Why a gate could not be tried.
#[derive(Debug, thiserror::Error)]
enum GateTrouble {
    #[error("could not start it: {0}")]
    Process(#[from] ProcessError),
    #[error("could not use a temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}
