//! `ralphtool answer`: answers a question of an agent, from any terminal.

use std::process::ExitCode;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use jiff::{Timestamp, Zoned};

use super::status;
use crate::console::context::Context;
use crate::console::output;
use crate::ui::text::clean;
use crate::ui::words::shell;
use ralph_base::ids::StoryId;
use ralph_run::failure::Failure;
use ralph_run::records::event::QuestionAsked;

const EXAMPLES: &str = "\
Examples:
  ralphtool answer                       the questions that wait
  ralphtool answer \"Use PostgreSQL 16\"   answers the only one
  ralphtool answer 2 \"Yes, remove it\"    answers the one about story 2

If the run waits, its agent continues with the answer at once, with its work as it was. Otherwise the
next attempt at the story gets it.";

/// Flags of `answer`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AnswerArguments {
    /// The story, where several have a question; then the answer
    #[arg(value_name = "[STORY] ANSWER", value_parser = NonEmptyStringValueParser::new())]
    words: Vec<String>,
}

pub(super) fn run(arguments: &AnswerArguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut watch = status::open(context)?;
    watch.refresh(Timestamp::now())?;
    let questions = watch.questions();
    let Some((story, answer)) = read(&arguments.words, &questions)? else {
        return list(&questions);
    };
    watch.leave_answer(&story, &answer, Timestamp::now())?;
    let is_live = watch.status(&Zoned::now()).is_live();
    let story = clean(&story.0);
    let text = if is_live {
        format!("answered: the agent of story {story} gets it\n")
    } else {
        format!("answered: `ralphtool resume` continues with story {story}\n")
    };
    output::print(text.as_bytes())
}

fn list(questions: &[QuestionAsked]) -> Result<ExitCode, Failure> {
    if questions.is_empty() {
        return output::print(b"no question waits for an answer\n");
    }
    let line = |it: &QuestionAsked| {
        let story = clean(&it.story.0);
        format!("story {story}: {}\n", clean(&it.question))
    };
    let lines: String = questions.iter().map(line).collect();
    output::print(lines.as_bytes())
}

/// The story and the answer; none where no words are given. A first word that is no story with a
/// question belongs to the answer.
fn read(
    words: &[String],
    questions: &[QuestionAsked],
) -> Result<Option<(StoryId, String)>, Failure> {
    let Some((first, rest)) = words.split_first() else {
        return Ok(None);
    };
    let named = questions.iter().find(|it| it.story.0 == *first);
    match (named, questions) {
        (Some(asked), _) if !rest.is_empty() => Ok(Some((asked.story.clone(), rest.join(" ")))),
        (_, []) => Err(none()),
        (_, [only]) => Ok(Some((only.story.clone(), words.join(" ")))),
        (_, several) => Err(choose(
            Failure::refused("several stories have a question: name one"),
            several,
        )),
    }
}

fn none() -> Failure {
    Failure::refused("no question waits for an answer")
        .hint("`ralphtool status` shows what the run does")
}

/// Names the stories to choose from.
fn choose(mut failure: Failure, questions: &[QuestionAsked]) -> Failure {
    for asked in questions {
        let story = shell(&asked.story.0);
        let question = clean(&asked.question);
        failure = failure.hint(format!("`ralphtool answer {story} \"…\"`: {question}"));
    }
    failure
}
