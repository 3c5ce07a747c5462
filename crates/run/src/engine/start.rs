//! Starting an agent: its prompt, its folder, the note in the journal, the process.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::agent_run::{AgentRun, Resumable};
use super::step::StepError;
use super::{Engine, Running, agents, chain};
use crate::agent::{Agent, PROMPT_FILE, Work};
use crate::learnings::file::newest;
use crate::machine::{AgentRequest, AgentStart, Answer, Continuation, Ticket};
use crate::prompt::continuing::continuing;
use crate::prompt::{PromptInput, prompt};
use crate::records::event::Event;
use ralph_agents::adapters::{Role, SessionArg};
use ralph_agents::agent_event::Usage;
use ralph_agents::dialect::StreamReader;
use ralph_agents::event_batch::EventBatch;
use ralph_base::files::{FileError, Tried as _, create_private_folder, open_append, write_whole};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_base::shell::quoted;
use ralph_plan::source;
use ralph_process::RunningProcess;
use ralph_process::leftovers::ProcessIdentity;
use ralph_vault::Vault;
use ralph_vault::{AtCheckpoint, Attempt};

const NOT_STARTED: &str = "could not start an attempt";

/// Name of the file that says which process an attempt is.
const PROCESS_FILE: &str = "process.json";

/// Name of the folder where the git commands of an attempt's agent are recorded.
const GIT_TRACE: &str = "git";

/// Name of the folder that keeps task files no checkpoint reaches.
pub(crate) const OUTSIDE_FOLDER: &str = "outside";

/// Which process an attempt was, by its folder.
pub(crate) fn recorded(attempt: &Path) -> Option<ProcessIdentity> {
    let text = std::fs::read(attempt.join(PROCESS_FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Where the task files are kept that the last attempt of the open run may have changed, and no
/// checkpoint reaches.
pub(crate) fn outside_of_last(checkpoints: &Vault) -> Option<PathBuf> {
    let open = checkpoints.open_run()?;
    let folder = checkpoints.attempt_folder(&open.run, &open.last_attempt?.attempt);
    Some(folder.join(OUTSIDE_FOLDER))
}

impl Engine {
    /// Starts an agent; its end is the second answer.
    pub(super) async fn start_agent(
        &mut self,
        ticket: Ticket,
        request: AgentRequest,
    ) -> Result<Answer, StepError> {
        let agent = agents::agent(&self.run.settings, &request.choice);
        let folder = match &request.continues {
            None => self.start_session(ticket, &request, &agent).await?,
            Some(continues) => {
                let round = Round {
                    request: &request,
                    continues,
                };
                self.continue_session(ticket, round, &agent).await?
            }
        };
        self.session::<Attempt>()?.prewarm_object_folders();
        Ok(Answer::AgentStarted(AgentStart {
            transcript: folder.to_string_lossy().into_owned(),
            base: self.vault()?.checkpoint_commit(),
            output: agent.output(),
        }))
    }

    /// What the user changed since the last attempt belongs to the next one's start, the tasks too.
    pub(super) async fn include_user_changes(&mut self, story: &StoryId) -> Result<(), StepError> {
        let meanwhile = self.session::<AtCheckpoint>()?.include_user_changes();
        let meanwhile = meanwhile.map_err(|error| StepError::vault(NOT_STARTED, &error))?;
        self.warn(meanwhile.notices).await?;
        if !meanwhile.changed {
            return Ok(());
        }
        self.read_plan_again()?;
        match self.run.change.story(story) {
            Some(_) => Ok(()),
            None => Err(StepError::new(
                NOT_STARTED,
                "the story was removed from the change meanwhile",
                "run `ralphtool resume`: it works on the stories that are there",
            )),
        }
    }

    /// Starts the agent of an attempt, with a session of its own.
    async fn start_session(
        &mut self,
        ticket: Ticket,
        request: &AgentRequest,
        agent: &Agent,
    ) -> Result<PathBuf, StepError> {
        let attempt = &request.attempt;
        self.include_user_changes(&attempt.story).await?;
        self.tasks_are_as_read();
        let folder = self.vault()?.attempt_folder(&self.id, attempt);
        create_private_folder(&folder.join(GIT_TRACE)).map_err(not_started)?;
        let prompt = Prompt {
            text: self.prompt_for(request)?,
            file: folder.join(PROMPT_FILE),
        };
        prompt.write()?;
        if let Some(base) = &self.story_base {
            source::keep_outside(
                base,
                &self.repository.work_tree,
                &folder.join(OUTSIDE_FOLDER),
            )
            .map_err(not_started)?;
        }
        let started = self.take_session::<AtCheckpoint>()?.start_attempt(attempt);
        self.put_session(NOT_STARTED, started.map(|session| (session, ())))?;
        let id = agent.new_session_id();
        let process = AgentProcess {
            attempt,
            session: SessionArg::New { id: id.as_deref() },
            earlier: Usage::default(),
        };
        self.start_process(ticket, process, &prompt, agent).await?;
        Ok(folder)
    }

    /// Continues the session of an attempt's agent, in the tree as the agent left it.
    async fn continue_session(
        &mut self,
        ticket: Ticket,
        Round { request, continues }: Round<'_>,
        agent: &Agent,
    ) -> Result<PathBuf, StepError> {
        let attempt = &request.attempt;
        let started = self.session::<Attempt>()?;
        let started = started.start_round(attempt, continues.round);
        self.report_restore(started).await?;
        let folder = self.vault()?.attempt_folder(&self.id, attempt);
        for output in ["stdout", "stderr"] {
            end_line(&folder.join(output)).map_err(not_started)?;
        }
        let prompt = Prompt {
            text: continuing(&continues.message, &request.notes),
            file: folder.join(format!("prompt-{}.md", continues.round)),
        };
        prompt.write()?;
        let id = &continues.session;
        let process = AgentProcess {
            attempt,
            session: SessionArg::Continue { id },
            earlier: continues.used,
        };
        self.start_process(ticket, process, &prompt, agent).await?;
        Ok(folder)
    }

    async fn start_process(
        &mut self,
        ticket: Ticket,
        process: AgentProcess<'_>,
        prompt: &Prompt,
        agent: &Agent,
    ) -> Result<(), StepError> {
        let AgentProcess {
            attempt,
            session,
            earlier,
        } = process;
        let vault = self.vault()?;
        let folder = vault.attempt_folder(&self.id, attempt);
        let learnings = crate::learnings::file::path(vault.vault_folder(), &self.run.change.name);
        let work = Work {
            run: &self.id,
            attempt,
            change: &self.run.change.name,
            root: &self.repository.work_tree,
            learnings: &learnings,
            transcript: &folder,
            prompt_file: &prompt.file,
            git_trace: &folder.join(GIT_TRACE),
            prompt: &prompt.text,
            session,
            role: Role::Worker,
        };
        let process = agent.process(work).map_err(not_started)?;
        let process = self.supervisors.start(process).await.map_err(not_started)?;
        if let Err(error) = note_process(&folder, &process) {
            // Nothing of it may go on, in a session of its own or not, while the tree is restored.
            self.end_started(process).await;
            return Err(error);
        }
        let mut reader = self.reader_of(agent);
        reader.set_earlier_usage(earlier);
        let resumable = match session {
            _ if !agent.can_continue(Role::Worker) => Resumable::No,
            SessionArg::New { id: None } => Resumable::AsReported,
            SessionArg::New { id: Some(id) } | SessionArg::Continue { id } => {
                Resumable::With(id.to_owned())
            }
        };
        let run = self.follow(ticket, process, reader, resumable);
        self.running = Some(Running::Agent(Box::new(run)));
        Ok(())
    }

    /// What reads the stream of an agent that works in the repository.
    pub(super) fn reader_of(&self, agent: &Agent) -> Box<dyn StreamReader> {
        let mut reader: Box<dyn StreamReader> = agent.output().reader(&jiff::Zoned::now());
        reader.set_folder(&self.repository.work_tree.to_string_lossy());
        reader
    }

    /// Listens to an agent that was just started.
    pub(super) fn follow(
        &self,
        ticket: Ticket,
        process: RunningProcess,
        reader: Box<dyn StreamReader>,
        resumable: Resumable,
    ) -> AgentRun {
        let batch = EventBatch::new(self.detail_level, self.machine.watches_figures());
        AgentRun::new(ticket, process, reader, batch, resumable)
    }

    /// Ends a process that was just started and cannot be used, and all that came of it.
    pub(super) async fn end_started(&mut self, mut process: RunningProcess) {
        process.kill_now();
        let ending = process.finish(Duration::ZERO).await;
        if !ending.swept.survivors.is_empty() {
            let left = ending.swept.survivors.join(", ");
            let message = format!("the agent left processes that cannot be ended: {left}");
            self.pending_events
                .push(Event::warning("still_running", message));
        }
    }

    fn prompt_for(&self, request: &AgentRequest) -> Result<String, StepError> {
        let (attempt, change) = (&request.attempt, &self.run.change);
        let vault_folder = self.vault()?.vault_folder();
        let learnings = &crate::learnings::file::path(vault_folder, &change.name);
        let Some(story) = change.story(&attempt.story) else {
            return Err(not_started(std::io::Error::other(format!(
                "the change has no story {}",
                attempt.story
            ))));
        };
        let notes =
            newest(learnings, self.run.settings.learnings_limit.value).map_err(not_started)?;
        let previous = request.previous.as_ref();
        let parked = previous.and_then(|it| it.parked.as_ref());
        let diff = parked.and_then(|it| self.vault().ok()?.diff_path(&it.to_string()).ok());
        let show_diff = diff.map(|path| format!("cat {}", quoted(&path)));
        Ok(prompt(&PromptInput {
            change,
            story,
            attempt: attempt.attempt,
            gates: &self.policy().gates,
            learnings: notes.as_deref(),
            learnings_path: &learnings.to_string_lossy(),
            previous,
            show_diff: show_diff.as_deref(),
            notes: &request.notes,
            strict_tasks: self.policy().strict_tasks,
            tamper: &self.policy().tamper,
        }))
    }
}

/// A round of an attempt after its first.
#[derive(Clone, Copy)]
struct Round<'a> {
    request: &'a AgentRequest,
    continues: &'a Continuation,
}

/// The next process of an attempt's agent.
struct AgentProcess<'a> {
    attempt: &'a AttemptId,
    session: SessionArg<'a>,
    /// What earlier processes of its session used.
    earlier: Usage,
}

/// What an agent is asked, and the file that keeps it.
struct Prompt {
    text: String,
    file: PathBuf,
}

impl Prompt {
    fn write(&self) -> Result<(), StepError> {
        write_whole(&self.file, self.text.as_bytes(), 0o600).map_err(not_started)
    }
}

/// Ends the last line of a file, which a process that was killed may have left open: what another
/// one adds begins a line of its own.
fn end_line(path: &Path) -> Result<(), FileError> {
    let mut file = open_append(path)?;
    if file.metadata().tried("read", path)?.len() == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1)).tried("read", path)?;
    file.read_exact(&mut last).tried("read", path)?;
    if last != *b"\n" {
        file.write_all(b"\n").tried("write", path)?;
    }
    Ok(())
}

/// The answer where it is the agent that could not be started.
fn not_started(error: impl std::error::Error + 'static) -> StepError {
    StepError::new(
        "could not start the agent",
        chain(&error),
        "check the agent's command, then run `ralphtool resume`",
    )
}

/// Writes down which process it is, so that the next start can end it should this one crash.
pub(super) fn note_process(folder: &Path, process: &RunningProcess) -> Result<(), StepError> {
    let Some(identity) = process.identity() else {
        return Ok(());
    };
    let text = serde_json::to_vec(&identity).map_err(not_started)?;
    write_whole(&folder.join(PROCESS_FILE), &text, 0o600).map_err(not_started)
}
