//! Performing effects: each calls one edge and turns its answer into an input.

use std::path::{Path, PathBuf};

use super::{Engine, EngineError, Running, chain};
use super::{agent_run::AgentRun, gate_run::GateRunning};
use crate::domain::boxes::StoryCheck;
use crate::domain::change::StoryState;
use crate::domain::event::{FailureKind, FinishChoice};
use crate::domain::ids::{AttemptId, AttemptNumber, StoryId};
use crate::domain::machine::{self, Effect, Input, Previous, Save, StoryView, Ticket};
use crate::domain::policy::{self, Consequence};
use crate::domain::prompt::{PreviousFailure, PromptInput, prompt};
use crate::domain::tasks::{Task, TaskState};
use crate::edge::agent::Work;
use crate::edge::checkpoint::{CheckpointError, Story};
use crate::edge::files::{FileError, create_private_folder, read_if_present, write_whole};
use crate::edge::gate::GateRun;
use crate::edge::process::RunningProcess;
use crate::edge::source::{self, SourceError};

/// How much of the notes of a change goes into a prompt.
const LEARNINGS_CAP: usize = 16 * 1024;

/// Name of the file that says which process an attempt is.
pub(super) const PROCESS_FILE: &str = "process.json";

/// Routes one effect.
pub(super) async fn perform(engine: &mut Engine, effect: Effect) -> Result<(), EngineError> {
    match effect {
        Effect::ReadBacklog { ticket } => engine.read_backlog(ticket).await,
        Effect::Begin { ticket } => return engine.begin(ticket).await,
        Effect::StartAgent {
            ticket,
            story,
            attempt,
            previous,
        } => engine.start_agent(ticket, story, attempt, previous).await,
        Effect::StopAgent { grace, .. } => {
            if let Some(Running::Agent(agent)) = &mut engine.running {
                agent.stop(grace);
            }
        }
        Effect::CheckStory { ticket, story } => return engine.check_story(ticket, &story).await,
        Effect::RunGate {
            ticket,
            gate,
            baseline,
        } => engine.run_gate(ticket, gate, baseline),
        Effect::StopGate { grace, .. } => {
            if let Some(Running::Gate(gate)) = &mut engine.running {
                gate.stop(grace);
            }
        }
        Effect::TickStory { ticket, story } => engine.tick_story(ticket, &story).await,
        Effect::Save { ticket, save } => return engine.save(ticket, save).await,
        Effect::Park {
            ticket,
            attempt,
            kind,
            reason,
        } => return engine.park(ticket, &attempt, kind, reason).await,
        Effect::Restore { ticket } => return engine.restore(ticket).await,
        Effect::SetTimer { timer, after } => engine.timers.set(timer, after),
        Effect::SetTimerAt { timer, at } => engine.timers.set_at(timer, at),
        Effect::CancelTimer { timer } => engine.timers.cancel(timer),
        // Nobody is there to ask without a terminal UI: keeping loses nothing.
        Effect::AskFinish { ticket } => engine.ready.push_back(Input::FinishChosen {
            ticket,
            choice: FinishChoice::Keep,
        }),
        Effect::Finish { ticket, choice } => return engine.finish(ticket, choice).await,
        Effect::Announce(event) => engine.recorder.record(*event).await?,
        Effect::End { outcome, exit_code } => engine.finish_with(&outcome, exit_code),
    }
    Ok(())
}

impl Engine {
    async fn read_backlog(&mut self, ticket: Ticket) {
        let change = self.job.change.clone();
        let surroundings = self.job.surroundings.clone();
        let read = on_thread(move || source::read_again(&change, &surroundings)).await;
        match read {
            Ok(change) => {
                let stories = change.stories.iter().map(view).collect();
                self.job.change = change.clone();
                self.story_base = Some(change);
                self.ready.push_back(Input::Backlog { ticket, stories });
            }
            Err(error) => self.source_failed(ticket, "could not read the change again", &error),
        }
    }

    async fn begin(&mut self, ticket: Ticket) -> Result<(), EngineError> {
        let run = self.job.run.clone();
        let begun = if self.job.resumed {
            self.checkpoints.adopt().await
        } else {
            self.checkpoints.begin(&run, &self.job.change.name).await
        };
        match begun {
            Ok(begun) => {
                self.begun = true;
                self.warn(begun.notices).await?;
                self.ready.push_back(Input::BeginDone {
                    ticket,
                    branch: begun.branch,
                    original: begun.original,
                });
            }
            Err(error) => self.failed(ticket, "could not make the checkpoint branch", &error),
        }
        Ok(())
    }

    async fn start_agent(
        &mut self,
        ticket: Ticket,
        story: StoryId,
        attempt: AttemptNumber,
        previous: Option<Previous>,
    ) {
        let attempt = AttemptId { story, attempt };
        match self.try_start_agent(ticket, &attempt, previous).await {
            Ok(transcript) => self.ready.push_back(Input::AgentStarted {
                ticket,
                transcript: transcript.to_string_lossy().into_owned(),
            }),
            Err(StartError::Checkpoint(error)) => {
                self.failed(ticket, "could not note the attempt", &error);
            }
            Err(StartError::Other(error)) => self.ready.push_back(Input::StepFailed {
                ticket,
                what: "could not start the agent".to_owned(),
                reason: chain(error.as_ref()),
                hint: "check the agent's command, then start ralphtool again".to_owned(),
            }),
        }
    }

    async fn try_start_agent(
        &mut self,
        ticket: Ticket,
        attempt: &AttemptId,
        previous: Option<Previous>,
    ) -> Result<PathBuf, StartError> {
        let folder = self.checkpoints.attempt_folder(&self.job.run, attempt);
        create_private_folder(&folder.join("git")).map_err(StartError::other)?;
        let learnings = self.checkpoints.learnings(&self.job.change.name);
        let text = self.prompt_for(attempt, previous.as_ref(), &learnings)?;
        write_whole(&folder.join("prompt.md"), text.as_bytes(), 0o600)
            .map_err(StartError::other)?;
        self.checkpoints
            .attempt_started(attempt)
            .await
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
        let process = self
            .job
            .agent
            .process(work)
            .map_err(StartError::other)?
            .start()
            .map_err(StartError::other)?;
        note_process(&folder, &process).map_err(StartError::other)?;
        let dialect = self.job.agent.output().dialect();
        let agent = AgentRun::new(ticket, process, dialect);
        self.running = Some(Running::Agent(Box::new(agent)));
        Ok(folder)
    }

    fn prompt_for(
        &self,
        attempt: &AttemptId,
        previous: Option<&Previous>,
        learnings: &Path,
    ) -> Result<String, StartError> {
        let change = &self.job.change;
        let Some(story) = change.story(&attempt.story) else {
            return Err(StartError::other(std::io::Error::other(format!(
                "the change has no story {}",
                attempt.story
            ))));
        };
        let notes = read_if_present(learnings).map_err(StartError::other)?;
        let notes = notes
            .map(|bytes| newest(&bytes))
            .filter(|text| !text.is_empty());
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
            strict_tasks: self.job.strict_tasks,
        }))
    }

    fn previous_failure(&self, previous: &Previous) -> PreviousFailure {
        let label = previous.parked.to_string();
        let look = self
            .checkpoints
            .diff_path(&label)
            .map_or_else(|_| String::new(), |path| format!("cat {}", path.display()));
        PreviousFailure {
            reason: previous.reason.clone(),
            parked: label,
            look,
        }
    }

    async fn check_story(&mut self, ticket: Ticket, story: &StoryId) -> Result<(), EngineError> {
        let Some(base) = self.story_base.clone() else {
            return Ok(());
        };
        let id = story.clone();
        let checked = on_thread(move || {
            let check = source::check_story(&base, &id)?;
            source::put_back_foreign(&check)?;
            Ok((base, check))
        })
        .await;
        let (base, check) = match checked {
            Ok(checked) => checked,
            Err(error) => {
                self.source_failed(ticket, "could not check the task file", &error);
                return Ok(());
            }
        };
        let files: Vec<PathBuf> = base
            .task_files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        match self.checkpoints.changed_files(&files).await {
            Ok(changed_files) => self.ready.push_back(Input::StoryChecked {
                ticket,
                check: machine::StoryCheck {
                    missing: lost(&check),
                    foreign: check
                        .foreign
                        .iter()
                        .map(|it| format!("{} (story {})", it.task, it.story))
                        .collect(),
                    still_open: check.still_open.clone(),
                    changed_files,
                },
            }),
            Err(error) => self.failed(ticket, "could not look at what the attempt changed", &error),
        }
        Ok(())
    }

    fn run_gate(&mut self, ticket: Ticket, index: usize, baseline: bool) {
        let Some(gate) = self.job.gates.get(index).cloned() else {
            return;
        };
        let folder = self.checkpoints.run_folder(&self.job.run).join("gates");
        let name = format!(
            "{}-{index}{}",
            ticket.0,
            if baseline { "-baseline" } else { "" }
        );
        let log = folder.join(format!("{name}.log"));
        let started = create_private_folder(&folder)
            .map_err(|error| Box::new(error) as Box<dyn std::error::Error>)
            .and_then(|()| {
                let run = GateRun {
                    line: &gate.run,
                    root: &self.checkpoints.repository().work_tree,
                    log: &log,
                    run: &self.job.run,
                    name: &name,
                };
                Ok(run.process(self.job.shell.clone())?.start()?)
            });
        match started {
            Ok(process) => {
                let gate = GateRunning::new(ticket, process, gate.timeout);
                self.running = Some(Running::Gate(Box::new(gate)));
            }
            Err(error) => self.ready.push_back(Input::StepFailed {
                ticket,
                what: format!("could not start the gate `{}`", gate.name),
                reason: chain(error.as_ref()),
                hint: "start ralphtool again once the cause is mended".to_owned(),
            }),
        }
    }

    async fn tick_story(&mut self, ticket: Ticket, story: &StoryId) {
        let Some(base) = self.story_base.clone() else {
            return;
        };
        let id = story.clone();
        match on_thread(move || source::tick_story(&base, &id)).await {
            Ok(tasks) => self.ready.push_back(Input::Ticked { ticket, tasks }),
            Err(error) => self.source_failed(ticket, "could not tick the story's boxes", &error),
        }
    }

    async fn save(&mut self, ticket: Ticket, save: Save) -> Result<(), EngineError> {
        let story = Story {
            id: save.story,
            title: save.title,
            attempts: save.attempts,
            gates: save.gates,
        };
        match self.checkpoints.save(&story).await {
            Ok(report) => {
                self.warn(report.notices).await?;
                self.ready.push_back(Input::Saved {
                    ticket,
                    commit: report.commit,
                    changed_files: report.changed_files,
                });
            }
            Err(error) => self.failed(ticket, "could not write the checkpoint commit", &error),
        }
        Ok(())
    }

    async fn park(
        &mut self,
        ticket: Ticket,
        attempt: &AttemptId,
        kind: FailureKind,
        reason: String,
    ) -> Result<(), EngineError> {
        let told = policy::is_told(kind).then_some(reason);
        let counts = policy::consequence(kind) == Consequence::Retry;
        match self.checkpoints.park(attempt, told, counts).await {
            Ok(report) => {
                self.warn(report.notices).await?;
                self.ready.push_back(Input::Parked {
                    ticket,
                    changed_files: report.changed_files,
                });
            }
            Err(error) => self.failed(ticket, "could not park the attempt", &error),
        }
        Ok(())
    }

    async fn restore(&mut self, ticket: Ticket) -> Result<(), EngineError> {
        match self.checkpoints.restore().await {
            Ok(notices) => {
                self.warn(notices).await?;
                self.restore_task_files(ticket).await;
            }
            Err(error) => self.failed(ticket, "could not restore the checkpoint", &error),
        }
        Ok(())
    }

    /// Task files may live outside the repository, where no checkpoint reaches.
    async fn restore_task_files(&mut self, ticket: Ticket) {
        let Some(base) = self.story_base.clone() else {
            self.ready.push_back(Input::Restored { ticket });
            return;
        };
        let top = self.checkpoints.repository().work_tree.clone();
        match on_thread(move || source::put_back_outside(&base, &top)).await {
            Ok(()) => self.ready.push_back(Input::Restored { ticket }),
            Err(error) => self.source_failed(ticket, "could not put the task file back", &error),
        }
    }

    async fn finish(&mut self, ticket: Ticket, choice: FinishChoice) -> Result<(), EngineError> {
        match self.checkpoints.finish(choice).await {
            Ok(report) => {
                self.warn(report.notices).await?;
                self.ready.push_back(Input::Finished {
                    ticket,
                    head: report.head,
                    branch: report.branch,
                    changed_files: report.changed_files,
                });
            }
            Err(error) => self.failed(ticket, "could not finish the run", &error),
        }
        Ok(())
    }

    fn source_failed(&mut self, ticket: Ticket, what: &str, error: &SourceError) {
        self.ready.push_back(Input::StepFailed {
            ticket,
            what: what.to_owned(),
            reason: chain(error),
            hint: error
                .hint()
                .unwrap_or_else(|| "mend the file and start ralphtool again".to_owned()),
        });
    }
}

/// Why an agent could not be started.
enum StartError {
    Checkpoint(CheckpointError),
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

/// Reads and writes task files on a thread of their own.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Tasks the attempt removed, or set aside by itself: neither is doing them.
fn lost(check: &StoryCheck) -> Vec<String> {
    let set_aside = check
        .set_aside
        .iter()
        .map(|task| format!("{task} (set aside)"));
    let elsewhere = check
        .foreign_missing
        .iter()
        .map(|task| format!("{task} (of another story)"));
    check
        .missing
        .iter()
        .cloned()
        .chain(set_aside)
        .chain(elsewhere)
        .collect()
}

fn view(story: &crate::domain::change::Story) -> StoryView {
    let deferred = |task: &&Task| task.is_work() && task.state == TaskState::Deferred;
    StoryView {
        id: story.id.clone(),
        title: story.title.clone(),
        state: match story.state {
            StoryState::Open => machine::StoryState::Open,
            StoryState::Done => machine::StoryState::Done,
            StoryState::Deferred => machine::StoryState::Deferred,
        },
        open_tasks: story.open_tasks().count(),
        deferred_tasks: story.tasks.iter().filter(deferred).count(),
    }
}

/// The newest notes that fit, from a line's start.
fn newest(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= LEARNINGS_CAP {
        return text.trim().to_owned();
    }
    let mut start = text.len() - LEARNINGS_CAP;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let tail = &text[start..];
    let tail = tail.split_once('\n').map_or(tail, |(_, rest)| rest);
    tail.trim().to_owned()
}
