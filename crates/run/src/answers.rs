//! Answers to questions of agents, left as files for the run: by any terminal, whether a loop is at
//! work or not. The run takes each file once its answer is in the records.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use ralph_base::files::{
    FileError, Tried as _, create_private_folder, read_if_present, write_whole,
};
use ralph_base::ids::StoryId;

/// Answers that no loop has taken yet.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    folder: PathBuf,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub story: StoryId,
    pub text: String,
}

impl Answers {
    /// Those for the run with this folder.
    pub(crate) fn of(run_folder: &Path) -> Self {
        Self {
            folder: run_folder.join("answers"),
        }
    }

    /// Leaves an answer, whole or not at all.
    pub(crate) fn leave(&self, answer: &Answer, now: Timestamp) -> Result<(), FileError> {
        create_private_folder(&self.folder)?;
        let name = format!("{:020}.json", now.as_nanosecond());
        let text = serde_json::to_vec(answer).unwrap_or_default();
        write_whole(&self.folder.join(name), &text, 0o600)
    }

    /// The files and their answers, the oldest first. A file without a readable answer is left.
    pub(crate) fn waiting(&self) -> Result<Vec<(PathBuf, Answer)>, FileError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.tried("read", &self.folder)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.tried("read", &self.folder)?.path();
            if path.extension().is_some_and(|it| it == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut answers = Vec::new();
        for path in paths {
            let Some(text) = read_if_present(&path)? else {
                continue;
            };
            if let Ok(answer) = serde_json::from_slice(&text) {
                answers.push((path, answer));
            }
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn answer(text: &str) -> Answer {
        Answer {
            story: StoryId("2".to_owned()),
            text: text.to_owned(),
        }
    }

    #[test]
    fn answers_wait_in_order_and_what_is_no_answer_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::of(folder.path());
        assert_eq!(answers.waiting().unwrap(), []);
        for (seconds, text) in [(20, "second"), (3, "first")] {
            let at = Timestamp::from_second(seconds).unwrap();
            answers.leave(&answer(text), at).unwrap();
        }
        fs::write(folder.path().join("answers/half.json"), "{").unwrap();
        let waiting = answers.waiting().unwrap().into_iter();
        let waiting: Vec<Answer> = waiting.map(|(_, answer)| answer).collect();
        assert_eq!(waiting, [answer("first"), answer("second")]);
    }
}
