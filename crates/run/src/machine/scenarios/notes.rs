//! What a user writes for attempts.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;

fn note(text: &str) -> UserCommand {
    for_story("1", text)
}

fn for_story(story: &str, text: &str) -> UserCommand {
    UserCommand::Note {
        story: Some(id(story)),
        text: text.to_owned(),
    }
}

fn added(text: &str) -> Effect {
    say(Event::NoteAdded {
        text: text.to_owned(),
        story: Some(id("1")),
    })
}

fn unused(text: &str, reason: &str) -> Effect {
    say(Event::NoteUnused {
        text: text.to_owned(),
        story: id("1"),
        reason: reason.to_owned(),
    })
}

#[test]
fn a_note_goes_to_the_next_attempts_at_its_story() {
    let mut script = Script::working(keep());
    assert_eq!(script.ask_for(note("use tabs")), [added("use tabs")]);
    assert_eq!(script.ask_for(note("  \n")), [], "it says nothing");
    let retry = script.give_all(&[ended_silent, was_parked, restored]);
    assert_eq!(notes_of(&retry), ["use tabs"]);
    script.give(agent_started);
    script.ask_for(note("and no spaces"));
    let retry = script.give_all(&[ended_silent, was_parked, restored]);
    assert_eq!(notes_of(&retry), ["use tabs", "and no spaces"]);
}

#[test]
fn a_note_for_a_story_that_is_done_reaches_no_other_story() {
    let mut script = Script::working(keep());
    script.ask_for(note("in seconds"));
    let done = script.give_all(&[ended_complete, checked, ticked, saved]);
    let expected = unused("in seconds", "the story is done");
    assert!(done.contains(&expected), "{done:?}");
    assert_eq!(notes_of(&script.give(first_done)), [""; 0]);
    // It was done while the note was typed.
    script.give(agent_started);
    let late = script.ask_for(note("too late"));
    assert_eq!(late, [unused("too late", "the story is done")]);
    script.ask_for(UserCommand::Note {
        story: None,
        text: "for the next attempt".to_owned(),
    });
    script.ask_for(for_story("2", "for story 2"));
    let retry = script.give_all(&[ended_silent, was_parked, restored]);
    assert_eq!(notes_of(&retry), ["for the next attempt", "for story 2"]);
}

#[test]
fn a_note_for_a_story_that_is_skipped_is_not_used() {
    let mut script = Script::working(keep());
    script.ask_for(note("in seconds"));
    script.ask_for(UserCommand::Skip);
    let skipped = script.give_all(&[ended_silent, was_parked, restored]);
    let expected = unused("in seconds", "the story was skipped");
    assert!(skipped.contains(&expected), "{skipped:?}");
}

#[test]
fn notes_survive_an_interruption() {
    let mut notes = Notes::default();
    notes.add(Some(id("1")), "use tabs".to_owned());
    let mut script = Script::start_with(Setup {
        resumed: Some(Resumption {
            notes,
            ..Resumption::default()
        }),
        ..setup(keep())
    });
    script.give(|ticket| backlog(ticket, &two_open()));
    assert_eq!(notes_of(&script.give(begin_done)), ["use tabs"]);
}

fn notes_of(effects: &[Effect]) -> Vec<String> {
    let notes = effects.iter().find_map(|effect| match effect {
        Effect::Step(_, Step::StartAgent(AgentRequest { notes, .. })) => Some(notes.clone()),
        _ => None,
    });
    notes.expect("an agent is started")
}
