//! Shared by the machine's tests: a machine with a fixed clock, and short names for values.

use super::*;
use crate::policy::reviewer::Reviewer;
use crate::policy::roster::Choice;
use crate::policy::{Budget, Consequence, Gate, OnFinish, When, consequence, is_in_prompt};
use crate::records::event::{
    AttemptFailed, FailureKind, GateResult, Request, RunEnded, StoryExhausted,
};
use ralph_agents::dialect::Trouble;
use ralph_agents::promise::Promise;
use ralph_base::duration::TimeLimit;
use ralph_base::ids::{AttemptId, AttemptNumber};
use ralph_plan::change::{Dependencies, StoryState};
pub(super) use ralph_vault::Setback;

/// A machine, its clock, and the ticket that is open.
pub(super) struct Script {
    pub(super) machine: Machine,
    pub(super) now: Timestamp,
    pub(super) ticket: Ticket,
    /// What `start` said.
    pub(super) first: Vec<Effect>,
}

impl Script {
    pub(super) fn start(policy: Policy) -> Self {
        Self::start_with(setup(policy))
    }

    pub(super) fn start_with(setup: Setup) -> Self {
        let mut script = Self {
            machine: Machine::new(setup),
            now: clock(0),
            ticket: Ticket(0),
            first: Vec::new(),
        };
        script.first = script.machine.start(script.now);
        script.note(&script.first.clone());
        script
    }

    /// A machine whose first agent runs, with two stories to do.
    pub(super) fn working(policy: Policy) -> Self {
        let mut script = Self::start(policy);
        script.give(|ticket| backlog(ticket, &two_open()));
        script.give(begin_done);
        script.give(agent_started);
        script
    }

    /// A machine whose first agent promised COMPLETE; the task file is being checked.
    pub(super) fn promised(policy: Policy) -> Self {
        let mut script = Self::working(policy);
        script.give(|ticket| ended(ticket, complete()));
        script
    }

    /// Answers the open ticket.
    pub(super) fn give(&mut self, answer: impl FnOnce(Ticket) -> Input) -> Vec<Effect> {
        let input = answer(self.ticket);
        self.send(input)
    }

    pub(super) fn send(&mut self, input: Input) -> Vec<Effect> {
        let effects = self.machine.handle(input, self.now);
        self.note(&effects);
        effects
    }

    /// Gives several answers and says what the last one led to.
    pub(super) fn give_all(&mut self, answers: &[fn(Ticket) -> Input]) -> Vec<Effect> {
        let mut effects = Vec::new();
        for answer in answers {
            effects = self.give(answer);
        }
        effects
    }

    pub(super) fn fire(&mut self, kind: TimerKind) -> Vec<Effect> {
        self.give(|ticket| Input::TimerFired(Timer { kind, ticket }))
    }

    pub(super) fn stop(&mut self) -> Vec<Effect> {
        self.send(Input::Stop {
            request: Request::Stop,
            by: StoppedBy::Interrupt,
        })
    }

    /// The user at the screen wants something.
    pub(super) fn ask_for(&mut self, command: UserCommand) -> Vec<Effect> {
        self.send(Input::User(command))
    }

    pub(super) fn pass(&mut self, seconds: u64) -> &mut Self {
        self.now += Duration::from_secs(seconds);
        self
    }

    fn note(&mut self, effects: &[Effect]) {
        for effect in effects {
            self.ticket = asked(effect).unwrap_or(self.ticket);
        }
    }
}

/// The ticket an effect opens.
pub(super) fn asked(effect: &Effect) -> Option<Ticket> {
    match effect {
        Effect::Step(ticket, _)
        | Effect::SetTimerAt {
            timer: Timer { ticket, .. },
            ..
        } => Some(*ticket),
        Effect::StopProcess { .. }
        | Effect::SetTimer { .. }
        | Effect::CancelTimer { .. }
        | Effect::Announce(_)
        | Effect::End { .. } => None,
    }
}

/// 12:00 plus these seconds.
pub(super) fn clock(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_014_400 + seconds).unwrap()
}

/// The agent of all attempts.
pub(super) fn the_agent() -> Choice {
    agent("demo")
}

pub(super) fn agent(name: &str) -> Choice {
    Choice {
        agent: name.to_owned(),
        model: None,
    }
}

pub(super) fn setup(policy: Policy) -> Setup {
    Setup {
        change: "my-feature".to_owned(),
        roster: Roster::just("demo", None),
        policy,
        gate_logs: "gates".to_owned(),
        resumed: None,
        began: BTreeMap::new(),
        continues_work: false,
    }
}

/// The default policy, headless.
pub(super) fn keep() -> Policy {
    Policy {
        on_finish: OnFinish::Keep,
        idle_timeout: None,
        ..Policy::default()
    }
}

pub(super) fn gate(name: &str, baseline: bool) -> Gate {
    Gate {
        name: name.to_owned(),
        run: format!("run-{name}"),
        timeout: TimeLimit::OFF,
        baseline,
        allow_red: false,
        when: When::Story,
        keep_changes: false,
        retries: 0,
        paths: None,
        junit: None,
    }
}

pub(super) fn reviewer(name: &str) -> Reviewer {
    Reviewer {
        name: name.to_owned(),
        choice: agent(&format!("agent-{name}")),
        when: When::Story,
        advisory: false,
        timeout: Some(Duration::from_secs(20 * 60)),
        budget: Budget::default(),
    }
}

pub(super) fn id(id: &str) -> StoryId {
    StoryId(id.to_owned())
}

pub(super) fn parked(story: &str, attempt: u32) -> AttemptId {
    AttemptId {
        story: id(story),
        attempt: AttemptNumber(attempt),
    }
}

pub(super) fn story(name: &str, state: StoryState) -> StoryView {
    let (open_tasks, deferred_tasks) = match state {
        StoryState::Open => (2, 0),
        StoryState::Done => (0, 0),
        StoryState::Deferred => (0, 2),
    };
    StoryView {
        id: id(name),
        title: format!("Title {name}"),
        state,
        open_tasks,
        deferred_tasks,
        tasks_done: 2 - open_tasks - deferred_tasks,
        tasks_total: 2,
        tasks: Vec::new(),
        depends_on: Dependencies::Unknown,
    }
}

pub(super) fn two_open() -> Vec<StoryView> {
    vec![story("1", StoryState::Open), story("2", StoryState::Open)]
}

pub(super) fn backlog(ticket: Ticket, stories: &[StoryView]) -> Input {
    let stories = stories.to_vec();
    Input::Answer(ticket, Answer::Backlog(stories))
}

pub(super) fn first_done(ticket: Ticket) -> Input {
    let stories = [story("1", StoryState::Done), story("2", StoryState::Open)];
    backlog(ticket, &stories)
}

pub(super) fn all_done(ticket: Ticket) -> Input {
    let stories = [story("1", StoryState::Done), story("2", StoryState::Done)];
    backlog(ticket, &stories)
}

pub(super) fn begin_done(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::Begun(Begun {
            branch: "ralph/my-feature".to_owned(),
            original: "main".to_owned(),
            original_commit: Some("c0".to_owned()),
            abandon_to: None,
            notices: Vec::new(),
        }),
    )
}

pub(super) fn agent_started(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::AgentStarted(AgentStart {
            transcript: "attempts/1.1".to_owned(),
            ..AgentStart::default()
        }),
    )
}

pub(super) fn ended(ticket: Ticket, end: AgentEnd) -> Input {
    let end = Box::new(end);
    Input::Answer(ticket, Answer::AgentEnded(end))
}

pub(super) fn ended_complete(ticket: Ticket) -> Input {
    ended(ticket, complete())
}

pub(super) fn ended_silent(ticket: Ticket) -> Input {
    ended(ticket, silent())
}

pub(super) fn ended_by_us(ticket: Ticket) -> Input {
    let end = AgentEnd {
        exit: AgentExit::StoppedByUs,
        final_seen: false,
        ..silent()
    };
    ended(ticket, end)
}

/// A clean exit without a promise.
pub(super) fn silent() -> AgentEnd {
    AgentEnd {
        exit: AgentExit::Code(0),
        final_seen: true,
        is_error: false,
        promise: None,
        trouble: None,
        last_words: String::new(),
        last_line: None,
        swept: Vec::new(),
        still_running: Vec::new(),
        usage: None,
        session: None,
        began: true,
    }
}

pub(super) fn complete() -> AgentEnd {
    AgentEnd {
        promise: Some(Promise::Complete),
        ..silent()
    }
}

pub(super) fn failed(reason: &str) -> AgentEnd {
    AgentEnd {
        promise: Some(Promise::Failed(reason.to_owned())),
        ..silent()
    }
}

pub(super) fn limited(resets_at: Option<Timestamp>) -> AgentEnd {
    AgentEnd {
        is_error: true,
        trouble: Some(Trouble::limit("usage limit reached", resets_at)),
        ..silent()
    }
}

pub(super) fn checked(ticket: Ticket) -> Input {
    let check = StoryCheck {
        changed_files: 3,
        ..StoryCheck::default()
    };
    Input::Answer(ticket, Answer::StoryChecked(check))
}

pub(super) fn gate_green(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::GateEnded(GateEnd {
            result: GateResult::Passed,
            duration: Duration::from_millis(1500),
            touched: Vec::new(),
            tests: None,
        }),
    )
}

pub(super) fn gate_red(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::GateEnded(GateEnd {
            result: red(),
            duration: Duration::from_millis(1500),
            touched: Vec::new(),
            tests: None,
        }),
    )
}

pub(super) fn gate_missing(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::GateEnded(GateEnd {
            result: missing(),
            duration: Duration::from_millis(1500),
            touched: Vec::new(),
            tests: None,
        }),
    )
}

/// The end of a gate whose program is not there.
pub(super) fn missing() -> GateResult {
    GateResult::Failed {
        how: "exit code 127: command not found".to_owned(),
        tail: "sh: 1: tset: not found\n".to_owned(),
        cannot_run: true,
    }
}

pub(super) fn red() -> GateResult {
    GateResult::Failed {
        how: "exit code 1".to_owned(),
        tail: "boom\n".to_owned(),
        cannot_run: false,
    }
}

/// The first checkpoint, of which nothing is known.
pub(super) fn looked(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::GatesRecalled {
            commit: "c0".to_owned(),
            green: Vec::new(),
        },
    )
}

/// The checkpoint [`saved`] makes.
pub(super) fn looked_saved(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::GatesRecalled {
            commit: "c0ffee".to_owned(),
            green: Vec::new(),
        },
    )
}

pub(super) fn ticked(ticket: Ticket) -> Input {
    let tasks = Vec::new();
    Input::Answer(ticket, Answer::Ticked(tasks))
}

pub(super) fn saved(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::Saved {
            commit: "c0ffee".to_owned(),
            changed_files: 4,
        },
    )
}

pub(super) fn gates_undone(ticket: Ticket) -> Input {
    Input::Answer(ticket, Answer::GatesUndone)
}

pub(super) fn was_parked(ticket: Ticket) -> Input {
    Input::Answer(ticket, Answer::Parked(5))
}

pub(super) fn restored(ticket: Ticket) -> Input {
    Input::Answer(ticket, Answer::Restored)
}

pub(super) fn finished(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::Finished {
            head: "main".to_owned(),
            branch: "ralph/my-feature".to_owned(),
            changed_files: 7,
        },
    )
}

pub(super) fn step_failed(ticket: Ticket) -> Input {
    Input::Answer(
        ticket,
        Answer::Failed(StepFailure {
            reason: "could not write: disk full".to_owned(),
            hint: "free some space".to_owned(),
            begun: false,
        }),
    )
}

pub(super) fn say(event: Event) -> Effect {
    Effect::Announce(Box::new(event))
}

pub(super) fn warning(code: &str, message: &str) -> Effect {
    say(Event::Warning {
        code: code.to_owned(),
        message: message.to_owned(),
    })
}

pub(super) fn requested(request: Request) -> Effect {
    say(Event::Requested { request })
}

pub(super) fn start_agent(
    ticket: u64,
    story: &str,
    attempt: u32,
    previous: Option<Previous>,
) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::StartAgent(AgentRequest {
            attempt: parked(story, attempt),
            choice: the_agent(),
            previous,
            notes: Vec::new(),
            continues: None,
        }),
    )
}

/// Story 1's attempt is parked, and the next prompt has the reason where its kind says so.
pub(super) fn park(ticket: u64, attempt: u32, kind: FailureKind, reason: &str) -> Effect {
    let prompt_reason = is_in_prompt(kind).then_some(reason);
    park_for_prompt(ticket, attempt, kind, reason, prompt_reason)
}

pub(super) fn park_for_prompt(
    ticket: u64,
    attempt: u32,
    kind: FailureKind,
    reason: &str,
    prompt_reason: Option<&str>,
) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::Park(Setback {
            attempt: parked("1", attempt),
            prompt_reason: prompt_reason.map(str::to_owned),
            uses_retry: consequence(kind) == Consequence::Retry,
            kind,
            reason: reason.to_owned(),
        }),
    )
}

/// Story 1's attempt failed after no time and five changed files.
pub(super) fn attempt_failed(
    attempt: u32,
    kind: FailureKind,
    reason: &str,
    retrying: bool,
) -> Effect {
    say(Event::AttemptFailed(AttemptFailed {
        story: id("1"),
        attempt: AttemptNumber(attempt),
        kind,
        reason: reason.to_owned(),
        parked: format!("1.{attempt}"),
        changed_files: 5,
        retrying,
        duration_ms: 0,
        usage: Usage::default(),
        repairs: 0,
    }))
}

/// A story used up its retries.
pub(super) fn exhausted(failed: &FailedStory, continues: bool) -> Effect {
    say(Event::StoryExhausted(StoryExhausted {
        title: format!("Title {}", failed.story),
        failed: failed.clone(),
        continues,
    }))
}

/// The run ended after no time with two stories in all.
pub(super) fn run_ended(outcome: Outcome, stories_done: usize, attempts: u32) -> Effect {
    say(Event::RunEnded(RunEnded {
        outcome,
        stories_done,
        stories_total: 2,
        attempts,
        duration_ms: 0,
        usage: Usage::default(),
    }))
}

pub(super) fn finish(ticket: u64, choice: FinishChoice) -> Effect {
    Effect::Step(Ticket(ticket), Step::Finish(choice))
}

pub(super) fn story_done(story: &str) -> Outcome {
    Outcome::StoryDone {
        story: Some(id(story)),
    }
}

pub(super) fn end(outcome: Outcome, exit_code: u8) -> Effect {
    Effect::End { outcome, exit_code }
}

/// Done, with this gate red since before the run.
pub(super) fn unverified(gate: &str) -> Outcome {
    Outcome::Unverified {
        gates: vec![gate.to_owned()],
        reviews: Vec::new(),
    }
}

pub(super) fn disk_full() -> Outcome {
    Outcome::Broken {
        reason: "could not write: disk full".to_owned(),
        hint: "free some space".to_owned(),
    }
}

pub(super) fn stop_process(seconds: u64) -> Effect {
    let grace = Duration::from_secs(seconds);
    Effect::StopProcess { grace }
}

/// A timer of the ticket.
pub(super) fn timer(kind: TimerKind, ticket: u64) -> Timer {
    Timer {
        kind,
        ticket: Ticket(ticket),
    }
}
