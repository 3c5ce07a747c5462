//! The only loop: waits for an input, asks the machine, performs the effects.
//!
//! It makes one decision itself: a run without a user keeps its branch. It holds what runs right now:
//! at most one process, the timers the machine set, and the record of what happened.

mod agent_run;
pub(crate) mod agents;
mod answering;
pub mod attempts;
pub(crate) mod branch_name;
mod departure;
pub mod entry;

pub(crate) mod follow;
pub(crate) mod gaps;
mod gate_run;
mod gating;
pub mod housekeeping;
pub(crate) mod outside;
mod passed_gates;
mod perform;
pub mod prepare;
pub mod repair;
mod resumption;
mod reviewing;
mod signals;
mod spent_so_far;
pub(crate) mod start;
mod step;
mod tampering;
mod task_watch;
#[cfg(test)]
mod tests;
mod timers;
mod vault_state;
mod work_start;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;

use crate::answers::Answers;
use crate::failure::chain;
use crate::machine::{Effect, Input, Machine, StoppedBy, Timer, UserCommand};
use crate::policy::Policy;
use crate::records::event::{Event, Record, Request};
use crate::records::notifier::Notifier;
use ralph_agents::event_batch::DetailLevel;
use ralph_base::files::FileError;
use ralph_base::ids::RunId;
use ralph_plan::change::Change;
use ralph_process::{RunningProcess, Supervisors};
use ralph_vault::Vault;
use ralph_vault::error::Notice;
use ralph_vault::git::repository::Repository;
use ralph_vault::{CheckpointError, FinishReport};
use vault_state::VaultState;

use crate::records::recorder::Recorder;
use agent_run::AgentRun;
use answering::AnswerWatch;
use gate_run::GateRunning;
use prepare::{PreparedRun, Run};
use reviewing::ReviewRun;
use signals::{Signalled, Signals};
use step::StepError;
use task_watch::TaskWatch;
use timers::Timers;

/// How long a git command may take where no settings say.
pub(crate) const REPAIR_TIMEOUT: Duration = Duration::from_secs(30);

/// What an agent or a gate leaves running may end by itself for this long after it.
const LEAK_GRACE: Duration = Duration::from_millis(300);

/// Where the records of a run go.
#[derive(Debug)]
pub struct RecordSink {
    /// Where records go, as many as there are at once.
    pub records: mpsc::Sender<Vec<Record>>,
    /// How much is shown of what agents say.
    pub detail_level: DetailLevel,
}

/// How a run ended.
#[derive(Debug)]
pub struct End {
    /// The exit code.
    pub exit_code: u8,
}

/// Why the loop itself could not go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The record of the run could not be written.
    #[error(transparent)]
    Record(#[from] FileError),
    /// A signal handler could not be set.
    #[error("could not listen for signals")]
    Signals(#[source] std::io::Error),
}

/// The process that runs now.
enum Running {
    Agent(Box<AgentRun>),
    Gate(Box<GateRunning>),
    Review(Box<ReviewRun>),
}

/// The loop with everything it owns.
pub struct Engine {
    machine: Machine,
    /// The vault; none only while a step has it.
    vault_state: Option<VaultState>,
    repository: Repository,
    id: RunId,
    run: Run,
    /// An open run goes on.
    resumed: bool,
    /// Short name of its branch.
    branch: String,
    recorder: Recorder,
    detail_level: DetailLevel,
    signals: Signals,
    timers: Timers,
    running: Option<Running>,
    supervisors: Supervisors,
    /// What the loop itself announces at its next turn.
    pending_events: Vec<Event>,
    /// Answers that are ready, in order.
    ready: VecDeque<Input>,
    /// The change as it was when the current story began.
    story_base: Option<Change>,
    /// What was recorded of the tasks of the story at hand.
    task_watch: Option<TaskWatch>,
    /// What users answer from other terminals.
    answer_watch: AnswerWatch,
    /// What the user at the screen asks for; none without a screen.
    user: Option<mpsc::Receiver<UserCommand>>,
    /// What the last finish that was tried is about.
    half_finished: Option<FinishReport>,
    end: Option<End>,
}

impl Engine {
    /// Makes the loop; records go to `sink` after they are written, commands come from `user`.
    pub fn new(
        prepared: PreparedRun,
        sink: RecordSink,
        user: Option<mpsc::Receiver<UserCommand>>,
    ) -> Result<Self, EngineError> {
        let folder = prepared.run_folder();
        let PreparedRun {
            id,
            run,
            machine,
            session,
            resumed,
            branch,
            preface,
        } = prepared;
        let repository = session.vault().repository().clone();
        let work_tree = repository.work_tree.clone();
        let notifier = Notifier::of(&run.settings.notify.value, work_tree);
        Ok(Self {
            detail_level: sink.detail_level,
            recorder: Recorder::open(&folder, id.clone(), sink.records, notifier)?,
            signals: Signals::listen().map_err(EngineError::Signals)?,
            timers: Timers::default(),
            machine,
            vault_state: Some(VaultState::Settled(session)),
            repository,
            id,
            run,
            resumed,
            branch,
            running: None,
            supervisors: Supervisors::default(),
            pending_events: preface,
            ready: VecDeque::new(),
            story_base: None,
            task_watch: None,
            answer_watch: AnswerWatch::of(Answers::of(&folder)),
            user,
            half_finished: None,
            end: None,
        })
    }

    /// Runs until the machine says that it is over.
    pub async fn run(mut self) -> Result<End, EngineError> {
        let end = self.work().await;
        if end.is_err() {
            // The user may change the tree from here on; the error to report is the one that ended the run.
            let _ = self.try_settle();
        }
        end
    }

    async fn work(&mut self) -> Result<End, EngineError> {
        // Where this fails, so does the start of an agent, which is reported.
        let _ = self.supervisors.prepare();
        self.record_pending().await?;
        let mut effects = self.machine.start(Timestamp::now());
        if self.machine.has_questions() {
            // Answers that came while no loop was at work, before an agent asks again.
            self.look_for_answers();
        }
        loop {
            for effect in effects {
                // What was said so far must not wait for a step that takes long.
                if !matches!(effect, Effect::Announce(_)) {
                    self.recorder.flush().await?;
                }
                perform::perform(self, effect).await?;
            }
            self.record_pending().await?;
            if let Some(end) = self.end.take() {
                self.settle_restore().await?;
                self.recorder.finish().await?;
                self.supervisors.shutdown().await;
                return Ok(end);
            }
            let input = self.next_input().await?;
            effects = self.machine.handle(input, Timestamp::now());
        }
    }

    /// Records what the loop itself announces.
    async fn record_pending(&mut self) -> Result<(), EngineError> {
        for event in std::mem::take(&mut self.pending_events) {
            self.recorder.record(event).await?;
        }
        Ok(())
    }

    /// The next thing that happens.
    async fn next_input(&mut self) -> Result<Input, EngineError> {
        if let Some(input) = self.ready.pop_front() {
            return Ok(input);
        }
        // Every step is awaited where it is performed, so its answer would be here by now.
        if let Some(ticket) = self.machine.unanswered(self.running.is_some()) {
            let lost = StepError::internal("nothing is left that could answer it");
            self.answer(ticket, Err(lost))?;
        }
        if let Some(input) = self.ready.pop_front() {
            return Ok(input);
        }
        self.settle_restore().await?;
        if let Some(state) = &mut self.vault_state {
            state.invalidate_scan();
        }
        self.recorder.flush().await?;
        self.answer_watch.remove_taken();
        loop {
            let has_questions = self.machine.has_questions();
            let watch = self.task_watch.as_ref().filter(|_| self.running.is_some());
            let next = tokio::select! {
                biased;
                signal = self.signals.next() => Next::Signal(signal),
                command = next_command(&mut self.user) => Next::Command(command),
                // Before the process: one that never stops talking must not outlast its time.
                timer = self.timers.next() => Next::Timer(timer),
                // Before the process, too: the look is cheap, and an agent that never stops talking
                // ticks boxes as well.
                () = TaskWatch::due(watch) => Next::TaskLook,
                () = self.answer_watch.due(has_questions) => Next::AnswerLook,
                happened = next_of(&mut self.running) => Next::Process(happened),
            };
            match next {
                Next::Timer(timer) => self.on_timer(timer).await?,
                Next::TaskLook => {
                    self.look_at_tasks();
                    self.record_pending().await?;
                    self.recorder.flush().await?;
                }
                Next::AnswerLook => {
                    self.look_for_answers();
                    self.record_pending().await?;
                }
                next => self.on_next(next).await?,
            }
            if let Some(input) = self.ready.pop_front() {
                return Ok(input);
            }
        }
    }

    /// From here on the user may change the tree. Where this fails, the next start restores again.
    async fn settle_restore(&mut self) -> Result<(), EngineError> {
        match self.try_settle() {
            Ok(()) => Ok(()),
            Err(error) => {
                let message = format!("could not make the restore durable: {error}");
                self.warn(vec![Notice::new("restore_unsettled", message)])
                    .await
            }
        }
    }

    fn try_settle(&mut self) -> Result<(), CheckpointError> {
        match &mut self.vault_state {
            Some(VaultState::AtCheckpoint(session)) => session.make_restore_durable(),
            Some(VaultState::Parked(session)) => {
                session.end_diff();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A timer ran out; what happened before it was noticed comes first. After a suspension
    /// that is all an agent printed meanwhile: to be silent for so long was not its doing.
    async fn on_timer(&mut self, timer: Timer) -> Result<(), EngineError> {
        // Lets the runtime see signals and files that are ready by now.
        tokio::task::yield_now().await;
        let earlier = tokio::select! {
            biased;
            signal = self.signals.next() => Some(Next::Signal(signal)),
            happened = next_of(&mut self.running) => Some(Next::Process(happened)),
            () = std::future::ready(()) => None,
        };
        if let Some(earlier) = earlier {
            self.on_next(earlier).await?;
        }
        self.ready.push_back(Input::TimerFired(timer));
        Ok(())
    }

    /// Turns what came next into inputs.
    async fn on_next(&mut self, next: Next) -> Result<(), EngineError> {
        match next {
            Next::Signal(Signalled::Stop(stop)) => self.ready.push_back(stop),
            Next::Signal(Signalled::Continued) => {
                if let Some(Running::Agent(agent)) = &self.running {
                    self.ready.push_back(agent.woken());
                }
            }
            Next::Command(command) => {
                let input = self.user_input(command);
                self.ready.push_back(input);
            }
            Next::Process(happened) => self.on_process(happened).await?,
            Next::Timer(timer) => self.ready.push_back(Input::TimerFired(timer)),
            Next::TaskLook => self.look_at_tasks(),
            Next::AnswerLook => self.look_for_answers(),
        }
        Ok(())
    }

    /// Turns what came from the screen into an input; a screen that is gone ends the program.
    fn user_input(&mut self, command: Option<UserCommand>) -> Input {
        if let Some(command) = command {
            return Input::User(command);
        }
        self.user = None;
        Input::Stop {
            request: Request::Stop,
            by: StoppedBy::HangUp,
        }
    }

    /// Turns what a process did into inputs.
    async fn on_process(&mut self, happened: Happened) -> Result<(), EngineError> {
        match happened {
            Happened::Inputs(inputs) => self.ready.extend(inputs),
            Happened::Ended => match self.running.take() {
                Some(Running::Agent(agent)) => self.ready.extend(agent.finish().await),
                Some(Running::Gate(gate)) => {
                    let end = gate.finish().await;
                    self.gate_ended(end).await?;
                }
                Some(Running::Review(review)) => self.review_ended(review).await?,
                None => {}
            },
        }
        Ok(())
    }

    /// The rules of the run.
    fn policy(&self) -> &Policy {
        self.machine.policy()
    }

    /// Announces what an edge found worth saying.
    async fn warn(&mut self, notices: Vec<Notice>) -> Result<(), EngineError> {
        for notice in notices {
            self.recorder.record(notice.into()).await?;
        }
        Ok(())
    }

    /// What to know where the vault was removed during the run: the cause of whatever failed.
    fn vault_gone(&self) -> Option<String> {
        let vault = self.vault_state.as_ref()?.vault();
        let folder = vault.vault_folder();
        if folder.join("journal").exists() {
            return None;
        }
        let branch = vault.open_run().map(|open| open.branch);
        Some(vault_gone(folder, branch.as_deref()))
    }
}

/// What is lost and what is not where the vault was removed during the run.
fn vault_gone(vault: &Path, branch: Option<&str>) -> String {
    let branch = branch.unwrap_or("the run's branch");
    format!(
        "the vault `{}` is gone, and with it the parked attempts, the state before the run and what \
         could be undone. The files in the tree and the commits on `{branch}` are safe: `git log \
         {branch}` shows the stories that are done, `ralphtool run` starts a new run",
        vault.display()
    )
}

/// What happens next.
enum Next {
    Signal(Signalled),
    Command(Option<UserCommand>),
    Process(Happened),
    Timer(Timer),
    /// It is time to look at the task files.
    TaskLook,
    /// It is time to look for answers.
    AnswerLook,
}

/// What a process did.
enum Happened {
    Inputs(Vec<Input>),
    Ended,
}

/// Asks a process to end, or kills it where it gets no grace.
fn stop(process: &mut RunningProcess, grace: Duration) {
    if grace.is_zero() {
        process.kill_now();
    } else {
        process.request_stop(grace);
    }
}

/// Waits for the running process; without end where none runs.
async fn next_of(running: &mut Option<Running>) -> Happened {
    match running {
        Some(Running::Agent(agent)) => agent.next().await,
        Some(Running::Gate(gate)) => gate.next().await,
        Some(Running::Review(review)) => review.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for the user at the screen; without end where there is no screen.
async fn next_command(user: &mut Option<mpsc::Receiver<UserCommand>>) -> Option<UserCommand> {
    match user {
        Some(user) => user.recv().await,
        None => std::future::pending().await,
    }
}

/// Where the logs of a run's gates are kept.
fn gate_logs(vault: &Vault, run: &RunId) -> PathBuf {
    vault.run_folder(run).join("gates")
}
