//! Gates with paths: they run only where such files were changed, and what they said before holds.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::{Gate, When};
use crate::records::event::{Event, FailureKind, GateNotRun};
use crate::settings::PathPatterns;
use ralph_plan::change::StoryState;

fn limited_to_paths(name: &str, baseline: bool) -> Gate {
    Gate {
        paths: Some(PathPatterns::new(&["web/**"]).unwrap()),
        ..gate(name, baseline)
    }
}

fn gated(gates: Vec<Gate>) -> Policy {
    Policy { gates, ..keep() }
}

fn not_run(story: &str, gate: &str, whole: bool) -> Effect {
    say(Event::GateNotRun(GateNotRun {
        story: id(story),
        gate: gate.to_owned(),
        whole,
    }))
}

/// The attempt changed files in the paths of these gates.
fn touching(touched: &[usize]) -> impl Fn(Ticket) -> Input {
    move |ticket| {
        let check = StoryCheck {
            changed_files: 3,
            touched: touched.to_vec(),
            ..StoryCheck::default()
        };
        Input::Answer(ticket, Answer::StoryChecked(check))
    }
}

/// The gates that effects start, by their places.
fn started(effects: &[Effect]) -> Vec<usize> {
    let steps = effects.iter().filter_map(|effect| match effect {
        Effect::Step(_, Step::RunGate(request)) => Some(request.gate),
        _ => None,
    });
    steps.collect()
}

fn passed(effects: &[Effect]) -> Vec<String> {
    let [Effect::Step(_, Step::Save(request))] = effects else {
        panic!("{effects:#?}");
    };
    request.note.gates.clone()
}

#[test]
fn a_gate_runs_only_where_a_file_in_its_paths_was_changed_and_has_not_passed_elsewhere() {
    let gates = || vec![limited_to_paths("web", false), gate("tests", false)];
    let mut script = Script::promised(gated(gates()));
    let effects = script.give(touching(&[]));
    assert_eq!(effects[0], not_run("1", "web", false));
    assert_eq!(started(&effects), [1]);
    script.give(gate_green);
    assert_eq!(passed(&script.give(ticked)), ["tests"]);

    let mut script = Script::promised(gated(gates()));
    assert_eq!(started(&script.give(touching(&[0]))), [0]);
    assert_eq!(started(&script.give(gate_green)), [1]);
    script.give(gate_green);
    assert_eq!(passed(&script.give(ticked)), ["web", "tests"]);
}

#[test]
fn what_a_gate_changes_and_keeps_counts_for_the_gates_after_it() {
    let gates = vec![gate("format", false), limited_to_paths("web", false)];
    let mut script = Script::promised(gated(gates));
    script.give(touching(&[]));
    let effects = script.give(|ticket| {
        Input::Answer(
            ticket,
            Answer::GateEnded(GateEnd {
                result: GateResult::Passed,
                duration: Duration::ZERO,
                touched: vec![1],
                tests: None,
            }),
        )
    });
    assert_eq!(started(&effects), [1]);
}

/// A machine whose gate with paths said this on the checkpoint, and did not run on story 1, which is
/// saved; the agent has promised to be done with story 2.
fn second_story(before: fn(Ticket) -> Input) -> Script {
    let mut script = Script::start(gated(vec![limited_to_paths("web", true)]));
    script.give(|ticket| backlog(ticket, &two_open()));
    script.give_all(&[begin_done, looked, before, agent_started, ended_complete]);
    script.give(touching(&[]));
    script.give_all(&[ticked, saved, first_done]);
    let effects = script.give(looked_saved);
    assert_eq!(started(&effects), Vec::<usize>::new(), "no second baseline");
    script.give_all(&[agent_started, ended_complete]);
    script
}

#[test]
fn what_a_gate_said_before_holds_for_stories_on_which_it_did_not_run() {
    let mut was_green = second_story(gate_green);
    assert_eq!(started(&was_green.give(touching(&[0]))), [0]);
    let effects = was_green.give(gate_red);
    let Some(Effect::Step(_, Step::Park(setback))) = effects.last() else {
        panic!("{effects:#?}");
    };
    assert_eq!(setback.kind, FailureKind::Gate);

    let mut was_red = second_story(gate_red);
    was_red.give(touching(&[0]));
    let message = "gate `web` is red (exit code 1), as it was before the attempt";
    assert_eq!(was_red.give(gate_red)[1], warning("red_before", message));
}

fn at_the_end(continues_work: bool) -> Script {
    let gate = Gate {
        when: When::End,
        ..limited_to_paths("e2e", false)
    };
    let mut script = Script::start_with(Setup {
        continues_work,
        ..setup(Policy {
            only_story: Some(id("1")),
            ..gated(vec![gate])
        })
    });
    script.give(|ticket| backlog(ticket, &[story("1", StoryState::Open)]));
    script.give_all(&[begin_done, agent_started, ended_complete]);
    script.give_all(&[checked, ticked, saved]);
    let effects = script.give(|ticket| backlog(ticket, &[story("1", StoryState::Done)]));
    assert_eq!(
        effects,
        [Effect::Step(Ticket(8), Step::CompareWithStart)],
        "what the whole change changed"
    );
    script
}

fn compared(touched: &[usize]) -> impl Fn(Ticket) -> Input {
    move |ticket| Input::Answer(ticket, Answer::Compared(touched.to_vec()))
}

#[test]
fn a_gate_at_the_end_looks_at_what_the_whole_change_changed() {
    let mut script = at_the_end(false);
    assert_eq!(started(&script.give(compared(&[0]))), [0]);

    let mut script = at_the_end(false);
    let effects = script.give(compared(&[]));
    assert_eq!(effects[0], not_run("1", "e2e", true));
    assert!(
        matches!(&effects[1], Effect::Announce(event) if matches!(
            &**event,
            Event::RunEnded(ended) if ended.outcome == story_done("1")
        )),
        "{effects:#?}"
    );
}

#[test]
fn it_runs_where_earlier_runs_of_the_change_left_work_that_the_start_of_this_one_hides() {
    let mut script = at_the_end(true);
    assert_eq!(started(&script.give(compared(&[]))), [0]);
}

#[test]
fn a_stop_during_the_comparison_ends_the_run() {
    let mut script = at_the_end(false);
    script.stop();
    let effects = script.give(compared(&[0]));
    assert!(
        matches!(&effects[0], Effect::Announce(event) if matches!(
            &**event,
            Event::RunEnded(ended) if ended.outcome == Outcome::Stopped
        )),
        "{effects:#?}"
    );
}
