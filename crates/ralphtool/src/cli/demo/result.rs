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

/// What the stories did.
#[derive(Debug)]
pub(super) struct Work {
    /// The commits of the branch, the oldest first.
    commits: Vec<Commit>,
    /// `git diff --stat` over all stories.
    stat: String,
}

/// What failed attempts did, and what is left of the user's own work.
#[derive(Debug)]
pub(super) struct Rescue {
    failed: Vec<FailedAttempt>,
    is_edit_there: bool,
    is_untracked_there: bool,
}

/// How many commands are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Full,
    /// Few enough for a small terminal.
    Short,
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

impl Work {
    /// Reads what is on the branch of the run.
    pub(super) fn read(demo: &DemoFolder) -> Result<Self, DemoError> {
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
        Ok(Self { commits, stat })
    }

    pub(super) fn write(&self, page: &mut Page) {
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
}

impl Rescue {
    /// Reads what the run in `run_folder` left.
    pub(super) fn read(
        demo: &DemoFolder,
        state: &Path,
        run_folder: &Path,
    ) -> Result<Self, DemoError> {
        let shelf = shelf(demo, state)?;
        let mut failed = Vec::new();
        for parked in shelf.attempts() {
            failed.push(failed_attempt(&shelf, &parked, run_folder)?);
        }
        let text = |name: &str| {
            let bytes = read_if_present(&demo.repository.join(name))?.unwrap_or_default();
            Ok::<_, DemoError>(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Self {
            failed,
            is_edit_there: text(EDITED)?.contains(OWN_EDIT),
            is_untracked_there: text(UNTRACKED)? == OWN_FILE,
        })
    }

    /// The names of the failed attempts, such as `2.1`.
    pub(super) fn names(&self) -> Vec<String> {
        self.failed.iter().map(|it| it.name.clone()).collect()
    }

    /// Writes what each failed attempt did, and what is left of the user's own work.
    pub(super) fn write(&self, page: &mut Page) {
        for attempt in &self.failed {
            attempt.write(page);
        }
        self.write_own_work(page);
    }

    /// Writes the same in a line each.
    pub(super) fn write_in_short(&self, page: &mut Page) {
        page.blank();
        for attempt in &self.failed {
            page.line(clean(&attempt.headline()));
        }
        if self.is_edit_there && self.is_untracked_there {
            let though = self.though_deleted(UNTRACKED);
            let line = match though {
                Some(though) => format!("your own work is still there{though} {UNTRACKED}"),
                None => "your own work is still there".to_owned(),
            };
            page.styled(GOOD, line);
        } else {
            page.styled(BAD, "your own work is not all there");
        }
    }

    fn though_deleted(&self, path: &str) -> Option<&'static str> {
        let deleted = ("deleted", path.to_owned());
        let was_deleted = self.failed.iter().any(|it| it.acts.contains(&deleted));
        was_deleted.then_some(", though an attempt deleted")
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
            let though = self.though_deleted(path);
            let though = though.map_or_else(String::new, |it| format!("{it} it"));
            page.line(format!("  {} {what} {mark}{though}", pad(path, LABEL)));
        }
    }
}

impl FailedAttempt {
    fn headline(&self) -> String {
        let name = &self.name;
        format!("attempt {name} failed: its changes were undone and saved")
    }

    fn write(&self, page: &mut Page) {
        page.heading(clean(&self.headline()));
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

/// Writes the commands that show what the run did, and the one that removes it all.
pub(super) fn write_commands(
    page: &mut Page,
    demo: &DemoFolder,
    view: &View<'_>,
    attempts: &[String],
    detail: Detail,
) {
    let branch = format!("refs/heads/ralph/{CHANGE}");
    let has_branch = git(&demo.repository, &["rev-parse", "-q", "--verify", &branch]).is_ok();
    page.heading("next");
    write_all(page, view, &commands(attempts, has_branch, detail));
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

fn commands(attempts: &[String], has_branch: bool, detail: Detail) -> Vec<(String, &'static str)> {
    let typed = |command: &str| format!("{PROGRAM} {command}");
    let mut commands = vec![(typed("log last"), "what the run did, story by story")];
    if let Some(name) = attempts.first() {
        let shown: &[(&str, &str)] = match detail {
            Detail::Short => &[("show", "why an attempt failed, and what it had changed")],
            Detail::Full => &[
                ("show", "why the attempt failed"),
                ("diff", "what it had changed"),
                ("transcript", "what the agent said and did"),
            ],
        };
        let name = shell(name);
        let of_attempt = |verb: &str| typed(&format!("attempts {verb} {name}"));
        commands.extend(shown.iter().map(|(verb, what)| (of_attempt(verb), *what)));
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

    fn work() -> Work {
        Work {
            commits: vec![
                commit("c1", "initial state", "2 files changed"),
                commit("c2", "checkpoint: 1", "1 file changed"),
                commit("c3", "checkpoint: 2", "3 files changed"),
            ],
            stat: " greet.sh | 3 +++\n 1 file changed, 3 insertions(+)\n".to_owned(),
        }
    }

    fn rescue() -> Rescue {
        Rescue {
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
        work().write(&mut page);
        rescue().write(&mut page);
        let installed = commands(&rescue().names(), true, Detail::Full);
        write_all(&mut page, &VIEW, &installed);
        let view = View {
            program: "/repo/target/release/ralphtool",
            ..VIEW
        };
        write_all(&mut page, &view, &commands(&[], false, Detail::Full));
        insta::assert_snapshot!(page.text);
    }

    #[test]
    fn after_the_screen_the_demo_is_short() {
        let mut page = Page::new(Paint::Plain);
        rescue().write_in_short(&mut page);
        page.heading("next");
        write_all(
            &mut page,
            &VIEW,
            &commands(&rescue().names(), true, Detail::Short),
        );
        let nothing_failed = Rescue {
            failed: Vec::new(),
            ..rescue()
        };
        nothing_failed.write_in_short(&mut page);
        let lost = Rescue {
            is_edit_there: false,
            ..rescue()
        };
        lost.write_in_short(&mut page);
        insta::assert_snapshot!(page.text);
    }
}
