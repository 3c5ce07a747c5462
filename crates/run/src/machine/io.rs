//! What goes into the machine and what comes out of it.
//!
//! A step carries a ticket; its answers carry it back. At most one ticket is open at a time, so an
//! answer with any other ticket is stale and dropped.

use std::time::Duration;

use jiff::Timestamp;

use crate::policy::roster::Choice;
use crate::prompt::{Message, Previous};
use crate::records::event::{Event, FinishChoice, GateResult, Outcome, Request, TaskOutline};
use crate::records::review::JudgedItem;
use crate::tamper::Finding;
use crate::test_report::TestReport;
use crate::words::quoted;
use ralph_agents::agent_event::{AgentEvent, Usage};
use ralph_agents::dialect::{Output, Trouble};
use ralph_agents::promise::Promise;
use ralph_base::ids::{AttemptId, StoryId};
use ralph_plan::change::{Dependencies, StoryState};
use ralph_vault::journal::reopening::Reopening;
use ralph_vault::journal::steps::StoryNote;
use ralph_vault::{Begun, Setback};

/// Ties an answer to the effect that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// One thing the engine has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Do a step of the run; its answer carries the ticket back.
    Step(Ticket, Step),
    /// End the agent or gate that runs, by force after the grace; a shorter grace may follow. Its
    /// end still answers the step that started it.
    StopProcess { grace: Duration },
    /// Fire the timer after this time; replaces the timer if it is set.
    SetTimer { timer: Timer, after: Duration },
    /// Fire the timer at this moment of the wall clock; replaces the timer if it is set.
    SetTimerAt { timer: Timer, at: Timestamp },
    /// Forget the timer.
    CancelTimer { timer: Timer },
    /// Write the event to the journal, then show it.
    Announce(Box<Event>),
    /// The run is over; nothing follows.
    End { outcome: Outcome, exit_code: u8 },
}

/// A step of the run. Each is answered, at the latest by [`Answer::Failed`].
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Read the change from disk; answered by `Backlog`.
    ReadBacklog,
    /// Make (or, resuming, adopt) the checkpoint branch; answered by `Begun`.
    Begin,
    /// Start an agent; answered by `AgentStarted`, its life, and `AgentEnded`.
    StartAgent(AgentRequest),
    /// Compare the task file with the checkpoint's; answered by `StoryChecked`.
    CheckStory(StoryId),
    /// Look up which gates are known to pass on the checkpoint, and let what the user changed
    /// meanwhile be part of it; answered by `GatesRecalled`.
    RecallGates {
        /// The story that starts from it.
        story: StoryId,
        /// The checkpoint of which everything is known.
        known: Option<String>,
    },
    /// Run a gate; answered by `GateEnded`.
    RunGate(GateRequest),
    /// Undo what gates changed in the tree of an attempt, which stays as it is; answered by
    /// `GatesUndone`.
    UndoGates,
    /// Compare the checkpoint with where the run began; answered by `Compared`.
    CompareWithStart,
    /// Ask a reviewer; answered by `AgentStarted`, its life, and `ReviewEnded`.
    Review(ReviewRequest),
    /// Open the boxes of a story that is done again, in a commit; answered by `Reopened`.
    Reopen(Reopening),
    /// Tick the boxes the agent left open; answered by `Ticked`.
    TickStory(StoryId),
    /// Write the checkpoint commit of a story; answered by `Saved`.
    Save(SaveRequest),
    /// Put the whole attempt into the vault; answered by `Parked`.
    Park(Setback),
    /// Bring the tree back to the checkpoint; answered by `Restored`.
    Restore,
    /// Ask the user what to do with the branch; answered by `FinishChosen`.
    AskFinish,
    /// Take the branch home or keep it; answered by `Finished`.
    Finish(FinishChoice),
}

/// An attempt that an agent is to make.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRequest {
    pub attempt: AttemptId,
    /// Who makes it.
    pub choice: Choice,
    /// How the attempt before it failed.
    pub previous: Option<Previous>,
    /// What the user wants it to know.
    pub notes: Vec<String>,
    /// The session that goes on; none for the first round, which begins one.
    pub continues: Option<Box<Continuation>>,
}

/// The next round of an attempt: its agent's session goes on, in the tree as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    /// The agent's own id of its session.
    pub session: String,
    /// Which round of the attempt it is; the second is the first that continues a session.
    pub round: u32,
    /// What the agent has to know.
    pub message: Message,
    /// What the session used so far: some agents report its total.
    pub used: Usage,
}

/// A gate that is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRequest {
    /// The story it judges, or the last one of the whole change.
    pub story: StoryId,
    /// The gate, by its place in the policy.
    pub gate: usize,
    /// Tells this run of a gate from all others of the run; its log is named after it.
    pub name: String,
    /// What it judges.
    pub ground: Ground,
    /// Which try on the same tree it is, from 1: what the try before changed is undone first.
    pub try_number: u32,
}

/// A story that is to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveRequest {
    /// What its commit says.
    pub note: StoryNote,
    /// Gates that passed at their first try, by their places in the policy: of a flaky one nothing is
    /// remembered for its tree.
    pub green: Vec<usize>,
}

/// A review that is to take place.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewRequest {
    /// The attempt that is reviewed; where the whole change is, the last one.
    pub attempt: AttemptId,
    /// The whole change is reviewed.
    pub whole: bool,
    /// Who reviews, by the place in the policy.
    pub reviewer: usize,
    /// What the gates said.
    pub gates: Vec<JudgedGate>,
    /// Why the reviewer is asked once more.
    pub again: Option<String>,
}

/// What a gate said of the work that is reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedGate {
    pub name: String,
    /// Its shell line.
    pub run: String,
    pub result: GateResult,
    /// The file with its output.
    pub log: String,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// What came of a step.
    Answer(Ticket, Answer),
    /// A timer ran out.
    TimerFired(Timer),
    /// The system wants the run to stop.
    Stop { request: Request, by: StoppedBy },
    /// The user at the screen wants something.
    User(UserCommand),
}

/// What came of a step; one that starts an agent gets several answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The change as it is on disk.
    Backlog(Vec<StoryView>),
    /// The checkpoint branch is there and HEAD is on it.
    Begun(Begun),
    /// The agent process runs.
    AgentStarted(AgentStart),
    /// The agent said or did something.
    AgentSaid(AgentEvent),
    /// The agent printed something that is no event of its own.
    AgentActive,
    /// The agent gave its final message.
    AgentFinal,
    /// The agent and everything it started are gone.
    AgentEnded(Box<AgentEnd>),
    /// The task file after the attempt.
    StoryChecked(StoryCheck),
    /// The gate and everything it started are gone.
    GateEnded(GateEnd),
    /// The tree of the attempt has nothing of what gates changed.
    GatesUndone,
    /// Gates that have paths in which the checkpoint differs from where the run began, by their places
    /// in the policy.
    Compared(Vec<usize>),
    /// The reviewer and everything it started are gone, and what it changed is undone.
    ReviewEnded(Box<ReviewEnd>),
    /// The checkpoint, and the gates that are known to pass on it.
    GatesRecalled { commit: String, green: Vec<usize> },
    /// The story has open tasks again, in this commit.
    Reopened(String),
    /// These tasks were ticked for the agent.
    Ticked(Vec<String>),
    /// The checkpoint commit is durable.
    Saved {
        commit: String,
        changed_files: usize,
    },
    /// The attempt, which had changed this many files, is durable in the vault.
    Parked(usize),
    /// The tree is at the checkpoint again.
    Restored,
    /// The user chose.
    FinishChosen(FinishChoice),
    /// The branch was taken home or kept.
    Finished {
        head: String,
        branch: String,
        changed_files: usize,
    },
    /// Git or the system failed; nothing of the step still runs.
    Failed(StepFailure),
}

/// Tasks that an attempt removed from the task file, or deferred by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostTasks {
    /// Tasks of the story that are gone.
    pub gone: Vec<String>,
    /// Tasks of the story that were open and are deferred now.
    pub deferred: Vec<String>,
    /// Tasks of other stories that are gone.
    pub of_others: Vec<String>,
}

impl LostTasks {
    /// All of them, with what became of them where they are not gone.
    pub fn all(&self) -> Vec<String> {
        let deferred = self
            .deferred
            .iter()
            .map(|task| format!("{task} (deferred)"));
        let of_others = self.of_others.iter();
        let of_others = of_others.map(|task| format!("{task} (of another story)"));
        let gone = self.gone.iter().cloned();
        gone.chain(deferred).chain(of_others).collect()
    }

    /// Why the attempt fails; none where no task was lost.
    pub(super) fn reason(&self) -> Option<String> {
        let noun = |tasks: &[String]| if tasks.len() == 1 { "task" } else { "tasks" };
        let sentences = [
            (
                &self.deferred,
                format!("the agent deferred {}", noun(&self.deferred)),
                " ",
            ),
            (
                &self.gone,
                "tasks of the story are gone from the task file".to_owned(),
                ": ",
            ),
            (
                &self.of_others,
                "tasks of other stories are gone from the task file".to_owned(),
                ": ",
            ),
        ];
        let said = sentences
            .into_iter()
            .filter(|(tasks, ..)| !tasks.is_empty());
        let said: Vec<String> = said
            .map(|(tasks, start, between)| format!("{start}{between}{}", quoted(tasks)))
            .collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFailure {
    /// What was tried and what happened.
    pub reason: String,
    /// What to do next.
    pub hint: String,
    /// A finish is half done, and only it can be carried through.
    pub begun: bool,
}

/// What a user at a screen can ask of the loop; what makes no sense at the moment is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserCommand {
    /// Stop: end the agent with grace, park, restore. The second time leaves no grace.
    Stop,
    /// Stop without grace.
    StopNow,
    /// Hold the next attempt back.
    Pause,
    /// Go on after a pause, or take back one that has not taken effect.
    GoOn,
    /// Give the story at hand up for this run.
    Skip,
    /// End the wait for a limit.
    TryNow,
    /// Give this note to the next attempt at a story; without a story to the next attempt.
    Note {
        story: Option<StoryId>,
        text: String,
    },
    /// Answer what an agent asked about a story; without a story, the only question there is.
    Answer {
        story: Option<StoryId>,
        text: String,
    },
    /// Finish the run like this, when asked.
    Finish(FinishChoice),
    /// Resume the run instead of finishing it, when asked.
    Again,
}

impl Input {
    /// The ticket this input answers to, if it answers at all.
    pub(super) const fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Answer(ticket, _) | Self::TimerFired(Timer { ticket, .. }) => Some(*ticket),
            Self::Stop { .. } | Self::User(_) => None,
        }
    }
}

/// Names a timer: what it is for, and the agent or wait it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timer {
    /// What it is for.
    pub kind: TimerKind,
    /// The agent or wait it belongs to.
    pub ticket: Ticket,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// The agent was silent for too long.
    Idle,
    /// The attempt takes too long.
    Total,
    /// The time of the run or the story has to be looked at.
    Budget,
    /// The agent gave its final message and does not exit.
    FinalGrace,
    /// A limit should have ended.
    Wait,
}

/// What a gate judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// The checkpoint, before an attempt.
    Checkpoint,
    /// What an attempt did.
    Attempt,
    /// The whole change, with every story done.
    Whole,
}

/// What wanted the run to stop; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedBy {
    /// SIGINT, or a key.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP, or the screen is gone.
    HangUp,
}

/// An agent that was just started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentStart {
    /// Folder with prompt, stdout and stderr of the attempt.
    pub transcript: String,
    /// The checkpoint commit the attempt starts from.
    pub base: Option<String>,
    /// How its stdout is to be read.
    pub output: Output,
}

/// A story as the machine needs to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryView {
    /// The story.
    pub id: StoryId,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub state: StoryState,
    /// Tasks that are open and not deferred.
    pub open_tasks: usize,
    /// Tasks that are deferred.
    pub deferred_tasks: usize,
    /// Ticked tasks.
    pub tasks_done: usize,
    /// All tasks.
    pub tasks_total: usize,
    /// Its tasks, as they are shown.
    pub tasks: Vec<TaskOutline>,
    /// The stories that must be done before it.
    pub depends_on: Dependencies,
}

/// What the task file and the tree look like after an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoryCheck {
    /// Tasks that the attempt removed or deferred instead of doing them.
    pub lost: LostTasks,
    /// Tasks of the story whose box is still open.
    pub still_open: Vec<String>,
    /// Paths the attempt changed, the task file not counted.
    pub changed_files: usize,
    /// Gates that have paths in which the attempt changed files, by their places in the policy.
    pub touched: Vec<usize>,
    /// What the attempt changed that it should not have.
    pub tamper: Vec<Finding>,
}

/// How an agent process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentExit {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal that is not ours.
    Signal(i32),
    /// Because the machine asked for it.
    StoppedByUs,
}

/// How a gate ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateEnd {
    pub result: GateResult,
    pub duration: Duration,
    /// Where what it changed is kept: gates that have paths in which the attempt has now changed files,
    /// by their places in the policy.
    pub touched: Vec<usize>,
    /// What its output says of its tests, where it is red.
    pub tests: Option<TestReport>,
}

/// Everything known about a reviewer once nothing of it runs any more.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewEnd {
    pub agent: AgentEnd,
    /// The verdicts in its answer, or why it has none.
    pub verdicts: Result<Vec<JudgedItem>, String>,
}

/// Everything known about an agent once nothing of it runs any more.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEnd {
    /// How the process ended.
    pub exit: AgentExit,
    /// Its final message was seen; agents with plain text output have one when they exit.
    pub final_seen: bool,
    /// The final message reports an error.
    pub is_error: bool,
    /// The promise in its final words.
    pub promise: Option<Promise>,
    /// Why it could not continue, as it reports it.
    pub trouble: Option<Trouble>,
    /// The end of its stderr.
    pub last_words: String,
    /// The last line of its own text.
    pub last_line: Option<String>,
    /// Processes it left behind, which had to be ended.
    pub swept: Vec<String>,
    /// Processes it left behind that could not be ended.
    pub still_running: Vec<String>,
    /// What it used; without it the last figures it gave count.
    pub usage: Option<Usage>,
    /// The id its session can be continued with; none where the agent cannot do that.
    pub session: Option<String>,
    /// It began to work: the model was asked.
    pub began: bool,
}
