//! The reporter for people without a full screen: a log, and on a terminal one live line below it.

use std::io::{self, Write};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::Reporter;
use super::line::{self, Line, Weight};
use super::page::Page;
use super::status::Status;
use super::style::{DIM, Paint};
use super::summary::Summary;
use super::text::{truncate, wrap};
use ralph_agents::event_batch::DetailLevel;
use ralph_run::records::event::Record;
use ralph_run::records::progress::Progress;

#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;

/// The live line is drawn at most ten times a second.
const REDRAW: SignedDuration = SignedDuration::from_millis(100);

/// Goes to the start of the line and clears it.
const ERASE: &str = "\r\u{1b}[2K";

/// How wide a log is if its width is unknown.
const PIPE_WIDTH: usize = 100;

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// How much the log shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Warnings, failures and the summary.
    Quiet,
    /// What the loop does.
    Normal,
    /// What the agent says and does, too.
    Verbose,
}

/// Whether the closing words say what to type next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextSteps {
    Shown,
    /// The caller shows them.
    Hidden,
}

/// Where the text ends up.
pub(crate) enum Screen {
    /// A terminal that can redraw a line, with a way to ask for its width.
    Terminal(Box<dyn Fn() -> usize + Send>),
    /// A terminal that cannot.
    DumbTerminal,
    /// A file or another program.
    Pipe,
}

/// How the log looks.
pub(crate) struct PlainOptions {
    pub(crate) screen: Screen,
    pub(crate) paint: Paint,
    pub(crate) verbosity: Verbosity,
    pub(crate) next: NextSteps,
    /// The zone of times on a terminal; a log has UTC.
    pub(crate) zone: TimeZone,
}

/// Shows a run as a log.
pub(crate) struct Plain {
    out: Box<dyn Write + Send>,
    options: PlainOptions,
    status: Status,
    progress: Progress,
    drawn_at: Option<Timestamp>,
    frame: usize,
    on_screen: bool,
}

impl Plain {
    /// A reporter that writes there.
    pub(crate) fn new(out: Box<dyn Write + Send>, options: PlainOptions) -> Self {
        Self {
            out,
            options,
            status: Status::new(),
            progress: Progress::default(),
            drawn_at: None,
            frame: 0,
            on_screen: false,
        }
    }

    fn shows(&self, weight: Weight) -> bool {
        match self.options.verbosity {
            Verbosity::Quiet => weight <= Weight::Alert,
            Verbosity::Normal if matches!(self.options.screen, Screen::Pipe) => {
                weight <= Weight::Step
            }
            Verbosity::Normal => weight <= Weight::Tool,
            Verbosity::Verbose => true,
        }
    }

    fn write_line(&mut self, line: &Line, at: Timestamp) -> io::Result<()> {
        self.erase()?;
        let time = self.time(at);
        let room = self.width().saturating_sub(time.len() + 1);
        let mut text = line.text.clone();
        if line.weight == Weight::Tool && self.options.verbosity != Verbosity::Verbose {
            text = truncate(&text, room);
        }
        let paint = self.options.paint;
        let stamp = paint.apply(DIM, &time);
        let mut rows = match self.options.screen {
            Screen::Terminal(_) => wrap(&text, room),
            // A line of a log is one line, for those who search it.
            Screen::DumbTerminal | Screen::Pipe => vec![text],
        }
        .into_iter();
        let first = rows.next().unwrap_or_default();
        writeln!(self.out, "{stamp} {}", paint.apply(line.style, first))?;
        for row in rows {
            let margin = " ".repeat(time.len());
            writeln!(self.out, "{margin} {}", paint.apply(line.style, row))?;
        }
        let margin = match self.options.screen {
            Screen::Pipe => stamp,
            Screen::Terminal(_) | Screen::DumbTerminal => " ".repeat(time.len()),
        };
        for detail in &line.details {
            for part in wrap(detail, room.saturating_sub(4)) {
                let row = format!("{margin}     {part}");
                writeln!(self.out, "{}", row.trim_end())?;
            }
        }
        Ok(())
    }

    /// A log says the whole time, a terminal the time of day.
    fn time(&self, at: Timestamp) -> String {
        match self.options.screen {
            Screen::Pipe => format!("{at:.0}"),
            Screen::Terminal(_) | Screen::DumbTerminal => at
                .to_zoned(self.options.zone.clone())
                .strftime("%H:%M:%S")
                .to_string(),
        }
    }

    fn width(&self) -> usize {
        match &self.options.screen {
            Screen::Terminal(width) => width().max(20),
            Screen::DumbTerminal | Screen::Pipe => PIPE_WIDTH,
        }
    }

    fn erase(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.on_screen) {
            write!(self.out, "{ERASE}")?;
        }
        Ok(())
    }

    /// Draws the live line, if there is one and it is time.
    fn draw(&mut self, now: Timestamp) -> io::Result<()> {
        let live = matches!(self.options.screen, Screen::Terminal(_));
        if !live || self.options.verbosity == Verbosity::Quiet {
            return Ok(());
        }
        let recent = |at: Timestamp| now.duration_since(at).abs() < REDRAW;
        if self.drawn_at.is_some_and(recent) {
            return Ok(());
        }
        // The last column stays free: some terminals wrap as soon as it is filled.
        let room = self.width() - 3;
        let Some(text) = self.status.line(now, room) else {
            return self.erase();
        };
        let spinner = SPINNER[self.frame % SPINNER.len()];
        let text = format!("{spinner} {text}");
        write!(self.out, "{ERASE}{}", self.options.paint.apply(DIM, text))?;
        self.frame += 1;
        self.drawn_at = Some(now);
        self.on_screen = true;
        Ok(())
    }
}

impl Reporter for Plain {
    fn detail_level(&self) -> DetailLevel {
        if self.shows(Weight::Talk) {
            DetailLevel::All
        } else if self.shows(Weight::Tool) {
            DetailLevel::ToolCalls
        } else {
            DetailLevel::Latest
        }
    }

    fn recall(&mut self, earlier: &[Record]) {
        for record in earlier {
            self.status.apply(record);
            self.progress.apply(record);
        }
    }

    fn show(&mut self, record: &Record, now: Timestamp) -> io::Result<()> {
        self.status.apply(record);
        self.progress.apply(record);
        if let Some(line) = line::of(record)
            && self.shows(line.weight)
        {
            self.write_line(&line, record.at)?;
        }
        self.draw(now)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn tick(&mut self, now: Timestamp) -> io::Result<()> {
        self.draw(now)?;
        self.out.flush()
    }

    fn close(&mut self) -> io::Result<()> {
        self.erase()?;
        if let Some(summary) = Summary::of(&self.progress, &self.options.zone) {
            let mut page = Page::new(self.options.paint);
            summary.write(&mut page);
            if self.options.next == NextSteps::Shown {
                summary.write_next(&mut page);
            }
            self.out.write_all(page.text.as_bytes())?;
        }
        self.out.flush()
    }
}
