//! Takes the answers that other terminals leave while agents have questions.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Engine;
use crate::answers::Answers;
use crate::machine::{Input, UserCommand};
use ralph_vault::error::Notice;

/// How often the folder is looked at while there is a question.
const PACE: Duration = Duration::from_millis(300);

/// The answers to the questions of a run.
#[derive(Debug)]
pub(super) struct AnswerWatch {
    answers: Answers,
    next_look: Instant,
    /// Files whose answers the machine has got, to be removed once they are recorded.
    taken: Vec<PathBuf>,
    /// That the folder cannot be read was said.
    complained: bool,
}

impl AnswerWatch {
    pub(super) fn of(answers: Answers) -> Self {
        Self {
            answers,
            next_look: Instant::now(),
            taken: Vec::new(),
            complained: false,
        }
    }

    /// Waits for the time of the next look, if there is a question. Cancel-safe.
    pub(super) async fn due(&self, has_questions: bool) {
        if has_questions {
            sleep_until(self.next_look).await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    /// Removes what is recorded by now. A file that stays is read again; its answer then fits no
    /// question.
    pub(super) fn remove_taken(&mut self) {
        for path in self.taken.drain(..) {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Engine {
    /// Hands over what users have answered.
    pub(super) fn look_for_answers(&mut self) {
        let watch = &mut self.answer_watch;
        watch.next_look = Instant::now() + PACE;
        match watch.answers.waiting() {
            Ok(found) => {
                for (path, answer) in found {
                    watch.taken.push(path);
                    self.ready.push_back(Input::User(UserCommand::Answer {
                        story: Some(answer.story),
                        text: answer.text,
                    }));
                }
            }
            Err(error) if !watch.complained => {
                watch.complained = true;
                let message = format!("answers cannot be read: {error}");
                let notice = Notice::new("answers_unreadable", message);
                self.pending_events.push(notice.into());
            }
            Err(_) => {}
        }
    }
}
