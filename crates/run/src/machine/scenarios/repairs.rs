//! Rounds of an attempt: the agent's session goes on to repair what a check found, and after a limit.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::records::event::{
    AttemptContinued, AttemptFailed, Event, FailureKind, RepairStarted, Request, StoryCompleted,
};
use ralph_agents::agent_event::AgentEvent;
use ralph_base::ids::AttemptNumber;

/// What a red gate says to the user and to the agent.
const RED: &str = "gate `tests` failed: exit code 1\nboom";

fn with_gate() -> Policy {
    Policy {
        gates: vec![gate("tests", false)],
        ..keep()
    }
}

fn in_session(end: AgentEnd) -> AgentEnd {
    AgentEnd {
        session: Some("s1".to_owned()),
        ..end
    }
}

fn promised_in_session(ticket: Ticket) -> Input {
    ended(ticket, in_session(complete()))
}

fn silent_in_session(ticket: Ticket) -> Input {
    ended(ticket, in_session(silent()))
}

fn lost(ticket: Ticket) -> Input {
    let end = AgentEnd {
        exit: AgentExit::Code(1),
        final_seen: false,
        began: false,
        last_words: "no such session".to_owned(),
        ..in_session(silent())
    };
    ended(ticket, end)
}

fn red_with(tail: &'static str) -> impl Fn(Ticket) -> Input {
    move |ticket| {
        let result = GateResult::Failed {
            how: "exit code 1".to_owned(),
            tail: tail.to_owned(),
            cannot_run: false,
        };
        let duration = Duration::from_millis(1500);
        Input::Answer(
            ticket,
            Answer::GateEnded(GateEnd {
                result,
                duration,
                touched: Vec::new(),
                tests: None,
            }),
        )
    }
}

/// The next round of attempt 1.1.
fn round(ticket: u64, round: u32, message: Message) -> Effect {
    round_after(ticket, round, message, Usage::default())
}

fn round_after(ticket: u64, round: u32, message: Message, used: Usage) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::StartAgent(AgentRequest {
            attempt: parked("1", 1),
            choice: the_agent(),
            previous: None,
            notes: Vec::new(),
            continues: Some(Box::new(Continuation {
                session: "s1".to_owned(),
                round,
                message,
                used,
            })),
        }),
    )
}

fn repair_started(repair: u32, kind: FailureKind, gate: Option<&str>, reason: &str) -> Effect {
    say(Event::RepairStarted(RepairStarted {
        story: id("1"),
        attempt: AttemptNumber(1),
        repair,
        max_repairs: 2,
        kind,
        gate: gate.map(str::to_owned),
        reason: reason.to_owned(),
    }))
}

fn continued() -> Effect {
    say(Event::AttemptContinued(AttemptContinued {
        story: id("1"),
        attempt: AttemptNumber(1),
    }))
}

/// A run whose first attempt is at its first repair, because of a red gate.
fn repairing(policy: Policy) -> Script {
    let mut script = Script::working(policy);
    script.give_all(&[promised_in_session, checked, gate_red, agent_started]);
    script
}

#[track_caller]
fn is_parked_as(effects: &[Effect], want: FailureKind, why: &str) {
    let Some(Effect::Step(_, Step::Park(setback))) = effects.last() else {
        panic!("{effects:#?}");
    };
    assert_eq!((setback.kind, setback.reason.as_str()), (want, why));
}

#[test]
fn a_red_gate_is_repaired_by_the_same_session_in_the_same_attempt() {
    let mut script = Script::working(with_gate());
    script.give_all(&[promised_in_session, checked]);
    let effects = script.give(gate_red);
    let message = Message::Repair(RED.to_owned());
    assert_eq!(effects[1..], [round(6, 2, message)]);
    assert_eq!(
        script.give(agent_started),
        [repair_started(1, FailureKind::Gate, Some("tests"), RED)]
    );
    script.give_all(&[promised_in_session, checked, gate_green, ticked]);
    let completed = script.give(saved).remove(0);
    let Effect::Announce(event) = completed else {
        panic!("{completed:?}");
    };
    let Event::StoryCompleted(StoryCompleted {
        attempts, repairs, ..
    }) = *event
    else {
        panic!("{event:?}");
    };
    assert_eq!((attempts, repairs), (1, 1));
}

#[test]
fn an_attempt_is_parked_once_its_repairs_are_used_up() {
    let mut script = repairing(with_gate());
    script.give_all(&[promised_in_session, checked]);
    let second = "gate `tests` failed: exit code 1\ntwo";
    let effects = script.give(red_with("two"));
    assert_eq!(
        effects[1..],
        [round(9, 3, Message::Repair(second.to_owned()))]
    );
    script.give_all(&[agent_started, promised_in_session, checked]);
    let effects = script.give(red_with("three"));
    let third = "gate `tests` failed: exit code 1\nthree";
    is_parked_as(&effects, FailureKind::Gate, third);
    let effects = script.give_all(&[was_parked, restored]);
    let Some(Effect::Announce(event)) = effects.first() else {
        panic!("{effects:#?}");
    };
    let Event::AttemptFailed(AttemptFailed {
        repairs, retrying, ..
    }) = &**event
    else {
        panic!("{event:?}");
    };
    assert_eq!((*repairs, *retrying), (2, true));
    let previous = Previous {
        reason: Some(third.to_owned()),
        parked: Some(parked("1", 1)),
    };
    assert_eq!(effects[1..], [start_agent(14, "1", 2, Some(previous))]);
}

#[test]
fn without_repairs_or_without_a_session_an_attempt_is_parked_at_once() {
    let never = Policy {
        repairs: 0,
        ..with_gate()
    };
    let mut script = Script::working(never);
    script.give_all(&[promised_in_session, checked]);
    is_parked_as(&script.give(gate_red), FailureKind::Gate, RED);
    let mut script = Script::working(with_gate());
    script.give_all(&[ended_complete, checked]);
    is_parked_as(&script.give(gate_red), FailureKind::Gate, RED);
}

#[test]
fn a_repair_that_leaves_the_same_failure_is_the_last_one() {
    let mut script = Script::working(with_gate());
    script.give_all(&[promised_in_session, checked]);
    script.give(red_with("1 failed in 0.52s"));
    script.give_all(&[agent_started, promised_in_session, checked]);
    let effects = script.give(red_with("1 failed in 0.61s"));
    let reason = "gate `tests` failed: exit code 1\n1 failed in 0.61s";
    is_parked_as(&effects, FailureKind::Gate, reason);
    // Fewer failures are progress.
    let mut script = Script::working(with_gate());
    script.give_all(&[promised_in_session, checked]);
    script.give(red_with("2 failed in 0.52s"));
    script.give_all(&[agent_started, promised_in_session, checked]);
    let effects = script.give(red_with("1 failed in 0.52s"));
    assert!(matches!(
        effects.last(),
        Some(Effect::Step(_, Step::StartAgent(_)))
    ));
}

#[test]
fn an_agent_that_ends_without_a_promise_is_reminded_in_its_session() {
    let mut script = Script::working(keep());
    assert_eq!(
        script.give(silent_in_session),
        [round(4, 2, Message::NoPromise)]
    );
    let reason = "the agent ended without a promise";
    assert_eq!(
        script.give(agent_started),
        [repair_started(1, FailureKind::NoSignal, None, reason)]
    );
    // Twice the same: the session does not help.
    is_parked_as(
        &script.give(silent_in_session),
        FailureKind::NoSignal,
        reason,
    );
}

#[test]
fn a_repair_that_ends_without_a_promise_is_reminded_and_then_fails_for_what_the_gate_found() {
    let mut script = repairing(with_gate());
    assert_eq!(
        script.give(silent_in_session),
        [round(7, 3, Message::NoPromise)]
    );
    script.give(agent_started);
    is_parked_as(&script.give(silent_in_session), FailureKind::Gate, RED);
}

#[test]
fn an_agent_that_gives_up_in_a_repair_fails_with_its_own_reason() {
    let mut script = repairing(with_gate());
    let effects = script.give(|ticket| ended(ticket, in_session(failed("no database"))));
    is_parked_as(&effects, FailureKind::Failed, "no database");
}

#[test]
fn a_session_that_is_lost_fails_the_attempt_for_what_the_gate_found() {
    let mut script = repairing(with_gate());
    let effects = script.give(lost);
    let message = "the agent's session could not be continued: the agent ended with exit code 1\n\
                   no such session";
    assert_eq!(effects[0], warning("repair_failed", message));
    is_parked_as(&effects, FailureKind::Gate, RED);
}

#[test]
fn a_limit_keeps_tree_and_session_and_the_session_goes_on_after_it() {
    let mut script = Script::working(Policy {
        max_retries: 0,
        ..keep()
    });
    let until = clock(3600);
    let wait = Timer {
        kind: TimerKind::Wait,
        ticket: Ticket(4),
    };
    assert_eq!(
        script.give(|ticket| ended(ticket, in_session(limited(Some(until))))),
        [
            say(Event::Waiting {
                story: id("1"),
                reason: "usage limit reached".to_owned(),
                until,
                continues: Some(AttemptNumber(1)),
            }),
            Effect::SetTimerAt {
                timer: wait,
                at: until
            },
        ]
    );
    assert_eq!(
        script.pass(3600).fire(TimerKind::Wait),
        [round(5, 2, Message::LimitOver)]
    );
    assert_eq!(script.give(agent_started), [continued()]);
    let effects = script.give(promised_in_session);
    assert_eq!(
        effects,
        [Effect::Step(Ticket(6), Step::CheckStory(id("1")))]
    );
}

#[test]
fn a_session_that_is_lost_after_a_limit_uses_no_retry() {
    let mut script = Script::working(Policy {
        max_retries: 0,
        ..keep()
    });
    script.give(|ticket| ended(ticket, in_session(limited(Some(clock(60))))));
    script.pass(60).fire(TimerKind::Wait);
    script.give(agent_started);
    is_parked_as(
        &script.give(lost),
        FailureKind::Limit,
        "usage limit reached",
    );
    let effects = script.give_all(&[was_parked, restored]);
    let Some(Effect::Step(_, Step::StartAgent(request))) = effects.last() else {
        panic!("{effects:#?}");
    };
    assert_eq!(
        (&request.attempt, &request.continues),
        (&parked("1", 2), &None)
    );
}

#[test]
fn a_limit_in_a_repair_is_waited_for_and_what_the_gate_found_is_not_forgotten() {
    let mut script = repairing(with_gate());
    script.give(|ticket| ended(ticket, in_session(limited(Some(clock(60))))));
    assert_eq!(
        script.pass(60).fire(TimerKind::Wait),
        [round(8, 3, Message::LimitOver)]
    );
    script.give(agent_started);
    is_parked_as(&script.give(lost), FailureKind::Gate, RED);
}

#[test]
fn a_stop_or_a_skip_while_a_session_waits_parks_the_attempt() {
    for (command, kind) in [
        (UserCommand::Stop, FailureKind::Stopped),
        (UserCommand::Skip, FailureKind::Skipped),
    ] {
        let mut script = Script::working(keep());
        script.give(|ticket| ended(ticket, in_session(limited(Some(clock(60))))));
        let effects = script.ask_for(command);
        let Some(Effect::Step(_, Step::Park(setback))) = effects.last() else {
            panic!("{effects:#?}");
        };
        assert_eq!((setback.kind, setback.uses_retry), (kind, false));
    }
}

#[test]
fn a_stop_or_a_skip_just_before_a_pause_parks_the_attempt() {
    for (command, kind) in [
        (UserCommand::Stop, FailureKind::Stopped),
        (UserCommand::Skip, FailureKind::Skipped),
    ] {
        let mut script = Script::working(with_gate());
        script.ask_for(UserCommand::Pause);
        script.give_all(&[promised_in_session, checked, gate_red]);
        script.ask_for(command);
        let effects = script.give(gates_undone);
        let Some(Effect::Step(_, Step::Park(setback))) = effects.last() else {
            panic!("{effects:#?}");
        };
        assert_eq!((setback.kind, setback.uses_retry), (kind, false));
    }
}

#[test]
fn a_pause_holds_a_repair_back() {
    let mut script = Script::working(with_gate());
    script.ask_for(UserCommand::Pause);
    script.give_all(&[promised_in_session, checked]);
    let effects = script.give(gate_red);
    assert_eq!(effects[1..], [Effect::Step(Ticket(6), Step::UndoGates)]);
    assert_eq!(
        script.give(gates_undone),
        [say(Event::Paused {
            story: id("1"),
            continues: Some(AttemptNumber(1))
        })]
    );
    assert_eq!(
        script.ask_for(UserCommand::GoOn),
        [
            requested(Request::GoOn),
            round(7, 2, Message::Repair(RED.to_owned()))
        ]
    );
}

#[test]
fn what_the_rounds_of_an_attempt_used_is_added_up() {
    let tokens = |output_tokens| Usage {
        output_tokens,
        ..Usage::default()
    };
    let told = |output_tokens| {
        move |ticket| {
            let event = AgentEvent::usage(Usage {
                output_tokens,
                ..Usage::default()
            });
            Input::Answer(ticket, Answer::AgentSaid(event))
        }
    };
    let mut script = Script::working(with_gate());
    script.give(told(30));
    script.give_all(&[promised_in_session, checked]);
    let effects = script.give(gate_red);
    let message = Message::Repair(RED.to_owned());
    assert_eq!(effects[1..], [round_after(6, 2, message, tokens(30))]);
    script.give(agent_started);
    let said = script.give(told(12));
    assert_eq!(
        said,
        [say(Event::Agent {
            story: id("1"),
            attempt: AttemptNumber(1),
            agent: AgentEvent::usage(tokens(42)),
        })]
    );
    script.give_all(&[promised_in_session, checked, gate_green, ticked]);
    let effects = script.give(saved);
    let Some(Effect::Announce(event)) = effects.first() else {
        panic!("{effects:#?}");
    };
    let Event::StoryCompleted(StoryCompleted { usage, .. }) = &**event else {
        panic!("{event:?}");
    };
    assert_eq!(*usage, tokens(42));
    assert_eq!(script.machine.tally.usage, tokens(42));
}

fn crashed(exit: i32) -> AgentEnd {
    AgentEnd {
        exit: AgentExit::Code(exit),
        final_seen: false,
        began: false,
        ..in_session(silent())
    }
}

#[test]
fn an_agent_that_crashed_continues_in_its_session_unless_it_could_not_be_started() {
    let mut script = Script::working(keep());
    let reason = "the agent ended with exit code 1";
    assert_eq!(
        script.give(|ticket| ended(ticket, crashed(1))),
        [round(4, 2, Message::Interrupted(reason.to_owned()))]
    );
    // Twice the same: the session does not help.
    script.give(agent_started);
    is_parked_as(
        &script.give(|ticket| ended(ticket, crashed(1))),
        FailureKind::Crashed,
        reason,
    );
    let mut script = Script::working(keep());
    let effects = script.give(|ticket| ended(ticket, crashed(127)));
    is_parked_as(
        &effects,
        FailureKind::Crashed,
        "the agent ended with exit code 127",
    );
}

#[test]
fn an_agent_that_was_silent_for_too_long_continues_in_its_session() {
    let mut script = Script::working(Policy {
        idle_timeout: Some(Duration::from_secs(60)),
        ..keep()
    });
    script.pass(60).fire(TimerKind::Idle);
    let end = AgentEnd {
        exit: AgentExit::StoppedByUs,
        final_seen: false,
        ..in_session(silent())
    };
    let effects = script.give(|ticket| ended(ticket, end));
    let reason = "silent for 1m; it said nothing";
    assert_eq!(
        effects,
        [round(4, 2, Message::Interrupted(reason.to_owned()))]
    );
}
