//! The state of the terminal UI as one value: messages go in, requests come out.

mod acting;
mod typing;

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::crossterm::event::KeyEventKind;
use ratatui::layout::Rect;

use super::keys::{Action, Binding, Place};
use super::message::{
    Answer, Created, ErrorText, Msg, Query, Request, RunOver, TrustPrompt, Undone,
};
use super::quit::Quit;
use super::screen::changes::Changes;
use super::screen::completion::Completion;
use super::screen::preview::Preview;
use super::screen::result::ResultScreen;
use super::screen::run::{Run, RunMode};
use super::shield::Shield;
use super::step::Confirmation;
use super::text_pane::TextPane;
use crate::ui::line;
use crate::ui::summary::Summary;
use ralph_run::records::event::{Event, Record};
use typing::TypingLine;

/// How long most notices are shown.
const NOTICE: Duration = Duration::from_secs(6);

/// What the app does when the loop of the current run has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Then {
    #[default]
    Stay,
    /// Show the list of changes.
    Back,
    /// End the program.
    Leave,
}

/// A message on the last line.
#[derive(Debug)]
struct Notice {
    text: String,
    end: NoticeEnd,
}

/// How long a notice is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoticeEnd {
    At(Timestamp),
    NextKey,
}

/// Which screen is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Changes,
    Preview,
    Run,
    Completion,
    Result,
}

/// The properties of the terminal.
#[derive(Debug, Clone)]
pub(crate) struct Terminal {
    /// Columns and lines.
    pub(crate) size: (u16, u16),
    /// Whether to draw with colours.
    pub(crate) colored: bool,
    /// The zone of the times on the screen.
    pub(crate) zone: TimeZone,
    /// The folder that the export prompt suggests.
    pub(crate) exports: String,
}

/// Which screen is shown, the state of each screen, and what is shown over it: a text input, a
/// question, an error or the help.
#[derive(Debug)]
pub(crate) struct App {
    pub(super) terminal: Terminal,
    pub(super) now: Timestamp,
    pub(super) screen: Screen,
    pub(super) changes: Changes,
    pub(super) preview: Option<Preview>,
    pub(super) run: Option<Run>,
    pub(super) completion: Completion,
    pub(super) result: ResultScreen,
    pub(super) typing: Option<TypingLine>,
    pub(super) confirmation: Option<Confirmation>,
    pub(super) error: Option<ErrorText>,
    /// The run starts after the user has allowed what the repository's settings file asks for.
    pub(super) trust_prompt: Option<Box<TrustPrompt>>,
    /// The first line of the help that is shown.
    pub(super) help_top: Option<usize>,
    pub(super) quit: Quit,
    pub(super) mouse: bool,
    notice: Option<Notice>,
    /// Whether the UI began with the list of changes; if not, leaving a screen leaves the program.
    has_list: bool,
    then: Then,
    /// Whether keys may still be meant for the run that has just ended.
    shield: Shield,
    /// Whether the screen has to be drawn again.
    changed: bool,
    /// The request that handling the current message has led to.
    request: Option<Request>,
}

impl App {
    /// An app that shows a run, or the list of changes if there is none.
    pub(crate) fn new(mode: Option<RunMode>, terminal: Terminal, now: Timestamp) -> Self {
        let run = mode.map(|mode| Run::new(terminal.colored, terminal.zone.clone(), mode));
        let mut app = Self {
            screen: if run.is_some() {
                Screen::Run
            } else {
                Screen::Changes
            },
            terminal,
            now,
            changes: Changes::default(),
            preview: None,
            run,
            completion: Completion::default(),
            result: ResultScreen::default(),
            typing: None,
            confirmation: None,
            error: None,
            trust_prompt: None,
            help_top: None,
            quit: Quit::default(),
            mouse: true,
            notice: None,
            has_list: mode.is_none(),
            then: Then::default(),
            shield: Shield::default(),
            changed: true,
            request: None,
        };
        app.fit();
        app
    }

    /// The first request.
    pub(crate) fn first_query(&self) -> Option<Request> {
        self.has_list.then_some(Request::Query(Query::Changes))
    }

    /// Whether the screen has to be drawn again.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// A frame was drawn.
    pub(crate) fn drawn(&mut self) {
        self.shield.drawn(self.now);
    }

    /// Like `has_changed`, and resets it.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether the screen shows a running clock, so that it must be drawn as time passes.
    pub(crate) fn is_ticking(&self) -> bool {
        let running = self.run.as_ref().is_some_and(Run::is_ticking);
        self.notice.is_some() || self.quit.is_asking(self.now) || running
    }

    /// The summary of the last run; none for a run that another terminal started.
    pub(crate) fn summary(&self) -> Option<Summary<'_>> {
        let run = self.run.as_ref().filter(|run| run.mode == RunMode::Live)?;
        Summary::of(&run.progress, &self.terminal.zone)
    }

    /// The message on the last line.
    pub(super) fn notice(&self) -> Option<&str> {
        self.notice.as_ref().map(|notice| notice.text.as_str())
    }

    /// The area of the screens: all but the last line.
    pub(super) fn area(&self) -> Rect {
        let (columns, rows) = self.terminal.size;
        Rect::new(0, 0, columns, rows.saturating_sub(1))
    }

    /// Whether a setting is being typed.
    pub(super) fn is_editing(&self) -> bool {
        let preview = self.preview.as_ref();
        self.screen == Screen::Preview && preview.is_some_and(Preview::is_editing)
    }

    /// Where keys are looked up.
    pub(super) fn place(&self) -> Place {
        match self.screen {
            Screen::Changes => Place::Changes,
            Screen::Preview => Place::Preview,
            Screen::Run => match self.run.as_ref().map(|run| run.mode) {
                None | Some(RunMode::Live) => Place::Run,
                Some(RunMode::Attached { .. }) => Place::Attached,
                Some(RunMode::Replay) => Place::Replay,
            },
            Screen::Completion => Place::Completion,
            Screen::Result => Place::Result,
        }
    }

    /// Whether another terminal controls the current run.
    pub(super) fn is_read_only(&self) -> bool {
        let mode = self.run.as_ref().map(|run| run.mode);
        matches!(mode, Some(RunMode::Attached { .. }))
    }

    /// The pane of the current screen.
    fn pane(&self) -> Option<&TextPane> {
        match (self.screen, &self.preview, &self.run) {
            (Screen::Preview, Some(preview), _) => Some(preview.tabs.pane()),
            (Screen::Run, _, Some(run)) => Some(run.pane()),
            (Screen::Result, ..) => Some(self.result.pane()),
            _ => None,
        }
    }

    /// Whether an action would do something now.
    pub(super) fn offers(&self, action: Action) -> bool {
        match (self.screen, &self.preview, &self.run) {
            (Screen::Changes, ..) => self.changes.offers(action),
            (Screen::Preview, Some(preview), _) => preview.offers(action),
            (Screen::Run, _, Some(run)) => run.offers(action),
            (Screen::Completion, _, Some(run)) => match action {
                Action::Enter
                | Action::Cleanup
                | Action::Keep
                | Action::Squash
                | Action::Reword
                | Action::Abandon
                | Action::Resume => self.completion.offers(action, run),
                _ => true,
            },
            (Screen::Result, _, Some(run)) => match action {
                Action::Undo => self.result.offers_undo(run),
                Action::Enter => self.result.is_on_files(),
                _ => true,
            },
            _ => true,
        }
    }

    /// What a key does now, in short; none if the last line leaves it out.
    pub(super) fn brief(&self, binding: &Binding) -> Option<&'static str> {
        let now = match (self.screen, &self.run) {
            (Screen::Changes, _) => self.changes.brief(binding.action),
            (Screen::Run, Some(run)) => run.brief(binding.action),
            _ => None,
        };
        binding.brief.map(|usual| now.unwrap_or(usual))
    }

    /// Handles a message; returns what is to be done.
    pub(crate) fn update(&mut self, msg: Msg) -> Option<Request> {
        match msg {
            Msg::Earlier(records) => self.recall(&records),
            Msg::Record(record) => self.on_record(&record),
            Msg::Key(key) if key.kind == KeyEventKind::Release => return None,
            Msg::Key(key) => self.on_key(key),
            Msg::Paste(text) => self.paste(&text),
            Msg::Wheel(wheel) => self.on_wheel(wheel),
            Msg::Resize { columns, rows } => self.terminal.size = (columns, rows),
            Msg::RunOver(over) => self.on_run_over(over),
            Msg::Interrupted(interrupted) => {
                if let Some(run) = &mut self.run {
                    run.mode = RunMode::Attached { interrupted };
                }
            }
            Msg::Lost(error) => {
                self.error = Some(error);
                self.go_back();
            }
            Msg::Answer(answer) => self.on_answer(*answer),
            Msg::Notify(message) => self.request = Some(Request::Notify(message)),
            Msg::Leave => self.request = Some(Request::Quit),
        }
        self.changed = true;
        self.fit();
        self.request.take()
    }

    /// Sets the time.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        // The clocks on the screen show whole seconds.
        if self.is_ticking() && self.now.as_second() != now.as_second() {
            self.changed = true;
        }
        self.now = now;
        let is_over = |notice: &Notice| matches!(notice.end, NoticeEnd::At(until) if now >= until);
        if self.notice.as_ref().is_some_and(is_over) {
            self.notice = None;
            self.changed = true;
        }
        if self.changed {
            self.fit();
        }
    }

    /// What the current screen needs, and has neither received nor asked for yet.
    pub(crate) fn missing(&mut self) -> Option<Query> {
        if self.screen == Screen::Changes {
            return self.changes.query();
        }
        let run = self.run.as_mut()?;
        match self.screen {
            Screen::Run => run.query(self.now),
            Screen::Completion => self.completion.query(run, self.now),
            Screen::Result => self.result.query(run, self.now),
            Screen::Changes | Screen::Preview => None,
        }
    }

    fn fit(&mut self) {
        let area = self.area();
        self.changes.set_size(area);
        match (self.screen, &mut self.preview, &mut self.run) {
            (Screen::Preview, Some(preview), _) => preview.fit(area, self.terminal.colored),
            (Screen::Run, _, Some(run)) => run.fit(area, self.now),
            (Screen::Completion, _, Some(run)) => self.completion.fit(area, run),
            (Screen::Result, _, Some(run)) => self.result.fit(area, run),
            _ => {}
        }
    }

    /// The run that is about to start is resumed: it begins with what it did before.
    fn recall(&mut self, earlier: &[Record]) {
        let Some(run) = self.run.as_mut().filter(|_| !earlier.is_empty()) else {
            return;
        };
        *run = Run::new(self.terminal.colored, self.terminal.zone.clone(), run.mode);
        for record in earlier {
            run.apply(record);
        }
    }

    fn on_record(&mut self, record: &Record) {
        let Some(run) = &mut self.run else {
            return;
        };
        let shown = run.progress.run.as_ref();
        let is_another = shown.is_some_and(|shown| *shown != record.run);
        if run.mode != RunMode::Live && is_another {
            // The run on the screen is over, and another one has started.
            *run = Run::new(self.terminal.colored, self.terminal.zone.clone(), run.mode);
        }
        let is_live = run.mode == RunMode::Live;
        if let Some(notice) = run.apply(record).filter(|_| is_live) {
            self.say(notice);
        }
        let Some(run) = &mut self.run else {
            return;
        };
        match (&record.event, run.mode) {
            (_, RunMode::Replay) => {}
            (Event::RunStarted { .. }, _) => {
                self.completion = Completion::default();
                self.result = ResultScreen::default();
                self.quit = Quit::default();
                self.screen = Screen::Run;
            }
            (Event::NoteUnused { story, reason, .. }, _) => {
                self.say(line::note_unused(story, reason));
            }
            (Event::Finished { .. }, _) => self.screen = Screen::Result,
            (_, RunMode::Attached { .. }) => {}
            (Event::RunEnded { .. }, _) => {
                self.show_completion();
                if self.then == Then::Leave {
                    self.request = self.completion.keep().map(Request::Command);
                }
            }
            // The question was about the previous story.
            (Event::StoryStarted { .. }, _) if self.confirmation == Some(Confirmation::Skip) => {
                self.confirmation = None;
                self.say("nothing was skipped: the next story has begun");
            }
            (Event::FinishFailed { .. }, _) => {
                self.completion.reopen();
                self.then = Then::Stay;
            }
            _ => {}
        }
    }

    /// Shows how the run ended. A question on the run screen was about the run; a text that is being
    /// typed stays, so that no letter of it means a choice.
    fn show_completion(&mut self) {
        self.confirmation = None;
        self.notice = None;
        if let Some(typing) = &mut self.typing {
            typing.outlive_run();
        }
        self.screen = Screen::Completion;
        self.shield.raise();
    }

    fn on_run_over(&mut self, over: RunOver) {
        if self.then == Then::Leave {
            self.request = Some(Request::Quit);
            return;
        }
        let began = |run: &&mut Run| run.progress.header.is_some();
        if let Some(run) = self.run.as_mut().filter(began) {
            run.over = Some(over);
            // The loop has ended and will not do what was chosen at the last moment.
            self.completion.reopen();
            let is_unfinished = run.progress.finish.is_none();
            if is_unfinished && self.screen != Screen::Completion {
                self.show_completion();
            }
            if std::mem::take(&mut self.then) == Then::Back {
                self.go_back();
            }
            return;
        }
        // It did not start: the previous screen says why.
        self.run = None;
        match over {
            RunOver::Failed(error) => self.error = Some(error),
            RunOver::NeedsTrust(prompt) => self.trust_prompt = Some(prompt),
            RunOver::NothingLeft => self.say("nothing is left to do in this change"),
            RunOver::Ended(_) => {}
        }
        self.request = if self.has_list {
            self.screen = Screen::Preview;
            let query = self.preview.as_ref().map(Preview::query);
            query.map(Request::Query)
        } else {
            Some(Request::Quit)
        };
    }

    fn on_answer(&mut self, answer: Answer) {
        match answer {
            Answer::Changes(found) => self.changes.receive(found),
            Answer::Preview(found) => {
                if let Some(preview) = &mut self.preview {
                    preview.receive(found);
                }
            }
            Answer::Result(change) => self.result.receive(change),
            Answer::Undone(undone) => self.on_undone(undone),
            Answer::Look(target, found) => self.changes.receive_detail(target, found),
            Answer::Created(created) => self.on_created(created),
            Answer::Exported(Ok(path)) => self.say(format!("written to {}", path.display())),
            Answer::Exported(Err(problem)) => self.say(format!("could not export: {problem}")),
            answer => {
                if matches!(answer, Answer::Found(..)) {
                    self.notice = None;
                }
                if let Answer::Diff(id, found) = &answer {
                    self.completion.receive(id, found);
                    self.result.receive_diff(id, found);
                }
                if let Some(run) = &mut self.run {
                    let step = run.receive(answer);
                    self.perform(step);
                }
            }
        }
    }

    /// A change was written: the list is read again, with the change selected.
    fn on_created(&mut self, created: Result<Created, ErrorText>) {
        match created {
            Ok(created) => {
                self.say_until_key(format!(
                    "wrote {}: replace each TODO in {}",
                    created.folder,
                    created.files.join(", ")
                ));
                self.changes.select_next(created.name);
                self.request = Some(Request::Query(Query::Changes));
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// What was done with the branch is reverted: the run can be finished again.
    fn on_undone(&mut self, undone: Result<Undone, ErrorText>) {
        match undone {
            Ok(undone) => {
                self.result.undone(Some(undone));
                if let Some(run) = &mut self.run {
                    run.progress.finish = None;
                }
            }
            Err(error) => {
                self.result.undone(None);
                self.error = Some(error);
            }
        }
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.say_for(text, NOTICE);
    }

    /// Shows a notice for this long.
    fn say_for(&mut self, text: impl Into<String>, time: Duration) {
        let until = self.now.saturating_add(time).unwrap_or(Timestamp::MAX);
        self.notice = Some(Notice {
            text: text.into(),
            end: NoticeEnd::At(until),
        });
    }

    /// Shows a notice that the user has to read.
    fn say_until_key(&mut self, text: String) {
        let end = NoticeEnd::NextKey;
        self.notice = Some(Notice { text, end });
    }
}

#[cfg(test)]
mod tests;
