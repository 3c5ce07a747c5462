//! The sorts of repositories: how many files, where they lie, and how much a story changes in them.

use std::path::PathBuf;

use crate::Result;

/// Files in one folder of an ordinary repository.
const FOLDER: usize = 100;

/// Folders below each other in a deep one.
const LEVELS: usize = 60;

/// Files that a failed attempt changes, and as many new ones that it leaves.
pub(crate) const LEFT_BY_A_FAILURE: usize = 10;

/// A sort of repository, and how much is done in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// As it is called on the command line.
    pub(crate) name: String,
    /// Files in it.
    pub(crate) files: usize,
    /// Files that each story rewrites, besides the one that it adds.
    pub(crate) rewritten: usize,
    /// Stories that are done at the first attempt.
    pub(crate) stories: usize,
    /// Further stories whose first attempt fails.
    pub(crate) restores: usize,
    /// Runs of each contender.
    pub(crate) runs: usize,
    /// Every story is judged by a gate, which passes at once.
    pub(crate) has_gate: bool,
    layout: Layout,
}

/// Where files lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// A hundred in a folder.
    Wide,
    /// One in a folder, far down.
    Deep,
}

impl Repository {
    /// Those that `--all` means.
    pub(crate) const ALL: &[&str] = &["small", "50k", "200k", "changed", "deep"];

    /// Those that are measured where none is named.
    pub(crate) const DEFAULT: &[&str] = &["small", "50k"];

    /// The one of a name, which may be a number of files, such as `50k`.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let wide = Self {
            name: name.to_owned(),
            files: 10,
            rewritten: 0,
            stories: 50,
            restores: 20,
            runs: 5,
            has_gate: false,
            layout: Layout::Wide,
        };
        Ok(match name {
            "small" => wide,
            "changed" => Self {
                files: 20_000,
                rewritten: 10_000,
                stories: 5,
                restores: 3,
                runs: 3,
                ..wide
            },
            "deep" => Self {
                files: 2_000,
                layout: Layout::Deep,
                ..wide
            },
            _ => Self::of_files(number(name)?, wide),
        })
    }

    /// Large ones take long: fewer stories and runs.
    fn of_files(files: usize, wide: Self) -> Self {
        let (stories, restores, runs) = match files {
            0..10_000 => (50, 20, 5),
            10_000..100_000 => (30, 10, 3),
            _ => (15, 5, 3),
        };
        Self {
            files,
            stories,
            restores,
            runs,
            ..wide
        }
    }

    /// The same, with a gate.
    pub(crate) fn with_gate(&self) -> Self {
        Self {
            has_gate: true,
            ..self.clone()
        }
    }

    /// What it is, in words.
    pub(crate) fn described(&self) -> String {
        let files = thousands(self.files);
        let mut text = match (self.layout, self.rewritten) {
            (Layout::Deep, _) => format!("{files} files, {LEVELS} folders deep"),
            (Layout::Wide, 0) => format!("{files} files"),
            (Layout::Wide, many) => format!("{files} files, {} changed", thousands(many)),
        };
        if self.has_gate {
            text.push_str(", a gate");
        }
        text
    }

    /// Where a file lies.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        match self.layout {
            Layout::Wide => PathBuf::from(format!(
                "source/{:02}/{:02}/file-{number}.txt",
                number / FOLDER / FOLDER,
                number / FOLDER % FOLDER
            )),
            Layout::Deep => {
                let mut path = PathBuf::from(format!("source/{:02}", number / LEVELS));
                for level in 0..=number % LEVELS {
                    path.push(format!("{level:02}"));
                }
                path.join(format!("file-{number}.txt"))
            }
        }
    }

    /// Files that a failed attempt changes.
    pub(crate) fn spoiled(&self) -> usize {
        self.rewritten.max(LEFT_BY_A_FAILURE).min(self.files)
    }
}

/// Reads a number; `k` is a thousand.
pub(crate) fn number(word: &str) -> Result<usize> {
    let (digits, factor) = match word.strip_suffix('k') {
        Some(digits) => (digits, 1000),
        None => (word, 1),
    };
    let number: usize = digits
        .parse()
        .map_err(|_| format!("`{word}` is not a number; try `--help`"))?;
    Ok(number * factor)
}

/// A number with a comma after the thousands.
pub(crate) fn thousands(number: usize) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{},{:03}", thousands(number / 1000), number % 1000)
}
