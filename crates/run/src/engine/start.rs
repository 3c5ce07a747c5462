//! Starting an agent: its prompt, its folder, the note in the journal, the process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::agent_run::AgentRun;
use super::perform::on_thread;
use super::{Engine, EngineError, Running, chain};
use crate::agent::{Agent, PROMPT_FILE, Work};
use crate::learnings::file::newest;
use crate::machine::{AgentStart, Input, Previous, Ticket};
use crate::policy::roster::Choice;
use crate::prompt::{ParkedWork, PreviousFailure, PromptInput, prompt};
use crate::records::event::Event;
use ralph_agents::hearing::EventBatch;
use ralph_base::files::{FileError, create_private_folder, write_whole};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_base::shell::quoted;
use ralph_plan::source::{self, SourceError};
use ralph_process::RunningProcess;
use ralph_process::leftovers::ProcessIdentity;
use ralph_vault::session::{CheckpointError, Checkpoints};

/// Name of the file that says which process an attempt is.
const PROCESS_FILE: &str = "process.json";

/// Name of the folder that keeps task files no checkpoint reaches.
pub(crate) const OUTSIDE_FOLDER: &str = "outside";

/// Which process an attempt was, by its folder.
pub(crate) fn recorded(attempt: &Path) -> Option<ProcessIdentity> {
    let text = std::fs::read(attempt.join(PROCESS_FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Where the task files are kept that the last attempt of the open run may have changed, and no
/// checkpoint reaches.
pub(crate) fn outside_of_last(checkpoints: &Checkpoints) -> Option<PathBuf> {
    let open = checkpoints.open_run()?;
    let folder = checkpoints.attempt_folder(&open.run, &open.last_attempt?.attempt);
    Some(folder.join(OUTSIDE_FOLDER))
}

/// What an attempt is told beyond its story.
pub struct Told {
    /// How the attempt before it failed.
    pub previous: Option<Previous>,
    /// What the user wants it to know.
    pub notes: Vec<String>,
}

impl Engine {
    /// Starts an agent; what cannot be started is answered as a failed step.
    pub async fn start_agent(
        &mut self,
        ticket: Ticket,
        attempt: AttemptId,
        choice: &Choice,
        told: Told,
    ) -> Result<(), EngineError> {
        let agent = self.job.agents.agent(choice);
        if let Err(error) = self.take_in_meanwhile(&attempt.story).await? {
            self.not_started(ticket, error);
            return Ok(());
        }
        match self.try_start_agent(ticket, &attempt, &agent, &told).await {
            Ok(folder) => {
                let start = AgentStart {
                    transcript: folder.to_string_lossy().into_owned(),
                    base: self.checkpoints.checkpoint_commit(),
                    output: agent.output(),
                };
                self.ready.push_back(Input::AgentStarted { ticket, start });
                self.checkpoints.use_the_time();
            }
            Err(error) => self.not_started(ticket, error),
        }
        Ok(())
    }

    pub fn not_started(&mut self, ticket: Ticket, error: StartError) {
        match error {
            StartError::Checkpoint(error) => {
                self.failed(ticket, "could not start an attempt", &error);
            }
            StartError::Source(error) => {
                self.source_failed(ticket, "could not read the change again", &error);
            }
            StartError::Gone => self.ready.push_back(Input::StepFailed {
                ticket,
                what: "could not start an attempt".to_owned(),
                reason: "the story was removed from the change meanwhile".to_owned(),
                hint: "start ralphtool again: it goes on with the stories there are".to_owned(),
            }),
            StartError::Other(error) => self.ready.push_back(Input::StepFailed {
                ticket,
                what: "could not start the agent".to_owned(),
                reason: chain(error.as_ref()),
                hint: "check the agent's command, then start ralphtool again".to_owned(),
            }),
        }
    }

    /// What the user changed since the last attempt belongs to the next one's start, the tasks too.
    pub async fn take_in_meanwhile(
        &mut self,
        story: &StoryId,
    ) -> Result<Result<(), StartError>, EngineError> {
        let meanwhile = match self.checkpoints.take_in_meanwhile() {
            Ok(meanwhile) => meanwhile,
            Err(error) => return Ok(Err(StartError::Checkpoint(error))),
        };
        self.warn(meanwhile.notices).await?;
        if !meanwhile.changed {
            return Ok(Ok(()));
        }
        let change = self.job.change.clone();
        let surroundings = self.job.surroundings.clone();
        match on_thread(move || source::read_again(&change, &surroundings)).await {
            Ok(change) if change.story(story).is_none() => Ok(Err(StartError::Gone)),
            Ok(change) => {
                self.job.change = change.clone();
                self.story_base = Some(change);
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(StartError::Source(error))),
        }
    }

    async fn try_start_agent(
        &mut self,
        ticket: Ticket,
        attempt: &AttemptId,
        agent: &Agent,
        told: &Told,
    ) -> Result<PathBuf, StartError> {
        let folder = self.checkpoints.attempt_folder(&self.job.run, attempt);
        create_private_folder(&folder.join("git")).map_err(StartError::other)?;
        let learnings =
            crate::learnings::file::path(self.checkpoints.vault_folder(), &self.job.change.name);
        let text = self.prompt_for(attempt, told, &learnings)?;
        write_whole(&folder.join(PROMPT_FILE), text.as_bytes(), 0o600)
            .map_err(StartError::other)?;
        if let Some(base) = self.story_base.clone() {
            let top = self.checkpoints.repository().work_tree.clone();
            let kept = folder.join(OUTSIDE_FOLDER);
            on_thread(move || source::keep_outside(&base, &top, &kept))
                .await
                .map_err(StartError::other)?;
        }
        self.checkpoints
            .attempt_started(attempt)
            .map_err(StartError::Checkpoint)?;
        let work = Work {
            run: &self.job.run,
            attempt,
            change: &self.job.change.name,
            root: &self.checkpoints.repository().work_tree,
            learnings: &learnings,
            transcript: &folder,
            prompt: &text,
        };
        let process = agent.process(work).map_err(StartError::other)?;
        let process = self.start_watched(process).map_err(StartError::other)?;
        if let Err(error) = note_process(&folder, &process) {
            // Nothing of it may go on, in a session of its own or not, while the tree is restored.
            self.end_started(process).await;
            return Err(StartError::other(error));
        }
        let mut reader = agent.output().reader(&jiff::Zoned::now());
        reader.set_folder(&self.checkpoints.repository().work_tree.to_string_lossy());
        let batch = EventBatch::new(self.detail_level, self.machine.watches_figures());
        let run = AgentRun::new(ticket, process, reader, batch);
        self.running = Some(Running::Agent(Box::new(run)));
        Ok(folder)
    }

    /// Ends a process that was just started and cannot be used, and all that came of it.
    async fn end_started(&mut self, mut process: RunningProcess) {
        process.kill_now();
        let ending = process.finish(Duration::ZERO).await;
        self.nothing_to_watch();
        if !ending.swept.survivors.is_empty() {
            let left = ending.swept.survivors.join(", ");
            self.unsaid.push(Event::Warning {
                code: "still_running".to_owned(),
                message: format!("the agent left processes that cannot be ended: {left}"),
            });
        }
    }

    fn prompt_for(
        &self,
        attempt: &AttemptId,
        told: &Told,
        learnings: &Path,
    ) -> Result<String, StartError> {
        let change = &self.job.change;
        let Some(story) = change.story(&attempt.story) else {
            return Err(StartError::other(std::io::Error::other(format!(
                "the change has no story {}",
                attempt.story
            ))));
        };
        let notes = newest(learnings, self.job.learnings_limit).map_err(StartError::other)?;
        let previous = told.previous.as_ref();
        let previous = previous.map(|previous| self.previous_failure(previous));
        let gates: Vec<(String, String)> = self
            .job
            .gates
            .iter()
            .map(|gate| (gate.name.clone(), gate.run.clone()))
            .collect();
        Ok(prompt(&PromptInput {
            change,
            story,
            attempt: attempt.attempt,
            gates: &gates,
            learnings: notes.as_deref(),
            learnings_path: &learnings.to_string_lossy(),
            previous: previous.as_ref(),
            notes: &told.notes,
            strict_tasks: self.job.strict_tasks,
            tamper: &self.job.tamper,
        }))
    }

    fn previous_failure(&self, previous: &Previous) -> PreviousFailure {
        let parked = previous.parked.as_ref().map(|parked| {
            let label = parked.to_string();
            let diff = self.checkpoints.diff_path(&label).ok();
            let look = diff.map(|path| format!("cat {}", quoted(&path)));
            ParkedWork { label, look }
        });
        PreviousFailure {
            reason: previous.reason.clone(),
            parked,
        }
    }
}

/// Why an agent could not be started.
pub enum StartError {
    Checkpoint(CheckpointError),
    Source(SourceError),
    /// The story is not in the change any more.
    Gone,
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl StartError {
    fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Box::new(error))
    }
}

/// Writes down which process it is, so that the next start can end it should this one crash.
fn note_process(folder: &Path, process: &RunningProcess) -> Result<(), FileError> {
    let Some(identity) = process.identity() else {
        return Ok(());
    };
    let text = serde_json::to_vec(&identity).unwrap_or_default();
    write_whole(&folder.join(PROCESS_FILE), &text, 0o600)
}
