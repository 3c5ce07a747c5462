//! What keys and the wheel do on the run screen.

use ratatui::layout::Rect;

use super::areas::Areas;
use super::{Run, RunMode, Tab};
use crate::tui::keys::Action;
use crate::tui::message::{Request, Wheel};
use crate::tui::pane::attempts;
use crate::tui::step::{Confirmation, Step, Typing};
use ralph_base::ids::AttemptNumber;
use ralph_run::machine::UserCommand;
use ralph_run::records::progress::Doing;

impl Run {
    pub(crate) fn act(&mut self, action: Action) -> Step {
        match action {
            Action::NextTab => self.show_tab(self.tab.moved(1)),
            Action::PreviousTab => self.show_tab(self.tab.moved(Tab::ALL.len() - 1)),
            Action::Tab(number) => self.show_tab(Tab::ALL[(number - 1).min(Tab::ALL.len() - 1)]),
            Action::Right => self.on_pane = true,
            Action::Zoom => self.zoom(!self.is_zoomed),
            Action::Back if self.mode != RunMode::Live && !self.on_pane => return Step::Back,
            Action::Back if self.is_zoomed => self.zoom(false),
            Action::Left | Action::Back => {
                self.is_zoomed = false;
                self.on_pane = false;
            }
            Action::Follow => self.follow(),
            Action::PreviousAttempt => self.step_attempt(false),
            Action::NextAttempt => self.step_attempt(true),
            Action::Search => return Step::Type(Typing::Search),
            Action::NextHit => return self.find(true),
            Action::PreviousHit => return self.find(false),
            Action::Enter => return self.enter(),
            action if action.steers() => return self.steer(action),
            action if self.on_pane && self.tab == Tab::Agent => self.agent.act(action),
            action if self.on_pane => self.pane_mut().act(action),
            action => self.act_on_list(action),
        }
        Step::Stay
    }

    /// Shows a tab; the keys act on what the user looks at.
    fn show_tab(&mut self, tab: Tab) {
        self.tab = tab;
        self.on_pane = true;
    }

    fn zoom(&mut self, is_zoomed: bool) {
        self.is_zoomed = is_zoomed;
        self.on_pane = true;
    }

    /// Whether an action would do something now.
    pub(crate) fn offers(&self, action: Action) -> bool {
        match action {
            Action::Follow => !self.following,
            Action::Left => self.on_pane,
            Action::Enter => self.on_pane && self.tab != Tab::Log,
            Action::Right => !self.on_pane,
            Action::Pause | Action::Stop | Action::Skip | Action::Note => {
                self.over.is_none() && self.progress.ended.is_none()
            }
            Action::TryNow => matches!(self.progress.doing, Doing::Waiting { .. }),
            _ => true,
        }
    }

    /// What a key does now, in short, where that changes.
    pub(crate) fn brief(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::Pause if self.is_paused() => Some("resume"),
            Action::Zoom if self.is_zoomed => Some("zoom out"),
            _ => None,
        }
    }

    /// Whether the run is paused, or will be before the agent starts again.
    fn is_paused(&self) -> bool {
        self.progress.pausing || matches!(self.progress.doing, Doing::Paused { .. })
    }

    fn act_on_list(&mut self, action: Action) {
        let last = self.progress.stories.len().saturating_sub(1);
        if let Some(to) = action.moved(self.selected, last, 10) {
            self.select(to);
        }
    }

    /// Selects a story.
    pub(crate) fn select(&mut self, story: usize) {
        self.following = false;
        if self.show_story(story) {
            self.attempt = None;
            self.point_panes();
        }
    }

    /// Starts to follow the live story.
    fn follow(&mut self) {
        self.following = true;
        self.go_to_live();
        self.point_panes();
        self.agent.act(Action::End);
        self.gates.reset();
    }

    fn step_attempt(&mut self, forward: bool) {
        let attempts = self.story().map_or(&[][..], |story| &story.attempts);
        let shown = self.shown_attempt().map(|it| it.number);
        let place = attempts.iter().position(|it| Some(it.number) == shown);
        let next = if forward {
            place.map(|place| place + 1)
        } else {
            place.and_then(|place| place.checked_sub(1))
        };
        if let Some(attempt) = next.and_then(|next| attempts.get(next)) {
            self.show_attempt(attempt.number);
        }
    }

    fn show_attempt(&mut self, number: AttemptNumber) {
        self.following = false;
        self.attempt = Some(number);
        self.point_panes();
    }

    /// Opens the item at the cursor.
    fn enter(&mut self) -> Step {
        if !self.on_pane {
            self.on_pane = true;
            return Step::Stay;
        }
        match self.tab {
            Tab::Agent => {
                if let Some(query) = self.agent.toggle() {
                    return Step::Ask(Request::Query(query));
                }
            }
            Tab::Diff => self.diff.toggle(),
            Tab::Attempts => self.open_attempt(),
            Tab::Gates => self.gates.toggle(),
            Tab::Log => {}
        }
        Step::Stay
    }

    fn open_attempt(&mut self) {
        let item = self.attempts.item();
        let number = item.and_then(|item| attempts::at(self.story(), item));
        if let Some(number) = number {
            self.tab = Tab::Diff;
            self.show_attempt(number);
        }
    }

    /// Sets the text to search for in all panes, and goes to its next place in this one.
    pub(crate) fn search(&mut self, needle: &str) -> Step {
        needle.clone_into(&mut self.needle);
        for pane in [
            &mut self.agent.text,
            &mut self.diff.text,
            &mut self.attempts,
            &mut self.gates.text,
            &mut self.log.text,
        ] {
            pane.set_needle(needle);
        }
        self.on_pane = true;
        self.find(true)
    }

    fn find(&mut self, forward: bool) -> Step {
        if self.needle.is_empty() {
            return Step::Type(Typing::Search);
        }
        if self.tab == Tab::Agent && self.agent.find_in_entry(forward) {
            return Step::Stay;
        }
        if self.tab == Tab::Agent {
            let query = self.agent.find(&self.needle, forward).map(Request::Query);
            let no_agent = || Step::Say("no agent has worked on this story yet".to_owned());
            return query.map_or_else(no_agent, Step::Ask);
        }
        if self.pane_mut().find(forward) {
            Step::Stay
        } else {
            Step::Say(format!("`{}` is not in this pane", self.needle))
        }
    }

    /// Handles an action that controls the loop.
    fn steer(&mut self, action: Action) -> Step {
        let is_over = self.over.is_some() || self.progress.ended.is_some();
        if is_over || self.mode != RunMode::Live {
            return Step::Stay;
        }
        match action {
            Action::Pause if self.is_paused() => command(UserCommand::GoOn),
            Action::Pause => command(UserCommand::Pause),
            Action::Stop => Step::Confirm(Confirmation::Stop),
            Action::Skip if self.progress.current_story().is_some() => {
                Step::Confirm(Confirmation::Skip)
            }
            Action::Note => Step::Type(Typing::Note),
            Action::TryNow if matches!(self.progress.doing, Doing::Waiting { .. }) => {
                command(UserCommand::TryNow)
            }
            _ => Step::Stay,
        }
    }

    pub(crate) fn wheel(&mut self, wheel: Wheel, area: Rect) {
        let areas = Areas::of(area, self);
        let place = (wheel.column, wheel.row).into();
        let beside = areas.side.iter().find(|part| part.text.contains(place));
        if areas.stories.contains(place) || areas.story.contains(place) {
            self.act_on_list(if wheel.up { Action::Up } else { Action::Down });
        } else {
            let tab = beside.map_or(self.tab, |part| part.tab);
            self.pane_of_mut(tab).wheel(wheel.up);
        }
    }
}

fn command(command: UserCommand) -> Step {
    Step::Ask(Request::Command(command))
}
