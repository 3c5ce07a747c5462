//! One agent's life: its words, its timers, its final message, its end.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::records::event::{AttemptStarted, Event, FailureKind};
use ralph_agents::agent_event::AgentEvent;
use ralph_agents::dialect::Output;
use ralph_base::ids::AttemptNumber;

fn timed() -> Policy {
    Policy {
        idle_timeout: Some(Duration::from_secs(900)),
        ..keep()
    }
}

fn idle(seconds: u64) -> Effect {
    Effect::SetTimer {
        timer: timer(TimerKind::Idle, 3),
        after: Duration::from_secs(seconds),
    }
}

fn check() -> Effect {
    Effect::Step(Ticket(4), Step::CheckStory(id("1")))
}

fn said(event: AgentEvent) -> impl FnOnce(Ticket) -> Input {
    move |ticket| Input::Answer(ticket, Answer::AgentSaid(event))
}

fn text(text: &str) -> AgentEvent {
    let text = text.to_owned();
    AgentEvent::Text { text }
}

pub(super) fn heard(agent: AgentEvent) -> Effect {
    say(Event::Agent {
        story: id("1"),
        attempt: AttemptNumber(1),
        agent,
    })
}

#[test]
fn an_agent_that_starts_is_announced_once_and_watched() {
    let mut script = Script::start(timed());
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give(begin_done);
    let started = say(Event::AttemptStarted(AttemptStarted {
        story: id("1"),
        attempt: AttemptNumber(1),
        max_attempts: 4,
        uncounted: 0,
        transcript: "attempts/1.1".to_owned(),
        base: None,
        output: Output::Text,
        agent: Some(the_agent()),
    }));
    assert_eq!(script.give(said(text("too early"))), []);
    assert_eq!(script.give(agent_started), [started, idle(900)]);
    assert_eq!(script.give(agent_started), []);
}

#[test]
fn activity_sets_no_timer_and_the_idle_timer_is_armed_again_when_it_fires() {
    let mut script = Script::working(timed());
    let active = script
        .pass(600)
        .give(|ticket| Input::Answer(ticket, Answer::AgentActive));
    assert_eq!(active, []);
    assert_eq!(script.pass(300).fire(TimerKind::Idle), [idle(600)]);
    assert_eq!(script.pass(599).give(said(text("hm"))), [heard(text("hm"))]);
    assert_eq!(script.pass(1).fire(TimerKind::Idle), [idle(899)]);
    assert_eq!(script.pass(899).fire(TimerKind::Idle), [stop_process(5)]);
    let reason = "silent for 15m; the last thing it did: hm";
    let parked = script.give(ended_by_us).pop();
    let Some(Effect::Step(
        _,
        Step::Park(Setback {
            kind, reason: why, ..
        }),
    )) = parked
    else {
        panic!("{parked:#?}");
    };
    assert_eq!((kind, why.as_str()), (FailureKind::Silent, reason));
}

#[test]
fn an_agent_that_never_spoke_is_told_so() {
    let mut script = Script::working(timed());
    script.pass(900).fire(TimerKind::Idle);
    let parked = script.give(ended_by_us).pop();
    let Some(Effect::Step(_, Step::Park(Setback { reason, .. }))) = parked else {
        panic!("{parked:#?}");
    };
    assert_eq!(reason, "silent for 15m; it said nothing");
}

#[test]
fn a_final_message_starts_the_grace_and_an_agent_that_exits_in_it_is_judged_by_its_promise() {
    let mut script = Script::working(timed());
    let grace = Effect::SetTimer {
        timer: timer(TimerKind::FinalGrace, 3),
        after: Duration::from_secs(20),
    };
    let seen = script.give(|ticket| Input::Answer(ticket, Answer::AgentFinal));
    assert_eq!(seen, [grace]);
    assert_eq!(
        script.give(|ticket| Input::Answer(ticket, Answer::AgentFinal)),
        []
    );
    let cancel = |kind| Effect::CancelTimer {
        timer: timer(kind, 3),
    };
    assert_eq!(
        script.give(ended_complete),
        [
            cancel(TimerKind::Idle),
            cancel(TimerKind::FinalGrace),
            check()
        ]
    );
}

#[test]
fn an_agent_that_does_not_exit_after_its_final_message_is_ended_and_still_succeeds() {
    let mut script = Script::working(keep());
    script.give(|ticket| Input::Answer(ticket, Answer::AgentFinal));
    let message = "the agent did not exit within 20s of its final message and was stopped";
    assert_eq!(
        script.pass(20).fire(TimerKind::FinalGrace),
        [warning("lingering", message), stop_process(5)]
    );
    let hung = AgentEnd {
        exit: AgentExit::StoppedByUs,
        ..complete()
    };
    assert_eq!(script.give(|ticket| ended(ticket, hung)), [check()]);
}

#[test]
fn an_agent_that_goes_on_after_its_final_message_is_not_ended() {
    let mut script = Script::working(timed());
    script.give(|ticket| Input::Answer(ticket, Answer::AgentFinal));
    let rearmed = Effect::SetTimer {
        timer: timer(TimerKind::Idle, 3),
        after: Duration::from_secs(20),
    };
    assert_eq!(script.fire(TimerKind::Idle), [rearmed], "other bounds wait");
    let cancel = Effect::CancelTimer {
        timer: timer(TimerKind::FinalGrace, 3),
    };
    let on = text("one more thing");
    assert_eq!(script.give(said(on.clone())), [cancel, heard(on)]);
    assert_eq!(
        script.fire(TimerKind::FinalGrace),
        [],
        "a timer that was forgotten"
    );
}

#[test]
fn a_complete_promise_counts_with_an_odd_exit_and_a_warning() {
    #[track_caller]
    fn case(exit: AgentExit, how: &str) {
        let mut script = Script::working(keep());
        let end = AgentEnd { exit, ..complete() };
        let message = format!("the agent promised COMPLETE but ended with {how}");
        assert_eq!(
            script.give(|ticket| ended(ticket, end)),
            [warning("odd_exit", &message), check()]
        );
    }
    case(AgentExit::Code(1), "exit code 1");
    case(AgentExit::Signal(13), "signal 13");
}

#[test]
fn a_limit_on_the_way_does_not_spoil_a_complete_promise() {
    let mut script = Script::working(keep());
    let end = AgentEnd {
        promise: complete().promise,
        is_error: false,
        ..limited(None)
    };
    assert_eq!(script.give(|ticket| ended(ticket, end)), [check()]);
}

#[test]
fn processes_left_behind_and_the_final_figures_are_announced() {
    let mut script = Script::working(keep());
    let usage = Usage {
        input_tokens: 7,
        ..Usage::default()
    };
    let end = AgentEnd {
        swept: vec!["node (412)".to_owned()],
        usage: Some(usage),
        ..complete()
    };
    assert_eq!(
        script.give(|ticket| ended(ticket, end)),
        [
            heard(AgentEvent::usage(usage)),
            warning(
                "swept",
                "the agent left processes running, which were ended: `node (412)`"
            ),
            check(),
        ]
    );
}

#[test]
fn nothing_is_restored_under_processes_that_cannot_be_ended() {
    for end in [complete(), silent()] {
        let mut script = Script::working(keep());
        let end = AgentEnd {
            still_running: vec!["tar (process 7)".to_owned()],
            ..end
        };
        let effects = script.give(|ticket| ended(ticket, end));
        let Some(Effect::End { outcome, exit_code }) = effects.last() else {
            panic!("{effects:?}");
        };
        assert_eq!(*exit_code, 4);
        let Outcome::Broken { reason, hint } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(reason.contains("`tar (process 7)`"), "{reason}");
        assert!(hint.contains("`ralphtool resume`"), "{hint}");
        let is_step = |effect: &Effect| {
            matches!(
                effect,
                Effect::Step(_, Step::Park(_) | Step::Restore | Step::CheckStory(_))
            )
        };
        assert!(!effects.iter().any(is_step), "{effects:?}");
    }
}

#[test]
fn a_stale_answer_is_dropped() {
    let mut script = Script::working(keep());
    script.give(ended_silent);
    assert_eq!(script.send(ended(Ticket(3), complete())), []);
    assert_eq!(script.send(step_failed(Ticket(3))), []);
    assert_eq!(script.send(was_parked(Ticket(99))), []);
    assert_eq!(
        script.give(was_parked),
        [Effect::Step(Ticket(5), Step::Restore)]
    );
}

#[test]
fn an_agent_whose_end_comes_before_its_start_is_still_announced_in_order() {
    let mut script = Script::start(keep());
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give(begin_done);
    let started = say(Event::AttemptStarted(AttemptStarted {
        story: id("1"),
        attempt: AttemptNumber(1),
        max_attempts: 4,
        uncounted: 0,
        transcript: String::new(),
        base: None,
        output: Output::Text,
        agent: Some(the_agent()),
    }));
    assert_eq!(script.give(ended_complete), [started, check()]);
}
