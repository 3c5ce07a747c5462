//! Gates at the end, and what is remembered of a tree from one run to the next.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::{Gate, When};
use crate::records::event::{
    Event, FailedStory, FailureKind, GateFinished, GateResult, GateStarted,
};
use ralph_plan::change::StoryState;
use ralph_vault::journal::reopening::Reopening;

const REASON: &str = "gate `e2e` failed: exit code 1\nboom";

fn at_the_end(baseline: bool) -> Gate {
    Gate {
        when: When::End,
        ..gate("e2e", baseline)
    }
}

fn policy(max_retries: u32, baseline: bool) -> Policy {
    Policy {
        gates: vec![at_the_end(baseline)],
        max_retries,
        ..keep()
    }
}

fn one_open(ticket: Ticket) -> Input {
    backlog(
        ticket,
        &[story("1", StoryState::Done), story("2", StoryState::Open)],
    )
}

/// A machine with just story 2 left, which is done; the change is being read again.
fn last_story_done(policy: Policy) -> Script {
    let mut script = Script::start(policy);
    script.give_all(&[one_open, begin_done, agent_started, ended_complete]);
    script.give_all(&[checked, ticked, saved]);
    script
}

fn begins(attempt: u32) -> Effect {
    say(Event::GateStarted(GateStarted {
        story: id("2"),
        gate: "e2e".to_owned(),
        baseline: false,
        whole: true,
        log: format!("gates/2.{attempt}-1-end.log"),
        try_number: 1,
    }))
}

fn ends(result: GateResult) -> Effect {
    say(Event::GateFinished(GateFinished {
        story: id("2"),
        gate: "e2e".to_owned(),
        baseline: false,
        whole: true,
        result,
        duration_ms: 1500,
        tries: 1,
        flaky: false,
        tests: None,
        new_failures: Vec::new(),
    }))
}

fn run(ticket: u64, attempt: u32) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::RunGate(GateRequest {
            story: id("2"),
            gate: 0,
            name: format!("2.{attempt}-1-end"),
            ground: Ground::Whole,
            try_number: 1,
        }),
    )
}

fn reopen(ticket: u64) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::Reopen(Reopening {
            review: false,
            story: id("2"),
            gate: "e2e".to_owned(),
            reason: REASON.to_owned(),
        }),
    )
}

fn reopened(ticket: Ticket) -> Input {
    let commit = "c1".to_owned();
    Input::Answer(ticket, Answer::Reopened(commit))
}

fn is_open_again() -> Effect {
    say(Event::StoryReopened {
        review: false,
        story: id("2"),
        gate: "e2e".to_owned(),
        reason: REASON.to_owned(),
        commit: "c1".to_owned(),
    })
}

#[test]
fn a_gate_at_the_end_runs_once_every_story_is_done_and_not_before() {
    let mut script = last_story_done(policy(3, false));
    assert_eq!(script.give(all_done), [begins(1), run(8, 1)]);
    let effects = script.give(gate_green);
    assert_eq!(effects[0], ends(GateResult::Passed));
    assert_eq!(effects[1], run_ended(Outcome::AllDone, 2, 1));
}

#[test]
fn a_red_one_opens_the_last_story_again_with_its_output() {
    let mut script = last_story_done(policy(3, false));
    script.give(all_done);
    assert_eq!(script.give(gate_red), [ends(red()), reopen(9)]);
    let effects = script.give(reopened);
    assert_eq!(effects[0], is_open_again());
    let effects = script.give(one_open);
    let previous = Previous {
        reason: Some(REASON.to_owned()),
        parked: None,
    };
    assert_eq!(effects[1], start_agent(11, "2", 2, Some(previous)));
    script.give_all(&[agent_started, ended_complete, checked, ticked, saved]);
    assert_eq!(script.give(all_done), [begins(2), run(16, 2)]);
    let effects = script.give(gate_green);
    assert_eq!(effects[1], run_ended(Outcome::AllDone, 2, 2));
}

#[test]
fn it_uses_a_retry_and_the_story_stays_open_when_none_is_left() {
    let mut script = last_story_done(policy(0, false));
    script.give_all(&[all_done, gate_red]);
    let given_up = FailedStory {
        story: id("2"),
        kind: FailureKind::Gate,
        reason: REASON.to_owned(),
        attempts: 1,
        gate: Some("e2e".to_owned()),
    };
    let effects = script.give(reopened);
    assert_eq!(
        effects[..3],
        [
            is_open_again(),
            exhausted(&given_up, false),
            run_ended(Outcome::stopped_at(given_up), 1, 1)
        ]
    );
}

#[test]
fn one_that_was_red_where_the_run_began_only_warns_and_the_run_is_not_verified() {
    let mut script = Script::start(policy(3, true));
    let effects = script.give_all(&[one_open, begin_done, looked]);
    assert!(
        matches!(
            effects[1],
            Effect::Step(
                _,
                Step::RunGate(GateRequest {
                    gate: 0,
                    ground: Ground::Checkpoint,
                    ..
                })
            )
        ),
        "{effects:#?}"
    );
    script.give_all(&[
        gate_red,
        agent_started,
        ended_complete,
        checked,
        ticked,
        saved,
    ]);
    script.give(all_done);
    let effects = script.give(gate_red);
    let message = "gate `e2e` is red (exit code 1), as it was before the run";
    assert_eq!(effects[1], warning("red_before", message));
    assert_eq!(effects[2], run_ended(unverified("e2e"), 2, 1));
    assert_eq!(
        script.give(finished).last(),
        Some(&end(unverified("e2e"), 1))
    );
}

#[test]
fn what_was_red_where_the_run_began_is_known_after_a_resume_and_nothing_else_is() {
    let was_red = BTreeMap::from([("e2e".to_owned(), None)]);
    for (red_before, is_fine) in [(was_red, true), (BTreeMap::new(), false)] {
        let mut script = Script::start_with(Setup {
            resumed: Some(Resumption {
                red_before,
                ..Resumption::default()
            }),
            ..setup(policy(3, true))
        });
        let effects = script.give_all(&[all_done, begin_done]);
        assert!(
            matches!(
                effects.last(),
                Some(Effect::Step(
                    _,
                    Step::RunGate(GateRequest {
                        ground: Ground::Whole,
                        ..
                    })
                ))
            ),
            "a resume with nothing left still judges the whole: {effects:#?}"
        );
        let effects = script.give(gate_red);
        let opens = effects
            .iter()
            .any(|it| matches!(it, Effect::Step(_, Step::Reopen(_))));
        assert_eq!(opens, !is_fine, "{effects:#?}");
    }
}

#[test]
fn a_run_of_one_story_is_judged_whole_only_where_it_was_the_last() {
    let only = Policy {
        only_story: Some(id("2")),
        ..policy(3, false)
    };
    let mut script = last_story_done(only.clone());
    assert_eq!(script.give(all_done), [begins(1), run(8, 1)]);
    let mut script = Script::start(only);
    let left = |ticket: Ticket| {
        backlog(
            ticket,
            &[story("1", StoryState::Open), story("2", StoryState::Done)],
        )
    };
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, agent_started, ended_complete, checked, ticked]);
    script.give(saved);
    let effects = script.give(left);
    assert_eq!(effects[0], run_ended(story_done("2"), 1, 1));
}

#[test]
fn a_stop_ends_a_gate_at_the_end_and_the_run_can_go_on() {
    let mut script = last_story_done(policy(3, false));
    script.give(all_done);
    assert!(
        script
            .stop()
            .iter()
            .any(|it| matches!(it, Effect::StopProcess { .. }))
    );
    let effects = script.give(gate_red);
    assert_eq!(effects[0], run_ended(Outcome::Stopped, 2, 1));
}

#[test]
fn a_gate_that_passed_on_the_same_tree_is_not_run_again_and_still_counts() {
    let mut script = Script::start(Policy {
        gates: vec![gate("tests", true)],
        ..keep()
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give(begin_done);
    let effects = script.give(|ticket| {
        Input::Answer(
            ticket,
            Answer::GatesRecalled {
                commit: "c0".to_owned(),
                green: vec![0],
            },
        )
    });
    assert_eq!(effects, [start_agent(4, "1", 1, None)]);
    script.give_all(&[agent_started, ended_complete, checked, gate_red, was_parked]);
    let effects = script.give(restored);
    assert!(
        matches!(effects.last(), Some(Effect::Step(_, Step::StartAgent(_)))),
        "what the attempt broke beside the tree must not pass for red before: {effects:#?}"
    );
    script.give_all(&[agent_started, ended_complete, checked]);
    let effects = script.give(gate_red);
    assert!(
        matches!(effects.last(), Some(Effect::Step(_, Step::Park(_)))),
        "{effects:#?}"
    );
}
