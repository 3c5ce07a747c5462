//! `ralphtool status`: the run of this repository, from any terminal.

use std::io::{BufWriter, ErrorKind, IsTerminal as _, Stdout, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::context::Context;
use super::repository::repository_to_read;
use super::runtime::on_runtime;
use super::terminal;
use crate::ui::run_status::{self, View};
use ralph_run::failure::Failure;
use ralph_run::status::Status;
use ralph_run::status::lookup::Watch;
use ralph_vault::store::{Vault, state_directory};

/// How often it is looked whether something happened.
const PAUSE: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  ralphtool status                  where the run stands
  ralphtool status --watch          the same, until the run ends
  ralphtool status --json           the same for a program
  ralphtool status --watch --json   an object a line, whenever something turns

The exit code is 0 however the run stands; `--json` has its state and outcome.";

/// Flags of `status`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatusArguments {
    /// Go on until the run ends: drawn again on a terminal, elsewhere a line for each turn
    #[arg(long, short)]
    watch: bool,
    /// Write a JSON object
    #[arg(long)]
    json: bool,
}

/// Says where the run stands.
pub(super) fn run(arguments: &StatusArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(show(arguments, context))
}

async fn show(arguments: &StatusArguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut watch = open(context)?;
    let mut printer = Printer::of(arguments, context);
    loop {
        watch.refresh(Timestamp::now())?;
        let now = Timestamp::now();
        let status = watch.status(now);
        let is_over = !arguments.watch || !status.state.is_live();
        let is_read = match printer.show(&status, now, is_over) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => false,
            Err(error) => {
                return Err(Failure::system("could not write the output").because(error));
            }
        };
        if is_over || !is_read {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Looks for the run of the repository at hand.
pub(super) fn open(context: &Context) -> Result<Watch, Failure> {
    let repository = repository_to_read(context)?;
    let vault = Vault::folder_for(&state_directory(&context.environment)?, &repository);
    Watch::open(repository, vault)
}

/// How it is shown.
enum Format {
    /// All of it, once.
    Once,
    /// All of it, drawn over what was there before.
    InPlace {
        /// How many lines that is.
        drawn: usize,
        /// What they say.
        lines: Vec<String>,
    },
    /// A line for each turn.
    Lines(Option<Status>),
    /// An object once, or for each turn.
    Json(Option<Status>, bool),
}

struct Printer {
    format: Format,
    view: View,
    out: BufWriter<Stdout>,
    is_terminal: bool,
}

impl Printer {
    fn of(arguments: &StatusArguments, context: &Context) -> Self {
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal() && !terminal::is_dumb(&context.environment);
        let format = match (arguments.json, arguments.watch) {
            (true, is_watch) => Format::Json(None, is_watch),
            (false, false) => Format::Once,
            (false, true) if is_terminal => Format::InPlace {
                drawn: 0,
                lines: Vec::new(),
            },
            (false, true) => Format::Lines(None),
        };
        Self {
            format,
            view: View {
                paint: context.paint_for(&stdout),
                zone: TimeZone::system(),
                columns: None,
                now: Timestamp::now(),
            },
            out: BufWriter::new(stdout),
            is_terminal,
        }
    }

    fn show(&mut self, status: &Status, now: Timestamp, is_over: bool) -> std::io::Result<()> {
        self.view.now = now;
        self.view.columns = self.is_terminal.then(terminal::width);
        match &mut self.format {
            Format::Once => run_status::write(&mut self.out, &self.view, status)?,
            Format::InPlace { drawn, lines } => {
                let fresh = run_status::lines(&self.view, status);
                if fresh != *lines {
                    draw_over(&mut self.out, *drawn, &fresh)?;
                    *drawn = fresh.len();
                    *lines = fresh;
                }
            }
            Format::Lines(last) => {
                if is_turn(last.as_ref(), status) {
                    writeln!(self.out, "{}", run_status::line(&self.view, status))?;
                    *last = Some(status.clone());
                }
            }
            Format::Json(last, is_watch) => {
                if is_turn(last.as_ref(), status) || is_over {
                    let text = match is_watch {
                        true => serde_json::to_string(status)?,
                        false => serde_json::to_string_pretty(status)?,
                    };
                    writeln!(self.out, "{text}")?;
                    *last = Some(status.clone());
                }
            }
        }
        self.out.flush()
    }
}

fn is_turn(last: Option<&Status>, status: &Status) -> bool {
    last.is_none_or(|last| last.turn() != status.turn())
}

/// Draws lines over those that were drawn last.
fn draw_over(out: &mut dyn Write, drawn: usize, lines: &[String]) -> std::io::Result<()> {
    if drawn > 0 {
        write!(out, "\u{1b}[{drawn}A")?;
    }
    for line in lines {
        writeln!(out, "\r{line}\u{1b}[K")?;
    }
    // Fewer lines than before.
    write!(out, "\u{1b}[J")
}
