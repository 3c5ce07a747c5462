//! The text input on the last line: a filter, a search, a note, a path or a name.

use std::path::PathBuf;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{App, Screen};
use crate::tui::line_edit::LineEdit;
use crate::tui::message::{ErrorText, Export, Query, Request};
use crate::tui::screen::preview::Preview;
use crate::tui::step::{Step, Typing};
use ralph_base::ids::StoryId;
use ralph_plan::source;
use ralph_run::machine::UserCommand;
use ralph_run::records::progress::Doing;

/// What is being typed.
#[derive(Debug)]
pub(crate) struct TypingLine {
    pub(crate) what: Typing,
    pub(crate) title: String,
    /// The story that a note or an answer is for; none for the one of the next prompt.
    story: Option<StoryId>,
    /// The screen that it is about; another one is shown if a run has ended since.
    screen: Screen,
    pub(crate) edit: LineEdit,
}

impl TypingLine {
    /// The run that it is about has ended.
    pub(super) fn outlive_run(&mut self) {
        self.title = match self.what {
            Typing::Note => "note (the run has ended)".to_owned(),
            Typing::Answer => "answer (the run has ended)".to_owned(),
            _ => format!("{} (the run has ended)", self.title),
        };
    }
}

impl App {
    pub(super) fn start_typing(&mut self, what: Typing) {
        let mut story = None;
        let asked = self.story_with_question().filter(|_| what == Typing::Note);
        let what = asked.as_ref().map_or(what, |_| Typing::Answer);
        let (title, text) = match what {
            Typing::Filter => ("filter".to_owned(), self.changes.filter().to_owned()),
            Typing::Search => ("search".to_owned(), String::new()),
            Typing::Note => {
                story = self.story_at_work();
                (note_title(story.as_ref()), String::new())
            }
            Typing::Answer => {
                story = asked;
                ("answer to the agent".to_owned(), String::new())
            }
            Typing::Export => match self.export_path() {
                Some(path) => ("export to".to_owned(), path),
                None => return,
            },
            Typing::NewChange => (
                "name of the new change, such as add-retry".to_owned(),
                String::new(),
            ),
        };
        let edit = LineEdit::new(&text);
        self.typing = Some(TypingLine {
            what,
            title,
            story,
            screen: self.screen,
            edit,
        });
    }

    /// The story that the run is at.
    fn story_at_work(&self) -> Option<StoryId> {
        let story = self.run.as_ref()?.progress.current_story()?;
        Some(story.id.clone())
    }

    /// The story whose question the run waits for.
    fn story_with_question(&self) -> Option<StoryId> {
        match &self.run.as_ref()?.progress.doing {
            Doing::AwaitingAnswer { story, .. } => Some(story.clone()),
            _ => None,
        }
    }

    /// The path that is suggested for an export of the current pane.
    fn export_path(&self) -> Option<String> {
        let name = match (self.screen, &self.preview, &self.run) {
            (Screen::Preview, Some(preview), _) => preview.tabs.file_name(&preview.name),
            (Screen::Run, _, Some(run)) => run.pane_name(),
            (Screen::Result, _, Some(run)) => self.result.file_name(run.change_or_run()),
            _ => return None,
        };
        let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let name = name.replace(|c| !is_plain(c), "-");
        Some(format!("{}/ralphtool-{name}.txt", self.terminal.exports))
    }

    pub(super) fn type_key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => self.give_up_typing(),
            KeyCode::Char('c' | 'g') if control => self.give_up_typing(),
            KeyCode::Enter => self.typed(),
            _ => self.edit(|edit| edit.press(key)),
        }
    }

    /// Inserts a text where one is being typed.
    pub(super) fn paste(&mut self, text: &str) {
        if let Some(preview) = self.edited() {
            preview.paste(text);
        } else {
            self.edit(|edit| edit.paste(text));
        }
    }

    /// The preview, if a setting is being edited on it.
    pub(super) fn edited(&mut self) -> Option<&mut Preview> {
        let is_editing = self.is_editing();
        self.preview.as_mut().filter(|_| is_editing)
    }

    /// Changes what is typed; a filter takes effect at once.
    fn edit(&mut self, change: impl FnOnce(&mut LineEdit)) {
        if let Some(typing) = &mut self.typing {
            change(&mut typing.edit);
            if typing.what == Typing::Filter {
                self.changes.set_filter(typing.edit.text());
            }
        }
    }

    fn give_up_typing(&mut self) {
        let typing = self.close_typing();
        if typing.is_some_and(|typing| typing.what == Typing::Filter) {
            self.changes.set_filter("");
        }
    }

    /// Closes the input; the keys that follow may still be meant for it.
    fn close_typing(&mut self) -> Option<TypingLine> {
        if self.screen == Screen::Completion {
            self.shield.raise();
        }
        self.typing.take()
    }

    fn typed(&mut self) {
        let Some(typing) = self.close_typing() else {
            return;
        };
        let text = typing.edit.text().trim().to_owned();
        if typing.screen != self.screen {
            return self.typed_too_late(typing.what, text);
        }
        match typing.what {
            Typing::Filter => {}
            Typing::Note | Typing::Answer | Typing::Export | Typing::NewChange
                if text.is_empty() => {}
            Typing::NewChange => match source::check_new_name(&text) {
                Ok(()) => self.request = Some(Request::Query(Query::Create(text))),
                Err(_) => self.correct_name(&text),
            },
            Typing::Search => {
                let step = self.search(&text);
                self.perform(step);
            }
            Typing::Note => {
                let story = typing.story;
                self.say(match &story {
                    Some(story) => format!("note saved for the next prompt of story {story}"),
                    None => "note saved for the next prompt".to_owned(),
                });
                self.request = Some(Request::Command(UserCommand::Note { story, text }));
            }
            Typing::Answer => {
                let story = typing.story;
                self.request = Some(Request::Command(UserCommand::Answer { story, text }));
            }
            Typing::Export => {
                let query = |export| Query::Export(PathBuf::from(text), export);
                self.request = self.export().map(query).map(Request::Query);
            }
        }
    }

    /// The run ended while the text was typed: a note is shown, so that it is not lost.
    fn typed_too_late(&mut self, what: Typing, text: String) {
        match what {
            _ if text.is_empty() => {}
            Typing::Note => {
                self.error = Some(ErrorText {
                    message: "the run has ended: the note was not used".to_owned(),
                    hints: vec![text],
                });
            }
            Typing::Answer => {
                self.error = Some(ErrorText {
                    message: "the run has ended: `ralphtool answer` still takes the answer"
                        .to_owned(),
                    hints: vec![text],
                });
            }
            _ => self.say("the run has ended: Esc goes back to its screen"),
        }
    }

    /// Offers a name that is accepted, or asks for another one.
    fn correct_name(&mut self, typed: &str) {
        let similar = source::similar_name(typed);
        let title = match similar {
            Some(_) => "only lowercase words joined by hyphens; Enter takes",
            None => "this cannot be its name; lowercase words joined by hyphens",
        };
        self.typing = Some(TypingLine {
            what: Typing::NewChange,
            title: title.to_owned(),
            story: None,
            screen: self.screen,
            edit: LineEdit::new(similar.as_deref().unwrap_or(typed)),
        });
    }

    fn search(&mut self, text: &str) -> Step {
        match (self.screen, &mut self.preview, &mut self.run) {
            (Screen::Preview, Some(preview), _) => preview.tabs.search(text),
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

fn note_title(story: Option<&StoryId>) -> String {
    match story {
        Some(story) => format!("note for story {story}"),
        None => "note for the next story".to_owned(),
    }
}
