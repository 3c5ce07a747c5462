//! Gates with retries: a red one runs again on the same tree, on the checkpoint, on an attempt and over
//! the whole change.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::{Budget, Gate, When};
use crate::records::event::{
    Event, FailureKind, GateFinished, GateResult, GateRetried, GateStarted,
};
use ralph_plan::change::StoryState;

fn retried(name: &str, baseline: bool, retries: u32) -> Gate {
    Gate {
        retries,
        ..gate(name, baseline)
    }
}

fn policy(gate: Gate) -> Policy {
    Policy {
        gates: vec![gate],
        ..keep()
    }
}

/// One run of gate `tests` for story 1: what it judges, and which try it is.
#[derive(Clone, Copy)]
struct Try(Ground, u32);

impl Try {
    fn name(self) -> String {
        let suffix = match self.0 {
            Ground::Checkpoint => "-baseline",
            Ground::Attempt => "",
            Ground::Whole => "-end",
        };
        let again = match self.1 {
            1 => String::new(),
            number => format!("-try{number}"),
        };
        format!("1.1-1{suffix}{again}")
    }

    fn begins(self) -> Effect {
        say(Event::GateStarted(GateStarted {
            story: id("1"),
            gate: "tests".to_owned(),
            baseline: self.0 == Ground::Checkpoint,
            whole: self.0 == Ground::Whole,
            log: format!("gates/{}.log", self.name()),
            try_number: self.1,
        }))
    }

    fn runs(self, ticket: u64) -> Effect {
        Effect::Step(
            Ticket(ticket),
            Step::RunGate(GateRequest {
                story: id("1"),
                gate: 0,
                name: self.name(),
                ground: self.0,
                try_number: self.1,
            }),
        )
    }

    fn is_retried(self) -> Effect {
        say(Event::GateRetried(GateRetried {
            story: id("1"),
            gate: "tests".to_owned(),
            baseline: self.0 == Ground::Checkpoint,
            whole: self.0 == Ground::Whole,
            try_number: self.1,
            result: red(),
            log: format!("gates/{}.log", self.name()),
            duration_ms: 1500,
        }))
    }

    fn ends(self, result: GateResult) -> Effect {
        say(Event::GateFinished(GateFinished {
            story: id("1"),
            gate: "tests".to_owned(),
            baseline: self.0 == Ground::Checkpoint,
            whole: self.0 == Ground::Whole,
            flaky: self.1 > 1 && result == GateResult::Passed,
            result,
            duration_ms: 1500,
            tries: self.1,
            tests: None,
            new_failures: Vec::new(),
        }))
    }
}

/// A machine whose gate runs on the first attempt at story 1; it has no baseline.
fn gating(retries: u32) -> Script {
    let mut script = Script::promised(policy(retried("tests", false, retries)));
    script.give(checked);
    script
}

#[test]
fn a_red_gate_runs_again_and_counts_as_passed_and_flaky_if_it_then_passes() {
    let mut script = gating(2);
    let again = |number| Try(Ground::Attempt, number);
    assert_eq!(
        script.give(gate_red),
        [again(1).is_retried(), again(2).begins(), again(2).runs(6)]
    );
    assert_eq!(
        script.give(gate_red),
        [again(2).is_retried(), again(3).begins(), again(3).runs(7)]
    );
    let message = "gate `tests` is flaky: it was red (exit code 1, then exit code 1) and passed at \
                   the third try on the same tree";
    let effects = script.give(gate_green);
    assert_eq!(
        effects[..2],
        [again(3).ends(GateResult::Passed), warning("flaky", message)]
    );
    let saves = script.give(ticked);
    let [Effect::Step(_, Step::Save(request))] = saves.as_slice() else {
        panic!("{saves:#?}");
    };
    assert_eq!(request.note.gates, ["tests"], "it counts as passed");
    assert_eq!(
        request.green,
        Vec::<usize>::new(),
        "of its tree nothing is remembered"
    );
}

#[test]
fn a_gate_that_is_red_at_every_try_fails_the_attempt() {
    let mut script = gating(1);
    script.give(gate_red);
    let reason = "gate `tests` failed: exit code 1 at the last of 2 tries\nboom";
    assert_eq!(
        script.give(gate_red),
        [
            Try(Ground::Attempt, 2).ends(red()),
            park(7, 1, FailureKind::Gate, reason)
        ]
    );
}

#[test]
fn a_gate_that_cannot_run_does_not_run_again() {
    let mut script = gating(3);
    let effects = script.give(gate_missing);
    let reason = "gate `tests` failed: exit code 127: command not found\nsh: 1: tset: not found";
    assert_eq!(
        effects,
        [
            Try(Ground::Attempt, 1).ends(missing()),
            park(6, 1, FailureKind::Gate, reason)
        ]
    );
}

#[test]
fn a_stop_a_skip_or_the_budget_during_a_retry_ends_it_as_in_the_first_try() {
    let mut script = gating(3);
    script.give(gate_red);
    assert_eq!(script.stop()[1], stop_process(5));
    assert_eq!(
        script.give(gate_red),
        [
            Try(Ground::Attempt, 2).ends(red()),
            park(7, 1, FailureKind::Stopped, "the run was stopped")
        ]
    );
    let mut script = gating(3);
    script.give(gate_red);
    script.ask_for(UserCommand::Skip);
    let effects = script.give(gate_red);
    assert_eq!(
        effects[1],
        park(7, 1, FailureKind::Skipped, "the story was skipped")
    );
    let mut script = Script::promised(Policy {
        budget: Budget {
            time: Some(Duration::from_secs(60)),
            ..Budget::default()
        },
        ..policy(retried("tests", false, 3))
    });
    script.give_all(&[checked, gate_red]);
    let effects = script.pass(61).fire(TimerKind::Budget);
    assert_eq!(effects.last(), Some(&stop_process(5)));
    let effects = script.give(gate_red);
    assert!(
        matches!(
            effects.last(),
            Some(Effect::Step(
                _,
                Step::Park(Setback {
                    kind: FailureKind::Budget,
                    ..
                })
            ))
        ),
        "{effects:#?}"
    );
}

#[test]
fn a_gate_that_passes_at_a_later_try_on_the_checkpoint_was_not_red_before() {
    let mut script = Script::start(policy(retried("tests", true, 1)));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    let again = |number| Try(Ground::Checkpoint, number);
    assert_eq!(
        script.give(gate_red),
        [again(1).is_retried(), again(2).begins(), again(2).runs(5)]
    );
    let message = "gate `tests` is flaky on the checkpoint: it was red (exit code 1) and passed at \
                   the second try on the same tree";
    assert_eq!(
        script.give(gate_green),
        [
            again(2).ends(GateResult::Passed),
            warning("flaky", message),
            start_agent(6, "1", 1, None)
        ]
    );
    script.give_all(&[agent_started, ended_complete, checked, gate_red]);
    let effects = script.give(gate_red);
    assert!(
        matches!(effects.last(), Some(Effect::Step(_, Step::Park(_)))),
        "{effects:#?}"
    );
}

#[test]
fn a_gate_that_was_red_before_does_not_run_again_on_the_attempt() {
    let mut script = Script::start(policy(retried("tests", true, 1)));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked, gate_red, gate_red]);
    script.give_all(&[agent_started, ended_complete, checked]);
    let message = "gate `tests` is red (exit code 1), as it was before the attempt";
    assert_eq!(
        script.give(gate_red)[..2],
        [
            Try(Ground::Attempt, 1).ends(red()),
            warning("red_before", message)
        ]
    );
}

#[test]
fn a_gate_at_the_end_runs_again_before_it_opens_a_story() {
    let at_end = Gate {
        when: When::End,
        ..retried("tests", false, 1)
    };
    let mut script = Script::start(Policy {
        only_story: Some(id("1")),
        ..policy(at_end)
    });
    let last = |ticket| backlog(ticket, &[story("1", StoryState::Open)]);
    let done = |ticket| backlog(ticket, &[story("1", StoryState::Done)]);
    script.give_all(&[last, begin_done, agent_started, ended_complete]);
    script.give_all(&[checked, ticked, saved, done]);
    let again = |number| Try(Ground::Whole, number);
    assert_eq!(
        script.give(gate_red),
        [again(1).is_retried(), again(2).begins(), again(2).runs(9)]
    );
    let message = "gate `tests` is flaky on the whole change: it was red (exit code 1) and passed at \
                   the second try on the same tree";
    let effects = script.give(gate_green);
    assert_eq!(
        effects[..2],
        [again(2).ends(GateResult::Passed), warning("flaky", message)]
    );
    assert!(matches!(
        &effects[2],
        Effect::Announce(event) if matches!(&**event, Event::RunEnded(_))
    ));
}
