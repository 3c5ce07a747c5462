//! What can go wrong with a git call.

use std::process::ExitStatus;

/// Why a git call did not work.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be started at all.
    #[error("could not start `git`")]
    Spawn(#[source] std::io::Error),
    /// Talking to the process failed.
    #[error("could not exchange data with `git {command}`")]
    Pipe {
        /// The subcommand.
        command: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// It ended with an error.
    #[error("`git {command}` failed with {status}: {stderr}")]
    Failed {
        /// The subcommand and its arguments.
        command: String,
        /// Exit status.
        status: ExitStatus,
        /// Its result.
        stderr: String,
    },
    /// It took too long and was ended.
    #[error("`git {command}` was stopped after {seconds} s")]
    TimedOut {
        /// The subcommand and its arguments.
        command: String,
        /// The limit.
        seconds: u64,
    },
    /// Its answer made no sense.
    #[error("`git {command}` answered something unexpected: {answer}")]
    Unexpected {
        /// The subcommand.
        command: String,
        /// The start of the answer.
        answer: String,
    },
}

impl GitError {
    /// What git wrote to stderr, if it got so far.
    pub fn stderr(&self) -> &str {
        match self {
            Self::Failed { stderr, .. } => stderr,
            _ => "",
        }
    }
    /// True where a filter failed, or content has not the encoding it should have.
    pub fn is_about_content(&self) -> bool {
        self.is_about_filter() || self.is_about_encoding()
    }

    /// True where a filter failed. Of one that runs for many files git says only that it hung up.
    pub fn is_about_filter(&self) -> bool {
        self.says_any(&[
            "clean filter",
            "smudge filter",
            "external filter",
            "hung up",
        ])
    }

    /// True where content has not the encoding it should have.
    pub fn is_about_encoding(&self) -> bool {
        self.says_any(&["failed to encode", "BOM"])
    }

    fn says_any(&self, words: &[&str]) -> bool {
        words.iter().any(|words| self.stderr().contains(words))
    }
}
