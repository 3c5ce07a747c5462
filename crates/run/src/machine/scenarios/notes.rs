//! What a user writes for attempts.

use pretty_assertions::assert_eq;

use crate::machine::script::*;
use crate::machine::*;

fn note(text: &str) -> UserCommand {
    UserCommand::Note(text.to_owned())
}

#[test]
fn a_note_is_told_to_the_next_attempts_at_one_story_and_then_forgotten() {
    let mut script = Script::working(keep());
    let told = say(Event::NoteAdded {
        text: "use tabs".to_owned(),
    });
    assert_eq!(script.ask_for(note("use tabs")), [told]);
    assert_eq!(script.ask_for(note("  \n")), [], "it says nothing");
    let retry = script.give_all(&[ended_silent, was_parked, restored]);
    assert_eq!(notes_of(&retry), ["use tabs"]);
    script.give(agent_started);
    script.ask_for(note("and no spaces"));
    let retry = script.give_all(&[ended_silent, was_parked, restored]);
    assert_eq!(notes_of(&retry), ["use tabs", "and no spaces"]);
    script.give(agent_started);
    script.ask_for(note("for later"));
    script.give_all(&[ended_complete, checked, ticked, saved]);
    assert_eq!(notes_of(&script.give(first_done)), ["for later"]);
}

#[test]
fn notes_survive_an_interruption() {
    let mut notes = Notes::default();
    notes.add("use tabs".to_owned());
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
