//! One test per scenario of the checkpoint requirements. The early ones speak of stashes; they
//! are tested as what replaced them: a branch with one commit per story.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::OnFinish;
use crate::records::event::{
    BudgetLimits, Event, FailureKind, FinishChoice, FinishFailed, Finished, Outcome, RunStarted,
    StoryCompleted, StoryOutline, StoryStarted,
};
use ralph_plan::change::StoryState;
use ralph_vault::journal::steps::StoryNote;

fn story_started(story: &str, position: usize) -> Effect {
    say(Event::StoryStarted(StoryStarted {
        story: id(story),
        title: format!("Title {story}"),
        position,
        total: 2,
        open_tasks: 2,
        tasks: Vec::new(),
    }))
}

fn outlined(story: &str) -> StoryOutline {
    StoryOutline {
        id: id(story),
        title: format!("Title {story}"),
        state: StoryState::Open,
        tasks_done: 0,
        tasks_total: 2,
        tasks_deferred: 0,
    }
}

fn run_started() -> Effect {
    say(Event::RunStarted(RunStarted {
        change: "my-feature".to_owned(),
        branch: "ralph/my-feature".to_owned(),
        original: "main".to_owned(),
        original_commit: Some("c0".to_owned()),
        abandon_to: None,
        agent: "demo".to_owned(),
        model: None,
        stories_total: 2,
        stories_done: 0,
        max_retries: 3,
        gates: Vec::new(),
        resumed: false,
        stories: vec![outlined("1"), outlined("2")],
        budget: BudgetLimits::default(),
        story_budget: BudgetLimits::default(),
        gates_at_end: Vec::new(),
        fallback: Vec::new(),
    }))
}

fn save(ticket: u64, story: &str, attempt: u32) -> Effect {
    Effect::Step(
        Ticket(ticket),
        Step::Save(SaveRequest {
            note: StoryNote {
                id: id(story),
                title: format!("Title {story}"),
                attempts: attempt,
                gates: Vec::new(),
            },
            green: Vec::new(),
        }),
    )
}

fn story_completed(story: &str, attempts: u32) -> Effect {
    say(Event::StoryCompleted(StoryCompleted {
        story: id(story),
        title: format!("Title {story}"),
        attempts,
        commit: "c0ffee".to_owned(),
        changed_files: 4,
        duration_ms: 0,
        usage: Usage::default(),
        repairs: 0,
    }))
}

/// The last story is saved and the change is read again: nothing is left.
fn at_the_end(on_finish: OnFinish) -> (Script, Vec<Effect>) {
    let mut script = Script::working(Policy {
        on_finish,
        ..keep()
    });
    let effects = script.give_all(&[ended_complete, checked, ticked, saved, all_done]);
    (script, effects)
}

#[test]
fn save_checkpoint_before_agent_spawn_now_the_branch_is_begun_before() {
    let mut script = Script::start(keep());
    assert_eq!(script.first, [Effect::Step(Ticket(1), Step::ReadBacklog)]);
    let read = script.give(|ticket| backlog(ticket, &two_open()));
    assert_eq!(read, [Effect::Step(Ticket(2), Step::Begin)]);
    assert_eq!(
        script.give(begin_done),
        [
            run_started(),
            story_started("1", 1),
            start_agent(3, "1", 1, None)
        ]
    );
}

#[test]
fn initialize_checkpoint_branch_at_loop_start() {
    let mut script = Script::start(keep());
    let read = script.give(|ticket| backlog(ticket, &two_open()));
    assert_eq!(read, [Effect::Step(Ticket(2), Step::Begin)]);
    assert_eq!(
        script.give(step_failed),
        [run_ended(disk_full(), 0, 0), end(disk_full(), 4)]
    );
}

#[test]
fn store_original_branch() {
    let mut script = Script::start(keep());
    script.give(|ticket| backlog(ticket, &two_open()));
    assert_eq!(script.give(begin_done)[0], run_started());
}

#[test]
fn stash_naming_convention_now_a_commit_named_after_its_story() {
    let stories = [story("story-1", StoryState::Open)];
    let mut script = Script::start(keep());
    script.give(|ticket| backlog(ticket, &stories));
    let effects = script.give_all(&[begin_done, agent_started, ended_complete, checked, ticked]);
    assert_eq!(effects, [save(6, "story-1", 1)]);
}

#[test]
fn save_checkpoint_after_story_completion() {
    let mut script = Script::working(keep());
    let story = id("1");
    let ticket = Ticket(4);
    assert_eq!(
        script.give(ended_complete),
        [Effect::Step(ticket, Step::CheckStory(story.clone()))]
    );
    let ticket = Ticket(5);
    assert_eq!(
        script.give(checked),
        [Effect::Step(ticket, Step::TickStory(story))]
    );
    assert_eq!(script.give(ticked), [save(6, "1", 1)]);
    assert_eq!(
        script.give(saved),
        [
            story_completed("1", 1),
            Effect::Step(Ticket(7), Step::ReadBacklog)
        ]
    );
    assert_eq!(
        script.give(first_done),
        [story_started("2", 2), start_agent(8, "2", 1, None)]
    );
}

#[test]
fn drop_checkpoint_on_success_now_nothing_is_parked_or_restored() {
    let mut script = Script::working(keep());
    let mut all = Vec::new();
    let answers = [ended_complete, checked, ticked, saved];
    for answer in answers {
        all.extend(script.give(answer));
    }
    let touches: Vec<&Effect> = all
        .iter()
        .filter(|effect| matches!(effect, Effect::Step(_, Step::Park(_) | Step::Restore)))
        .collect();
    assert_eq!(touches, Vec::<&Effect>::new());
}

#[test]
fn revert_to_checkpoint_on_failure() {
    let mut script = Script::working(keep());
    let reason = "the agent ended without a promise";
    assert_eq!(
        script.give(ended_silent),
        [park(4, 1, FailureKind::NoSignal, reason)]
    );
    assert_eq!(
        script.give(was_parked),
        [Effect::Step(Ticket(5), Step::Restore)]
    );
    let previous = Previous {
        reason: None,
        parked: Some(parked("1", 1)),
    };
    assert_eq!(
        script.give(restored),
        [
            attempt_failed(1, FailureKind::NoSignal, reason, true),
            start_agent(6, "1", 2, Some(previous)),
        ]
    );
}

#[test]
fn revert_cleans_working_directory_before_the_next_agent_and_only_once_parked() {
    let mut script = Script::working(keep());
    script.give(ended_silent);
    assert_eq!(
        script.give(was_parked),
        [Effect::Step(Ticket(5), Step::Restore)]
    );
    assert_eq!(
        script.give(step_failed),
        [run_ended(disk_full(), 0, 1), end(disk_full(), 4)]
    );
}

#[test]
fn a_park_that_fails_is_never_followed_by_a_restore() {
    let mut script = Script::working(keep());
    script.give(ended_silent);
    assert_eq!(
        script.give(step_failed),
        [run_ended(disk_full(), 0, 1), end(disk_full(), 4)]
    );
}

#[test]
fn stash_lookup_by_name_now_the_parked_attempt_is_named_to_the_next() {
    let mut script = Script::working(keep());
    script.give_all(&[ended_silent, was_parked, restored, agent_started]);
    script.give(|ticket| ended(ticket, failed("no database")));
    let effects = script.give_all(&[was_parked, restored]);
    let previous = Previous {
        reason: Some("no database".to_owned()),
        parked: Some(parked("1", 2)),
    };
    assert_eq!(
        effects,
        [
            attempt_failed(2, FailureKind::Failed, "no database", true),
            start_agent(9, "1", 3, Some(previous)),
        ]
    );
}

#[test]
fn cleanup_all_change_stashes_now_the_branch_is_finished_on_success() {
    let (_, effects) = at_the_end(OnFinish::Cleanup);
    assert_eq!(
        effects,
        [
            run_ended(Outcome::AllDone, 2, 1),
            finish(8, FinishChoice::Cleanup)
        ]
    );
}

#[test]
fn cleanup_all_change_stashes_now_the_branch_is_finished_when_retries_are_used_up() {
    let mut script = Script::working(Policy {
        max_retries: 0,
        on_finish: OnFinish::Cleanup,
        ..keep()
    });
    script.give(|ticket| ended(ticket, failed("too hard")));
    let outcome = Outcome::Exhausted {
        story: id("1"),
        kind: FailureKind::Failed,
        reason: "too hard".to_owned(),
        attempts: 1,
        gate: None,
    };
    assert_eq!(
        script.give_all(&[was_parked, restored]),
        [
            attempt_failed(1, FailureKind::Failed, "too hard", false),
            run_ended(outcome.clone(), 0, 1),
            finish(6, FinishChoice::Cleanup),
        ]
    );
    assert_eq!(script.give(finished).last(), Some(&end(outcome, 1)));
}

#[test]
fn cleanup_option_selected() {
    chosen(FinishChoice::Cleanup);
}

#[test]
fn keep_option_selected() {
    chosen(FinishChoice::Keep);
}

#[track_caller]
fn chosen(choice: FinishChoice) {
    let (mut script, effects) = at_the_end(OnFinish::Ask);
    let ticket = Ticket(8);
    assert_eq!(
        effects,
        [
            run_ended(Outcome::AllDone, 2, 1),
            say(Event::ChoiceNeeded),
            Effect::Step(ticket, Step::AskFinish)
        ]
    );
    let answer = script.give(|ticket| Input::Answer(ticket, Answer::FinishChosen(choice)));
    assert_eq!(answer, [finish(9, choice)]);
    assert_eq!(
        script.give(finished),
        [
            say(Event::Finished(Finished {
                choice,
                head: "main".to_owned(),
                branch: "ralph/my-feature".to_owned(),
                changed_files: 7,
            })),
            end(Outcome::AllDone, 0),
        ]
    );
    assert!(script.machine.has_ended());
}

#[test]
fn a_checkpoint_that_cannot_be_written_stops_the_run_with_the_work_in_the_tree() {
    let mut script = Script::promised(keep());
    script.give_all(&[checked, ticked]);
    assert_eq!(
        script.give(step_failed),
        [run_ended(disk_full(), 0, 1), end(disk_full(), 4)]
    );
}

#[test]
fn a_finish_that_fails_without_a_question_ends_with_exit_code_four() {
    let (mut script, _) = at_the_end(OnFinish::Cleanup);
    assert_eq!(
        script.give(step_failed),
        [
            say(Event::FinishFailed(FinishFailed {
                choice: FinishChoice::Cleanup,
                reason: "could not write: disk full".to_owned(),
                hint: "free some space".to_owned(),
                begun: false,
            })),
            end(disk_full(), 4),
        ]
    );
}
