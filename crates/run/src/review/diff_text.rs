//! The diff of the work as a reviewer gets it: all of it where it fits, else the start of each file.

use std::fmt::Write as _;

use ralph_vault::diff::{Diff, DiffLine, FileDiff, FileStatus, LineKind};

/// How much of a diff is shown, and how much of one file, in bytes.
const MOST: usize = 200 * 1024;
const MOST_OF_FILE: usize = 48 * 1024;

/// A diff to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiffText {
    pub text: String,
    /// Something is missing in it.
    pub is_cut: bool,
}

impl DiffText {
    pub(crate) fn of(diff: &Diff) -> Self {
        let mut shown = Self {
            text: String::new(),
            is_cut: diff.cut.is_some(),
        };
        for file in &diff.files {
            shown.add(file);
        }
        if let Some(cut) = diff.cut.filter(|cut| cut.new_files > 0 || cut.unread) {
            let _ = writeln!(
                shown.text,
                "(more files are not listed here, {} of them new)",
                cut.new_files
            );
        }
        shown
    }

    /// What stands in its place where it could not be made.
    pub(crate) fn missing(reason: &str) -> Self {
        Self {
            text: format!("(the diff could not be made: {reason})\n"),
            is_cut: true,
        }
    }

    /// Every file is named, whatever there is room for.
    fn add(&mut self, file: &FileDiff) {
        let _ = writeln!(self.text, "=== {}", head(file));
        let room = MOST.saturating_sub(self.text.len()).min(MOST_OF_FILE);
        let mut used = 0;
        let fitting = file.lines.iter().take_while(|line| {
            used += line.text.len() + 2;
            used <= room
        });
        let fitting = fitting.count();
        for line in &file.lines[..fitting] {
            let _ = writeln!(self.text, "{}{}", sign(line), line.text);
        }
        let left_out = file.lines.len() - fitting;
        if left_out > 0 {
            self.is_cut = true;
            let _ = writeln!(self.text, "(cut: {left_out} more lines of this file)");
        }
    }
}

fn head(file: &FileDiff) -> String {
    let what = match file.status {
        FileStatus::Added => "new",
        FileStatus::Modified => "changed",
        FileStatus::Deleted => "deleted",
        FileStatus::Renamed => "renamed",
        FileStatus::TypeChanged => "another kind of file",
    };
    let from = file.old_path.as_ref();
    let from = from.map_or_else(String::new, |old| format!(" from {old}"));
    let lines = if file.binary {
        "binary".to_owned()
    } else {
        format!("+{} -{}", file.added, file.removed)
    };
    format!("{} ({what}{from}, {lines})", file.path)
}

const fn sign(line: &DiffLine) -> &'static str {
    match line.kind {
        LineKind::Hunk => "",
        LineKind::Context => " ",
        LineKind::Added => "+",
        LineKind::Removed => "-",
        LineKind::Note => "# ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn file(path: &str, lines: usize) -> FileDiff {
        let line = |number: usize| DiffLine {
            kind: LineKind::Added,
            text: format!("line {number} {}", "x".repeat(100)),
        };
        FileDiff {
            path: path.to_owned(),
            status: FileStatus::Added,
            added: lines,
            lines: (0..lines).map(line).collect(),
            ..FileDiff::default()
        }
    }

    #[test]
    fn a_small_diff_is_shown_whole() {
        let line = |kind, text: &str| DiffLine {
            kind,
            text: text.to_owned(),
        };
        let renamed = FileDiff {
            path: "b.txt".to_owned(),
            old_path: Some("a.txt".to_owned()),
            status: FileStatus::Renamed,
            added: 1,
            removed: 1,
            binary: false,
            lines: vec![
                line(LineKind::Hunk, "@@ -1,2 +1,2 @@"),
                line(LineKind::Context, "same"),
                line(LineKind::Removed, "old"),
                line(LineKind::Added, "new"),
            ],
        };
        let diff = Diff {
            files: vec![renamed],
            cut: None,
        };
        let text = "=== b.txt (renamed from a.txt, +1 -1)\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n";
        let want = DiffText {
            text: text.to_owned(),
            is_cut: false,
        };
        assert_eq!(DiffText::of(&diff), want);
    }

    #[test]
    fn of_a_large_diff_every_file_is_named_and_the_start_of_each_is_shown() {
        let names: Vec<String> = (0..20).map(|number| format!("f{number}")).collect();
        let diff = Diff {
            files: names.iter().map(|name| file(name, 1000)).collect(),
            cut: None,
        };
        let shown = DiffText::of(&diff);
        assert!(shown.is_cut);
        assert!(shown.text.len() < MOST + 20 * 100, "{}", shown.text.len());
        for name in names {
            assert!(
                shown
                    .text
                    .contains(&format!("=== {name} (new, +1000 -0)\n"))
            );
        }
        assert!(shown.text.contains("(cut: 1000 more lines of this file)"));
    }
}
