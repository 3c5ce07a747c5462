//! Changes, previews, diffs and results, looked up for the screen.

use std::path::{Path, PathBuf};

use super::readers;
use crate::console::context::{Context, unfit};
use crate::console::repository::{last_runs_of, usable_repository};
use crate::console::runtime::on_runtime;
use crate::launch::trust;
use crate::tui::message::{
    Answer, ChangeDetail, ChangesFound, Created, DiffId, DocumentText, ErrorText, Previewed, Query,
    Undone,
};
use crate::ui::words::count;
use ralph_base::files::read_if_present;
use ralph_base::ids::RunId;
use ralph_plan::change::Change;
use ralph_plan::source;
use ralph_run::check::{CheckRequest, check};
use ralph_run::failure::Failure;
use ralph_run::finishing::{Action, Opening, Session};
use ralph_run::preview::gather::{self, Plan};
use ralph_run::settings::PartialSettings;
use ralph_vault::look::peek;
use ralph_vault::{BranchChange, CheckpointError, Diffs};

/// The most bytes of a document that are shown.
const DOCUMENT_CAP: usize = 1 << 20;

/// Looks things up from the folder in which the program was started.
pub(super) struct Lookup {
    context: Context,
    /// Opened when the first diff is asked for.
    diffs: Option<Diffs>,
}

impl Lookup {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context,
            diffs: None,
        }
    }

    pub(super) fn answer(&mut self, query: Query) -> Option<Answer> {
        match query {
            Query::Changes => Some(Answer::Changes(self.changes().map_err(error_text))),
            Query::Preview(change, chosen) => {
                let found = self.preview(&change, *chosen);
                Some(Answer::Preview(found.map_err(error_text)))
            }
            Query::Diff(id) => {
                let found = self.diff(&id);
                Some(Answer::Diff(id, found.map(Box::new)))
            }
            Query::Look(target) => {
                let found = self.look(&target).map(Box::new).map_err(error_text);
                Some(Answer::Look(target, found))
            }
            Query::Create(name) => Some(Answer::Created(self.create(&name).map_err(error_text))),
            Query::Result(name) => {
                let change = self.context.change(&name).ok();
                Some(Answer::Result(change.map(Box::new)))
            }
            Query::Undo(run) => Some(Answer::Undone(self.undo(&run).map_err(error_text))),
            Query::Export(path, export) => {
                let path = self.exported_to(&path);
                Some(Answer::Exported(readers::export(&path, export)))
            }
            _ => None,
        }
    }

    /// A path that the user typed: relative to the start folder, with `~` for the home folder.
    fn exported_to(&self, path: &Path) -> PathBuf {
        let home = std::env::home_dir();
        match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.context.directory.join(path),
        }
    }

    fn changes(&self) -> Result<ChangesFound, Failure> {
        let around = self.context.surroundings()?;
        let found = source::survey(&around)?;
        Ok(ChangesFound {
            folder: found.folder.display().to_string(),
            rows: found.changes,
            // Without a repository there are no runs; a preview says what is missing.
            runs: last_runs_of(&self.context)?,
        })
    }

    fn look(&self, target: &str) -> Result<ChangeDetail, Failure> {
        let change = self.context.change(target)?;
        let repository = usable_repository(&self.context).ok();
        let root = repository.as_ref().map_or(&change.root, |it| &it.work_tree);
        let settings = self.context.load(root, false)?;
        let settings = settings.shown(PartialSettings::default()).map_err(unfit)?;
        let documents = documents(&change);
        let proposal = documents.into_iter().find(|it| it.artifact == "proposal");
        let gates = settings.gates.value.into_iter().map(|gate| gate.name);
        Ok(ChangeDetail {
            proposal: proposal.map(|it| it.text).unwrap_or_default(),
            gates: gates.collect(),
            change: Box::new(change),
        })
    }

    fn create(&self, name: &str) -> Result<Created, Failure> {
        let new = source::create(name, &self.context.surroundings()?)?;
        let here = self.context.folder()?;
        let folder = new.folder.strip_prefix(&here).unwrap_or(&new.folder);
        Ok(Created {
            folder: folder.display().to_string(),
            // A run needs the tasks, which stand last.
            files: new.files.into_iter().rev().collect(),
            name: new.name,
        })
    }

    fn preview(&self, name: &str, chosen: PartialSettings) -> Result<Box<Previewed>, Failure> {
        let change = self.context.change(name)?;
        let directory = self.context.folder()?;
        let repository = usable_repository(&self.context).ok();
        let root = repository.as_ref().map_or(&change.root, |it| &it.work_tree);
        let loaded = self.context.load(root, false)?;
        let settings = loaded.shown(chosen).map_err(unfit)?;
        let mut warnings = loaded.warnings.clone();
        warnings.extend(loaded.unallowed().map(trust::warning));
        let state = self.context.state()?;
        let remarks = gather::look(&Plan {
            directory: &directory,
            state: &state,
            change: &change,
            settings: &settings,
            warnings: &warnings,
            environment: &self.context.environment,
        });
        let open = match &repository {
            Some(repository) => peek(&state, repository).map_err(unread)?,
            None => None,
        };
        let open = open.filter(|open| open.change == change.name);
        let has_earlier_run = open.is_some()
            || repository
                .as_ref()
                .is_some_and(|repository| gather::has_earlier_run(repository, &state, &change));
        let prompt = match (&repository, change.next_open()) {
            (Some(repository), Some(story)) => {
                let vault = self.context.vault(repository)?;
                gather::prompt_of(&change, story, &settings, &vault, open.as_ref())?
            }
            _ => String::new(),
        };
        let checked = check(CheckRequest {
            change: &change,
            gates: &settings.gates.value,
            repository: repository.as_ref(),
            folder: &directory,
        });
        Ok(Box::new(Previewed {
            documents: documents(&change),
            checked,
            change,
            settings,
            remarks,
            prompt,
            open: has_earlier_run,
        }))
    }

    fn diffs(&mut self) -> Result<&Diffs, String> {
        if self.diffs.is_none() {
            let repository = usable_repository(&self.context).map_err(|it| it.to_string())?;
            let vault = self.context.vault(&repository);
            let vault = vault.map_err(|it| it.to_string())?;
            self.diffs = Some(Diffs::new(repository, &vault));
        }
        self.diffs.as_ref().ok_or_else(String::new)
    }

    fn diff(&mut self, id: &DiffId) -> Result<ralph_vault::diff::Diff, String> {
        let diffs = self.diffs()?;
        let found = match id {
            DiffId::Live { base } => diffs.live(base),
            DiffId::Between { from, to } => diffs.between(from, to),
            DiffId::Parked { folder } => diffs.parked(folder),
        };
        found.map_err(|error| error.to_string())
    }

    /// Reverts the finish of a run, if nothing was done since.
    fn undo(&self, run: &RunId) -> Result<Undone, Failure> {
        let (directory, state) = (self.context.folder()?, self.context.state()?);
        let mut session = on_runtime(Session::open(&directory, &state, Opening::default()))?;
        let prepared = session.undo_last()?;
        let plan = prepared.plan.clone();
        let is_finish =
            matches!(&plan.action, Action::Undo { of } if matches!(**of, Action::Finish { .. }));
        if plan.run != *run || !is_finish {
            let failure = Failure::refused("something else was done after this run was finished");
            return Err(failure.hint("`ralphtool undo --dry-run` shows what would be undone"));
        }
        let done = session.carry_out(prepared)?;
        let files = |paths: &[String], what: &str| {
            let is_some = !paths.is_empty();
            is_some.then(|| format!("{} {what}", count(paths.len(), "file")))
        };
        let mut restored: Vec<String> = plan.branches.iter().map(BranchChange::done).collect();
        restored.extend(files(&plan.written, "restored"));
        restored.extend(files(&plan.removed, "moved to the vault"));
        restored.extend(done.notices);
        Ok(Undone {
            head: plan.head,
            restored,
            way_back: done.way_back,
        })
    }
}

fn unread(error: CheckpointError) -> Failure {
    Failure::system("could not look for an open run").because(error)
}

fn documents(change: &Change) -> Vec<DocumentText> {
    let mut documents = Vec::new();
    for document in &change.documents {
        for path in &document.paths {
            let Ok(Some(mut bytes)) = read_if_present(path) else {
                continue;
            };
            bytes.truncate(DOCUMENT_CAP);
            let shown = path.strip_prefix(&change.root).unwrap_or(path);
            documents.push(DocumentText {
                artifact: document.artifact.clone(),
                path: shown.display().to_string(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
    }
    documents
}

/// A failure as the screen shows it.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn error_text(failure: Failure) -> ErrorText {
    let mut message = failure.to_string();
    let mut cause = std::error::Error::source(&failure);
    while let Some(error) = cause {
        let reason = error.to_string();
        // What a failure was made of may have its words.
        if reason != message {
            message = format!("{message}: {reason}");
        }
        cause = error.source();
    }
    ErrorText {
        message,
        hints: failure.hints().to_vec(),
    }
}
