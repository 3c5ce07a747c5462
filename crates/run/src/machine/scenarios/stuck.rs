//! A story that used up its retries: the run stops, or continues with what does not depend on it.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;
use crate::policy::OnExhausted;
use crate::records::event::{Event, FailureKind, FinishChoice, Outcome, RunEnded};
use ralph_plan::change::{Dependencies, StoryState};

/// Nothing is known of a story's dependencies.
const UNKNOWN: Option<&[&str]> = None;

/// What a run of one attempt for each story does.
fn policy(on_exhausted: Option<OnExhausted>) -> Policy {
    Policy {
        max_retries: 0,
        on_exhausted,
        ..keep()
    }
}

/// Open stories, numbered from 1, with the stories each depends on.
fn stories(on: &[Option<&[&str]>]) -> Vec<StoryView> {
    let story = |(place, on): (usize, Option<&[&str]>)| StoryView {
        depends_on: match on {
            None => Dependencies::Unknown,
            Some(on) => on.iter().map(|it| id(it)).collect(),
        },
        ..story(&(place + 1).to_string(), StoryState::Open)
    };
    on.iter().copied().enumerate().map(story).collect()
}

/// A run of those stories in which each attempt ends as is said for its story.
struct Run {
    script: Script,
    stories: Vec<StoryView>,
    /// Stories whose agents report failure.
    failing: Vec<&'static str>,
    said: Vec<String>,
    outcome: Option<Outcome>,
}

impl Run {
    fn new(setup: Setup, stories: Vec<StoryView>, failing: &[&'static str]) -> Self {
        Self {
            script: Script::start_with(setup),
            stories,
            failing: failing.to_vec(),
            said: Vec::new(),
            outcome: None,
        }
    }

    /// Plays the run to its end, and says what was announced of stories and of the end.
    fn play(mut self) -> Vec<String> {
        self.play_on();
        self.said
    }

    fn play_on(&mut self) {
        let first = self.script.first.clone();
        let mut next = self.hear(&first);
        while let Some(step) = next.take() {
            let input = self.answer(step);
            let effects = self.script.send(input);
            next = self.hear(&effects);
        }
    }

    fn answer(&mut self, step: Step) -> Input {
        let ticket = self.script.ticket;
        match step {
            Step::ReadBacklog => backlog(ticket, &self.stories),
            Step::Begin => begin_done(ticket),
            Step::StartAgent(request) => {
                let story = request.attempt.story.0;
                if self.failing.contains(&story.as_str()) {
                    return ended(ticket, failed("no"));
                }
                ended_complete(ticket)
            }
            Step::CheckStory(_) => checked(ticket),
            Step::TickStory(_) => ticked(ticket),
            Step::Save(note) => {
                let done = self.stories.iter_mut().filter(|it| it.id == note.note.id);
                for story in done {
                    story.state = StoryState::Done;
                }
                saved(ticket)
            }
            Step::Park(_) => was_parked(ticket),
            Step::Restore => restored(ticket),
            Step::Finish(_) => finished(ticket),
            other => panic!("no answer to {other:?}"),
        }
    }

    /// Notes what is announced; returns the step to answer.
    fn hear(&mut self, effects: &[Effect]) -> Option<Step> {
        let mut next = None;
        for effect in effects {
            match effect {
                Effect::Announce(event) => self.said.extend(said(event)),
                Effect::Step(_, step) => next = Some(step.clone()),
                Effect::End { outcome, exit_code } => {
                    self.said.push(format!("exit code {exit_code}"));
                    self.outcome = Some(outcome.clone());
                }
                _ => {}
            }
        }
        next
    }
}

fn said(event: &Event) -> Option<String> {
    match event {
        Event::StoryStarted(it) => Some(format!("{} begins", it.story)),
        Event::StoryCompleted(it) => Some(format!("{} is done", it.story)),
        Event::StoryExhausted(it) => {
            let then = if it.continues { "on" } else { "over" };
            Some(format!("{} failed, {then}", it.failed.story))
        }
        Event::StorySkipped {
            story,
            reason,
            waits_for,
            ..
        } => {
            let whom = waits_for.as_ref().map_or("nothing", |it| &it.0);
            Some(format!("{story} waits for {whom}: {reason}"))
        }
        Event::RunEnded(RunEnded {
            outcome:
                Outcome::Exhausted {
                    others,
                    not_run,
                    continued,
                    story,
                    ..
                },
            stories_done,
            ..
        }) => {
            let others: Vec<&str> = others.iter().map(|it| it.story.0.as_str()).collect();
            let not_run: Vec<&str> = not_run.iter().map(|it| it.0.as_str()).collect();
            Some(format!(
                "{stories_done} done, failed {story} {others:?}, not run {not_run:?}, continued {continued}"
            ))
        }
        Event::RunEnded(RunEnded { outcome, .. }) => Some(format!("{outcome:?}")),
        _ => None,
    }
}

#[track_caller]
fn case(
    on_exhausted: Option<OnExhausted>,
    on: &[Option<&[&str]>],
    failing: &[&'static str],
    want: &[&str],
) {
    let run = Run::new(setup(policy(on_exhausted)), stories(on), failing);
    assert_eq!(run.play(), want);
}

#[test]
fn a_plan_that_says_nothing_of_dependencies_stops_at_the_first_story_that_fails() {
    let on = &[UNKNOWN, UNKNOWN, UNKNOWN];
    for on_exhausted in [None, Some(OnExhausted::Stop)] {
        case(
            on_exhausted,
            on,
            &["2"],
            &[
                "1 begins",
                "1 is done",
                "2 begins",
                "2 failed, over",
                "1 done, failed 2 [], not run [], continued false",
                "exit code 1",
            ],
        );
    }
    case(
        Some(OnExhausted::Continue),
        on,
        &["1"],
        &[
            "1 begins",
            "1 failed, on",
            "2 begins",
            "2 is done",
            "3 begins",
            "3 is done",
            "2 done, failed 1 [], not run [], continued true",
            "exit code 1",
        ],
    );
}

#[test]
fn stories_that_depend_on_one_that_failed_are_not_run_and_the_others_are() {
    for on_exhausted in [None, Some(OnExhausted::Continue)] {
        case(
            on_exhausted,
            &[
                Some(&[]),
                Some(&["1"]),
                Some(&["2"]),
                Some(&[]),
                Some(&["4"]),
            ],
            &["1"],
            &[
                "1 begins",
                "1 failed, on",
                "2 waits for 1: it depends on story 1, which failed",
                "3 waits for 1: it depends on story 1, which failed",
                "4 begins",
                "4 is done",
                "5 begins",
                "5 is done",
                "2 done, failed 1 [], not run [\"2\", \"3\"], continued true",
                "exit code 1",
            ],
        );
    }
    case(
        Some(OnExhausted::Stop),
        &[Some(&[]), Some(&[])],
        &["1"],
        &[
            "1 begins",
            "1 failed, over",
            "0 done, failed 1 [], not run [], continued false",
            "exit code 1",
        ],
    );
}

#[test]
fn a_story_of_which_nothing_is_known_may_depend_on_all_before_it() {
    let on: &[Option<&[&str]>] = &[Some(&[]), UNKNOWN, Some(&["2"]), Some(&[])];
    case(
        None,
        on,
        &["1"],
        &[
            "1 begins",
            "1 failed, on",
            "2 waits for 1: it may depend on story 1, which failed",
            "3 waits for 1: it depends on story 1, which failed",
            "4 begins",
            "4 is done",
            "1 done, failed 1 [], not run [\"2\", \"3\"], continued true",
            "exit code 1",
        ],
    );
    case(
        Some(OnExhausted::Continue),
        on,
        &["1"],
        &[
            "1 begins",
            "1 failed, on",
            "2 begins",
            "2 is done",
            "3 begins",
            "3 is done",
            "4 begins",
            "4 is done",
            "3 done, failed 1 [], not run [], continued true",
            "exit code 1",
        ],
    );
}

#[test]
fn several_stories_can_fail_in_one_run() {
    case(
        None,
        &[Some(&[]), Some(&[]), Some(&["1", "2"]), Some(&[])],
        &["1", "2", "4"],
        &[
            "1 begins",
            "1 failed, on",
            "3 waits for 1: it depends on story 1, which failed",
            "2 begins",
            "2 failed, on",
            "4 begins",
            "4 failed, over",
            "0 done, failed 1 [\"2\", \"4\"], not run [\"3\"], continued true",
            "exit code 1",
        ],
    );
}

#[test]
fn a_story_is_run_after_the_stories_it_depends_on() {
    case(
        None,
        &[Some(&["3"]), Some(&[]), Some(&["2"])],
        &[],
        &[
            "2 begins",
            "2 is done",
            "3 begins",
            "3 is done",
            "1 begins",
            "1 is done",
            "AllDone",
            "exit code 0",
        ],
    );
}

#[test]
fn a_deferred_story_keeps_no_other_from_being_run() {
    let mut stories = stories(&[Some(&[]), Some(&["1"])]);
    stories[0] = StoryView {
        depends_on: Dependencies::NONE,
        ..story("1", StoryState::Deferred)
    };
    let said = Run::new(setup(policy(None)), stories, &[]).play();
    assert_eq!(
        said[1..],
        ["2 begins", "2 is done", "AllDone", "exit code 0"]
    );
}

#[test]
fn the_story_asked_for_is_run_whatever_it_depends_on() {
    let setup = setup(Policy {
        only_story: Some(id("2")),
        ..policy(None)
    });
    let said = Run::new(setup, stories(&[Some(&[]), Some(&["1"])]), &[]).play();
    assert_eq!(said[..2], ["2 begins", "2 is done"]);
}

#[test]
fn stories_that_depend_on_one_the_user_skipped_are_not_run() {
    let stories = stories(&[Some(&[]), Some(&["1"]), Some(&[])]);
    let mut run = Run::new(setup(policy(None)), stories, &[]);
    let (list, begun) = (run.stories.clone(), begin_done);
    run.script.give(|ticket| backlog(ticket, &list));
    run.script.give(begun);
    run.script.give(agent_started);
    run.script.ask_for(UserCommand::Skip);
    run.script.give(ended_by_us);
    run.script.give(was_parked);
    run.script.first = run.script.give(restored);
    run.play_on();
    assert_eq!(
        run.said,
        [
            "1 waits for nothing: skipped on request",
            "2 waits for 1: it depends on story 1, which was skipped",
            "3 begins",
            "3 is done",
            "Skipped { stories: [StoryId(\"1\")], not_run: [StoryId(\"2\")] }",
            "exit code 1",
        ]
    );
}

#[test]
fn a_story_the_user_did_by_hand_after_it_failed_counts_as_done() {
    let on: &[Option<&[&str]>] = &[Some(&[]), Some(&["1"]), Some(&[])];
    let mut run = Run::new(setup(policy(None)), stories(on), &["1"]);
    run.script.first = run.script.first.clone();
    let mut next = run.hear(&run.script.first.clone());
    while let Some(step) = next.take() {
        let is_save = matches!(step, Step::Save(_));
        let input = run.answer(step);
        if is_save {
            run.stories[0].state = StoryState::Done;
        }
        let effects = run.script.send(input);
        next = run.hear(&effects);
    }
    assert_eq!(
        run.said[3..],
        [
            "3 begins",
            "3 is done",
            "2 begins",
            "2 is done",
            "AllDone",
            "exit code 0"
        ]
    );
}

fn resumed(on_exhausted: Option<OnExhausted>, resumption: Resumption) -> Setup {
    Setup {
        resumed: Some(resumption),
        ..setup(policy(on_exhausted))
    }
}

fn given_up(story: &str) -> FailedStory {
    FailedStory {
        story: id(story),
        kind: FailureKind::Failed,
        reason: "no".to_owned(),
        attempts: 1,
        gate: None,
    }
}

#[test]
fn a_run_that_was_interrupted_continues_without_what_had_failed() {
    let on = stories(&[Some(&[]), Some(&["1"]), Some(&[])]);
    let rest = [
        "2 waits for 1: it depends on story 1, which failed",
        "3 begins",
        "3 is done",
        "1 done, failed 1 [], not run [\"2\"], continued true",
        "exit code 1",
    ];
    let known = Resumption {
        failed: vec![given_up("1")],
        ..Resumption::default()
    };
    assert_eq!(Run::new(resumed(None, known), on.clone(), &[]).play(), rest);
    // It was killed before that was recorded.
    let unrecorded = || Resumption {
        used_up: Some(given_up("1")),
        ..Resumption::default()
    };
    let said = Run::new(resumed(None, unrecorded()), on.clone(), &[]).play();
    assert_eq!(
        (said[0].as_str(), &said[1..]),
        ("1 failed, on", &rest.map(str::to_owned)[..])
    );
    // A run that would have ended there tries it again.
    let stop = resumed(Some(OnExhausted::Stop), unrecorded());
    let said = Run::new(stop, on, &[]).play();
    assert_eq!(said[..2], ["1 begins", "1 is done"]);
}

#[test]
fn a_run_that_is_resumed_after_its_end_tries_what_had_failed_after_the_others() {
    let before = || Resumption {
        failed_before: BTreeSet::from([id("1")]),
        ..Resumption::default()
    };
    let order = |on_exhausted, on: &[Option<&[&str]>]| {
        let said = Run::new(resumed(on_exhausted, before()), stories(on), &[]).play();
        let begun = said.iter().filter_map(|it| it.strip_suffix(" begins"));
        begun.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(None, &[Some(&[]), Some(&["1"]), Some(&[])]), "3 1 2");
    assert_eq!(order(None, &[UNKNOWN, UNKNOWN, Some(&[])]), "3 1 2");
    let on = Some(OnExhausted::Continue);
    assert_eq!(order(on, &[UNKNOWN, UNKNOWN, Some(&[])]), "2 3 1");
}

#[test]
fn a_run_that_is_resumed_at_the_screen_tries_every_story_again() {
    let policy = Policy {
        on_finish: crate::policy::OnFinish::Ask,
        ..policy(None)
    };
    let mut run = Run::new(setup(policy), stories(&[Some(&[]), Some(&[])]), &["1"]);
    let first = run.script.first.clone();
    let mut next = run.hear(&first);
    while let Some(step) = next.take_if(|step| *step != Step::AskFinish) {
        let input = run.answer(step);
        let effects = run.script.send(input);
        next = run.hear(&effects);
    }
    run.failing.clear();
    run.said.clear();
    run.script.first = run.script.ask_for(UserCommand::Again);
    let effects = run.script.first.clone();
    let mut next = run.hear(&effects);
    while let Some(step) = next.take_if(|step| *step != Step::AskFinish) {
        let input = run.answer(step);
        let effects = run.script.send(input);
        next = run.hear(&effects);
    }
    assert_eq!(run.said, ["1 begins", "1 is done", "AllDone"]);
    let last = run.script.ask_for(UserCommand::Finish(FinishChoice::Keep));
    assert_eq!(last.len(), 1);
}
