//! An app with everything around it played: a clock, records, and answers to what it asks for.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::found::{self, World};
use super::looks;
use crate::tui::app::{self, App};
use crate::tui::message::{Answer, Msg, Query, Request};
use crate::tui::screen::run::RunMode;
use crate::tui::view;
use crate::ui::plain::script::Script;
use ralph_run::records::event::Event;

/// When every scene begins, which is when its run begins.
const BEGIN: &str = "2026-11-15T21:59:00Z";

/// An app on a terminal of its own.
pub(in crate::tui) struct Stage {
    /// The app.
    pub(in crate::tui) app: App,
    /// What the app asked for and did not get.
    pub(in crate::tui) asked: Vec<Request>,
    /// What is on disk.
    pub(in crate::tui) world: World,
    /// Queries are not answered.
    pub(in crate::tui) silent: bool,
    script: Script,
    now: Timestamp,
    /// How long it waited since the last record.
    waited: i64,
}

impl Stage {
    /// The list of changes, not read yet, with colours.
    pub(in crate::tui) fn new(size: (u16, u16)) -> Self {
        Self::with(None, size, true)
    }

    /// The same without colours.
    pub(in crate::tui) fn plain(size: (u16, u16)) -> Self {
        Self::with(None, size, false)
    }

    fn with(mode: Option<RunMode>, size: (u16, u16), colored: bool) -> Self {
        let now = BEGIN.parse().unwrap();
        Self {
            app: app(mode, size, colored, now),
            asked: Vec::new(),
            world: World::default(),
            silent: false,
            script: Script::new(),
            now,
            waited: 0,
        }
    }

    /// Starts again with a run.
    pub(in crate::tui) fn with_run(&mut self, mode: RunMode) {
        self.app = app(
            Some(mode),
            self.app.terminal.size,
            self.app.terminal.colored,
            self.now,
        );
    }

    /// Lets a message in, and answers what comes of it.
    pub(in crate::tui) fn tell(&mut self, msg: Msg) {
        let request = self.app.update(msg);
        self.perform(request);
        self.settle();
    }

    /// Asks for what is missing, as is done before a frame.
    fn settle(&mut self) {
        for _ in 0..8 {
            let Some(query) = self.app.missing() else {
                return;
            };
            self.perform(Some(Request::Query(query)));
            if self.silent {
                return;
            }
        }
    }

    fn perform(&mut self, request: Option<Request>) {
        match request {
            Some(Request::Query(query)) if !self.silent && !matches!(query, Query::Export(..)) => {
                self.answer_query(&query);
            }
            Some(request) => self.asked.push(request),
            None => {}
        }
    }

    fn answer_query(&mut self, query: &Query) {
        let answer = found::answer(&self.world, query);
        self.answer(answer);
    }

    /// Answers something.
    pub(in crate::tui) fn answer(&mut self, answer: Answer) {
        let request = self.app.update(Msg::Answer(Box::new(answer)));
        self.perform(request);
    }

    /// Reads the changes.
    pub(in crate::tui) fn read_changes(&mut self) {
        self.answer_query(&Query::Changes);
        self.settle();
    }

    /// A record, this many seconds after the one before.
    pub(in crate::tui) fn hear(&mut self, seconds: i64, event: Event) -> &mut Self {
        let since = seconds + std::mem::take(&mut self.waited);
        let record = self.script.then(since, event).records().remove(0);
        self.now = record.at;
        self.app.set_now(record.at);
        let request = self.app.update(Msg::Record(Box::new(record)));
        self.perform(request);
        self
    }

    /// Time passes.
    pub(in crate::tui) fn wait(&mut self, seconds: i64) -> &mut Self {
        self.waited += seconds;
        self.now += SignedDuration::from_secs(seconds);
        self.app.set_now(self.now);
        self.settle();
        self
    }

    /// A key.
    pub(in crate::tui) fn press(&mut self, code: KeyCode) -> &mut Self {
        self.tell(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        self
    }

    /// Keys that are letters, one after another.
    pub(in crate::tui) fn keys(&mut self, letters: &str) -> &mut Self {
        for letter in letters.chars() {
            self.press(KeyCode::Char(letter));
        }
        self
    }

    /// What the app asked for since the last time.
    pub(in crate::tui) fn take_asked(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.asked)
    }

    /// Everything on the terminal.
    pub(in crate::tui) fn draw(&mut self) -> Buffer {
        self.settle();
        let (columns, rows) = self.app.terminal.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| view::draw(&self.app, frame)).unwrap();
        self.app.drawn();
        terminal.backend().buffer().clone()
    }

    /// Everything on the terminal as text.
    pub(in crate::tui) fn text(&mut self) -> String {
        looks::rows(&self.draw()).join("\n")
    }

    /// Everything on the terminal, in a frame that shows its size.
    pub(super) fn framed(&mut self) -> String {
        let (columns, rows) = self.app.terminal.size;
        let mut text = format!("{columns}x{rows}\n");
        let rows_drawn = looks::rows(&self.draw());
        for part in rows_drawn.chunk_by(|one, next| one.is_empty() && next.is_empty()) {
            if part.len() > 2 {
                writeln!(text, "┆ {} empty rows", part.len()).unwrap();
                continue;
            }
            for row in part {
                text.push_str(format!("|{row}").trim_end());
                text.push('\n');
            }
        }
        text.push('\n');
        text
    }
}

fn app(mode: Option<RunMode>, size: (u16, u16), colored: bool, now: Timestamp) -> App {
    let query = app::Terminal {
        size,
        colored,
        zone: TimeZone::UTC,
        exports: "/home/me/project".to_owned(),
    };
    App::new(mode, query, now)
}
