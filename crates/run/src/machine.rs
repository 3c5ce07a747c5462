//! The whole loop as a pure state machine: inputs in, effects out.
//!
//! Only this decides; the engine does what the effects say and answers. Time arrives as a
//! value. Each phase carries its data; its functions return the next phase and leave their
//! effects in `effects`.

mod attempt;
mod availability;
mod baseline;
mod budget;
mod carry;
mod checks;
mod ending;
mod failed_attempt;
mod gate_run;
mod held;
mod io;
mod left_open;
mod question;
mod red_gate;
mod repair;
mod review;
mod review_verdict;
mod session;
mod stories;
mod subject;
mod user;
mod verdict;
mod whole;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod script;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::mem;
use std::time::Duration;

use jiff::Timestamp;

use self::attempt::Work;
use self::availability::Availability;
use self::baseline::{Baseline, CheckpointVerdicts};
use self::budget::Ledger;
pub use self::carry::Carry;
use self::checks::Gating;
use self::failed_attempt::FailedAttempt;
use self::held::Held;
pub use self::io::{
    AgentEnd, AgentExit, AgentRequest, AgentStart, Answer, Continuation, Effect, GateEnd,
    GateRequest, Ground, Input, JudgedGate, LostTasks, ReviewEnd, ReviewRequest, SaveRequest, Step,
    StepFailure, StoppedBy, StoryCheck, StoryView, Ticket, Timer, TimerKind, UserCommand,
};
use self::left_open::LeftOpen;
use self::question::Awaited;
use self::review::Review;
use self::session::Attempt;
use self::stories::Current;
use self::subject::{Verified, Whole};
use self::whole::WholeGating;
use super::policy::Policy;
use crate::policy::budget::Used;
use crate::policy::roster::Roster;
pub use crate::prompt::{Message, Previous};
use crate::records::event::{Event, FailedStory, FinishChoice, Finished, GateResult, Outcome};
use crate::records::notes::Notes;
use crate::records::review::Unreviewed;
use crate::test_report::TestReport;
use crate::words::{between, in_ms};
use ralph_agents::agent_event::Usage;
use ralph_base::ids::{AttemptId, StoryId};
use ralph_vault::Begun;
use ralph_vault::journal::reopening::Reopening;

/// What to do where a step was never answered: a fault of this program, not of the user's.
pub(crate) const NO_ANSWER_HINT: &str =
    "no work was lost: run `ralphtool resume`; if it happens again, report it as a bug";

/// What a run is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The change that is worked through.
    pub change: String,
    /// Who makes the attempts.
    pub roster: Roster,
    /// The rules.
    pub policy: Policy,
    /// The folder the logs of gates are kept in.
    pub gate_logs: String,
    /// The interrupted or stopped run that is resumed, whose branch exists; none for a new run.
    pub resumed: Option<Resumption>,
    /// Gates that earlier runs asked where the work on the change began, and what each said.
    pub began: BTreeMap<String, Began>,
    /// The run goes on from work of earlier runs of the change: where it began says little of what the
    /// whole change changed.
    pub continues_work: bool,
}

/// What a gate said where the work on a change began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Began {
    Green,
    /// With what its output said of its tests, where that was recorded.
    Red(Option<TestReport>),
}

/// What is known of a run that is resumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resumption {
    /// What is known of the stories it was at and that are not done.
    pub carries: BTreeMap<StoryId, Carry>,
    /// Of a run that was interrupted: the stories that had used up their retries, and without which it
    /// had continued.
    pub failed: Vec<FailedStory>,
    /// Of a run that was interrupted: the story whose last retry had failed just then.
    pub used_up: Option<FailedStory>,
    /// Of a run that had ended: the stories that it had continued without.
    pub failed_before: BTreeSet<StoryId>,
    /// What the run used so far.
    pub used: Used,
    /// What each of its stories used so far.
    pub stories: BTreeMap<StoryId, Used>,
    /// The highest attempt of each story so far: no number is used twice.
    pub attempts: BTreeMap<StoryId, u32>,
    /// What the user wrote that is not over yet.
    pub notes: Notes,
    /// What agents asked about stories, without an answer so far.
    pub questions: BTreeMap<StoryId, String>,
    /// Gates that were red where the run began, and what their output said of their tests.
    pub red_before: BTreeMap<String, Option<TestReport>>,
    /// Gates that are red in the work that is done.
    pub red_in_work: BTreeSet<String>,
    /// Reviews that gave no verdict on stories that are done.
    pub unreviewed: Vec<Unreviewed>,
}

/// The loop over one change.
#[derive(Debug)]
pub struct Machine {
    setup: Setup,
    phase: Phase,
    /// The time of the input at hand.
    now: Timestamp,
    started: Timestamp,
    last_ticket: u64,
    /// The only ticket an answer may carry.
    pending: Option<Ticket>,
    /// The checkpoint branch, once it is there.
    branch: Option<Begun>,
    stop: Option<Stop>,
    /// The system wants the program gone: the user is not asked any more.
    leaving: bool,
    /// The next attempt is held back.
    pause: bool,
    /// The story at hand is given up as soon as that is safe.
    skip: bool,
    notes: Notes,
    /// What agents asked about stories, without an answer so far.
    questions: BTreeMap<StoryId, String>,
    /// Stories whose question was waited for in vain.
    unanswered: BTreeSet<StoryId>,
    /// Who can work.
    availability: Availability,
    tally: Tally,
    ledger: Ledger,
    /// How long the run was at work before it was resumed.
    earlier: Duration,
    /// The stories as last read.
    stories: Vec<StoryView>,
    /// Deferred stories that were reported.
    deferred: HashSet<StoryId>,
    /// Stories that are left open in this run, and why.
    left_open: BTreeMap<StoryId, LeftOpen>,
    /// Stories that are not run because of those, and were reported.
    not_run: BTreeSet<StoryId>,
    /// Stories that failed before the run was resumed, and come after the others.
    failed_before: BTreeSet<StoryId>,
    /// The story whose retries were used up when the run was interrupted.
    used_up_before: Option<FailedStory>,
    /// Stories this run has a checkpoint for.
    completed: HashSet<StoryId>,
    /// What is known of stories that were left before they were done.
    left: BTreeMap<StoryId, Carry>,
    /// The highest attempt of each story.
    attempts: BTreeMap<StoryId, u32>,
    /// When the loop was over, while the user may still resume it.
    over_since: Option<Timestamp>,
    /// A finish that failed midway.
    under_way: Option<FinishChoice>,
    /// What each gate said about the last checkpoint.
    checkpoint_verdicts: CheckpointVerdicts,
    /// Gates that are red in the work that is done, as they were before it.
    red_in_work: BTreeSet<String>,
    /// Reviews that gave no verdict on a story that is done, or on the whole change.
    unreviewed: BTreeSet<(String, Option<StoryId>)>,
    /// The story that was done last.
    last_done: Option<StoryId>,
    /// How many retries the stories that are done took.
    retries_used: BTreeMap<StoryId, u32>,
    effects: Vec<Effect>,
}

/// Where the loop is.
#[derive(Debug)]
enum Phase {
    /// Not started yet.
    New,
    /// The change is read.
    Reading,
    /// The checkpoint branch is made.
    Beginning,
    /// What is known of the checkpoint is looked up.
    RecallingGates(Box<Current>),
    /// A gate runs on the checkpoint.
    Baseline(Baseline),
    /// An agent is alive.
    Working(Work),
    /// The task file is compared.
    Checking(Attempt),
    /// A gate runs on the attempt.
    Gating(Gating),
    /// What gates changed in the tree of an attempt is undone before a pause.
    UndoingGates(Box<Attempt>),
    /// The whole change is compared with where the run began.
    Comparing(Whole),
    /// A gate runs on the whole change.
    Whole(WholeGating),
    /// A reviewer is at work.
    Reviewing(Review),
    /// A story that was done gets its boxes open again.
    Reopening(Reopening),
    /// Open boxes are ticked.
    Ticking(Verified),
    /// The checkpoint commit is written.
    Saving(Verified),
    /// The failed attempt goes into the vault.
    Parking(FailedAttempt),
    /// The tree goes back to the checkpoint.
    Restoring(FailedAttempt, usize),
    /// The run waits for a limit to end.
    Waiting(Held, Timestamp),
    /// The user has to say that it goes on.
    Paused(Held),
    /// The user has to answer a question.
    AwaitingAnswer(Awaited),
    /// The user chooses how to finish.
    Asking(Outcome),
    /// The branch is taken home or kept.
    Finishing(Outcome, Finishing),
    /// Over.
    Ended,
}

impl Phase {
    /// What answers the open ticket.
    const fn answered_by(&self) -> AnsweredBy {
        match self {
            Self::Reading
            | Self::Beginning
            | Self::RecallingGates(_)
            | Self::Checking(_)
            | Self::UndoingGates(_)
            | Self::Comparing(_)
            | Self::Reopening(_)
            | Self::Ticking(_)
            | Self::Saving(_)
            | Self::Parking(_)
            | Self::Restoring(..)
            | Self::Finishing(..) => AnsweredBy::Effect,
            Self::Baseline(_)
            | Self::Working(_)
            | Self::Gating(_)
            | Self::Whole(_)
            | Self::Reviewing(_) => AnsweredBy::Process,
            Self::New
            | Self::Waiting(..)
            | Self::Paused(_)
            | Self::AwaitingAnswer(_)
            | Self::Asking(_)
            | Self::Ended => AnsweredBy::Other,
        }
    }
}

/// What answers the open ticket of a phase.
#[derive(PartialEq, Eq)]
enum AnsweredBy {
    /// The engine, as soon as it has performed the effect.
    Effect,
    /// The end of an agent, a gate or a reviewer.
    Process,
    /// A timer, the user, or nothing.
    Other,
}

/// What is done with the branch at the end.
#[derive(Debug, Clone, Copy)]
struct Finishing {
    choice: FinishChoice,
    /// The user chose it and can choose again.
    asked: bool,
}

/// A stop that was asked for.
#[derive(Debug, Clone, Copy)]
struct Stop {
    by: StoppedBy,
    /// Without grace.
    at_once: bool,
}

/// What a gate said about a checkpoint or an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Unknown,
    /// It did not run: no file in its paths was changed, so that what it said before still holds.
    NotRun,
    /// An earlier process saw it pass on the same tree.
    Remembered,
    Green,
    Red,
}

impl Verdict {
    const fn of(result: &GateResult) -> Self {
        match result {
            GateResult::Passed => Self::Green,
            GateResult::Failed { .. } => Self::Red,
        }
    }
}

/// The figures of the run.
#[derive(Debug, Default)]
struct Tally {
    stories_total: usize,
    stories_done: usize,
    attempts: u32,
    usage: Usage,
}

impl Machine {
    /// A loop that has not started.
    pub fn new(setup: Setup) -> Self {
        let is_start = setup.resumed.is_none();
        let mut checkpoint_verdicts =
            CheckpointVerdicts::unknown(setup.policy.gates.len(), is_start);
        let mut earlier = setup.resumed.clone().unwrap_or_default();
        if setup.policy.only_story.is_some() {
            // A story that is asked for is tried again.
            earlier.failed.clear();
            earlier.used_up = None;
        }
        checkpoint_verdicts.began(&setup.policy.gates, |gate| {
            let was_red = || earlier.red_before.get(gate).cloned().map(Began::Red);
            setup.began.get(gate).cloned().or_else(was_red)
        });
        Self {
            setup,
            phase: Phase::New,
            now: Timestamp::UNIX_EPOCH,
            started: Timestamp::UNIX_EPOCH,
            last_ticket: 0,
            pending: None,
            branch: None,
            stop: None,
            leaving: false,
            pause: false,
            skip: false,
            notes: earlier.notes,
            questions: earlier.questions,
            unanswered: BTreeSet::new(),
            availability: Availability::default(),
            tally: Tally {
                usage: earlier.used.usage,
                ..Tally::default()
            },
            ledger: Ledger::new(earlier.stories),
            earlier: earlier.used.time,
            stories: Vec::new(),
            deferred: HashSet::new(),
            left_open: earlier
                .failed
                .into_iter()
                .map(|it| (it.story.clone(), LeftOpen::Failed(it)))
                .collect(),
            not_run: BTreeSet::new(),
            failed_before: earlier.failed_before,
            used_up_before: earlier.used_up,
            completed: HashSet::new(),
            left: earlier.carries,
            attempts: earlier.attempts,
            over_since: None,
            under_way: None,
            checkpoint_verdicts,
            red_in_work: earlier.red_in_work,
            unreviewed: earlier
                .unreviewed
                .into_iter()
                .flat_map(|it| {
                    let stories = it.stories.into_iter();
                    stories.map(move |story| (it.review.clone(), Some(story)))
                })
                .collect(),
            last_done: None,
            retries_used: BTreeMap::new(),
            effects: Vec::new(),
        }
    }

    /// Starts the loop; a second call does nothing.
    pub fn start(&mut self, now: Timestamp) -> Vec<Effect> {
        if matches!(self.phase, Phase::New) {
            self.now = now;
            // The time the run worked before counts, the pause since does not.
            self.started = now.saturating_sub(self.earlier).unwrap_or(now);
            self.phase = self.read_backlog();
        }
        mem::take(&mut self.effects)
    }

    /// Takes one input and says what to do.
    pub fn handle(&mut self, input: Input, now: Timestamp) -> Vec<Effect> {
        let is_stale = input
            .ticket()
            .is_some_and(|ticket| Some(ticket) != self.pending);
        if is_stale {
            return Vec::new();
        }
        self.now = now;
        let phase = mem::replace(&mut self.phase, Phase::Ended);
        self.phase = self.step(phase, input);
        mem::take(&mut self.effects)
    }

    /// Whether the run is over.
    #[cfg(test)]
    fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    fn step(&mut self, phase: Phase, input: Input) -> Phase {
        match (phase, input) {
            (phase, Input::Stop { request, by }) => self.on_stop(phase, request, by),
            (phase, Input::User(command)) => self.on_user(phase, command),
            (phase, Input::TimerFired(timer)) => self.on_timer(phase, timer.kind),
            (phase, Input::Answer(_, answer)) => self.on_answer(phase, answer),
        }
    }

    fn on_answer(&mut self, phase: Phase, answer: Answer) -> Phase {
        match (phase, answer) {
            (phase, Answer::Failed(failure)) => self.on_step_failed(phase, failure),
            (Phase::Working(work), answer) => self.on_agent(work, answer),
            (Phase::Reviewing(review), answer) => self.on_reviewer(review, answer),
            (Phase::Reading, Answer::Backlog(stories)) => self.on_backlog(stories),
            (Phase::Beginning, Answer::Begun(branch)) => self.on_begun(branch),
            (Phase::Baseline(baseline), Answer::GateEnded(end)) => {
                self.on_baseline_ended(baseline, end)
            }
            (Phase::Checking(attempt), Answer::StoryChecked(check)) => {
                self.on_checked(attempt, check)
            }
            (Phase::Gating(gating), Answer::GateEnded(end)) => self.on_gate_ended(gating, end),
            (Phase::UndoingGates(attempt), Answer::GatesUndone) => self.on_gates_undone(attempt),
            (Phase::Comparing(judging), Answer::Compared(touched)) => {
                self.on_compared(judging, touched)
            }
            (Phase::Whole(whole), Answer::GateEnded(end)) => self.on_whole_ended(whole, end),
            (Phase::RecallingGates(story), Answer::GatesRecalled { commit, green }) => {
                self.on_gates_recalled(story, commit, &green)
            }
            (Phase::Reopening(reopening), Answer::Reopened(commit)) => {
                self.on_reopened(reopening, &commit)
            }
            (Phase::Ticking(verified), Answer::Ticked(tasks)) => self.on_ticked(verified, &tasks),
            (
                Phase::Saving(verified),
                Answer::Saved {
                    commit,
                    changed_files,
                },
            ) => self.on_saved(verified, commit, changed_files),
            (Phase::Parking(failed), Answer::Parked(changed_files)) => {
                self.request(Step::Restore);
                Phase::Restoring(failed, changed_files)
            }
            (Phase::Restoring(failed, changed_files), Answer::Restored) => {
                self.on_restored(failed, changed_files)
            }
            (Phase::Asking(outcome), Answer::FinishChosen(choice)) => {
                self.finish_as_asked(outcome, choice)
            }
            (
                Phase::Finishing(outcome, finishing),
                Answer::Finished {
                    head,
                    branch,
                    changed_files,
                },
            ) => {
                self.announce(Event::Finished(Finished {
                    choice: finishing.choice,
                    head,
                    branch,
                    changed_files,
                }));
                self.close(outcome)
            }
            // The answer has come, and no other will: waiting would never end.
            (phase, _) if phase.answered_by() == AnsweredBy::Effect => {
                let failure = StepFailure {
                    reason: "a step got an answer that does not fit it".to_owned(),
                    hint: NO_ANSWER_HINT.to_owned(),
                    begun: false,
                };
                self.on_step_failed(phase, failure)
            }
            // A process, a timer or the user is still to answer.
            (phase, _) => phase,
        }
    }

    /// The open ticket, where nothing that is under way can answer it any more. `has_process` says
    /// whether an agent or a gate is alive.
    pub(crate) fn unanswered(&self, has_process: bool) -> Option<Ticket> {
        let is_lost = match self.phase.answered_by() {
            AnsweredBy::Effect => true,
            AnsweredBy::Process => !has_process,
            AnsweredBy::Other => false,
        };
        self.pending.filter(|_| is_lost)
    }

    pub fn policy(&self) -> &Policy {
        &self.setup.policy
    }

    /// Opens a new ticket; answers to earlier ones are stale from now on.
    fn ask(&mut self) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.pending = Some(ticket);
        ticket
    }

    fn emit(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn announce(&mut self, event: Event) {
        self.emit(Effect::Announce(Box::new(event)));
    }

    fn warn(&mut self, code: &str, message: String) {
        self.announce(Event::warning(code, message));
    }

    /// Asks for a step, under a new ticket.
    fn request(&mut self, step: Step) {
        let ticket = self.ask();
        self.emit(Effect::Step(ticket, step));
    }

    /// How many attempts were made at a story.
    fn attempts_at(&self, story: &StoryId) -> u32 {
        self.attempts.get(story).copied().unwrap_or(0)
    }

    /// The next attempt at a story: no number is used twice.
    fn next_attempt(&self, story: &StoryId) -> AttemptId {
        let highest = self.attempts_at(story);
        AttemptId::new(story.clone(), highest.saturating_add(1))
    }

    /// The timer of the open ticket.
    fn timer(&self, kind: TimerKind) -> Timer {
        Timer {
            kind,
            ticket: self.pending.unwrap_or(Ticket(0)),
        }
    }

    fn set_timer(&mut self, kind: TimerKind, after: Duration) {
        let timer = self.timer(kind);
        self.emit(Effect::SetTimer { timer, after });
    }

    fn cancel_timer(&mut self, kind: TimerKind) {
        let timer = self.timer(kind);
        self.emit(Effect::CancelTimer { timer });
    }

    fn since(&self, then: Timestamp) -> Duration {
        between(then, self.now)
    }

    fn ms_since(&self, then: Timestamp) -> u64 {
        in_ms(self.since(then))
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
