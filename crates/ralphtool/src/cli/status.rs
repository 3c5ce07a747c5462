//! `ralphtool status`: the run of this repository, from any terminal.

use std::io::{BufWriter, ErrorKind, Stdout, Write};
use std::process::ExitCode;
use std::time::Duration;

use anstyle::Style;
use clap::Args;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::console::context::{self, Context};
use crate::console::repository::repository_to_read;
use crate::console::runtime::on_runtime;
use crate::ui::page::Page;
use crate::ui::reason;
use crate::ui::style::{Paint, STRONG, WARN, of_outcome};
use crate::ui::text::{clean, truncate};
use crate::ui::words;
use ralph_run::failure::Failure;
use ralph_run::records::event::FinishChoice;
use ralph_run::records::state::{RunState, with_finish};
use ralph_run::status::lookup::Watch;
use ralph_run::status::{Activity, Status};

/// How wide the names of the lines are.
const LABEL: usize = 9;

/// How much of a reason is shown.
const REASON: usize = 160;

/// The command that is at work while it watches.
const WATCH: &str = "ralphtool status --watch";

/// How often `--watch` reads the records.
const PAUSE: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  ralphtool status                  the progress of the run
  ralphtool status --watch          the same, until the run ends
  ralphtool status --json           the same for a program
  ralphtool status --watch --json   one object per line, on every change

The exit code is 0 in every state of the run; `--json` has the state and the outcome.";

/// Flags of `status`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatusArguments {
    /// Follow the run until it ends: redrawn on a terminal, elsewhere one line per change
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
        let now = Zoned::now();
        let mut status = watch.status(&now);
        if arguments.watch {
            status.next.retain(|step| step.command != WATCH);
        }
        let now = now.timestamp();
        let is_over = !arguments.watch || !status.is_live();
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

/// Opens the records of this repository's run.
pub(super) fn open(context: &Context) -> Result<Watch, Failure> {
    let repository = repository_to_read(context)?;
    let vault = context.vault(&repository)?;
    Watch::open(repository, vault)
}

struct Printer {
    json: bool,
    watch: bool,
    is_terminal: bool,
    paint: Paint,
    zone: TimeZone,
    out: BufWriter<Stdout>,
    /// What was shown last.
    last: Option<Status>,
    /// The lines on a terminal, which are drawn over.
    drawn: Vec<String>,
}

impl Printer {
    fn of(arguments: &StatusArguments, context: &Context) -> Self {
        let stdout = std::io::stdout();
        Self {
            json: arguments.json,
            watch: arguments.watch,
            is_terminal: context.can_redraw(),
            paint: context.paint_for(&stdout),
            zone: TimeZone::system(),
            out: BufWriter::new(stdout),
            last: None,
            drawn: Vec::new(),
        }
    }

    fn show(&mut self, status: &Status, now: Timestamp, is_over: bool) -> std::io::Result<()> {
        let last = self.last.replace(status.clone());
        let is_turn = last.is_none_or(|last| last.turn() != status.turn());
        let now = now.to_zoned(self.zone.clone());
        match (self.json, self.watch) {
            (true, _) if !is_turn && !is_over => {}
            (true, true) => writeln!(self.out, "{}", serde_json::to_string(status)?)?,
            (true, false) => writeln!(self.out, "{}", serde_json::to_string_pretty(status)?)?,
            (false, true) if !self.is_terminal => {
                if is_turn {
                    writeln!(self.out, "{}", line(status, &now))?;
                }
            }
            (false, watch) => {
                let columns = self.is_terminal.then(context::width);
                let mut page = Page::of_width(self.paint, columns);
                write(&mut page, status, &now);
                let lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
                match watch {
                    true if lines == self.drawn => {}
                    true => draw_over(&mut self.out, self.drawn.len(), &lines)?,
                    false => write!(self.out, "{}", page.text)?,
                }
                self.drawn = lines;
            }
        }
        self.out.flush()
    }
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

/// Writes all that is known.
fn write(page: &mut Page, status: &Status, now: &Zoned) {
    let headline = headline(status, now);
    let headline = match &status.change {
        Some(change) => format!("`{}`: {headline}", clean(change)),
        None => headline,
    };
    page.styled(style(status), headline);
    page.alerts(&status.alerts);
    page.facts(&facts(status, now), LABEL);
    if let Some(failure) = &status.last_failure {
        let why = truncate(&reason::brief(failure.kind, &failure.reason), REASON);
        let attempt = clean(&failure.attempt);
        page.styled(
            Style::new(),
            format!("  last failed attempt {attempt}: {why}"),
        );
    }
    if !status.next.is_empty() {
        page.heading("next");
    }
    let next = status.next.iter();
    let next: Vec<_> = next.map(|it| (&it.command, it.why.as_str())).collect();
    page.commands(&next);
}

/// One line for a log.
fn line(status: &Status, now: &Zoned) -> String {
    let mut parts = vec![headline(status, now)];
    if let Some(story) = &status.story {
        parts.push(story_of(status, story.position, &story.title));
    }
    parts.extend(attempt(status));
    if status.state == Some(RunState::Running) {
        parts.extend(doing(status, now.timestamp()));
    }
    if let Some(failure) = &status.last_failure
        && status.is_live()
    {
        let why = words::failure(failure.kind);
        parts.push(format!(
            "last failed attempt {}: {why}",
            clean(&failure.attempt)
        ));
    }
    parts.extend(used(status));
    format!("{} {}", now.strftime("%H:%M:%S"), parts.join(" · "))
}

fn headline(status: &Status, now: &Zoned) -> String {
    let headline = clean(&status.headline);
    match status.state {
        Some(RunState::Running) => match status.asked {
            Some("stop") => format!("{headline}, about to stop"),
            Some("skip") => format!("{headline}, about to skip the story"),
            Some(_) => format!("{headline}, about to pause"),
            None => headline,
        },
        Some(RunState::Waiting) => match &status.doing {
            Some(Activity::Waiting { until, .. }) => {
                format!("{headline} until {}", when(*until, now))
            }
            _ => headline,
        },
        Some(RunState::Paused) => format!("{headline}; `p` in its terminal continues"),
        Some(RunState::Choosing) => {
            format!("{headline}; choose how to finish in its terminal")
        }
        Some(RunState::Blocked | RunState::Interrupted) | None => headline,
        Some(_) if status.open => format!("{headline}; not finished"),
        Some(_) => with_finish(&headline, status.finish),
    }
}

fn style(status: &Status) -> anstyle::Style {
    match (status.state, &status.outcome) {
        (None | Some(RunState::Running), _) => STRONG,
        (Some(RunState::Rewound), _) | (_, None) => WARN.bold(),
        (_, Some(outcome)) => of_outcome(outcome),
    }
}

fn facts(status: &Status, now: &Zoned) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let Some(run) = &status.run else {
        return facts;
    };
    facts.push(("run", clean(&run.0)));
    let is_kept = status.finish.is_none_or(FinishChoice::keeps_branch);
    let branch = status.branch.iter().filter(|_| is_kept);
    facts.extend(branch.map(|it| ("branch", clean(it))));
    if status.stories.total > 0 {
        facts.push(("stories", status.stories.in_words()));
    }
    if let Some(story) = &status.story {
        let mut text = story_of(status, story.position, &story.title);
        if let Some(attempt) = attempt(status) {
            text = format!("{text}, {attempt}");
        }
        facts.push(("story", text));
    }
    if let Some(agent) = &status.agent {
        let model = status.model.as_ref().map(|it| format!(" ({})", clean(it)));
        let agent = format!("{}{}", clean(agent), model.unwrap_or_default());
        facts.push(("agent", agent));
    }
    facts.extend(doing(status, now.timestamp()).map(|it| ("doing", it)));
    if let Some(left) = status.interrupted {
        let text = format!("{}; the next start {}", left.found, left.then);
        facts.push(("left", text));
    }
    let attempts = words::with_repairs(status.attempts, status.repairs);
    facts.push(("attempts", attempts));
    // A running clock has no parts of a second.
    let time = if status.is_live() {
        words::clock(status.elapsed_ms)
    } else {
        words::elapsed(status.elapsed_ms)
    };
    facts.push(("time", time));
    let used = used(status);
    if !used.is_empty() {
        facts.push(("used", used.join(" · ")));
    }
    let files = status.changed_files;
    facts.extend(files.map(|it| ("files", format!("{it} changed"))));
    let not_run = words::gates_not_run(&status.gates_not_run);
    facts.extend(not_run.map(|gates| ("not run", gates)));
    facts.extend(words::budget(&status.budget).map(|budget| ("budget", budget)));
    if status.warnings > 0 {
        let text = format!("{}; `ralphtool log last` shows them", status.warnings);
        facts.push(("warnings", text));
    }
    facts.extend(status.owner.iter().map(|it| ("owner", clean(it))));
    facts
}

/// Tokens and cost, and that the cost is unknown.
fn used(status: &Status) -> Vec<String> {
    let used = words::used(status.tokens, cost(status));
    let unknown = status
        .is_cost_missing
        .then(|| words::COST_UNKNOWN.to_owned());
    used.into_iter().chain(unknown).collect()
}

fn story_of(status: &Status, position: Option<usize>, title: &str) -> String {
    match position {
        Some(position) => format!("{position} of {}: {}", status.stories.total, clean(title)),
        None => clean(title),
    }
}

fn cost(status: &Status) -> Option<String> {
    Some(words::cost_of(status.cost_usd?, status.cost_is_partial))
}

fn attempt(status: &Status) -> Option<String> {
    let story = status.story.as_ref()?;
    let (number, most) = (story.attempt?, story.max_attempts?);
    let attempt = match story.uncounted_attempts {
        None => format!("attempt {number} of {most}"),
        Some(earlier) => {
            let (tried, most) = (
                number.0.saturating_sub(earlier),
                most.saturating_sub(earlier),
            );
            format!("attempt {number}, try {tried} of {most}")
        }
    };
    let repair = story.repair.zip(story.max_repairs);
    let repair = repair.map(|(repair, most)| format!(", repair {repair} of {most}"));
    Some(attempt + &repair.unwrap_or_default())
}

fn doing(status: &Status, now: Timestamp) -> Option<String> {
    let since = |at: Timestamp| words::clock_between(at, now);
    Some(match status.doing.as_ref()? {
        Activity::Between => "checking and saving".to_owned(),
        Activity::Agent { since: at, says } => {
            let says = says.as_ref().map(|it| format!(": {}", clean(it)));
            let says = says.unwrap_or_default();
            format!("the agent works, {}{says}", since(*at))
        }
        Activity::Gate {
            gate,
            baseline,
            since: at,
        } => {
            let place = if *baseline { " on the checkpoint" } else { "" };
            format!("gate `{}` runs{place}, {}", clean(gate), since(*at))
        }
        Activity::Review {
            review,
            since: at,
            says,
        } => {
            let says = says.as_ref().map(|it| format!(": {}", clean(it)));
            let says = says.unwrap_or_default();
            format!("review `{}`, {}{says}", clean(review), since(*at))
        }
        Activity::AwaitingAnswer {
            question,
            since: at,
            until,
        } => {
            let end = until.map(|until| format!(", {} left", words::clock_between(now, until)));
            let end = end.unwrap_or_default();
            format!(
                "waits for an answer, {}{end}: {}",
                since(*at),
                clean(question)
            )
        }
        Activity::Waiting {
            reason,
            until,
            continues,
        } => {
            let left = words::clock_between(now, *until);
            let after = continues.map(|attempt| format!(", then attempt {attempt} continues"));
            let after = after.unwrap_or_default();
            format!("{left} to wait{after}: {}", clean(reason))
        }
    })
}

/// A time of day, with the day where that is another one.
fn when(at: Timestamp, now: &Zoned) -> String {
    let at = at.to_zoned(now.time_zone().clone());
    let format = if at.date() == now.date() {
        "%H:%M:%S"
    } else {
        "%Y-%m-%d %H:%M"
    };
    at.strftime(format).to_string()
}

#[cfg(test)]
mod tests;
