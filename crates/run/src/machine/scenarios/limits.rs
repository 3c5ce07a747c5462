//! Rate and usage limits: what is waited for, what is not counted, when it is too long.

use pretty_assertions::assert_eq;

use super::failures::stops;
use crate::machine::script::*;
use crate::machine::*;
use crate::records::event::{AttemptStarted, Event, FailureKind};
use ralph_agents::agent_event::AgentEvent;
use ralph_agents::dialect::Output;
use ralph_base::ids::AttemptNumber;

/// Runs the attempt into a limit and says what follows the restore.
fn hit_limit(script: &mut Script, resets_at: Option<Timestamp>) -> Vec<Effect> {
    script.give(agent_started);
    script.give(|ticket| ended(ticket, limited(resets_at)));
    script.give_all(&[was_parked, restored])
}

fn waiting(until: Timestamp) -> Effect {
    say(Event::Waiting {
        story: id("1"),
        reason: "usage limit reached".to_owned(),
        until,
        continues: None,
    })
}

fn wait_timer(ticket: u64, at: Timestamp) -> Effect {
    let timer = timer(TimerKind::Wait, ticket);
    Effect::SetTimerAt { timer, at }
}

#[test]
fn limit_uses_no_retry_and_waits_until_the_reset_time() {
    let mut script = Script::working(Policy {
        max_retries: 0,
        ..keep()
    });
    let until = clock(3600);
    assert_eq!(
        hit_limit(&mut script, Some(until)),
        [
            attempt_failed(1, FailureKind::Limit, "usage limit reached", true),
            waiting(until),
            wait_timer(6, until),
        ]
    );
    assert_eq!(
        script.fire(TimerKind::Wait),
        [wait_timer(6, until)],
        "too early"
    );
    let previous = Previous {
        reason: None,
        parked: Some(parked("1", 1)),
    };
    assert_eq!(
        script.pass(3600).fire(TimerKind::Wait),
        [start_agent(7, "1", 2, Some(previous))]
    );
    let started = say(Event::AttemptStarted(AttemptStarted {
        story: id("1"),
        attempt: AttemptNumber(2),
        max_attempts: 2,
        uncounted: 1,
        transcript: "attempts/1.1".to_owned(),
        base: None,
        output: Output::Text,
        agent: Some(the_agent()),
    }));
    assert_eq!(script.give(agent_started), [started]);
}

#[test]
fn an_agent_that_gave_up_at_a_limit_but_does_not_exit_is_ended() {
    let limit = |ticket| {
        Input::Answer(
            ticket,
            Answer::AgentSaid(AgentEvent::Limit {
                message: "the API is down".to_owned(),
                resets_at: None,
            }),
        )
    };
    let grace = Effect::SetTimer {
        timer: timer(TimerKind::FinalGrace, 3),
        after: Duration::from_secs(20),
    };
    let mut script = Script::working(keep());
    assert_eq!(script.give(limit)[1..], [grace]);
    let stop = Effect::StopProcess {
        grace: Duration::from_secs(5),
    };
    let ended_by_us = script.pass(20).fire(TimerKind::FinalGrace);
    assert_eq!(ended_by_us.last(), Some(&stop));
    let end = AgentEnd {
        exit: AgentExit::StoppedByUs,
        final_seen: false,
        is_error: false,
        ..limited(None)
    };
    assert_eq!(
        script.give(|ticket| ended(ticket, end)),
        [park(4, 1, FailureKind::Limit, "usage limit reached")]
    );

    let mut script = Script::working(keep());
    script.give(limit);
    let text = "here we go".to_owned();
    let went_on =
        script.give(|ticket| Input::Answer(ticket, Answer::AgentSaid(AgentEvent::Text { text })));
    let timer = timer(TimerKind::FinalGrace, 3);
    assert_eq!(went_on[0], Effect::CancelTimer { timer });
}

#[test]
fn an_agent_that_was_silent_at_a_limit_was_not_idle() {
    let mut script = Script::working(Policy {
        idle_timeout: Some(Duration::from_secs(900)),
        ..keep()
    });
    script.pass(900).fire(TimerKind::Idle);
    let end = AgentEnd {
        exit: AgentExit::StoppedByUs,
        final_seen: false,
        is_error: false,
        ..limited(None)
    };
    let parked = script.give(|ticket| ended(ticket, end)).pop();
    assert_eq!(
        parked,
        Some(park(4, 1, FailureKind::Limit, "usage limit reached"))
    );
}

#[test]
fn limit_without_a_reset_time_backs_off() {
    let mut script = Script::working(keep());
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
        let until = script.now + Duration::from_secs(minutes * 60);
        let effects = hit_limit(&mut script, None);
        let ticket = script.ticket.0;
        assert_eq!(effects[1..], [waiting(until), wait_timer(ticket, until)]);
        script.pass(minutes * 60).fire(TimerKind::Wait);
    }
}

#[test]
fn limit_with_a_reset_time_that_does_not_help_backs_off_too() {
    let mut script = Script::working(keep());
    let past = clock(-5);
    let effects = hit_limit(&mut script, Some(past));
    assert_eq!(effects[1], waiting(clock(60)));
    script.pass(60).fire(TimerKind::Wait);
    let effects = hit_limit(&mut script, Some(clock(61)));
    assert_eq!(effects[1], waiting(clock(180)));
}

#[test]
fn limit_keeps_what_an_earlier_attempt_was_told() {
    let mut script = Script::working(keep());
    script.give(|ticket| ended(ticket, failed("no database")));
    script.give_all(&[was_parked, restored]);
    hit_limit(&mut script, None);
    let ticket = script.ticket.0 + 1;
    let previous = Previous {
        reason: Some("no database".to_owned()),
        parked: Some(parked("1", 1)),
    };
    assert_eq!(
        script.pass(60).fire(TimerKind::Wait),
        [start_agent(ticket, "1", 3, Some(previous))]
    );
}

#[test]
fn limit_that_takes_longer_than_max_wait_ends_the_run() {
    let mut script = Script::working(Policy {
        max_wait: Some(Duration::from_secs(90)),
        ..keep()
    });
    hit_limit(&mut script, None);
    script.pass(60).fire(TimerKind::Wait);
    script.give(agent_started);
    script.give(|ticket| ended(ticket, limited(None)));
    let until = "2027-01-15T12:03:00Z";
    stops(
        &mut script,
        FailureKind::Limit,
        &format!("usage limit reached; waiting until {until} is longer than the 1m 30s allowed"),
    );
}
