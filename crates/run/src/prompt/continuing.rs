//! The message to an agent whose session continues: it knows the story, its rules and its own work.

use super::{Message, defuse, fenced, notes, promise};

/// Writes the prompt of a round that continues a session.
pub(crate) fn continuing(message: &Message, from_user: &[String]) -> String {
    let parts = [
        Some(what_happened(message)),
        notes(from_user),
        Some(promise()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}\n", defuse(&parts.join("\n\n")))
}

fn what_happened(message: &Message) -> String {
    match message {
        Message::Repair(reason) => format!(
            "You reported success, but a check of your work failed, so the story is not accepted yet:\n\n\
             {}\n\n\
             Nothing was undone: the files are as you left them, except for what the checks themselves \
             had changed. Find the cause in the files and fix it there; do not weaken the check. What was \
             said of the work before may be wrong now: run the check again yourself before you report. \
             The rules of the story still hold.",
            fenced("text", reason)
        ),
        Message::NoPromise => "Your last message had no promise, so it is not known whether the story is done. Nothing was \
             undone: the files are as you left them. If a task of the story is still open, go on and \
             finish it. Then report."
            .to_owned(),
        Message::Interrupted(reason) => format!(
            "You were interrupted before you had reported:\n\n{}\n\n\
             Nothing was undone: the files are as you left them. A command that ran at that moment may not \
             have finished, so look at what is there before you go on. If it was a command that never \
             ends, do not start it again like this. Then finish the story.",
            fenced("text", reason)
        ),
        Message::Answered => "Your question was answered, see below. Nothing was undone: the files are as you left them. \
             Go on with the story, as the answer says."
            .to_owned(),
        Message::LimitOver => "A limit of the service you use, or a lost connection, had interrupted you; it is over. Nothing \
             was undone: the files are as you left them. A command that ran at that moment may not have \
             finished, so look at what is there before you go on. Then finish the story."
            .to_owned(),
    }
}
