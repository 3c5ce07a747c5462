//! The line at the bottom in which something is typed: a filter, a search, a note, a path.

use std::path::PathBuf;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{App, Screen};
use crate::ui::tui::line_edit::LineEdit;
use crate::ui::tui::message::{Export, Query, Request};
use crate::ui::tui::screen::preview::Preview;
use crate::ui::tui::step::{Step, Typing};
use ralph_run::machine::UserCommand;

/// What is being typed.
#[derive(Debug)]
pub(crate) struct TypingLine {
    /// What it is for.
    pub(crate) what: Typing,
    /// What it is called.
    pub(crate) title: &'static str,
    /// The text.
    pub(crate) edit: LineEdit,
}

impl App {
    pub(super) fn start_typing(&mut self, what: Typing) {
        let (title, text) = match what {
            Typing::Filter => ("filter", self.changes.filter().to_owned()),
            Typing::Search => ("search", String::new()),
            Typing::Note => ("note for the next attempt", String::new()),
            Typing::Export => return self.type_export(),
            Typing::Setting => {
                let preview = self.preview.as_ref();
                preview.map(Preview::to_type).unwrap_or_default()
            }
        };
        self.typing = Some(TypingLine {
            what,
            title,
            edit: LineEdit::new(&text),
        });
    }

    pub(super) fn type_export(&mut self) {
        let name = match (self.screen, &self.preview, &self.run) {
            (Screen::Preview, Some(preview), _) => preview.pane_name(),
            (Screen::Run, _, Some(run)) => run.pane_name(),
            (Screen::Result, _, Some(run)) => self.result.pane_name(run),
            _ => return,
        };
        let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let name = name.replace(|c| !is_plain(c), "-");
        let path = format!("{}/ralphtool-{name}.txt", self.exports);
        self.typing = Some(TypingLine {
            what: Typing::Export,
            title: "export to",
            edit: LineEdit::new(&path),
        });
    }

    pub(super) fn type_key(&mut self, key: KeyEvent) -> Option<Request> {
        let typing = self.typing.as_mut()?;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let edit = &mut typing.edit;
        match key.code {
            KeyCode::Esc => return self.give_up_typing(),
            KeyCode::Char('c' | 'g') if control => return self.give_up_typing(),
            KeyCode::Enter => return self.typed(),
            KeyCode::Char('u') if control => edit.delete_to_start(),
            KeyCode::Char('k') if control => edit.delete_to_end(),
            KeyCode::Char('w') if control => edit.delete_word(),
            KeyCode::Char('a') if control => edit.home(),
            KeyCode::Char('e') if control => edit.end(),
            KeyCode::Char(c) if !control => edit.insert(c),
            KeyCode::Backspace => edit.backspace(),
            KeyCode::Delete => edit.delete(),
            KeyCode::Left if control => edit.word_left(),
            KeyCode::Right if control => edit.word_right(),
            KeyCode::Left => edit.left(),
            KeyCode::Right => edit.right(),
            KeyCode::Home => edit.home(),
            KeyCode::End => edit.end(),
            _ => {}
        }
        self.filter_as_typed();
        None
    }

    pub(super) fn on_paste(&mut self, text: &str) -> Option<Request> {
        if let Some(typing) = &mut self.typing {
            typing.edit.paste(text);
            self.filter_as_typed();
        }
        None
    }

    fn filter_as_typed(&mut self) {
        if let Some(typing) = self.typing.as_ref().filter(|it| it.what == Typing::Filter) {
            let text = typing.edit.text().to_owned();
            self.changes.set_filter(&text);
        }
    }

    fn give_up_typing(&mut self) -> Option<Request> {
        let typing = self.typing.take()?;
        if typing.what == Typing::Filter {
            self.changes.set_filter("");
        }
        None
    }

    /// Enter was pressed.
    fn typed(&mut self) -> Option<Request> {
        let typing = self.typing.take()?;
        let text = typing.edit.text().trim().to_owned();
        match typing.what {
            Typing::Filter => None,
            Typing::Note | Typing::Export if text.is_empty() => None,
            Typing::Search => {
                let step = self.search(&text);
                self.carry_on(step)
            }
            Typing::Note => {
                self.say("the next attempt is told");
                Some(Request::Command(UserCommand::Note(text)))
            }
            Typing::Export => {
                let path = PathBuf::from(text);
                Some(Request::Query(Query::Export(path, self.export()?)))
            }
            Typing::Setting => {
                let step = self.preview.as_mut().map(|it| it.typed(&text))?;
                self.carry_on(step)
            }
        }
    }

    fn search(&mut self, text: &str) -> Step {
        match (self.screen, &mut self.preview, &mut self.run) {
            (Screen::Preview, Some(preview), _) => preview.search(text),
            (Screen::Run, _, Some(run)) => run.search(text),
            (Screen::Result, ..) => self.result.search(text),
            _ => Step::Stay,
        }
    }

    fn export(&self) -> Option<Export> {
        match &self.run {
            Some(run) if self.screen == Screen::Run => Some(run.export()),
            _ => Some(Export::Text(self.pane()?.text())),
        }
    }
}
