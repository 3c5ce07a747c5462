//! What keys and the wheel do to the app.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::{App, Home, Screen, Then};
use crate::ui::tui::keys::{self, Action};
use crate::ui::tui::message::{Query, Request, Start, TrustPrompt, Wheel};
use crate::ui::tui::quit::{self, Pressed, Quit};
use crate::ui::tui::screen::preview::Preview;
use crate::ui::tui::screen::run::{Run, RunMode};
use crate::ui::tui::step::{Confirmation, Step};
use ralph_run::machine::UserCommand;

impl App {
    pub(super) fn on_key(&mut self, key: KeyEvent) -> Option<Request> {
        if self.typing.is_some() {
            return self.type_key(key);
        }
        self.last_key = Some(self.now);
        let action = keys::action(self.place(), key);
        // These work whatever is in front.
        match action {
            Some(Action::Suspend) => return Some(Request::Suspend),
            Some(Action::Redraw) => return Some(Request::Redraw),
            _ => {}
        }
        if self.error.take().is_some() {
            return None;
        }
        if let Some(prompt) = self.trust_prompt.take() {
            return self.answer_trust(*prompt, key);
        }
        if let Some(confirmation) = self.confirmation.take() {
            return self.answer_question(confirmation, key);
        }
        if self.help_top.is_some() {
            self.act_on_help(action);
            return None;
        }
        action.and_then(|action| self.act(action))
    }

    pub(super) fn act(&mut self, action: Action) -> Option<Request> {
        if self.screen == Screen::Completion && self.is_shielded(action) {
            self.say("the run is over: choose what becomes of it");
            return None;
        }
        match action {
            Action::Help => self.help_top = Some(0),
            Action::Quit => return self.leave(),
            Action::Mouse => {
                self.mouse = !self.mouse;
                self.say(if self.mouse {
                    "the wheel scrolls; select text with Shift"
                } else {
                    "the terminal has the mouse: select text as usual"
                });
                return Some(Request::Mouse(self.mouse));
            }
            Action::Export => self.type_export(),
            Action::Copy => return self.copy(),
            action => {
                let step = self.act_on_screen(action);
                return self.carry_on(step);
            }
        }
        None
    }

    fn is_shielded(&self, action: Action) -> bool {
        let chooses = matches!(
            action,
            Action::Enter | Action::Cleanup | Action::Keep | Action::Again | Action::Quit
        );
        chooses && self.shielded_until.is_some_and(|until| self.now < until)
    }

    fn act_on_screen(&mut self, action: Action) -> Step {
        match (self.screen, &mut self.preview, &mut self.run) {
            (Screen::Changes, ..) => self.changes.act(action),
            (Screen::Preview, Some(preview), _) => preview.act(action),
            (Screen::Run, _, Some(run)) => {
                let is_over = run.progress.outcome.is_some() && run.mode == RunMode::Live;
                if action == Action::Back && is_over {
                    self.screen = Screen::Completion;
                    return Step::Stay;
                }
                run.act(action)
            }
            (Screen::Completion, _, Some(run)) => {
                if action == Action::Back {
                    self.screen = Screen::Run;
                    return Step::Stay;
                }
                self.completion.act(action, run)
            }
            (Screen::Result, ..) => self.result.act(action),
            _ => Step::Stay,
        }
    }

    /// Does what a screen wants.
    pub(super) fn carry_on(&mut self, step: Step) -> Option<Request> {
        match step {
            Step::Stay => None,
            Step::Ask(Request::Start(start)) => {
                self.run = Some(Run::new(self.colored, self.zone.clone(), RunMode::Live));
                self.quit = Quit::default();
                self.screen = Screen::Run;
                Some(Request::Start(start))
            }
            Step::Ask(request) => {
                if is_search(&request) {
                    self.say("searching …");
                }
                Some(request)
            }
            Step::Type(what) => {
                self.start_typing(what);
                None
            }
            Step::Confirm(confirmation) => {
                self.confirmation = Some(confirmation);
                None
            }
            Step::Say(text) => {
                self.say(text);
                None
            }
            Step::Open(change) => {
                let preview = Preview::new(change);
                let query = preview.query();
                self.preview = Some(preview);
                self.screen = Screen::Preview;
                Some(Request::Query(query))
            }
            Step::Back => self.go_back(),
            Step::Restart => self.restart(),
        }
    }

    pub(super) fn go_back(&mut self) -> Option<Request> {
        if self.is_at_work() {
            // The loop is about to end; its end must not be mistaken for that of another run.
            self.then = match (&self.home, self.screen) {
                (Home::Changes, Screen::Result) => Then::Back,
                (Home::Changes, _) => Then::Stay,
                _ => Then::Leave,
            };
            return None;
        }
        match (&self.home, self.screen) {
            (Home::Changes, Screen::Preview | Screen::Completion | Screen::Result) => {
                self.screen = Screen::Changes;
                self.run = None;
                Some(Request::Query(Query::Changes))
            }
            (_, Screen::Changes) => None,
            (Home::Attach, Screen::Result) => {
                self.screen = Screen::Run;
                None
            }
            _ => Some(Request::Quit),
        }
    }

    /// Starts a run again that broke; where it was not started here, the user has to.
    fn restart(&mut self) -> Option<Request> {
        let Some(preview) = &self.preview else {
            self.say("leave with q, and go on with `ralphtool resume`");
            return None;
        };
        let step = preview.start(false);
        self.carry_on(step)
    }

    /// The user wants to leave.
    fn leave(&mut self) -> Option<Request> {
        let at_work = self.is_at_work();
        match self.screen {
            Screen::Run if at_work && !self.is_choosing() => match self.quit.press(self.now) {
                Pressed::Ask => {
                    let text = "press q again within 3 seconds to stop the run; nothing is lost";
                    self.say_for(text, quit::PATIENCE);
                    None
                }
                Pressed::Stop => {
                    self.say("stopping the run …");
                    Some(Request::Command(UserCommand::Stop))
                }
                Pressed::Force => {
                    self.then = Then::Leave;
                    self.say("stopping at once …");
                    Some(Request::Command(UserCommand::StopNow))
                }
            },
            Screen::Run | Screen::Completion if at_work => {
                self.then = if self.completion.is_going_on() {
                    Then::Stay
                } else {
                    Then::Leave
                };
                self.completion.keep().map(Request::Command)
            }
            _ if at_work => {
                self.then = Then::Leave;
                None
            }
            _ => Some(Request::Quit),
        }
    }

    /// Whether the loop has not told its end yet.
    fn is_at_work(&self) -> bool {
        let run = self.run.as_ref();
        run.is_some_and(|run| run.mode == RunMode::Live && run.over.is_none())
    }

    /// Whether the loop is over and waits for a choice.
    fn is_choosing(&self) -> bool {
        let run = self.run.as_ref();
        run.is_some_and(|run| run.progress.outcome.is_some())
    }

    fn answer_question(&mut self, confirmation: Confirmation, key: KeyEvent) -> Option<Request> {
        let yes = matches!(key.code, KeyCode::Char('y' | 'Y'));
        if !yes {
            return None;
        }
        match confirmation {
            Confirmation::Stop => {
                self.quit.stopping();
                Some(Request::Command(UserCommand::Stop))
            }
            Confirmation::Skip => Some(Request::Command(UserCommand::Skip)),
            Confirmation::Fresh => {
                let step = self.preview.as_ref().map(|preview| preview.start(true))?;
                self.carry_on(step)
            }
        }
    }

    /// A yes is for the very content that was shown.
    fn answer_trust(&mut self, prompt: TrustPrompt, key: KeyEvent) -> Option<Request> {
        if !matches!(key.code, KeyCode::Char('y' | 'Y')) {
            self.say("not allowed: nothing was run");
            return None;
        }
        let start = Start {
            allowed: Some(prompt.question.token),
            ..prompt.start
        };
        self.carry_on(Step::Ask(Request::Start(Box::new(start))))
    }

    fn act_on_help(&mut self, action: Option<Action>) {
        let top = self.help_top.unwrap_or(0);
        let last = self.help().last_top(self.area());
        self.help_top = action.and_then(|action| action.moved(top, last, 10));
    }

    pub(super) fn on_wheel(&mut self, wheel: Wheel) -> Option<Request> {
        if self.help_top.is_some() {
            let action = if wheel.up { Action::Up } else { Action::Down };
            self.act_on_help(Some(action));
            return None;
        }
        let area = self.area();
        match (self.screen, &mut self.preview, &mut self.run) {
            (Screen::Changes, ..) => self.changes.wheel(wheel.up),
            (Screen::Preview, Some(preview), _) => preview.wheel(wheel.up),
            (Screen::Run, _, Some(run)) => run.wheel(wheel, area),
            (Screen::Result, ..) => self.result.wheel(wheel.up),
            _ => {}
        }
        None
    }

    fn copy(&mut self) -> Option<Request> {
        let text = self.pane()?.text_of_item();
        let text = text.trim_end();
        if text.is_empty() {
            return None;
        }
        self.say(format!("copied {} characters", text.chars().count()));
        Some(Request::Copy(text.to_owned()))
    }
}

/// A long transcript takes its time.
fn is_search(request: &Request) -> bool {
    matches!(request, Request::Query(Query::Find(..)))
}
