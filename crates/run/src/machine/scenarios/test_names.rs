//! Gates that were red before, and whose output names the tests that fail: new failures count.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::{Gate, When};
use crate::records::event::{Event, FailureKind};
use crate::test_report::TestReport;
use ralph_plan::change::StoryState;

fn policy(gate: Gate) -> Policy {
    Policy {
        gates: vec![gate],
        ..keep()
    }
}

/// A gate is red, and its output names these tests as failed.
fn red_with(tests: &'static [&'static str]) -> impl Fn(Ticket) -> Input {
    red_as(Some(TestReport::of_failed(tests)))
}

fn red_as(tests: Option<TestReport>) -> impl Fn(Ticket) -> Input {
    move |ticket| {
        let end = GateEnd {
            result: red(),
            duration: Duration::from_millis(1500),
            touched: Vec::new(),
            tests: tests.clone(),
        };
        Input::Answer(ticket, Answer::GateEnded(end))
    }
}

/// A machine whose gate was red on the checkpoint, and now runs on the first attempt.
fn gating(gate: Gate, before: impl Fn(Ticket) -> Input) -> Script {
    let tries = gate.retries + 1;
    let mut script = Script::start(policy(gate));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    for _ in 0..tries {
        script.give(&before);
    }
    script.give_all(&[agent_started, ended_complete, checked]);
    script
}

/// Why the gate failed the attempt, and the new failures in the record of its end.
fn failure(effects: &[Effect]) -> (String, Vec<String>) {
    let Some(Effect::Step(_, Step::Park(setback))) = effects.last() else {
        panic!("{effects:#?}");
    };
    assert_eq!(setback.kind, FailureKind::Gate);
    assert_eq!(setback.prompt_reason.as_ref(), Some(&setback.reason));
    let new = effects.iter().find_map(|effect| match effect {
        Effect::Announce(event) => match &**event {
            Event::GateFinished(finished) => Some(finished.new_failures.clone()),
            _ => None,
        },
        _ => None,
    });
    (setback.reason.clone(), new.unwrap())
}

fn excuse(effects: &[Effect]) -> String {
    let warning = effects.iter().find_map(|effect| match effect {
        Effect::Announce(event) => match &**event {
            Event::Warning { code, message } if code == "red_before" => Some(message.clone()),
            _ => None,
        },
        _ => None,
    });
    warning.unwrap_or_else(|| panic!("{effects:#?}"))
}

#[test]
fn a_new_failure_fails_the_attempt_although_the_gate_was_red_before() {
    let mut script = gating(gate("tests", true), red_with(&["a", "b"]));
    let effects = script.give(red_with(&["a", "c"]));
    let reason = "gate `tests` failed: exit code 1: 1 test fails that did not fail before: `c`; \
                  1 other failure was there before and does not count\nboom";
    assert_eq!(failure(&effects), (reason.to_owned(), vec!["c".to_owned()]));
}

#[test]
fn the_same_failures_or_fewer_only_warn() {
    let mut script = gating(gate("tests", true), red_with(&["a", "b"]));
    let want = "gate `tests` is red (exit code 1): 2 tests fail, as before the attempt";
    assert_eq!(excuse(&script.give(red_with(&["a", "b"]))), want);
    let mut script = gating(gate("tests", true), red_with(&["a", "b"]));
    let want = "gate `tests` is red (exit code 1): 1 test fails, 1 fewer than before the attempt";
    assert_eq!(excuse(&script.give(red_with(&["b"]))), want);
}

#[test]
fn what_a_story_repaired_is_not_red_before_the_next_one() {
    let mut script = gating(gate("tests", true), red_with(&["a", "b"]));
    script.give(red_with(&["b"]));
    script.give_all(&[ticked, saved, first_done, looked_saved]);
    script.give_all(&[agent_started, ended_complete, checked]);
    let (reason, _) = failure(&script.give(red_with(&["a", "b"])));
    assert!(
        reason.contains("1 test fails that did not fail before: `a`"),
        "{reason}"
    );
}

#[test]
fn tests_that_named_themselves_before_and_do_not_now_fail_the_attempt() {
    let mut script = gating(gate("tests", true), red_with(&["a"]));
    let (reason, new) = failure(&script.give(gate_red));
    let want = "gate `tests` failed: exit code 1: its tests did not run to their end, as they did \
                before\nboom";
    assert_eq!((reason.as_str(), new), (want, Vec::new()));
}

#[test]
fn where_no_tests_were_named_before_the_gate_is_red_as_before() {
    let mut script = gating(gate("tests", true), gate_red);
    let want = "gate `tests` is red (exit code 1), as it was before the attempt";
    assert_eq!(excuse(&script.give(red_with(&["a"]))), want);
}

#[test]
fn a_new_failure_that_is_gone_at_a_retry_does_not_count() {
    let retried = || Gate {
        retries: 1,
        ..gate("tests", true)
    };
    let mut script = gating(retried(), red_with(&["a"]));
    let effects = script.give(red_with(&["a", "c"]));
    assert!(
        matches!(effects.last(), Some(Effect::Step(_, Step::RunGate(_)))),
        "{effects:#?}"
    );
    let want = "gate `tests` is red (exit code 1 at the last of 2 tries): 1 test fails, as before \
                the attempt";
    assert_eq!(excuse(&script.give(red_with(&["a"]))), want);
    // And one that is there each time does.
    let mut script = gating(retried(), red_with(&["a"]));
    script.give(red_with(&["a", "c"]));
    let (reason, _) = failure(&script.give(red_with(&["a", "c"])));
    assert!(reason.contains("did not fail before: `c`"), "{reason}");
}

#[test]
fn a_test_that_failed_at_any_try_on_the_checkpoint_failed_before() {
    let mut script = Script::start(policy(Gate {
        retries: 1,
        ..gate("tests", true)
    }));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    script.give(red_with(&["a", "b"]));
    script.give(red_with(&["a", "c"]));
    script.give_all(&[agent_started, ended_complete, checked]);
    let want = "gate `tests` is red (exit code 1): 3 tests fail, as before the attempt";
    assert_eq!(excuse(&script.give(red_with(&["a", "b", "c"]))), want);
}

/// A run that is resumed with nothing but its gate at the end left, which was red where it began.
fn resumed(tests: Option<TestReport>) -> Script {
    let at_end = Gate {
        when: When::End,
        ..gate("tests", true)
    };
    let mut script = Script::start_with(Setup {
        resumed: Some(Resumption {
            red_before: BTreeMap::from([("tests".to_owned(), tests)]),
            ..Resumption::default()
        }),
        ..setup(policy(at_end))
    });
    let done = |ticket| backlog(ticket, &[story("1", StoryState::Done)]);
    script.give_all(&[done, begin_done]);
    script
}

#[test]
fn the_names_of_where_the_run_began_count_at_its_end_after_a_resume() {
    let mut script = resumed(Some(TestReport::of_failed(["a"])));
    let want = "gate `tests` is red (exit code 1): 1 test fails, as before the run";
    assert_eq!(excuse(&script.give(red_with(&["a"]))), want);
    let mut script = resumed(Some(TestReport::of_failed(["a"])));
    let effects = script.give(red_with(&["a", "b"]));
    let Some(Effect::Step(_, Step::Reopen(reopening))) = effects.last() else {
        panic!("{effects:#?}");
    };
    assert!(
        reopening.reason.contains("did not fail before: `b`"),
        "{}",
        reopening.reason
    );
    // Older records have no names.
    let mut script = resumed(None);
    let want = "gate `tests` is red (exit code 1), as it was before the run";
    assert_eq!(excuse(&script.give(red_with(&["a", "b"]))), want);
}

#[test]
fn what_earlier_runs_of_the_change_saw_where_they_began_counts_before_what_this_one_did() {
    let at_end = Gate {
        when: When::End,
        ..gate("tests", true)
    };
    let began = Began::Red(Some(TestReport::of_failed(["a"])));
    let mut script = Script::start_with(Setup {
        began: BTreeMap::from([("tests".to_owned(), began)]),
        resumed: Some(Resumption {
            red_before: BTreeMap::from([(
                "tests".to_owned(),
                Some(TestReport::of_failed(["a", "b"])),
            )]),
            ..Resumption::default()
        }),
        ..setup(policy(at_end))
    });
    let done = |ticket| backlog(ticket, &[story("1", StoryState::Done)]);
    script.give_all(&[done, begin_done]);
    let effects = script.give(red_with(&["a", "b"]));
    assert!(
        matches!(effects.last(), Some(Effect::Step(_, Step::Reopen(_)))),
        "{effects:#?}"
    );
}
