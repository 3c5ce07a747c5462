//! What follows from an attempt that changed what it should not.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::records::event::{Event, FailureKind};
use crate::tamper::{Finding, Severity, TamperCheck, TamperPolicy};
use ralph_base::ids::AttemptNumber;

fn finding(check: TamperCheck) -> Finding {
    Finding {
        check,
        paths: vec![format!("{check}.txt")],
        message: format!("about {check}"),
    }
}

fn found(check: TamperCheck, failed: bool) -> Effect {
    say(Event::TamperFound {
        story: id("1"),
        attempt: AttemptNumber(1),
        check,
        paths: vec![format!("{check}.txt")],
        message: format!("about {check}"),
        failed,
    })
}

fn check_with(checks: &[TamperCheck]) -> StoryCheck {
    StoryCheck {
        changed_files: 1,
        tamper: checks.iter().map(|check| finding(*check)).collect(),
        ..StoryCheck::default()
    }
}

fn tick(ticket: u64) -> Effect {
    Effect::Step(Ticket(ticket), Step::TickStory(id("1")))
}

fn failing(check: TamperCheck) -> Policy {
    let mut tamper = TamperPolicy::default();
    match check {
        TamperCheck::Boxes => tamper.boxes = Severity::Fail,
        TamperCheck::Specs => tamper.specs = Severity::Fail,
        TamperCheck::Tests => tamper.tests = Severity::Fail,
        TamperCheck::Config => tamper.config = Severity::Fail,
        TamperCheck::Outside => tamper.outside = Severity::Fail,
        TamperCheck::Submodules => tamper.submodules = Severity::Fail,
    }
    Policy { tamper, ..keep() }
}

#[test]
fn a_finding_is_told_and_the_attempt_goes_on() {
    let mut script = Script::promised(keep());
    let check = check_with(&[TamperCheck::Boxes, TamperCheck::Tests]);
    assert_eq!(
        script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check))),
        [
            found(TamperCheck::Boxes, false),
            found(TamperCheck::Tests, false),
            tick(5)
        ]
    );
}

#[test]
fn a_check_that_is_off_says_nothing() {
    let policy = Policy {
        tamper: TamperPolicy {
            boxes: Severity::Off,
            ..TamperPolicy::default()
        },
        ..keep()
    };
    let mut script = Script::promised(policy);
    let check = check_with(&[TamperCheck::Boxes]);
    assert_eq!(
        script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check))),
        [tick(5)]
    );
}

#[test]
fn every_check_can_fail_the_attempt_before_a_gate_runs() {
    for (_, failed) in TamperCheck::NAMES {
        let mut policy = failing(failed);
        policy.gates = vec![gate("tests", false)];
        let (kind, reason) = policy.tamper.failure(&[finding(failed)]).unwrap();
        assert!(reason.starts_with(&format!("about {failed}; ")));
        let mut script = Script::promised(policy);
        let check = check_with(&[failed]);
        assert_eq!(
            script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check))),
            [found(failed, true), park(5, 1, kind, &reason)]
        );
    }
}

#[test]
fn the_next_attempt_is_told_why_and_uses_a_retry() {
    let policy = failing(TamperCheck::Tests);
    let reason = policy.tamper.failure(&[finding(TamperCheck::Tests)]);
    let mut script = Script::promised(policy);
    let check = check_with(&[TamperCheck::Tests]);
    script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check)));
    script.give(was_parked);
    let effects = script.give(restored);
    let Some(Effect::Step(
        _,
        Step::StartAgent(AgentRequest {
            attempt, previous, ..
        }),
    )) = effects.last()
    else {
        panic!("{effects:?}");
    };
    assert_eq!(*attempt, parked("1", 2));
    let reason = reason.map(|(_, reason)| reason);
    assert_eq!(previous.as_ref().unwrap().reason, reason);
}

#[test]
fn tasks_that_are_gone_come_first() {
    let mut script = Script::promised(failing(TamperCheck::Specs));
    let check = StoryCheck {
        lost: LostTasks {
            gone: vec!["1.1 a".to_owned()],
            ..LostTasks::default()
        },
        ..check_with(&[TamperCheck::Specs])
    };
    let reason = "tasks of the story are gone from the task file: `1.1 a`";
    assert_eq!(
        script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check))),
        [
            found(TamperCheck::Specs, true),
            park(5, 1, FailureKind::Tasks, reason)
        ]
    );
}
