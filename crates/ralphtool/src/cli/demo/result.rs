//! The result of the demo, read from git and the vault, and the commands that show more of it.

use std::path::Path;

use super::View;
use super::repository::{
    CHANGE, DemoError, DemoFolder, EDITED, ORIGINAL, OWN_EDIT, OWN_FILE, UNTRACKED, git,
};
use crate::ui::page::Page;
use crate::ui::style::{BAD, DIM, GOOD, WARN};
use crate::ui::text::{clean, clean_lines, columns, pad, wrap};
use crate::ui::words::shell;
use ralph_base::files::{Tried, read_if_present};
use ralph_vault::git::repository::Repository;
use ralph_vault::{ParkedAttempt, Shelf};

/// What stands before each commit in the log.
const COMMIT_MARK: char = '\u{1}';
/// Reasons are wrapped at this width.
const WIDTH: usize = 74;
/// How wide the labels are.
const LABEL: usize = 9;

/// Everything worth showing.
#[derive(Debug)]
pub(super) struct Remains {
    /// The commits of the branch, the oldest first.
    commits: Vec<Commit>,
    /// `git diff --stat` over all stories.
    stat: String,
    failed: Vec<FailedAttempt>,
    is_edit_there: bool,
    is_untracked_there: bool,
}

#[derive(Debug)]
struct Commit {
    id: String,
    subject: String,
    /// How many files it changed, in git's words.
    size: String,
}

#[derive(Debug)]
struct FailedAttempt {
    /// Such as `2.1`.
    name: String,
    reason: String,
    /// What it did, and to which file or with which subject.
    acts: Vec<(&'static str, String)>,
}

impl Remains {
    /// Reads what the run in `run_folder` left, and links its parked attempts to the top.
    pub(super) fn read(
        demo: &DemoFolder,
        repository: &Repository,
        run_folder: &Path,
    ) -> Result<Self, DemoError> {
        let folder = &demo.repository;
        let format = format!("--format={COMMIT_MARK}%h %s");
        let range = format!("{ORIGINAL}..ralph/{CHANGE}");
        let log = git(
            folder,
            &["log", "--reverse", "--shortstat", &format, &range],
        )?;
        let commits: Vec<Commit> = log.split(COMMIT_MARK).filter_map(commit).collect();
        let first = commits.first().map_or(ORIGINAL, |commit| &commit.id);
        let stat = git(folder, &["diff", "--stat=72", first, "HEAD"])?;
        let shelf = Shelf::open(&demo.state, repository)?;
        let mut failed = Vec::new();
        for parked in shelf.attempts() {
            let attempt = failed_attempt(&shelf, &parked, run_folder)?;
            let link = demo.path.join(format!("attempt-{}", attempt.name));
            let folder = run_folder.join("attempts").join(&attempt.name);
            std::os::unix::fs::symlink(&folder, &link).tried("link", &link)?;
            failed.push(attempt);
        }
        let text = |name: &str| {
            let bytes = read_if_present(&folder.join(name))?.unwrap_or_default();
            Ok::<_, DemoError>(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Self {
            commits,
            stat,
            failed,
            is_edit_there: text(EDITED)?.contains(OWN_EDIT),
            is_untracked_there: text(UNTRACKED)? == OWN_FILE,
        })
    }

    /// Writes what happened, and the commands that show more.
    pub(super) fn write(&self, page: &mut Page, view: &View<'_>) {
        self.write_commits(page);
        for attempt in &self.failed {
            attempt.write(page);
        }
        self.write_own_work(page);
        page.heading("look around");
        page.commands(&self.commands(view));
    }

    fn write_commits(&self, page: &mut Page) {
        page.heading(format!("what is on ralph/{CHANGE}"));
        let widest = self.commits.iter().map(|it| columns(&it.subject)).max();
        for commit in &self.commits {
            let subject = pad(&clean(&commit.subject), widest.unwrap_or(0));
            let id = page.paint(WARN, clean(&commit.id));
            let size = page.paint(DIM, clean(&commit.size));
            page.line(format!("  {id} {subject}  {size}"));
        }
        page.heading("what the stories changed");
        for line in clean_lines(&self.stat) {
            page.line(format!("  {}", line.trim_start()));
        }
    }

    fn write_own_work(&self, page: &mut Page) {
        page.heading("your own work, which you had not committed");
        for (path, what, is_there) in [
            (EDITED, "your edit", self.is_edit_there),
            (UNTRACKED, "your untracked file", self.is_untracked_there),
        ] {
            let mark = if is_there {
                page.paint(GOOD, "is still there")
            } else {
                page.paint(BAD, "is lost")
            };
            let deleted = ("deleted", path.to_owned());
            let was_deleted = self.failed.iter().any(|it| it.acts.contains(&deleted));
            let though = if was_deleted {
                ", though an attempt deleted it"
            } else {
                ""
            };
            page.line(format!("  {} {what} {mark}{though}", pad(path, LABEL)));
        }
    }

    fn commands(&self, view: &View<'_>) -> Vec<(String, &'static str)> {
        let stories = self.commits.len().saturating_sub(1);
        let (log, diff) = ("git log --stat", format!("git diff HEAD~{stories}"));
        let mut commands = vec![
            (format!("cd {}", shell(view.repository)), "go there"),
            (log.to_owned(), "one commit a story, and its files"),
            (diff, "all that the stories changed"),
        ];
        for attempt in &self.failed {
            let folder = shell(&format!("../attempt-{}", attempt.name));
            let diff = format!("cat {folder}/changes.diff");
            commands.push((diff, "what the failed attempt had done"));
            commands.push((format!("ls {folder}/"), "its prompt and its output"));
        }
        let show = format!("{} show {CHANGE}", shell(view.program));
        commands.push((show, "the change that was worked through"));
        commands.push(remove(view));
        commands
    }
}

impl FailedAttempt {
    fn write(&self, page: &mut Page) {
        let name = &self.name;
        let head = format!("attempt {name} failed: undone in the tree, kept whole to look at");
        page.heading(clean(&head));
        for line in clean_lines(&self.reason) {
            for part in wrap(&line, WIDTH) {
                page.line(format!("  {}", page.paint(BAD, part)));
            }
        }
        page.facts(&self.acts, LABEL);
    }
}

/// Says where everything is when the run did not reach its end.
pub(super) fn write_cut_short(page: &mut Page, view: &View<'_>) {
    let there = format!("cd {}", shell(view.repository));
    let commands = [(there, "what there is so far"), remove(view)];
    page.heading("look around");
    page.commands(&commands);
}

fn remove(view: &View<'_>) -> (String, &'static str) {
    let command = format!("rm -rf {}", shell(view.folder));
    (command, "when you have seen enough")
}

fn commit(entry: &str) -> Option<Commit> {
    let mut lines = entry.lines().filter(|line| !line.is_empty());
    let (id, subject) = lines.next()?.split_once(' ')?;
    let size = lines.next().and_then(|size| size.split(',').next());
    Some(Commit {
        id: id.to_owned(),
        subject: subject.to_owned(),
        size: size.unwrap_or("").trim().to_owned(),
    })
}

fn failed_attempt(
    shelf: &Shelf,
    parked: &ParkedAttempt,
    run_folder: &Path,
) -> Result<FailedAttempt, DemoError> {
    let name = parked.note.label.clone();
    let changes = shelf.changes_of(parked)?;
    let mut acts = Vec::new();
    for (verb, paths) in [
        ("created", changes.created),
        ("changed", changes.modified),
        ("deleted", changes.removed),
    ] {
        acts.extend(paths.into_iter().map(|path| (verb, path)));
    }
    // Commits of the attempt itself: the vault keeps where its HEAD was.
    let kept = format!("refs/kept/{}/{name}/HEAD", parked.run);
    let args = ["for-each-ref", "--format=%(contents:subject)", &kept];
    if let Some(vault) = run_folder.parent().and_then(Path::parent) {
        let subjects = git(&vault.join("store"), &args)?;
        let subjects = subjects.lines().map(str::to_owned);
        acts.extend(subjects.map(|subject| ("committed", subject)));
    }
    Ok(FailedAttempt {
        name,
        reason: parked.note.why.clone(),
        acts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::demo::write_start;
    use crate::ui::style::Paint;
    use pretty_assertions::assert_eq;

    const VIEW: View<'static> = View {
        folder: "/tmp/demo-x7k2",
        repository: "/tmp/demo-x7k2/greeter",
        program: "ralphtool",
    };

    fn commit(id: &str, subject: &str, size: &str) -> Commit {
        Commit {
            id: id.to_owned(),
            subject: subject.to_owned(),
            size: size.to_owned(),
        }
    }

    fn remains() -> Remains {
        Remains {
            commits: vec![
                commit("c1", "initial state", "2 files changed"),
                commit("c2", "checkpoint: 1", "1 file changed"),
                commit("c3", "checkpoint: 2", "3 files changed"),
            ],
            stat: " greet.sh | 3 +++\n 1 file changed, 3 insertions(+)\n".to_owned(),
            failed: vec![FailedAttempt {
                name: "2.1".to_owned(),
                reason: "the greeting has no name".to_owned(),
                acts: vec![
                    ("created", "junk.tmp".to_owned()),
                    ("changed", "greet.sh".to_owned()),
                    ("deleted", "ideas.txt".to_owned()),
                    ("committed", "WIP".to_owned()),
                ],
            }],
            is_edit_there: true,
            is_untracked_there: true,
        }
    }

    #[test]
    fn the_demo_shows_commits_failed_attempts_and_next_commands() {
        let mut page = Page::new(Paint::Plain);
        write_start(&mut page, &VIEW, 3);
        remains().write(&mut page, &VIEW);
        insta::assert_snapshot!(page.text);
    }

    #[test]
    fn a_demo_that_was_stopped_says_where_it_is() {
        let mut page = Page::new(Paint::Plain);
        write_cut_short(&mut page, &VIEW);
        assert_eq!(
            page.text,
            concat!(
                "\nlook around\n",
                "  cd /tmp/demo-x7k2/greeter  what there is so far\n",
                "  rm -rf /tmp/demo-x7k2      when you have seen enough\n",
            )
        );
    }
}
