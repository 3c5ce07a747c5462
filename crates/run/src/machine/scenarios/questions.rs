//! Questions of agents: the run waits with tree and session kept, or goes on, and an answer continues.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::OnBlocked;
use crate::records::event::{
    AttemptContinued, Event, FailureKind, QuestionAnswered, QuestionAsked, Request,
};
use ralph_agents::promise::Promise;
use ralph_base::ids::AttemptNumber;

fn blocked(session: Option<&str>) -> AgentEnd {
    AgentEnd {
        promise: Some(Promise::Blocked("which database?".to_owned())),
        session: session.map(str::to_owned),
        ..silent()
    }
}

fn asked(waits: bool, until: Option<Timestamp>) -> Effect {
    say(Event::QuestionAsked(QuestionAsked {
        story: id("1"),
        attempt: AttemptNumber(1),
        question: "which database?".to_owned(),
        waits,
        until,
    }))
}

fn answered(answer: &str) -> Effect {
    say(Event::QuestionAnswered(QuestionAnswered {
        story: id("1"),
        question: "which database?".to_owned(),
        answer: answer.to_owned(),
    }))
}

fn answer(text: &str) -> UserCommand {
    UserCommand::Answer {
        story: None,
        text: text.to_owned(),
    }
}

const NOTE: &str = "You asked: which database?\nThe answer: SQLite";

/// A run that waits for an answer, with the session kept where there is one.
fn waiting(policy: Policy, session: Option<&str>) -> Script {
    let mut script = Script::working(policy);
    script.give(|ticket| ended(ticket, blocked(session)));
    if session.is_none() {
        script.give_all(&[was_parked, restored]);
    }
    script
}

#[test]
fn a_question_keeps_tree_and_session_and_the_answer_continues_it() {
    let mut script = Script::working(keep());
    assert_eq!(
        script.give(|ticket| ended(ticket, blocked(Some("s1")))),
        [asked(true, None)]
    );
    let effects = script.ask_for(answer("  SQLite\n"));
    let request = AgentRequest {
        attempt: parked("1", 1),
        choice: the_agent(),
        previous: None,
        notes: vec![NOTE.to_owned()],
        continues: Some(Box::new(Continuation {
            session: "s1".to_owned(),
            round: 2,
            message: Message::Answered,
            used: Usage::default(),
        })),
    };
    assert_eq!(
        effects,
        [
            answered("SQLite"),
            Effect::Step(Ticket(5), Step::StartAgent(request))
        ]
    );
    let continued = say(Event::AttemptContinued(AttemptContinued {
        story: id("1"),
        attempt: AttemptNumber(1),
    }));
    assert_eq!(script.give(agent_started), [continued]);
    assert_eq!(script.ask_for(answer("again")), [], "it is answered");
}

#[test]
fn without_a_session_the_attempt_is_parked_and_the_next_one_gets_the_answer() {
    let mut script = waiting(keep(), None);
    let effects = script.ask_for(answer("SQLite"));
    let Some(Effect::Step(_, Step::StartAgent(request))) = effects.last() else {
        panic!("{effects:#?}");
    };
    assert_eq!(
        (&request.attempt, &request.notes, &request.continues),
        (&parked("1", 2), &vec![NOTE.to_owned()], &None)
    );
}

#[test]
fn a_stop_or_a_skip_while_a_question_waits_parks_the_attempt() {
    for (command, kind) in [
        (UserCommand::Stop, FailureKind::Stopped),
        (UserCommand::Skip, FailureKind::Skipped),
    ] {
        let mut script = waiting(keep(), Some("s1"));
        let effects = script.ask_for(command);
        let Some(Effect::Step(_, Step::Park(setback))) = effects.last() else {
            panic!("{effects:#?}");
        };
        assert_eq!((setback.kind, setback.uses_retry), (kind, false));
    }
}

#[test]
fn a_pause_holds_the_answer_back() {
    let mut script = waiting(keep(), Some("s1"));
    script.ask_for(UserCommand::Pause);
    let effects = script.ask_for(answer("SQLite"));
    assert_eq!(effects[0], answered("SQLite"));
    let paused = Event::Paused {
        story: id("1"),
        continues: Some(AttemptNumber(1)),
    };
    assert_eq!(script.give(gates_undone), [say(paused)]);
    let effects = script.ask_for(UserCommand::GoOn);
    assert_eq!(effects[0], requested(Request::GoOn));
    assert!(matches!(
        &effects[1],
        Effect::Step(_, Step::StartAgent(request)) if request.continues.is_some()
    ));
}

#[test]
fn the_longest_wait_bounds_a_question_and_then_the_attempt_is_parked() {
    let policy = Policy {
        max_wait: Some(Duration::from_secs(60)),
        ..keep()
    };
    let mut script = Script::working(policy);
    let until = clock(60);
    let timer = timer(TimerKind::Wait, 4);
    assert_eq!(
        script.give(|ticket| ended(ticket, blocked(Some("s1")))),
        [
            asked(true, Some(until)),
            Effect::SetTimerAt { timer, at: until }
        ]
    );
    let effects = script.pass(60).fire(TimerKind::Wait);
    let Some(Effect::Step(_, Step::Park(setback))) = effects.last() else {
        panic!("{effects:#?}");
    };
    assert_eq!(
        (setback.kind, setback.reason.as_str(), setback.uses_retry),
        (FailureKind::Blocked, "which database?", false)
    );
}

#[test]
fn a_run_that_does_not_wait_parks_the_attempt_and_says_so() {
    let policy = Policy {
        on_blocked: Some(OnBlocked::Stop),
        ..keep()
    };
    let mut script = Script::working(policy);
    let effects = script.give(|ticket| ended(ticket, blocked(Some("s1"))));
    assert!(matches!(
        effects.last(),
        Some(Effect::Step(_, Step::Park(_)))
    ));
    let effects = script.give_all(&[was_parked, restored]);
    assert_eq!(effects[1], asked(false, None));
}

#[test]
fn a_promise_that_asks_nothing_is_a_failure() {
    let end = AgentEnd {
        promise: Some(Promise::Blocked(" ".to_owned())),
        ..silent()
    };
    let mut script = Script::working(keep());
    let effects = script.give(|ticket| ended(ticket, end));
    let reason = "the agent said BLOCKED and asked nothing";
    assert_eq!(effects, [park(4, 1, FailureKind::Failed, reason)]);
}
