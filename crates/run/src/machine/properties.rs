//! What holds in every history: random answers, stray ones, stops and timers at any moment.

mod reviews;

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use self::reviews::{Reviewed, any_reviewer};
use super::script::{asked, clock, finished, gate, id, limited, setup, silent, step_failed};
use super::*;
use crate::policy::{
    Budget, Consequence, Gate, OnBlocked, OnExhausted, OnFinish, When, consequence,
};
use crate::records::event::{
    AttemptContinued, AttemptFailed, AttemptStarted, FailureKind, GateFinished, GateResult,
    GateRetried, GateStarted, Record, RepairStarted, Request, RunEnded, RunStarted, StoryCompleted,
    StoryExhausted, StoryStarted, WIRE_VERSION,
};
use crate::records::progress::Progress;
use crate::settings::{PathPatterns, TamperCheck};
use crate::tamper::{Finding, Severity, TamperPolicy};
use crate::test_report::TestReport;
use ralph_agents::agent_event::{AgentEvent, Refusal};
use ralph_agents::dialect::Trouble;
use ralph_agents::promise::Promise;
use ralph_base::ids::{AttemptId, AttemptNumber, RunId};
use ralph_plan::change::{Dependencies, StoryState};

/// Steps that legal answers may take after the random part; far more than any history needs.
const BOUND: usize = 400;

/// One step of a random history.
#[derive(Debug, Clone)]
enum Move {
    /// A legal answer to the open ticket; the number picks which.
    Answer(u8),
    /// The open step fails.
    Fail,
    /// An answer to a ticket that is not open.
    Stale(u8),
    /// An answer to the open ticket that does not fit its effect.
    Misfit(u8),
    /// A stop.
    Stop(Request, StoppedBy),
    /// A timer of the open ticket fires, set or not.
    Fire(TimerKind),
    /// Seconds go by.
    Pass(u32),
    /// The user at the screen wants something.
    User(UserCommand),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let request = prop_oneof![Just(Request::Stop), Just(Request::StopNow)];
    let by = prop_oneof![
        Just(StoppedBy::Interrupt),
        Just(StoppedBy::Terminate),
        Just(StoppedBy::HangUp)
    ];
    let kind = prop_oneof![
        Just(TimerKind::Idle),
        Just(TimerKind::Total),
        Just(TimerKind::Budget),
        Just(TimerKind::FinalGrace),
        Just(TimerKind::Wait),
    ];
    let command = prop_oneof![
        1 => Just(UserCommand::Stop),
        1 => Just(UserCommand::StopNow),
        4 => Just(UserCommand::Pause),
        4 => Just(UserCommand::GoOn),
        4 => Just(UserCommand::Skip),
        4 => Just(UserCommand::TryNow),
        4 => prop::option::of(1_u8..4).prop_map(|story| UserCommand::Note {
            story: story.map(|number| id(&number.to_string())),
            text: "note".to_owned(),
        }),
        4 => Just(UserCommand::Again),
        4 => prop::option::of(1_u8..4).prop_map(|story| answer_to(story.map(|it| id(&it.to_string())))),
        1 => Just(UserCommand::Finish(FinishChoice::Keep)),
    ];
    let one = prop_oneof![
        60 => any::<u8>().prop_map(Move::Answer),
        1 => Just(Move::Fail),
        4 => any::<u8>().prop_map(Move::Stale),
        4 => any::<u8>().prop_map(Move::Misfit),
        1 => (request, by).prop_map(|(request, by)| Move::Stop(request, by)),
        6 => kind.prop_map(Move::Fire),
        6 => (0_u32..2000).prop_map(Move::Pass),
        8 => command.prop_map(Move::User),
    ];
    prop::collection::vec(one, 0..120)
}

fn policies() -> impl Strategy<Value = Policy> {
    let seconds =
        |range: std::ops::Range<u64>| prop::option::of(range.prop_map(Duration::from_secs)).boxed();
    let on_finish = prop_oneof![
        Just(OnFinish::Ask),
        Just(OnFinish::Cleanup),
        Just(OnFinish::Keep)
    ];
    let on_blocked = prop_oneof![
        Just(None),
        Just(Some(OnBlocked::Wait)),
        Just(Some(OnBlocked::Skip)),
        Just(Some(OnBlocked::Stop))
    ];
    let rules = (
        any::<bool>(),
        any::<bool>(),
        0_u32..4,
        on_finish,
        0_u32..4,
        on_blocked,
    );
    let gate = (any::<bool>(), any::<bool>(), 0_u32..3, any::<bool>());
    let gates = prop::collection::vec(gate.prop_map(any_gate), 0..4);
    let own = prop::option::weighted(0.3, 1_u64..2000);
    let reviewers = prop::collection::vec((any::<bool>(), any::<bool>(), own), 0..3);
    let gates = (gates, reviewers);
    let times = (seconds(1..900), seconds(1..3000), seconds(60..9000));
    let budget = (
        seconds(1..20_000),
        prop::option::of(1_u64..5000),
        seconds(1..9000),
        prop::option::of(1_u64..3000),
    );
    let only = prop::option::weighted(0.2, 1_u8..4);
    let on_exhausted = prop::option::of(prop_oneof![
        Just(OnExhausted::Stop),
        Just(OnExhausted::Continue)
    ]);
    let only = (only, on_exhausted);
    let tests = prop_oneof![
        Just(Severity::Off),
        Just(Severity::Warn),
        Just(Severity::Fail)
    ];
    let times = (times, tests);
    (rules, gates, times, budget, only).prop_map(|(rules, gates, (times, tests), budget, only)| {
        let (only, on_exhausted) = only;
        Policy {
            on_exhausted,
            tamper: TamperPolicy {
                tests,
                ..TamperPolicy::default()
            },
            strict_tasks: rules.0,
            require_changes: rules.1,
            max_retries: rules.2,
            repairs: rules.4,
            on_finish: rules.3,
            on_blocked: rules.5,
            gates: gates.0.into_iter().enumerate().map(named).collect(),
            reviewers: gates.1.into_iter().enumerate().map(any_reviewer).collect(),
            idle_timeout: times.0,
            total_timeout: times.1,
            max_wait: times.2,
            budget: Budget {
                time: budget.0,
                tokens: budget.1,
                usd: None,
            },
            story_budget: Budget {
                time: budget.2,
                tokens: budget.3,
                usd: None,
            },
            only_story: only.map(|only| id(&only.to_string())),
            ..Policy::default()
        }
    })
}

/// The user's answer to a question.
fn answer_to(story: Option<StoryId>) -> UserCommand {
    let text = "yes".to_owned();
    UserCommand::Answer { story, text }
}

/// An answer that fits few steps.
fn odd_answer(pick: u8, ticket: Ticket) -> Input {
    match pick % 5 {
        0 => Input::Answer(ticket, Answer::Restored),
        1 => step_failed(ticket),
        2 => Input::Answer(ticket, Answer::AgentActive),
        3 => super::script::ended_complete(ticket),
        _ => super::script::saved(ticket),
    }
}

fn any_gate((baseline, at_the_end, retries, has_paths): (bool, bool, u32, bool)) -> Gate {
    let when = [When::Story, When::End][usize::from(at_the_end)];
    Gate {
        when,
        retries,
        paths: has_paths.then(|| PathPatterns::new(&["web/**"]).unwrap()),
        ..gate("", baseline)
    }
}

fn named((place, gate): (usize, Gate)) -> Gate {
    Gate {
        name: format!("g{place}"),
        ..gate
    }
}

fn resumptions() -> impl Strategy<Value = Option<Resumption>> {
    let carry = (0_u32..5, 0_u32..5).prop_map(|(made, retries_used)| {
        let carry = Carry {
            retries_used,
            previous: None,
        };
        (made, (id("1"), carry))
    });
    let failed = prop::option::of((1_u8..5).prop_map(|story| failed_story(&story.to_string())));
    let failed = (failed, 0_u8..3);
    let resumed = (prop::option::of(carry), failed).prop_map(|(carry, (failed, when))| {
        let (made, carry) = carry.unzip();
        let failed_when = |it: u8| failed.iter().filter(move |_| when == it).cloned();
        Some(Resumption {
            failed: failed_when(0).collect(),
            used_up: failed_when(1).next(),
            failed_before: failed_when(2).map(|it| it.story).collect(),
            carries: carry.into_iter().collect(),
            attempts: made.into_iter().map(|made| (id("1"), made)).collect(),
            ..Resumption::default()
        })
    });
    prop_oneof![3 => Just(None), 1 => resumed]
}

fn failed_story(story: &str) -> FailedStory {
    FailedStory {
        story: id(story),
        kind: FailureKind::Failed,
        reason: "no".to_owned(),
        attempts: 2,
        gate: None,
    }
}

/// What is known of the dependencies of four stories, without a cycle: each may depend on those
/// before it in some order.
fn dependencies() -> impl Strategy<Value = Vec<Dependencies>> {
    let order = Just(vec![1_usize, 2, 3, 4]).prop_shuffle();
    let said = prop::collection::vec(prop::option::of(any::<u8>()), 4);
    let known = (order, said).prop_map(|(order, said)| {
        let of = |story: usize| {
            let Some(mask) = said[story - 1] else {
                return Dependencies::Unknown;
            };
            let before = order.iter().take_while(|it| **it != story);
            let before = before.filter(|it| mask & (1 << **it) != 0);
            before.map(|it| id(&it.to_string())).collect()
        };
        (1..=4).map(of).collect()
    });
    prop_oneof![
        1 => Just(vec![Dependencies::Unknown; 4]),
        3 => known,
    ]
}

/// Where the user's tree stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tree {
    Untouched,
    AtCheckpoint,
    Worked,
    Parked,
}

/// How far an agent that is alive has come.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    started: bool,
    stopping: bool,
}

/// What the open ticket asks for.
#[derive(Debug, Clone, PartialEq)]
enum Open {
    Nothing,
    /// The user has to say that it goes on.
    Paused,
    /// The user has to answer the question about this story.
    Asked(StoryId),
    Step(Effect),
}

/// A model of everything outside the machine; it checks every effect.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact that is true or not"
)]
struct World {
    machine: Machine,
    policy: Policy,
    now: Timestamp,
    open: Open,
    ticket: Ticket,
    agent: Option<Life>,
    gate_alive: bool,
    /// The gate whose last try may be followed by another one, and which try that was.
    tried: Option<(GateRequest, bool)>,
    tree: Tree,
    promised: bool,
    /// The attempt passed every check.
    accepted: bool,
    /// Attempts that were parked.
    parked: HashSet<AttemptId>,
    /// Repairs of the attempt at hand.
    repairs: u32,
    /// What each gate said of the checkpoint, of the attempt, and of the whole change.
    before: Vec<Option<bool>>,
    gates: HashMap<usize, bool>,
    whole: HashMap<usize, bool>,
    /// The tests that failed at gates that were red; none where their output names none.
    tests_before: Vec<Failed>,
    tests: HashMap<usize, Failed>,
    tests_of_all: HashMap<usize, Failed>,
    /// Gates that passed on the attempt, but not at their first try.
    flaky: HashSet<usize>,
    /// Gates that have paths in which the attempt, or the whole change, changed files.
    touched: HashSet<usize>,
    touched_by_all: HashSet<usize>,
    /// Gates that were announced as not run on the attempt.
    not_run: HashSet<usize>,
    /// What the last try of a gate on the attempt adds to that, once it counts.
    touched_by_gate: Vec<usize>,
    /// How often a gate was announced as flaky.
    flaky_times: u32,
    /// Gates that could not run the last time.
    missing: HashSet<usize>,
    reviewed: Reviewed,
    /// How many checkpoints there are.
    checkpoints: u32,
    stories: Vec<StoryView>,
    /// The stories as they were last read.
    read: Vec<StoryView>,
    counted: HashMap<StoryId, u32>,
    /// The system wants the program gone.
    leaving: bool,
    /// The stories of the notes that no prompt had.
    unread: Vec<Option<StoryId>>,
    ended: bool,
    order: Order,
    progress: Progress,
    seq: u64,
}

impl World {
    fn new(
        policy: Policy,
        roster: Roster,
        resumed: Option<Resumption>,
        said: &[Dependencies],
    ) -> Self {
        let state = |n: usize| match n {
            3 => StoryState::Deferred,
            _ => StoryState::Open,
        };
        // A story that is asked for is tried again.
        let not_asked_for = resumed.iter().filter(|_| policy.only_story.is_none());
        let failed = not_asked_for.flat_map(|it| &it.failed);
        let failed: Vec<StoryId> = failed.map(|it| it.story.clone()).collect();
        Self {
            machine: Machine::new(Setup {
                roster,
                resumed,
                ..setup(policy.clone())
            }),
            now: clock(0),
            open: Open::Nothing,
            ticket: Ticket(0),
            agent: None,
            gate_alive: false,
            tried: None,
            tree: Tree::Untouched,
            promised: false,
            accepted: false,
            parked: HashSet::new(),
            repairs: 0,
            before: vec![None; policy.gates.len()],
            gates: HashMap::new(),
            whole: HashMap::new(),
            tests_before: vec![None; policy.gates.len()],
            tests: HashMap::new(),
            tests_of_all: HashMap::new(),
            flaky: HashSet::new(),
            touched: HashSet::new(),
            touched_by_all: HashSet::new(),
            not_run: HashSet::new(),
            touched_by_gate: Vec::new(),
            flaky_times: 0,
            missing: HashSet::new(),
            reviewed: Reviewed::default(),
            checkpoints: 0,
            stories: (1..=4)
                .map(|n| StoryView {
                    depends_on: said.get(n - 1).cloned().unwrap_or_default(),
                    ..super::script::story(&n.to_string(), state(n))
                })
                .collect(),
            read: Vec::new(),
            counted: HashMap::new(),
            leaving: false,
            unread: Vec::new(),
            ended: false,
            order: Order {
                failed: failed.into_iter().collect(),
                ..Order::default()
            },
            progress: Progress::default(),
            seq: 0,
            policy,
        }
    }

    fn start(&mut self) {
        let effects = self.machine.start(self.now);
        self.see_all(effects);
    }

    fn send(&mut self, input: Input) {
        let effects = self.machine.handle(input, self.now);
        self.see_all(effects);
    }

    fn play(&mut self, step: &Move) {
        self.check_unanswered();
        match step {
            Move::Answer(pick) => self.answer(*pick),
            Move::Fail => self.fail(),
            Move::Stale(pick) => self.send_unheard(*pick, Ticket(self.ticket.0 + 1)),
            Move::Misfit(pick) => self.misfit(*pick),
            Move::Stop(request, by) => {
                self.leaving |= *by != StoppedBy::Interrupt;
                self.send(Input::Stop {
                    request: *request,
                    by: *by,
                });
            }
            Move::User(command) => self.send(Input::User(command.clone())),
            Move::Fire(kind) => {
                let (kind, ticket) = (*kind, self.ticket);
                self.send(Input::TimerFired(Timer { kind, ticket }));
            }
            Move::Pass(seconds) => self.now += Duration::from_secs(u64::from(*seconds)),
        }
    }

    fn fail(&mut self) {
        if matches!(
            self.open,
            Open::Nothing
                | Open::Paused
                | Open::Asked(_)
                | Open::Step(Effect::SetTimerAt { .. } | Effect::Step(_, Step::AskFinish))
        ) {
            return;
        }
        // The contract: nothing of a step that failed still runs.
        self.agent = None;
        self.gate_alive = false;
        self.send(step_failed(self.ticket));
    }

    /// Sends an answer that must not be heard.
    fn send_unheard(&mut self, pick: u8, ticket: Ticket) {
        let input = odd_answer(pick, ticket);
        let effects = self.machine.handle(input, self.now);
        assert_eq!(effects, [], "a stray answer was heard");
    }

    fn misfit(&mut self, pick: u8) {
        let Open::Step(step) = self.open.clone() else {
            return;
        };
        let pick = match step {
            Effect::Step(_, Step::StartAgent(_) | Step::Review(_)) => pick % 2 * 4,
            Effect::Step(_, Step::Restore | Step::Save(_)) => 2,
            _ if pick % 5 == 1 => 0,
            _ => pick,
        };
        let is_answered_later = matches!(
            step,
            Effect::Step(
                _,
                Step::StartAgent(_) | Step::RunGate(_) | Step::Review(_) | Step::AskFinish
            ) | Effect::SetTimerAt { .. }
        );
        if is_answered_later {
            return self.send_unheard(pick, self.ticket);
        }
        // Nothing else is to come: it ends the run instead of hanging it.
        let before = self.ticket;
        self.send(odd_answer(pick, before));
        assert!(self.ended || self.ticket != before, "a misfit was ignored");
    }

    /// The loop must notice whenever nothing is under way that could answer.
    fn check_unanswered(&self) {
        let is_step = match &self.open {
            Open::Step(step) => !matches!(
                step,
                Effect::SetTimerAt { .. } | Effect::Step(_, Step::AskFinish)
            ),
            _ => false,
        };
        let want = is_step.then_some(self.ticket);
        assert_eq!(self.machine.unanswered(false), want);
        let is_process = matches!(
            self.open,
            Open::Step(Effect::Step(
                _,
                Step::StartAgent(_) | Step::RunGate(_) | Step::Review(_)
            ))
        );
        assert_eq!(self.machine.unanswered(true), want.filter(|_| !is_process));
    }

    fn answer(&mut self, pick: u8) {
        if self.open == Open::Paused {
            return self.send(Input::User(UserCommand::GoOn));
        }
        if let Open::Asked(story) = self.open.clone() {
            return self.send(Input::User(answer_to(Some(story))));
        }
        let Open::Step(step) = self.open.clone() else {
            return;
        };
        let ticket = self.ticket;
        let input = match step {
            Effect::Step(_, Step::ReadBacklog) => self.backlog(pick),
            Effect::Step(_, Step::Begin) => {
                self.tree = Tree::AtCheckpoint;
                super::script::begin_done(ticket)
            }
            Effect::Step(_, Step::StartAgent(_)) => self.agent(pick),
            Effect::Step(_, Step::Review(_)) => self.reviewer(pick),
            Effect::Step(_, Step::CheckStory(_)) => {
                let check = check(pick);
                self.touched = check.touched.iter().copied().collect();
                Input::Answer(ticket, Answer::StoryChecked(check))
            }
            Effect::Step(_, Step::CompareWithStart) => {
                let touched = places(pick);
                self.touched_by_all = touched.iter().copied().collect();
                Input::Answer(ticket, Answer::Compared(touched))
            }
            Effect::Step(_, Step::UndoGates) => Input::Answer(ticket, Answer::GatesUndone),
            Effect::Step(_, Step::RecallGates { .. }) => self.looked(pick),
            Effect::Step(_, Step::RunGate(request)) => self.gate(pick, request),
            Effect::Step(_, Step::Reopen(reopening)) => self.reopened(&reopening.story),
            Effect::Step(_, Step::TickStory(_)) => Input::Answer(
                ticket,
                Answer::Ticked(vec!["t".to_owned(); usize::from(pick % 2)]),
            ),
            Effect::Step(_, Step::Save(request)) => self.saved(&request.note.id),
            Effect::Step(_, Step::Park(_)) => {
                self.tree = Tree::Parked;
                super::script::was_parked(ticket)
            }
            Effect::Step(_, Step::Restore) => {
                self.tree = Tree::AtCheckpoint;
                Input::Answer(ticket, Answer::Restored)
            }
            Effect::Step(_, Step::AskFinish) => {
                Input::Answer(ticket, Answer::FinishChosen(FinishChoice::Cleanup))
            }
            Effect::Step(_, Step::Finish(_)) => finished(ticket),
            Effect::SetTimerAt { timer, at } => {
                self.now = self.now.max(at);
                Input::TimerFired(timer)
            }
            other => panic!("no answer to {other:?}"),
        };
        self.send(input);
    }

    fn backlog(&mut self, pick: u8) -> Input {
        let mut stories = self.stories.clone();
        if pick == 7 {
            // The user opened the boxes again.
            stories[0] = in_state(&stories[0], StoryState::Open);
        }
        self.read.clone_from(&stories);
        let ticket = self.ticket;
        Input::Answer(ticket, Answer::Backlog(stories))
    }

    fn agent(&mut self, pick: u8) -> Input {
        let ticket = self.ticket;
        let life = self.agent.unwrap_or_default();
        if !life.started {
            self.agent = Some(Life {
                started: true,
                ..life
            });
            return super::script::agent_started(ticket);
        }
        let usage = Usage {
            output_tokens: u64::from(pick) * 5,
            ..Usage::default()
        };
        let text = "words".to_owned();
        let event = match pick % 16 {
            0 => AgentEvent::Text { text },
            1 => AgentEvent::usage(usage),
            2 => {
                return Input::Answer(ticket, Answer::AgentActive);
            }
            3 => {
                return Input::Answer(ticket, Answer::AgentFinal);
            }
            12 if pick > 200 => AgentEvent::Auth {
                cause: Refusal::Login,
                message: text,
            },
            _ => {
                self.agent = None;
                let end = agent_end(pick, life.stopping, self.now);
                self.promised =
                    end.final_seen && !end.is_error && end.promise == Some(Promise::Complete);
                return super::script::ended(ticket, end);
            }
        };
        Input::Answer(ticket, Answer::AgentSaid(event))
    }

    fn looked(&mut self, pick: u8) -> Input {
        if pick.is_multiple_of(3) {
            // The user changed something.
            self.new_checkpoint(None, &HashMap::new());
        }
        Input::Answer(
            self.ticket,
            Answer::GatesRecalled {
                commit: format!("c{}", self.checkpoints),
                green: (0..usize::from(pick % 4)).collect(),
            },
        )
    }

    /// Another checkpoint, of which gates after stories said this.
    fn new_checkpoint(
        &mut self,
        said: Option<&HashMap<usize, bool>>,
        tests: &HashMap<usize, Failed>,
    ) {
        self.checkpoints += 1;
        let gates = self.policy.gates.iter().enumerate();
        for (index, _) in gates.filter(|(_, gate)| gate.when == When::Story) {
            let new = said.and_then(|said| said.get(&index)).copied();
            let is_not_run = said.is_some() && new.is_none();
            if !is_not_run {
                self.before[index] = new;
                self.tests_before[index] = tests.get(&index).cloned().flatten();
            }
        }
    }

    fn reopened(&mut self, story: &StoryId) -> Input {
        self.checkpoints += 1;
        self.whole.clear();
        self.reviewed.whole_changed();
        self.set_state(story, StoryState::Open);
        Input::Answer(
            self.ticket,
            Answer::Reopened(format!("c{}", self.checkpoints)),
        )
    }

    fn set_state(&mut self, story: &StoryId, state: StoryState) {
        for view in &mut self.stories {
            if view.id == *story {
                *view = in_state(view, state);
            }
        }
    }

    fn gate(&mut self, pick: u8, request: GateRequest) -> Input {
        let GateRequest { gate, ground, .. } = request;
        self.gate_alive = false;
        let is_green = !pick.is_multiple_of(4);
        let is_missing = pick.is_multiple_of(16);
        if ground == Ground::Attempt && is_green && request.try_number > 1 {
            self.flaky.insert(gate);
        }
        let is_retry = request.try_number > 1;
        self.tried = Some((request, !is_green && !is_missing));
        if is_missing {
            self.missing.insert(gate);
        } else {
            self.missing.remove(&gate);
        }
        match ground {
            Ground::Checkpoint => self.before[gate] = Some(is_green),
            Ground::Attempt => drop(self.gates.insert(gate, is_green)),
            Ground::Whole => drop(self.whole.insert(gate, is_green)),
        }
        let failed = failed_tests(pick).filter(|_| !is_green && !is_missing);
        let tests = failed.clone().map(TestReport::of_failed);
        self.note_tests(gate, ground, is_retry, failed);
        let touched = places(pick / 4);
        if ground == Ground::Attempt {
            self.touched_by_gate.clone_from(&touched);
        }
        Input::Answer(
            self.ticket,
            Answer::GateEnded(GateEnd {
                touched,
                tests,
                result: match (is_green, is_missing) {
                    (true, _) => GateResult::Passed,
                    (false, false) => super::script::red(),
                    (false, true) => super::script::missing(),
                },
                duration: Duration::from_secs(1),
            }),
        )
    }

    /// A test that failed at one of the tries on a checkpoint failed before.
    fn note_tests(&mut self, gate: usize, ground: Ground, is_retry: bool, failed: Failed) {
        match ground {
            Ground::Checkpoint => {
                let before = self.tests_before[gate].take().filter(|_| is_retry);
                self.tests_before[gate] = match (before, failed) {
                    (Some(before), Some(failed)) => Some(&before | &failed),
                    (before, failed) => before.or(failed),
                };
            }
            Ground::Attempt => drop(self.tests.insert(gate, failed)),
            Ground::Whole => drop(self.tests_of_all.insert(gate, failed)),
        }
    }

    /// Whether a red gate is red as it was before: nothing fails that did not fail then.
    fn is_as_before(&self, gate: usize, now: &Failed) -> bool {
        let was_red = self.before[gate] == Some(false) && !self.missing.contains(&gate);
        was_red
            && match (&self.tests_before[gate], now) {
                (None, _) => true,
                (Some(before), Some(now)) => now.is_subset(before),
                (Some(_), None) => false,
            }
    }

    fn saved(&mut self, story: &StoryId) -> Input {
        self.tree = Tree::AtCheckpoint;
        let said = std::mem::take(&mut self.gates);
        let tests = std::mem::take(&mut self.tests);
        self.new_checkpoint(Some(&said), &tests);
        self.whole.clear();
        self.reviewed.whole_changed();
        self.set_state(story, StoryState::Done);
        Input::Answer(
            self.ticket,
            Answer::Saved {
                commit: format!("c{}", self.checkpoints),
                changed_files: 4,
            },
        )
    }

    fn see_all(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            assert!(!self.ended, "after the end: {effect:?}");
            if let Some(ticket) = asked(&effect) {
                let is_rearmed = matches!(effect, Effect::SetTimerAt { .. });
                assert!(ticket > self.ticket || is_rearmed && ticket == self.ticket);
                self.ticket = ticket;
                self.open = Open::Step(effect.clone());
            }
            self.see(&effect);
        }
    }

    fn see(&mut self, effect: &Effect) {
        let nothing_runs = self.agent.is_none() && !self.gate_alive;
        match effect {
            Effect::Step(_, Step::StartAgent(request)) => self.see_agent(request),
            Effect::StopProcess { .. } => {
                assert!(!nothing_runs, "nothing is there to stop");
                if let Some(life) = &mut self.agent {
                    life.stopping = true;
                }
            }
            Effect::Step(_, Step::RunGate(request)) => {
                assert!(nothing_runs);
                self.see_try(request);
                let GateRequest { gate, ground, .. } = request;
                let is_touched = match ground {
                    Ground::Checkpoint => true,
                    Ground::Attempt => self.touched.contains(gate),
                    Ground::Whole => self.touched_by_all.contains(gate),
                };
                assert!(is_touched || self.policy.gates[*gate].paths.is_none());
                let is_attempt = *ground == Ground::Attempt;
                let tree = [Tree::AtCheckpoint, Tree::Worked][usize::from(is_attempt)];
                assert_eq!(self.tree, tree);
                assert!(!is_attempt || self.promised);
                let is_later = self.policy.gates[*gate].when == When::End;
                assert!(*ground == Ground::Checkpoint || is_later != is_attempt);
                self.gate_alive = true;
            }
            Effect::Step(_, Step::CheckStory(_)) => self.reviewed.attempt_changed(),
            Effect::Step(_, Step::Review(request)) => {
                assert!(nothing_runs, "two at a time");
                let tree = [Tree::Worked, Tree::AtCheckpoint][usize::from(request.whole)];
                assert_eq!(self.tree, tree);
                assert!(request.whole || self.promised);
                self.agent = Some(Life::default());
            }
            Effect::Step(_, Step::UndoGates) => {
                assert!(nothing_runs && self.tree == Tree::Worked);
            }
            Effect::Step(_, Step::TickStory(_)) => self.accepted = true,
            Effect::Step(_, Step::Save(request)) => self.see_save(request),
            Effect::Step(_, Step::Park(setback)) => {
                assert!(nothing_runs && self.tree == Tree::Worked);
                if setback.kind == FailureKind::Gate
                    && let Some((last, _)) = &self.tried
                    // A repair that failed before a gate ran has none.
                    && let Some(tests) = self.tests.get(&last.gate)
                {
                    let is_as_before = self.is_as_before(last.gate, tests);
                    assert!(!is_as_before, "it was red before, and nothing new fails");
                }
                assert!(self.parked.insert(setback.attempt.clone()), "parked twice");
            }
            Effect::Step(_, Step::Restore) => assert!(nothing_runs && self.tree == Tree::Parked),
            Effect::Step(_, Step::Finish(_)) => {
                assert!(nothing_runs && self.tree == Tree::AtCheckpoint);
            }
            Effect::Step(_, Step::AskFinish) => {
                assert!(nothing_runs && self.tree == Tree::AtCheckpoint);
                assert!(!self.leaving, "no user can be asked");
            }
            Effect::Announce(event) => self.hear(event),
            Effect::End { outcome, exit_code } => {
                assert!(nothing_runs, "something outlives the run");
                self.see_verified(outcome, *exit_code);
                self.see_failed(outcome, *exit_code);
                assert!(self.order.run_ended, "an end without a word");
                let is_broken = matches!(outcome, Outcome::Broken { .. });
                let is_unverified = matches!(outcome, Outcome::Unverified { .. });
                let is_all = self.policy.only_story.is_none() && is_unverified;
                if (*outcome == Outcome::AllDone || is_all) && self.tree != Tree::Untouched {
                    self.see_all_done();
                }
                let is_at_rest = matches!(self.tree, Tree::Untouched | Tree::AtCheckpoint);
                assert!(
                    is_broken || is_at_rest,
                    "left in the middle: {:?}",
                    self.tree
                );
                self.ended = true;
                self.open = Open::Nothing;
            }
            _ => {}
        }
    }

    fn see_agent(&mut self, request: &AgentRequest) {
        let AgentRequest {
            notes,
            attempt,
            continues,
            ..
        } = request;
        self.see_budget(&attempt.story);
        let is_due =
            |it: &mut Option<StoryId>| it.as_ref().is_none_or(|story| *story == attempt.story);
        let due = self.unread.extract_if(.., is_due).count();
        assert!(notes.len() >= due, "a note was lost");
        assert!(self.agent.is_none() && !self.gate_alive, "two at a time");
        if continues.is_some() {
            assert_eq!(self.tree, Tree::Worked, "its tree is gone");
            assert!(!self.accepted, "a repair of what was accepted");
            assert!(!self.parked.contains(attempt), "it was parked");
        } else {
            assert_eq!(self.tree, Tree::AtCheckpoint, "no checkpoint");
            self.repairs = 0;
        }
        self.tree = Tree::Worked;
        self.accepted = false;
        self.agent = Some(Life::default());
        self.promised = false;
        self.gates.clear();
        self.tests.clear();
        self.flaky.clear();
        self.not_run.clear();
    }

    /// No agent starts where something is used up.
    fn see_budget(&self, story: &StoryId) {
        let tokens = |usage: Usage| usage.total_tokens();
        let of_run = self.policy.budget.tokens;
        assert!(of_run.is_none_or(|most| tokens(self.progress.usage()) < most));
        let of_story = self.policy.story_budget.tokens;
        let stories = &self.progress.stories;
        let at_hand = stories.iter().find(|it| it.id == *story);
        let used = at_hand.map_or(0, |it| tokens(it.usage()));
        assert!(of_story.is_none_or(|most| used < most));
    }

    /// A gate runs again only while it is red, on the same tree, and as often as it may; no other step
    /// and no stop is between two tries.
    fn see_try(&mut self, request: &GateRequest) {
        let last = self.tried.take();
        if request.try_number == 1 {
            return;
        }
        let (last, was_red) = last.expect("a second try without a first one");
        assert!(was_red, "a gate that was not red runs again");
        assert_eq!((last.gate, last.ground), (request.gate, request.ground));
        assert_eq!(last.try_number + 1, request.try_number);
        assert!(request.try_number <= self.policy.gates[request.gate].retries + 1);
        assert!(self.progress.requested.is_none() && !self.progress.skipping);
        let is_excused = match request.ground {
            Ground::Checkpoint => false,
            Ground::Attempt => self.is_as_before(request.gate, &self.tests[&request.gate]),
            Ground::Whole => self.is_as_before(request.gate, &self.tests_of_all[&request.gate]),
        };
        assert!(!is_excused, "it was red before, and does not count");
    }

    fn see_save(&self, request: &SaveRequest) {
        let green = self.gates.iter();
        let green = green.filter(|(gate, is_green)| **is_green && !self.flaky.contains(*gate));
        let green: BTreeSet<usize> = green.map(|(gate, _)| *gate).collect();
        assert_eq!(
            request.green.iter().copied().collect::<BTreeSet<_>>(),
            green
        );
        assert!(self.agent.is_none() && !self.gate_alive && self.tree == Tree::Worked);
        assert!(self.promised, "a commit without a promise");
        self.reviewed.see_save(&self.policy);
        let gates = self.policy.gates.iter().enumerate();
        for (index, gate) in gates.filter(|(_, gate)| gate.when == When::Story) {
            if !self.gates.contains_key(&index) {
                assert!(self.not_run.contains(&index), "a gate was left out");
                assert!(
                    !request.note.gates.contains(&gate.name),
                    "it has not passed"
                );
                continue;
            }
            let is_as_before = gate.baseline && self.is_as_before(index, &self.tests[&index]);
            assert!(
                self.gates[&index] || is_as_before,
                "a commit with a red gate"
            );
        }
    }

    /// No story is run while one that it depends on is open.
    fn see_dependencies(&self, story: &StoryId) {
        if self.policy.only_story.is_some() {
            return;
        }
        let view = |id: &StoryId| self.read.iter().find(|it| it.id == *id);
        let is_open = |id: &StoryId| view(id).is_some_and(|it| it.state == StoryState::Open);
        let said = |id: &StoryId| view(id).map(|it| &it.depends_on);
        let own = said(story).cloned().unwrap_or_default();
        for id in own.all(said) {
            assert!(!is_open(id), "{story} before {id}, on which it depends");
        }
        let may_depend = self.policy.on_exhausted != Some(OnExhausted::Continue);
        if may_depend && own == Dependencies::Unknown {
            let before = self.read.iter().take_while(|it| it.id != *story);
            let mut failed = before.filter(|it| self.order.failed.contains(&it.id));
            assert!(
                !failed.any(|it| is_open(&it.id)),
                "{story} may depend on what failed"
            );
        }
    }

    /// A run in which a story used up its retries and is open is not done, whatever else came.
    fn see_failed(&self, outcome: &Outcome, exit_code: u8) {
        let is_left =
            |it: &&StoryView| it.state == StoryState::Open && self.order.failed.contains(&it.id);
        let left: HashSet<StoryId> = self
            .read
            .iter()
            .filter(is_left)
            .map(|it| it.id.clone())
            .collect();
        let named = outcome.failed_stories();
        let named: HashSet<StoryId> = named.into_iter().map(|it| it.story).collect();
        if matches!(outcome, Outcome::Exhausted { .. }) {
            assert_eq!(exit_code, 1);
            assert!(named.iter().all(|it| self.order.failed.contains(it)));
            assert!(
                named.is_superset(&left),
                "{left:?} failed, and {named:?} are named"
            );
        } else if !left.is_empty() {
            let is_worse = exit_code > 1 || matches!(outcome, Outcome::Stopped);
            assert!(
                is_worse,
                "{left:?} failed, and the run ended with {outcome:?}"
            );
        }
    }

    /// Work in which a gate is red is never just done.
    fn see_verified(&self, outcome: &Outcome, exit_code: u8) {
        let may_stay_red = |name: &String| {
            let mut gates = self.policy.gates.iter();
            gates.any(|gate| gate.name == *name && gate.allow_red)
        };
        let red = self.progress.red_in_work.iter().cloned();
        let red = red.filter(|name| !may_stay_red(name));
        match outcome {
            Outcome::Unverified { gates, reviews } => {
                assert_eq!((gates, exit_code), (&red.collect(), 1));
                assert_eq!(*reviews, self.progress.unreviewed());
            }
            Outcome::AllDone | Outcome::StoryDone { .. } => {
                assert_eq!((red.count(), exit_code), (0, 0));
                assert_eq!(self.progress.unreviewed(), []);
            }
            _ => assert_ne!(exit_code, 0),
        }
    }

    fn see_all_done(&self) {
        let gates = self.policy.gates.iter().enumerate();
        for (index, gate) in gates.filter(|(_, gate)| gate.when == When::End) {
            if gate.paths.is_some() && !self.touched_by_all.contains(&index) {
                assert!(!self.whole.contains_key(&index));
                continue;
            }
            let is_as_before =
                gate.baseline && self.is_as_before(index, &self.tests_of_all[&index]);
            assert!(self.whole[&index] || is_as_before, "done with a red gate");
        }
        self.reviewed.see_all_done(&self.policy);
    }

    fn hear(&mut self, event: &Event) {
        self.order.hear(event);
        self.seq += 1;
        self.progress.apply(&Record {
            v: WIRE_VERSION,
            seq: self.seq,
            at: self.now,
            run: RunId("r".to_owned()),
            event: event.clone(),
        });
        match event {
            Event::ReviewFinished(finished) => self.reviewed.hear(finished, &self.policy),
            Event::StoryStarted(StoryStarted { story, .. }) => self.see_dependencies(story),
            Event::StoryExhausted(exhausted) => {
                let stops = self.policy.on_exhausted == Some(OnExhausted::Stop);
                assert!(!(stops && exhausted.continues), "it was to stop");
            }
            Event::AttemptFailed(AttemptFailed { story, kind, .. })
                if consequence(*kind) == Consequence::Retry =>
            {
                self.count(story);
            }
            Event::StoryCompleted(StoryCompleted { story, .. }) => self.count(story),
            Event::RepairStarted(repair) => {
                self.repairs += 1;
                assert_eq!(repair.repair, self.repairs);
                assert!(self.repairs <= self.policy.repairs, "too many repairs");
            }
            Event::RunStarted { .. } => self.counted.clear(),
            Event::GateNotRun(it) => {
                let mut gates = self.policy.gates.iter();
                let place = gates.position(|gate| gate.name == it.gate).unwrap();
                let touched = [&self.touched, &self.touched_by_all][usize::from(it.whole)];
                assert!(!touched.contains(&place) && self.policy.gates[place].paths.is_some());
                if !it.whole {
                    self.not_run.insert(place);
                }
            }
            Event::GateFinished(it) => {
                let flaky = it.tries > 1 && it.result == GateResult::Passed;
                assert_eq!(it.flaky, flaky);
                self.flaky_times += u32::from(flaky);
                self.touched
                    .extend(std::mem::take(&mut self.touched_by_gate));
            }
            Event::Paused { .. } => self.open = Open::Paused,
            Event::QuestionAsked(asked) if asked.waits => {
                assert_eq!(self.policy.on_blocked, Some(OnBlocked::Wait));
                self.open = Open::Asked(asked.story.clone());
            }
            Event::NoteAdded { story, .. } => self.unread.push(story.clone()),
            Event::QuestionAnswered(answered) => {
                self.unread.push(Some(answered.story.clone()));
            }
            Event::NoteUnused { story, .. } => {
                self.unread.retain(|it| it.as_ref() != Some(story));
            }
            Event::RunEnded(RunEnded {
                usage,
                attempts,
                stories_done,
                ..
            }) => {
                assert_eq!(self.progress.usage(), *usage, "the fold has other totals");
                let flaky = self.progress.flaky_gates();
                let times: u32 = flaky.iter().map(|it| it.times).sum();
                assert_eq!(times, self.flaky_times, "a flaky gate was not counted");
                assert_eq!(self.progress.attempts, *attempts);
                assert_eq!(self.progress.stories_done, *stories_done);
            }
            _ => {}
        }
    }

    fn count(&mut self, story: &StoryId) {
        let count = self.counted.entry(story.clone()).or_default();
        *count += 1;
        assert!(*count <= self.policy.max_retries + 1, "too many attempts");
    }
}

/// A story in another state.
fn in_state(story: &StoryView, state: StoryState) -> StoryView {
    StoryView {
        depends_on: story.depends_on.clone(),
        ..super::script::story(&story.id.0, state)
    }
}

/// Names of tests that failed.
type Failed = Option<BTreeSet<String>>;

fn failed_tests(pick: u8) -> Failed {
    let failed = (0..3).filter(|place| pick & (32 << place) != 0);
    let named = pick & 16 == 0;
    named.then(|| failed.map(|place| format!("t{place}")).collect())
}

/// The places of some gates.
fn places(pick: u8) -> Vec<usize> {
    (0..4).filter(|place| pick & (1 << place) != 0).collect()
}

fn check(pick: u8) -> StoryCheck {
    let some = |when: bool| vec!["t".to_owned(); usize::from(when)];
    StoryCheck {
        lost: LostTasks {
            gone: some(pick % 16 == 1),
            ..LostTasks::default()
        },
        still_open: some(pick % 8 == 3),
        changed_files: usize::from(pick % 8),
        touched: places(pick / 8),
        tamper: findings(pick),
    }
}

fn findings(pick: u8) -> Vec<Finding> {
    let found = TamperCheck::NAMES.into_iter().enumerate();
    found
        .filter(|(place, _)| pick & (1 << place) != 0)
        .map(|(_, (name, check))| Finding {
            check,
            paths: vec![name.to_owned()],
            message: name.to_owned(),
        })
        .collect()
}

fn agent_end(pick: u8, is_stopping: bool, now: Timestamp) -> AgentEnd {
    let resets_at = (pick & 128 != 0).then_some(now + Duration::from_secs(u64::from(pick) * 20));
    let end = match pick % 16 {
        4 => silent(),
        5 => super::script::failed("no"),
        6 => limited(resets_at),
        7 if pick > 200 => AgentEnd {
            trouble: Some(Trouble::Refused {
                cause: Refusal::Login,
                message: "log in".to_owned(),
            }),
            is_error: true,
            ..silent()
        },
        13 => AgentEnd {
            promise: Some(Promise::Blocked("which".to_owned())),
            ..silent()
        },
        8 => AgentEnd {
            final_seen: false,
            ..super::script::complete()
        },
        9 => AgentEnd {
            exit: AgentExit::Code(1),
            swept: vec!["p".to_owned()],
            ..silent()
        },
        10 => AgentEnd {
            is_error: true,
            ..super::script::complete()
        },
        11 => AgentEnd {
            exit: AgentExit::Signal(9),
            usage: Some(Usage {
                input_tokens: 50,
                ..Usage::default()
            }),
            ..super::script::complete()
        },
        _ => super::script::complete(),
    };
    let exit = if is_stopping {
        AgentExit::StoppedByUs
    } else {
        end.exit
    };
    AgentEnd {
        exit,
        session: (pick & 64 == 0).then(|| "session".to_owned()),
        began: pick & 32 == 0,
        ..end
    }
}

/// The order in which events may come.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact that is true or not"
)]
struct Order {
    run_started: bool,
    run_ended: bool,
    finished: bool,
    story: Option<StoryId>,
    attempt: Option<AttemptNumber>,
    gate: Option<bool>,
    /// The review that takes place.
    review: Option<String>,
    last_attempt: HashMap<StoryId, AttemptNumber>,
    deferred: HashSet<StoryId>,
    /// Stories the user skipped.
    skipped: HashSet<StoryId>,
    /// Stories that used up their retries.
    failed: HashSet<StoryId>,
    /// Stories that are not run because of others.
    not_run: HashSet<StoryId>,
    /// The run does not continue after the last story that failed.
    is_over: bool,
    /// Stories whose question has no answer.
    blocked: HashSet<StoryId>,
}

impl Order {
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn hear(&mut self, event: &Event) {
        assert!(!self.finished, "after `finished`: {event:?}");
        let may_follow_the_end = matches!(
            event,
            Event::Finished { .. }
                | Event::ChoiceNeeded
                | Event::RunStarted { .. }
                | Event::FinishFailed { .. }
                | Event::NoteAdded { .. }
                | Event::NoteUnused { .. }
                | Event::Requested { .. }
                | Event::QuestionAnswered { .. }
                | Event::Warning { .. }
        );
        assert!(
            !self.run_ended || may_follow_the_end,
            "after the end: {event:?}"
        );
        match event {
            Event::RunStarted(RunStarted { resumed, .. }) => self.begin(*resumed),
            Event::StorySkipped {
                story,
                waits_for: Some(waits_for),
                ..
            } => {
                assert!(self.story.is_none() && self.attempt.is_none());
                let is_left = [&self.skipped, &self.failed, &self.blocked];
                let is_left = is_left.iter().any(|it| it.contains(waits_for));
                assert!(is_left && self.not_run.insert(story.clone()));
            }
            Event::StorySkipped { story, .. } => self.pass_over(story),
            Event::StoryExhausted(StoryExhausted {
                failed, continues, ..
            }) => {
                assert_eq!(self.attempt, None);
                // A red gate at the end, or the start of a run that was interrupted, can say so, too.
                let at_hand = self.story.take();
                assert!(at_hand.is_none_or(|it| it == failed.story));
                self.gate = None;
                assert!(self.failed.insert(failed.story.clone()), "it failed twice");
                self.is_over = !continues;
            }
            Event::StoryStarted(StoryStarted { story, .. }) => {
                assert!(self.run_started && self.story.is_none());
                assert!(!self.skipped.contains(story), "it was skipped");
                assert!(!self.failed.contains(story), "it was given up");
                assert!(!self.is_over, "the run was to stop");
                self.story = Some(story.clone());
            }
            Event::AttemptStarted(AttemptStarted { story, attempt, .. }) => {
                assert!(self.story.as_ref() == Some(story) && self.attempt.is_none());
                let last = self.last_attempt.insert(story.clone(), *attempt);
                assert!(last.is_none_or(|last| attempt.0 == last.0 + 1));
                self.attempt = Some(*attempt);
            }
            Event::Agent { story, attempt, .. }
            | Event::RepairStarted(RepairStarted { story, attempt, .. })
            | Event::AttemptContinued(AttemptContinued { story, attempt }) => {
                self.is_at(story, *attempt);
            }
            Event::GateStarted(GateStarted {
                baseline, whole, ..
            }) => {
                assert_eq!(*baseline || *whole, self.attempt.is_none());
                assert_eq!(*whole, self.story.is_none());
                assert!(self.gate.replace(*baseline).is_none());
            }
            Event::StoryReopened { .. } => assert_eq!((&self.story, self.gate), (&None, None)),
            Event::GateNotRun(it) => {
                assert_eq!((self.gate, it.whole), (None, self.story.is_none()));
            }
            Event::GateRetried(GateRetried { baseline, .. })
            | Event::GateFinished(GateFinished { baseline, .. }) => {
                assert_eq!(self.gate.take(), Some(*baseline));
            }
            Event::ReviewStarted(started) => {
                assert_eq!((self.attempt, self.gate), (started.attempt, None));
                assert_eq!(self.story.is_none(), started.attempt.is_none());
                assert!(self.review.replace(started.review.clone()).is_none());
            }
            Event::Reviewer { review, .. } => assert_eq!(self.review.as_ref(), Some(review)),
            Event::ReviewFinished(finished) => {
                assert_eq!(self.review.take(), Some(finished.review.clone()));
            }
            Event::AttemptFailed(AttemptFailed { story, attempt, .. }) => {
                assert_eq!(self.review, None);
                self.is_at(story, *attempt);
                self.attempt = None;
            }
            Event::TamperFound { story, attempt, .. } => {
                self.is_at(story, *attempt);
                assert!(self.gate.is_none());
            }
            // The tree of an attempt is kept while the run waits or is paused.
            Event::Waiting { .. } | Event::Paused { .. } => assert!(self.story.is_some()),
            Event::QuestionAnswered(answered) => {
                if self.blocked.remove(&answered.story) {
                    // What depends on it may run, or be named again.
                    self.not_run.clear();
                }
            }
            Event::QuestionAsked(asked) => {
                assert_eq!(self.story.as_ref(), Some(&asked.story));
                if !asked.waits {
                    assert_eq!(self.attempt, None);
                    self.story = None;
                    self.blocked.insert(asked.story.clone());
                }
            }
            Event::AgentChanged { .. } => {
                assert!(self.story.is_some() && self.attempt.is_none());
            }
            Event::StoryCompleted(StoryCompleted {
                story, attempts, ..
            }) => {
                self.is_at(story, AttemptNumber(*attempts));
                self.attempt = None;
                self.story = None;
            }
            Event::RunEnded(RunEnded { outcome, .. }) => {
                let is_all = *outcome == Outcome::AllDone;
                assert!(!is_all || self.skipped.is_empty(), "not all is done");
                self.run_ended = true;
            }
            Event::Finished { .. } => self.finished = self.run_ended && self.run_started,
            Event::Recovered { .. }
            | Event::Rewound { .. }
            | Event::Undone { .. }
            | Event::Warning { .. }
            | Event::Requested { .. }
            | Event::NoteAdded { .. }
            | Event::NoteUnused { .. }
            | Event::TasksChanged { .. }
            | Event::ChoiceNeeded
            | Event::FinishFailed { .. } => {}
        }
    }

    /// The run starts, or goes on after its end.
    fn begin(&mut self, resumed: bool) {
        assert!(!self.run_started || self.run_ended && resumed);
        // What an interrupted run had given up it does not try again.
        let failed = std::mem::take(&mut self.failed);
        *self = Self {
            failed: if self.run_started {
                HashSet::new()
            } else {
                failed
            },
            run_started: true,
            last_attempt: std::mem::take(&mut self.last_attempt),
            deferred: std::mem::take(&mut self.deferred),
            ..Self::default()
        };
    }

    fn pass_over(&mut self, story: &StoryId) {
        assert_eq!(self.attempt, None);
        if self.story.take_if(|it| it == story).is_some() {
            self.gate = None;
            assert!(self.skipped.insert(story.clone()));
        } else {
            assert!(self.story.is_none() && self.deferred.insert(story.clone()));
        }
    }

    fn is_at(&self, story: &StoryId, attempt: AttemptNumber) {
        assert_eq!(self.story.as_ref(), Some(story));
        assert_eq!(self.attempt, Some(attempt));
        assert_eq!(self.gate, None);
    }
}

/// One agent, two of them, and two with another one for stories that keep failing.
fn rosters() -> impl Strategy<Value = Roster> {
    let of = Roster::parsed;
    prop_oneof![
        Just(of("agent = 'demo'")),
        Just(of("agent = ['demo', 'claude']")),
        Just(of(
            "agent = ['demo', 'claude']\n[escalate]\nafter = 1\nmodel = 'opus'\n[[story]]\nid = '2'\nagent = 'claude'"
        )),
    ]
}

/// Rules under which nothing but gates decides.
fn gated_policies() -> impl Strategy<Value = Policy> {
    let gate = (any::<bool>(), any::<bool>(), 0_u32..3, any::<bool>());
    let gates = prop::collection::vec(gate.prop_map(any_gate), 1..4);
    gates.prop_map(|gates| Policy {
        gates: gates.into_iter().enumerate().map(named).collect(),
        on_finish: OnFinish::Keep,
        tamper: TamperPolicy {
            tests: Severity::Off,
            ..TamperPolicy::default()
        },
        ..Policy::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_is_safe_and_ends(
        policy in policies(),
        roster in rosters(),
        resumed in resumptions(),
        said in dependencies(),
        moves in moves(),
    ) {
        let mut world = World::new(policy, roster, resumed, &said);
        world.start();
        for step in &moves {
            world.play(step);
        }
        // From here on only legal answers: agents complete, gates pass.
        let mut steps = 0;
        while !world.ended {
            world.answer(15);
            steps += 1;
            prop_assert!(steps < BOUND, "no end in sight: {:?}", world.open);
        }
        for step in &moves {
            world.play(step);
        }
    }

    #[test]
    fn gates_alone_decide_what_is_saved(policy in gated_policies(), picks in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut world = World::new(policy, Roster::just("demo", None), None, &[]);
        world.start();
        let mut picks = picks.into_iter();
        for _ in 0..BOUND {
            if world.ended {
                break;
            }
            let pick = match &world.open {
                Open::Step(Effect::Step(_, Step::RunGate(_) | Step::CompareWithStart)) => {
                    picks.next().unwrap_or(15)
                }
                // A task that is gone, or a box that is open, is no matter of gates.
                Open::Step(Effect::Step(_, Step::CheckStory(_))) => {
                    picks.next().unwrap_or(0) & 0xf8 | 4
                }
                // Nothing is known of the checkpoint.
                Open::Step(Effect::Step(_, Step::RecallGates { .. })) => 16,
                _ => 15,
            };
            world.answer(pick);
        }
        prop_assert!(world.ended, "no end in sight: {:?}", world.open);
    }

    #[test]
    fn an_agent_that_always_fails_uses_just_its_attempts(max_retries in 0_u32..6, pick in 4_u8..6) {
        let policy = Policy { max_retries, ..Policy::default() };
        let mut world = World::new(policy, Roster::just("demo", None), None, &[]);
        world.start();
        for _ in 0..BOUND {
            world.answer(pick);
        }
        prop_assert!(world.ended);
        prop_assert_eq!(world.progress.attempts, max_retries + 1);
        let kind = world.progress.last_failure.map(|failure| failure.kind);
        let want = [FailureKind::NoSignal, FailureKind::Failed][usize::from(pick - 4)];
        prop_assert_eq!(kind, Some(want));
    }

    #[test]
    fn every_story_that_fails_uses_just_its_attempts_in_a_run_that_continues(
        max_retries in 0_u32..4,
        said in dependencies(),
    ) {
        let policy = Policy {
            max_retries,
            on_exhausted: Some(OnExhausted::Continue),
            ..Policy::default()
        };
        let mut world = World::new(policy, Roster::just("demo", None), None, &said);
        world.start();
        for _ in 0..BOUND {
            world.answer(5);
        }
        prop_assert!(world.ended);
        let failed = world.order.failed.len();
        prop_assert_eq!(failed + world.order.not_run.len(), 3, "each open story failed or is not run");
        prop_assert_eq!(u32::try_from(failed).map(|it| it * (max_retries + 1)), Ok(world.progress.attempts));
        let counts = world.progress.story_counts();
        prop_assert_eq!((counts.failed, counts.not_run, counts.open), (failed, world.order.not_run.len(), 0));
    }
}
