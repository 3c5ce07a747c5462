//! From promise to commit: order of the checks, gates and what was red before, boxes.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::Gate;
use crate::records::event::{
    Event, FailureKind, FinishChoice, GateFinished, GateResult, GateStarted,
};

fn gated(gates: Vec<Gate>) -> Policy {
    Policy { gates, ..keep() }
}

/// What a gate's run on story 1's first attempt is called.
fn called(gate: usize, baseline: bool) -> String {
    let suffix = if baseline { "-baseline" } else { "" };
    format!("1.1-{}{suffix}", gate + 1)
}

fn begins(gate: &str, index: usize, baseline: bool) -> Effect {
    say(Event::GateStarted(GateStarted {
        story: id("1"),
        gate: gate.to_owned(),
        baseline,
        whole: false,
        log: format!("gates/{}.log", called(index, baseline)),
        try_number: 1,
    }))
}

fn ends(gate: &str, baseline: bool, result: GateResult) -> Effect {
    say(Event::GateFinished(GateFinished {
        story: id("1"),
        gate: gate.to_owned(),
        baseline,
        whole: false,
        result,
        duration_ms: 1500,
        tries: 1,
        flaky: false,
        tests: None,
        new_failures: Vec::new(),
    }))
}

fn run(ticket: u64, gate: usize, baseline: bool) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::RunGate(GateRequest {
            story: id("1"),
            gate,
            name: called(gate, baseline),
            ground: if baseline {
                Ground::Checkpoint
            } else {
                Ground::Attempt
            },
            try_number: 1,
        }),
    )
}

fn tick(ticket: u64) -> Effect {
    Effect::Step(Ticket(ticket), Step::TickStory(id("1")))
}

#[test]
fn gates_with_a_baseline_run_once_before_the_first_attempt() {
    let gates = vec![gate("fmt", false), gate("tests", true), gate("lint", true)];
    let mut script = Script::start(gated(gates));
    script.give(|ticket| backlog(ticket, &two_open()));
    let effects = script.give(begin_done);
    let look = Effect::Step(
        Ticket(3),
        Step::RecallGates {
            story: id("1"),
            known: None,
        },
    );
    assert_eq!(effects[2..], [look]);
    let effects = script.give(looked);
    assert_eq!(effects, [begins("tests", 1, true), run(4, 1, true)]);
    assert_eq!(
        script.give(gate_red),
        [
            ends("tests", true, red()),
            begins("lint", 2, true),
            run(5, 2, true)
        ]
    );
    assert_eq!(
        script.give(gate_green),
        [
            ends("lint", true, GateResult::Passed),
            start_agent(6, "1", 1, None)
        ]
    );
}

#[test]
fn gates_run_in_order_and_the_first_red_one_fails_the_attempt() {
    let gates = vec![
        gate("fmt", false),
        gate("tests", false),
        gate("lint", false),
    ];
    let mut script = Script::promised(gated(gates));
    assert_eq!(
        script.give(checked),
        [begins("fmt", 0, false), run(5, 0, false)]
    );
    assert_eq!(
        script.give(gate_green),
        [
            ends("fmt", false, GateResult::Passed),
            begins("tests", 1, false),
            run(6, 1, false),
        ]
    );
    let reason = "gate `tests` failed: exit code 1\nboom";
    assert_eq!(
        script.give(gate_red),
        [
            ends("tests", false, red()),
            park(7, 1, FailureKind::Gate, reason)
        ]
    );
}

#[test]
fn a_gate_that_was_red_before_only_warns_and_is_not_named_as_passed() {
    let gates = vec![gate("fmt", false), gate("tests", true)];
    let mut script = Script::start(gated(gates));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[
        begin_done,
        looked,
        gate_red,
        agent_started,
        ended_complete,
        checked,
        gate_green,
    ]);
    let message = "gate `tests` is red (exit code 1), as it was before the attempt";
    assert_eq!(
        script.give(gate_red),
        [
            ends("tests", false, red()),
            warning("red_before", message),
            tick(9)
        ]
    );
    let saves = script.give(ticked);
    let [Effect::Step(_, Step::Save(request))] = saves.as_slice() else {
        panic!("{saves:#?}");
    };
    assert_eq!(request.note.gates, ["fmt"]);
    assert_eq!(request.green, [0]);
}

#[test]
fn a_gate_that_cannot_run_ends_the_run_before_an_agent_starts() {
    let mut script = Script::start(gated(vec![gate("tests", true)]));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked]);
    let broken = || Outcome::GateBroken {
        gate: "tests".to_owned(),
        reason: "exit code 127: command not found\nsh: 1: tset: not found".to_owned(),
    };
    let effects = script.give(gate_missing);
    assert_eq!(effects[1], run_ended(broken(), 0, 0));
    // Nothing was tried, so that nothing is left.
    let abandons = Step::Finish(FinishChoice::Abandon);
    assert!(matches!(&effects[2], Effect::Step(_, step) if *step == abandons));
    assert_eq!(script.give(finished).last(), Some(&end(broken(), 2)));
}

#[test]
fn a_gate_whose_program_is_gone_fails_the_attempt_even_if_it_was_red_before() {
    let mut script = Script::start(gated(vec![gate("tests", true)]));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked, gate_red, agent_started, ended_complete]);
    script.give(checked);
    let effects = script.give(gate_missing);
    let reason = "gate `tests` failed: exit code 127: command not found\nsh: 1: tset: not found";
    assert_eq!(
        effects,
        [
            ends("tests", false, missing()),
            park(8, 1, FailureKind::Gate, reason)
        ]
    );
}

/// A machine whose one gate was red before story 1, which is being saved.
fn red_before_story_1(policy: Policy) -> Script {
    let mut script = Script::start(policy);
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked, gate_red, agent_started, ended_complete]);
    script.give_all(&[checked, gate_red, ticked]);
    script
}

#[test]
fn done_with_a_gate_that_is_red_since_before_the_run_is_not_verified() {
    let mut script = red_before_story_1(gated(vec![gate("tests", true)]));
    script.give_all(&[
        saved,
        first_done,
        looked_saved,
        agent_started,
        ended_complete,
    ]);
    script.give_all(&[checked, gate_red, ticked, saved]);
    let effects = script.give(all_done);
    assert_eq!(effects[0], run_ended(unverified("tests"), 2, 2));
    assert_eq!(
        script.give(finished).last(),
        Some(&end(unverified("tests"), 1))
    );
}

#[test]
fn a_gate_that_may_stay_red_does_not_keep_the_run_from_being_done() {
    let lint = Gate {
        allow_red: true,
        ..gate("lint", true)
    };
    let mut script = red_before_story_1(Policy {
        only_story: Some(id("1")),
        ..gated(vec![lint])
    });
    let effects = script.give(saved);
    assert_eq!(effects[1], run_ended(story_done("1"), 1, 1));
    assert_eq!(script.give(finished).last(), Some(&end(story_done("1"), 0)));
}

#[test]
fn a_gate_that_a_later_story_turns_green_leaves_the_work_verified() {
    let mut script = red_before_story_1(gated(vec![gate("tests", true)]));
    script.give_all(&[
        saved,
        first_done,
        looked_saved,
        agent_started,
        ended_complete,
    ]);
    script.give_all(&[checked, gate_green, ticked, saved]);
    let effects = script.give(all_done);
    assert_eq!(effects[0], run_ended(Outcome::AllDone, 2, 2));
}

#[test]
fn just_the_story_that_was_asked_for_is_not_verified_either() {
    let mut script = red_before_story_1(Policy {
        only_story: Some(id("1")),
        ..gated(vec![gate("tests", true)])
    });
    let effects = script.give(saved);
    assert_eq!(effects[1], run_ended(unverified("tests"), 1, 1));
}

#[test]
fn what_is_red_in_the_work_is_known_after_a_resume() {
    let mut script = Script::start_with(Setup {
        resumed: Some(Resumption {
            red_in_work: ["tests".to_owned(), "gone".to_owned()].into(),
            ..Resumption::default()
        }),
        ..setup(gated(vec![gate("tests", true)]))
    });
    let effects = script.give_all(&[all_done, begin_done]);
    assert_eq!(effects[1], run_ended(unverified("tests"), 2, 0));
}

#[test]
fn the_verdicts_of_a_story_are_the_baseline_of_the_next() {
    let mut script = Script::start(gated(vec![gate("tests", true)]));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked, gate_red, agent_started]);
    script.give_all(&[ended_complete, checked, gate_green, ticked, saved]);
    let next = script.give(first_done);
    let look = Effect::Step(
        Ticket(11),
        Step::RecallGates {
            story: id("2"),
            known: Some("c0ffee".to_owned()),
        },
    );
    assert_eq!(next[1..], [look]);
    assert_eq!(
        script.give(looked_saved),
        [start_agent(12, "2", 1, None)],
        "no second baseline run"
    );
    let effects = script.give_all(&[agent_started, ended_complete, checked, gate_red]);
    assert!(
        matches!(
            effects.last(),
            Some(Effect::Step(
                _,
                Step::Park(Setback {
                    kind: FailureKind::Gate,
                    ..
                })
            ))
        ),
        "the gate was green at this story's start: {effects:#?}"
    );
}

#[test]
fn a_retry_runs_no_baseline_again() {
    let mut script = Script::start(gated(vec![gate("tests", true)]));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked, gate_green, agent_started]);
    let effects = script.give_all(&[ended_silent, was_parked, restored]);
    assert!(
        matches!(effects[1], Effect::Step(_, Step::StartAgent(_))),
        "{effects:#?}"
    );
}

#[test]
fn a_red_gate_tells_its_last_sixty_lines() {
    let mut script = Script::promised(gated(vec![gate("tests", false)]));
    script.give(checked);
    let lines: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
    let result = GateResult::Failed {
        how: "exit code 101".to_owned(),
        tail: lines.join("\n"),
        cannot_run: false,
    };
    let effects = script.give(|ticket| {
        Input::Answer(
            ticket,
            Answer::GateEnded(GateEnd {
                result,
                duration: Duration::ZERO,
                touched: Vec::new(),
                tests: None,
            }),
        )
    });
    let Some(Effect::Step(_, Step::Park(Setback { reason, .. }))) = effects.last() else {
        panic!("{effects:#?}");
    };
    let want = format!(
        "gate `tests` failed: exit code 101\n{}",
        lines[40..].join("\n")
    );
    assert_eq!(*reason, want);
}

#[test]
fn a_red_gate_names_the_failure_before_open_boxes_do() {
    let policy = Policy {
        strict_tasks: true,
        require_changes: true,
        ..gated(vec![gate("tests", false)])
    };
    let mut script = Script::promised(policy);
    let check = StoryCheck {
        still_open: vec!["1.1 a".to_owned()],
        ..StoryCheck::default()
    };
    script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check)));
    let effects = script.give(gate_red);
    let reason = "gate `tests` failed: exit code 1\nboom";
    assert_eq!(effects[1..], [park(6, 1, FailureKind::Gate, reason)]);
}

#[test]
fn an_attempt_that_changed_nothing_but_boxes_gets_a_warning() {
    let mut script = Script::promised(keep());
    let check = StoryCheck::default();
    assert_eq!(
        script.give(|ticket| Input::Answer(ticket, Answer::StoryChecked(check))),
        [
            warning("no_changes", "attempt `1.1` changed nothing but boxes"),
            tick(5)
        ]
    );
}

#[test]
fn boxes_the_agent_left_open_are_ticked_with_a_warning() {
    let mut script = Script::promised(keep());
    script.give(checked);
    let tasks = vec!["1.2 b".to_owned()];
    let effects = script.give(|ticket| Input::Answer(ticket, Answer::Ticked(tasks)));
    let message = "the agent did not tick its tasks; ralphtool ticked them: `1.2 b`";
    assert_eq!(effects[0], warning("ticked", message));
    assert!(matches!(effects[1], Effect::Step(_, Step::Save(_))));
}
