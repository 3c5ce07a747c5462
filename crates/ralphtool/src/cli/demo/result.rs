//! The result of the demo, read from git and the vault, and the commands that show more of it.

use std::path::Path;

use super::repository::{
    CHANGE, DemoError, DemoFolder, EDITED, ORIGINAL, OWN_EDIT, OWN_FILE, UNTRACKED, git,
};
use super::{PROGRAM, View};
use crate::ui::page::Page;
use crate::ui::style::{BAD, DIM, GOOD, NAME, WARN};
use crate::ui::text::{clean, clean_lines, columns, pad, wrap};
use crate::ui::words::shell;
use ralph_base::files::read_if_present;
use ralph_vault::git::repository::Repository;
use ralph_vault::{CheckpointError, ParkedAttempt, Shelf};

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
    /// Reads what the run in `run_folder` left.
    pub(super) fn read(
        demo: &DemoFolder,
        state: &Path,
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
        let shelf = shelf(demo, state)?;
        let mut failed = Vec::new();
        for parked in shelf.attempts() {
            failed.push(failed_attempt(&shelf, &parked, run_folder)?);
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

    /// Writes what happened.
    pub(super) fn write(&self, page: &mut Page) {
        self.write_commits(page);
        for attempt in &self.failed {
            attempt.write(page);
        }
        self.write_own_work(page);
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
}

impl FailedAttempt {
    fn write(&self, page: &mut Page) {
        let name = &self.name;
        let head = format!("attempt {name} failed: its changes were undone and saved");
        page.heading(clean(&head));
        for line in clean_lines(&self.reason) {
            for part in wrap(&line, WIDTH) {
                page.line(format!("  {}", page.paint(BAD, part)));
            }
        }
        page.facts(&self.acts, LABEL);
    }
}

fn shelf(demo: &DemoFolder, state: &Path) -> Result<Shelf, DemoError> {
    let repository = Repository::discover(&demo.repository).map_err(CheckpointError::from)?;
    Ok(Shelf::open(state, &repository)?)
}

/// The names of the parked attempts, such as `2.1`.
pub(super) fn failed_attempts(demo: &DemoFolder, state: &Path) -> Result<Vec<String>, DemoError> {
    let parked = shelf(demo, state)?.attempts();
    Ok(parked.into_iter().map(|it| it.note.label).collect())
}

/// Writes the commands that show what the run did, and the one that removes it all.
pub(super) fn write_commands(
    page: &mut Page,
    demo: &DemoFolder,
    view: &View<'_>,
    attempts: &[String],
) {
    let branch = format!("refs/heads/ralph/{CHANGE}");
    let has_branch = git(&demo.repository, &["rev-parse", "-q", "--verify", &branch]).is_ok();
    page.heading("next");
    write_all(page, view, &commands(attempts, has_branch));
}

fn write_all(page: &mut Page, view: &View<'_>, commands: &[(String, &'static str)]) {
    for line in setup(view) {
        page.line(format!("  {}", page.paint(NAME, line)));
    }
    page.commands(commands);
    page.heading("to remove the demo");
    page.line(format!("  {}", page.paint(NAME, removal(view))));
}

/// What to type before the commands.
fn setup(view: &View<'_>) -> Vec<String> {
    let mut lines = vec![format!("cd {}", shell(view.repository))];
    if view.program != PROGRAM {
        lines.push(format!("alias {PROGRAM}={}", shell(view.program)));
    }
    lines
}

fn commands(attempts: &[String], has_branch: bool) -> Vec<(String, &'static str)> {
    let typed = |command: &str| format!("{PROGRAM} {command}");
    let mut commands = vec![(typed("log last"), "what the run did, story by story")];
    if let Some(name) = attempts.first() {
        let name = shell(name);
        commands.push((
            typed(&format!("attempts show {name}")),
            "why the attempt failed",
        ));
        commands.push((
            typed(&format!("attempts diff {name}")),
            "what it had changed",
        ));
        commands.push((
            typed(&format!("attempts transcript {name}")),
            "what the agent said and did",
        ));
    }
    commands.push((
        typed("status"),
        "the state of the run, and what to type next",
    ));
    if has_branch {
        commands.push((
            typed("finish --cleanup"),
            "bring the changes to `main`, uncommitted",
        ));
    }
    commands.push((typed("undo"), "undo the finish"));
    commands
}

/// What removes the repository and its vault.
fn removal(view: &View<'_>) -> String {
    format!("rm -rf {} {}", shell(view.folder), shell(view.vault))
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

    const VIEW: View<'static> = View {
        folder: "/tmp/demo-x7k2",
        repository: "/tmp/demo-x7k2/greeter",
        vault: "/state/ralphtool/greeter-4567",
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
        write_start(&mut page, &VIEW);
        remains().write(&mut page);
        let installed = commands(&["2.1".to_owned()], true);
        write_all(&mut page, &VIEW, &installed);
        let view = View {
            program: "/repo/target/release/ralphtool",
            ..VIEW
        };
        write_all(&mut page, &view, &commands(&[], false));
        insta::assert_snapshot!(page.text);
    }
}
