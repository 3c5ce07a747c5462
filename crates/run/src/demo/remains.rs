//! What a run of the demo left: read from git, the run's records and the parked attempts.

use std::path::Path;

use super::stage::{OWN_EDIT, OWN_FILE, Stage, StageError, git};
use super::{CHANGE, EDITED, ORIGINAL, UNTRACKED};
use crate::demo::summary::{Commit, OwnKind, OwnWork, ParkedAttempt, Remains, touches};
use crate::records::event::Event;
use crate::records::file;
use ralph_base::files::{Tried, read_if_present};

/// What stands before each commit in the log.
const COMMIT_MARK: char = '\u{1}';

impl Stage {
    /// Looks at what the run in `run_folder` left, and links its parked attempts to the top.
    pub async fn remains(&self, run_folder: &Path) -> Result<Remains, StageError> {
        let commits = self.commits().await?;
        let first = commits
            .first()
            .map_or(ORIGINAL, |commit| commit.id.as_str());
        let stat = git(&self.repository, &["diff", "--stat=72", first, "HEAD"]).await?;
        let mut parked = Vec::new();
        for (name, reason) in failed_attempts(run_folder)? {
            parked.push(self.parked(run_folder, name, reason).await?);
        }
        Ok(Remains {
            commits,
            stat,
            parked,
            own_work: self.own_work()?,
        })
    }

    async fn commits(&self) -> Result<Vec<Commit>, StageError> {
        let format = format!("--format={COMMIT_MARK}%h %s");
        let range = format!("{ORIGINAL}..ralph/{CHANGE}");
        let args = ["log", "--reverse", "--shortstat", &format, &range];
        let log = git(&self.repository, &args).await?;
        Ok(log.split(COMMIT_MARK).filter_map(commit).collect())
    }

    async fn parked(
        &self,
        run_folder: &Path,
        name: String,
        reason: String,
    ) -> Result<ParkedAttempt, StageError> {
        let folder = run_folder.join("attempts").join(&name);
        let diff = read_if_present(&folder.join("changes.diff"))?.unwrap_or_default();
        let link = self.path.join(format!("attempt-{name}"));
        std::os::unix::fs::symlink(&folder, &link).tried("link", &link)?;
        Ok(ParkedAttempt {
            touches: touches(&String::from_utf8_lossy(&diff)),
            commits: own_commits(run_folder, &name).await?,
            name,
            reason,
        })
    }

    fn own_work(&self) -> Result<Vec<OwnWork>, StageError> {
        let read = |name: &str| read_if_present(&self.repository.join(name));
        let edited = read(EDITED)?.unwrap_or_default();
        let edited = String::from_utf8_lossy(&edited).contains(OWN_EDIT);
        let untracked = read(UNTRACKED)?.is_some_and(|bytes| bytes == OWN_FILE.as_bytes());
        Ok(vec![
            own(EDITED, OwnKind::Edited, edited),
            own(UNTRACKED, OwnKind::Untracked, untracked),
        ])
    }
}

fn own(path: &str, kind: OwnKind, is_there: bool) -> OwnWork {
    OwnWork {
        path: path.to_owned(),
        kind,
        is_there,
    }
}

fn commit(entry: &str) -> Option<Commit> {
    let mut lines = entry.lines().filter(|line| !line.is_empty());
    let (id, subject) = lines.next()?.split_once(' ')?;
    let size = lines.next().unwrap_or_default();
    let size = size.split(',').next().unwrap_or_default().trim();
    Some(Commit {
        id: id.to_owned(),
        subject: subject.to_owned(),
        size: size.to_owned(),
    })
}

/// Name and reason of every attempt that failed, from the run's records.
fn failed_attempts(run_folder: &Path) -> Result<Vec<(String, String)>, StageError> {
    let found = file::read(run_folder)?.unwrap_or_default();
    Ok(found
        .records
        .into_iter()
        .filter_map(|record| match record.event {
            Event::AttemptFailed { parked, reason, .. } => Some((parked, reason)),
            _ => None,
        })
        .collect())
}

/// Subjects of the commits an attempt made itself: the vault keeps where its HEAD was.
async fn own_commits(run_folder: &Path, attempt: &str) -> Result<Vec<String>, StageError> {
    let (Some(run), Some(vault)) = (
        run_folder.file_name(),
        run_folder.parent().and_then(Path::parent),
    ) else {
        return Ok(Vec::new());
    };
    let kept = format!("refs/kept/{}/{attempt}/HEAD", run.to_string_lossy());
    let args = ["for-each-ref", "--format=%(contents:subject)", &kept];
    let subjects = git(&vault.join("store"), &args).await?;
    Ok(subjects.lines().map(str::to_owned).collect())
}
