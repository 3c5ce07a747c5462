//! Which story is next, and when there is none.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::records::event::{AttemptStarted, Event, FinishChoice, Outcome, RunStarted};
use ralph_agents::dialect::Output;
use ralph_base::ids::AttemptNumber;
use ralph_plan::change::StoryState;

fn deferred(story: &str) -> Effect {
    say(Event::StorySkipped {
        story: id(story),
        title: format!("Title {story}"),
        reason: "all of its tasks are deferred".to_owned(),
        waits_for: None,
    })
}

#[test]
fn nothing_left_to_do_touches_nothing() {
    let mut script = Script::start(keep());
    assert_eq!(
        script.give(all_done),
        [run_ended(Outcome::AllDone, 2, 0), end(Outcome::AllDone, 0)]
    );
    assert_eq!(script.stop(), [], "nothing after the end");
}

#[test]
fn a_deferred_story_is_skipped_once_and_never_run() {
    let stories = |first| [story("1", first), story("2", StoryState::Deferred)];
    let mut script = Script::start(keep());
    script.give(|ticket| backlog(ticket, &stories(StoryState::Open)));
    let effects = script.give(begin_done);
    assert_eq!(effects[1], deferred("2"));
    script.give_all(&[agent_started, ended_complete, checked, ticked, saved]);
    assert_eq!(
        script.give(|ticket| backlog(ticket, &stories(StoryState::Done))),
        [
            run_ended(Outcome::AllDone, 1, 1),
            finish(8, FinishChoice::Keep)
        ]
    );
}

#[test]
fn only_deferred_stories_are_nothing_to_do() {
    let stories = [
        story("1", StoryState::Done),
        story("2", StoryState::Deferred),
    ];
    let mut script = Script::start(keep());
    assert_eq!(
        script.give(|ticket| backlog(ticket, &stories)),
        [
            deferred("2"),
            run_ended(Outcome::AllDone, 1, 0),
            end(Outcome::AllDone, 0)
        ]
    );
}

#[test]
fn a_story_done_but_for_deferred_tasks_is_named_not_skipped() {
    let mut script = Script::promised(keep());
    script.give_all(&[checked, ticked, saved]);
    let stories = [
        StoryView {
            tasks_done: 1,
            deferred_tasks: 1,
            ..story("1", StoryState::Deferred)
        },
        story("2", StoryState::Done),
    ];
    let message = "story `1` is done, 1 task deferred";
    let effects = script.give(|ticket| backlog(ticket, &stories));
    assert_eq!(effects[0], warning("deferred", message));
    assert_eq!(effects[1], run_ended(Outcome::AllDone, 2, 1));
}

#[test]
fn a_story_that_is_open_again_after_its_checkpoint_ends_the_run() {
    let mut script = Script::promised(keep());
    script.give_all(&[checked, ticked, saved]);
    let outcome = Outcome::Broken {
        reason: "story `1` has open tasks again after its checkpoint".to_owned(),
        hint: "look at its boxes in the task file; the work is safe in the checkpoint".to_owned(),
    };
    assert_eq!(
        script.give(|ticket| backlog(ticket, &two_open())),
        [run_ended(outcome.clone(), 0, 1), end(outcome, 4)]
    );
}

#[test]
fn just_the_story_asked_for_is_run() {
    let only = || Policy {
        only_story: Some(id("2")),
        ..keep()
    };
    let mut script = Script::start(only());
    script.give(|ticket| backlog(ticket, &two_open()));
    let effects = script.give(begin_done);
    assert_eq!(effects.last(), Some(&start_agent(3, "2", 1, None)));
    let effects = script.give_all(&[agent_started, ended_complete, checked, ticked, saved]);
    assert_eq!(
        effects[1..],
        [
            run_ended(story_done("2"), 1, 1),
            finish(7, FinishChoice::Keep)
        ]
    );
    let mut script = Script::start(only());
    assert_eq!(
        script.give(all_done),
        [run_ended(story_done("2"), 2, 0), end(story_done("2"), 0)]
    );
}

fn resumed(carry: Option<(StoryId, Carry)>) -> Setup {
    Setup {
        resumed: Some(Resumption {
            carries: carry.into_iter().collect(),
            attempts: BTreeMap::from([(id("2"), 3)]),
            ..Resumption::default()
        }),
        ..setup(keep())
    }
}

#[test]
fn a_resumed_run_goes_on_where_it_was() {
    let previous = Previous {
        reason: Some("no database".to_owned()),
        parked: Some(parked("2", 2)),
    };
    let carry = Carry {
        retries_used: 1,
        previous: Some(previous.clone()),
    };
    let mut script = Script::start_with(resumed(Some((id("2"), carry))));
    script.give(first_done);
    let effects = script.give(begin_done);
    assert!(matches!(&effects[0], Effect::Announce(event)
            if matches!(**event, Event::RunStarted(RunStarted { resumed: true, .. }))));
    assert_eq!(effects[2..], [start_agent(3, "2", 4, Some(previous))]);
    let started = say(Event::AttemptStarted(AttemptStarted {
        story: id("2"),
        attempt: AttemptNumber(4),
        max_attempts: 6,
        uncounted: 2,
        transcript: "attempts/1.1".to_owned(),
        base: None,
        output: Output::Text,
        agent: Some(the_agent()),
    }));
    assert_eq!(script.give(agent_started), [started]);
}

#[test]
fn a_resumed_run_with_nothing_left_is_still_finished() {
    let mut script = Script::start_with(resumed(None));
    assert_eq!(
        script.give(all_done),
        [Effect::Step(Ticket(2), Step::Begin)]
    );
    let effects = script.give(begin_done);
    assert_eq!(
        effects[1..],
        [
            run_ended(Outcome::AllDone, 2, 0),
            finish(3, FinishChoice::Keep)
        ]
    );
}
