//! What keys and the wheel do to the app.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::{App, NoticeEnd, Screen, Then};
use crate::tui::help;
use crate::tui::keys::{self, Action, Place};
use crate::tui::message::{Query, Request, Wheel};
use crate::tui::quit::{self, Quit};
use crate::tui::screen::preview::Preview;
use crate::tui::screen::run::{Run, RunMode};
use crate::tui::step::{Confirmation, Step, Typing};
use crate::tui::text_pane::TextPane;
use ralph_run::machine::UserCommand;

impl App {
    pub(super) fn on_key(&mut self, key: KeyEvent) {
        self.notice.take_if(|it| it.end == NoticeEnd::NextKey);
        if self.typing.is_some() {
            return self.type_key(key);
        }
        if let Some(preview) = self.edited() {
            let step = preview.type_key(key);
            return self.perform(step);
        }
        let is_meant = self.screen != Screen::Completion || self.shield.press(self.now);
        let action = keys::action(self.place(), key);
        if action != Some(Action::Quit) && self.quit.dismiss() {
            self.notice = None;
        }
        // These work whatever is shown over the screen.
        match action {
            Some(Action::Suspend) => return self.request = Some(Request::Suspend),
            Some(Action::Redraw) => return self.request = Some(Request::Redraw),
            _ => {}
        }
        // To go back to the run chooses nothing.
        if !is_meant && action != Some(Action::Back) {
            return self.refuse_early(action);
        }
        if self.error.take().is_some() {
            return;
        }
        let is_yes = matches!(key.code, KeyCode::Char('y' | 'Y'));
        if let Some(mut prompt) = self.trust_prompt.take() {
            if !is_yes {
                return self.say("not allowed: nothing was run");
            }
            // The user allows only the content that was shown.
            prompt.start.allowed = Some(prompt.question.token);
            let start = Request::Start(Box::new(prompt.start));
            return self.perform(Step::Ask(start));
        }
        if let Some(confirmation) = self.confirmation.take() {
            if is_yes {
                self.confirmed(confirmation);
            } else if confirmation.is_asked_by(action) {
                // The key is held down.
                self.confirmation = Some(confirmation);
            }
        } else if self.help_top.is_some() {
            self.act_on_help(action);
        } else if let Some(action) = action {
            self.act(action);
        } else if self.would_steer(key) {
            self.say("read-only: the run is controlled in its own terminal");
        }
    }

    /// Whether a key would control the run, if it were not that of another terminal.
    fn would_steer(&self, key: KeyEvent) -> bool {
        let action = keys::action(Place::Run, key);
        self.place() == Place::Attached && action.is_some_and(Action::steers)
    }

    /// A key that was meant for the run, which has just ended, does nothing at its end.
    fn refuse_early(&mut self, action: Option<Action>) {
        if action.is_some() {
            self.say("the run has just ended: press the key again");
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Help => self.help_top = Some(0),
            Action::Quit => self.leave(),
            Action::Mouse => {
                self.mouse = !self.mouse;
                self.say(if self.mouse {
                    "the wheel scrolls; select text with Shift"
                } else {
                    "the terminal has the mouse: select text as usual"
                });
                self.request = Some(Request::Mouse(self.mouse));
            }
            Action::Export => self.start_typing(Typing::Export),
            Action::Copy => self.copy(),
            action => {
                let step = self.act_on_screen(action);
                self.perform(step);
            }
        }
    }

    fn act_on_screen(&mut self, action: Action) -> Step {
        match (self.screen, &mut self.preview, &mut self.run) {
            (Screen::Changes, ..) => return self.changes.act(action),
            (Screen::Preview, Some(preview), _) => return preview.act(action),
            (Screen::Run, _, Some(run)) => {
                let is_over = run.progress.ended.is_some() && run.mode == RunMode::Live;
                if action != Action::Back || !is_over {
                    return run.act(action);
                }
                self.screen = Screen::Completion;
            }
            (Screen::Completion, _, Some(_)) if action == Action::Back => {
                self.screen = Screen::Run;
            }
            (Screen::Completion, _, Some(run)) => return self.completion.act(action, run),
            (Screen::Result, _, Some(run)) => return self.result.act(action, run),
            _ => {}
        }
        Step::Stay
    }

    /// Does what a screen asks for.
    pub(super) fn perform(&mut self, step: Step) {
        match step {
            Step::Stay => {}
            Step::Ask(request) => {
                if matches!(request, Request::Start(_)) {
                    let run = Run::new(
                        self.terminal.colored,
                        self.terminal.zone.clone(),
                        RunMode::Live,
                    );
                    self.run = Some(run);
                    self.quit = Quit::default();
                    self.screen = Screen::Run;
                }
                // A long transcript takes its time.
                if matches!(request, Request::Query(Query::Find(..))) {
                    self.say("searching …");
                }
                self.request = Some(request);
            }
            Step::Type(what) => self.start_typing(what),
            Step::Confirm(confirmation) => self.confirmation = Some(confirmation),
            Step::Say(text) => self.say(text),
            Step::Open(change) => {
                let preview = Preview::new(change);
                self.request = Some(Request::Query(preview.query()));
                self.preview = Some(preview);
                self.screen = Screen::Preview;
            }
            Step::Attach => {
                let mode = RunMode::Attached { interrupted: false };
                let (colored, zone) = (self.terminal.colored, self.terminal.zone.clone());
                self.run = Some(Run::new(colored, zone, mode));
                self.screen = Screen::Run;
                self.request = Some(Request::Attach);
            }
            Step::ShowStory(place) => {
                if let Some(run) = &mut self.run {
                    run.select(place);
                    self.screen = Screen::Run;
                }
            }
            Step::Back => self.go_back(),
            Step::Restart => self.start_preview(false),
        }
    }

    /// Starts the run of the preview, if there is one.
    fn start_preview(&mut self, fresh: bool) {
        match &self.preview {
            Some(preview) => self.perform(preview.start(fresh)),
            None => self.say("leave with q, then continue with `ralphtool resume`"),
        }
    }

    pub(super) fn go_back(&mut self) {
        if self.is_at_work() {
            // The loop is about to end; its end must not be mistaken for the end of another run.
            self.then = match (self.has_list, self.screen) {
                (true, Screen::Result) => Then::Back,
                (true, _) => Then::Stay,
                (false, _) => Then::Leave,
            };
            return;
        }
        match (self.has_list, self.screen) {
            (_, Screen::Changes) => {}
            (true, _) => {
                self.request = Some(if self.is_read_only() {
                    Request::Detach
                } else {
                    Request::Query(Query::Changes)
                });
                self.screen = Screen::Changes;
                self.run = None;
            }
            (false, Screen::Result) if self.is_read_only() => self.screen = Screen::Run,
            _ => self.request = Some(Request::Quit),
        }
    }

    /// The user wants to leave.
    fn leave(&mut self) {
        let at_work = self.is_at_work();
        // The loop waits for the user to choose how to finish the branch.
        let run = self.run.as_ref();
        let is_choosing = run.is_some_and(|run| run.progress.ended.is_some());
        match self.screen {
            Screen::Run if at_work && !is_choosing => match self.quit.press(self.now) {
                Quit::No | Quit::Asked(_) => {
                    let text =
                        "press q again within 3 seconds to stop the run; any other key cancels";
                    self.say_for(text, quit::PATIENCE);
                }
                Quit::Stopping => {
                    self.say("stopping the run …");
                    self.request = Some(Request::Command(UserCommand::Stop));
                }
                Quit::Forced => {
                    self.then = Then::Leave;
                    self.say("stopping at once …");
                    self.request = Some(Request::Command(UserCommand::StopNow));
                }
            },
            Screen::Run | Screen::Completion if at_work => {
                self.then = if self.completion.is_continuing() {
                    Then::Stay
                } else {
                    Then::Leave
                };
                self.request = self.completion.keep().map(Request::Command);
            }
            _ if at_work => self.then = Then::Leave,
            _ => self.request = Some(Request::Quit),
        }
    }

    /// Whether the loop has not reported its end yet.
    fn is_at_work(&self) -> bool {
        let run = self.run.as_ref();
        run.is_some_and(|run| run.mode == RunMode::Live && run.over.is_none())
    }

    fn confirmed(&mut self, confirmation: Confirmation) {
        match confirmation {
            Confirmation::Stop => {
                self.quit.stopping();
                self.request = Some(Request::Command(UserCommand::Stop));
            }
            Confirmation::Skip => self.request = Some(Request::Command(UserCommand::Skip)),
            Confirmation::Fresh => self.start_preview(true),
            Confirmation::Ending(choice) => {
                if let Some(run) = &self.run {
                    let step = self.completion.confirmed(choice, run);
                    self.perform(step);
                }
            }
        }
    }

    fn act_on_help(&mut self, action: Option<Action>) {
        let top = self.help_top.unwrap_or(0);
        let last = help::last_top(self.place(), self.area());
        self.help_top = action.and_then(|action| action.moved(top, last, 10));
    }

    pub(super) fn on_wheel(&mut self, wheel: Wheel) {
        let action = if wheel.up { Action::Up } else { Action::Down };
        if self.help_top.is_some() {
            return self.act_on_help(Some(action));
        }
        let area = self.area();
        match (self.screen, &mut self.preview, &mut self.run) {
            (Screen::Changes, ..) => drop(self.changes.act(action)),
            (Screen::Preview, Some(preview), _) => preview.wheel(wheel, area),
            (Screen::Run, _, Some(run)) => run.wheel(wheel, area),
            (Screen::Completion, _, Some(run)) => self.completion.wheel(wheel, area, run),
            (Screen::Result, _, Some(run)) => self.result.wheel(wheel, area, run),
            _ => {}
        }
    }

    fn copy(&mut self) {
        let text = self.pane().map(TextPane::text_of_item);
        let text = text.as_deref().map_or("", str::trim_end);
        if !text.is_empty() {
            self.say(format!("copied {} characters", text.chars().count()));
            self.request = Some(Request::Copy(text.to_owned()));
        }
    }
}
