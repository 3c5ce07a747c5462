//! What the commits of a run say: while it works, and once it is finished with `reword` or `squash`.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use crate::journal::steps::{SavedWork, StoryNote};
use ralph_base::ids::{RunId, StoryId};

/// How the subject of a story's checkpoint begins.
const CHECKPOINT: &str = "checkpoint: ";

/// What the checkpoint commit of a story says. It can be read back from the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoryMessage {
    pub story: StoryNote,
    pub run: RunId,
}

impl StoryMessage {
    /// The message as ralphtool writes it during a run.
    pub(crate) fn text(&self) -> String {
        let subject = SavedWork::Story(self.story.id.clone()).subject();
        let StoryNote { title, .. } = &self.story;
        format!("{subject}\n\nStory: {title}\n{}", self.facts())
    }

    /// Reads a message that [`Self::text`] wrote.
    pub(crate) fn parse(message: &str) -> Option<Self> {
        let (subject, body) = message.split_once("\n\n")?;
        let id = subject.strip_prefix(CHECKPOINT)?;
        let value = |key: &str| body.lines().find_map(|line| line.strip_prefix(key));
        let gates = value("Gates: ").map(|names| names.split(", ").map(str::to_owned).collect());
        Some(Self {
            story: StoryNote {
                id: StoryId(id.to_owned()),
                title: value("Story: ")?.to_owned(),
                attempts: value("Attempts: ")?.parse().ok()?,
                gates: gates.unwrap_or_default(),
            },
            run: RunId(value("Run: ")?.to_owned()),
        })
    }

    fn facts(&self) -> String {
        let mut text = format!("Run: {}\nAttempts: {}\n", self.run, self.story.attempts);
        if !self.story.gates.is_empty() {
            let _ = writeln!(text, "Gates: {}", self.story.gates.join(", "));
        }
        text
    }

    /// The trailers of the commit once it is reworded: its subject no longer names the story.
    fn trailers(&self) -> String {
        format!("Story: {}\n{}", self.story.id, self.facts())
    }

    /// The title in one line; the id where there is none.
    fn title(&self) -> String {
        let title: Vec<&str> = self.story.title.split_whitespace().collect();
        match title.join(" ") {
            title if title.is_empty() => format!("Story {}", self.story.id),
            title => title,
        }
    }
}

/// True for a commit that ralphtool makes where no story was done: what was not committed when a run
/// began or was resumed, or changed meanwhile.
pub(crate) fn is_users_work(message: &str) -> bool {
    let works = [SavedWork::Meanwhile, SavedWork::Resumed];
    let mut subjects = works.iter().map(SavedWork::subject);
    let Some((subject, body)) = message.split_once("\n\n") else {
        return false;
    };
    body.starts_with("Run: ") && (subject == INITIAL || subjects.any(|it| it == subject))
}

/// The subject of the first commit of a run.
pub(crate) const INITIAL: &str = "initial state";

/// The message of the one commit that replaces commits with these messages, in order.
pub(crate) fn squashed<'a>(change: &str, messages: impl Iterator<Item = &'a str>) -> String {
    let (mut titles, mut runs) = (Vec::new(), Vec::new());
    for message in messages.filter(|message| !is_users_work(message)) {
        let of_message: Vec<String> = after_each("Run: ", message).collect();
        // Commits of the agent and of the user name no run.
        if !of_message.is_empty() {
            titles.extend(titles_in(message));
            runs.extend(of_message);
        }
    }
    let mut text = format!("{}\n\n", title_of(change));
    for title in unique(titles) {
        let _ = writeln!(text, "- {title}");
    }
    text.push('\n');
    for run in unique(runs) {
        let _ = writeln!(text, "Run: {run}");
    }
    text
}

/// The stories in a commit of ralphtool's: a checkpoint, or one that was reworded or squashed before.
fn titles_in(message: &str) -> Vec<String> {
    if let Some(story) = StoryMessage::parse(message) {
        return vec![story.title()];
    }
    let titles: Vec<String> = after_each("- ", message).collect();
    if titles.is_empty() {
        return message
            .lines()
            .next()
            .map(str::to_owned)
            .into_iter()
            .collect();
    }
    titles
}

/// What follows a text at the start of a line.
fn after_each<'a>(start: &'a str, message: &'a str) -> impl Iterator<Item = String> + 'a {
    let lines = message.lines();
    lines.filter_map(move |line| line.strip_prefix(start).map(str::to_owned))
}

/// The name of a change as a subject: `add-retry` becomes `Add retry`.
fn title_of(change: &str) -> String {
    let words = change.replace(['-', '_'], " ");
    let mut letters = words.trim().chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => change.to_owned(),
    }
}

fn unique(texts: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut texts = texts;
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// A message with placeholders such as `{title}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTemplate {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Placeholder),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placeholder {
    Id,
    Title,
    Change,
    Run,
    Attempts,
    Gates,
    Trailers,
}

impl Placeholder {
    const NAMES: [(&'static str, Self); 7] = [
        ("id", Self::Id),
        ("title", Self::Title),
        ("change", Self::Change),
        ("run", Self::Run),
        ("attempts", Self::Attempts),
        ("gates", Self::Gates),
        ("trailers", Self::Trailers),
    ];

    fn value(self, message: &StoryMessage, change: &str) -> String {
        match self {
            Self::Id => message.story.id.to_string(),
            Self::Title => message.title(),
            Self::Change => change.to_owned(),
            Self::Run => message.run.to_string(),
            Self::Attempts => message.story.attempts.to_string(),
            Self::Gates => message.story.gates.join(", "),
            Self::Trailers => message.trailers(),
        }
    }
}

impl MessageTemplate {
    /// The template where the user has none.
    pub const DEFAULT: &str = "{title}\n\n{trailers}";

    /// The message of a story's commit.
    pub(crate) fn message(&self, message: &StoryMessage, change: &str) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text += part,
                Part::Value(placeholder) => text += &placeholder.value(message, change),
            }
        }
        format!("{}\n", text.trim())
    }
}

impl Default for MessageTemplate {
    fn default() -> Self {
        let parts = [Placeholder::Title, Placeholder::Trailers].map(Part::Value);
        let [title, trailers] = parts;
        Self {
            text: Self::DEFAULT.to_owned(),
            parts: vec![title, Part::Text("\n\n".to_owned()), trailers],
        }
    }
}

impl fmt::Display for MessageTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("unknown placeholder `{{{0}}}`; known are {known}", known = known())]
    Unknown(String),
    #[error("`{{` without `}}`; for the character itself write `{{{{`")]
    Open,
    #[error(
        "the first line needs `{{title}}` or `{{id}}`, so that the commits have different subjects"
    )]
    SameForAll,
    #[error("a message may not contain a NUL character")]
    Nul,
}

fn known() -> String {
    let names = Placeholder::NAMES.iter();
    let names: Vec<String> = names.map(|(name, _)| format!("`{{{name}}}`")).collect();
    names.join(", ")
}

impl FromStr for MessageTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        if text.contains('\0') {
            return Err(TemplateError::Nul);
        }
        let parts = parts(text)?;
        if !has_own_subject(&parts) {
            return Err(TemplateError::SameForAll);
        }
        Ok(Self {
            parts,
            text: text.to_owned(),
        })
    }
}

/// True where the first line of the message names the story.
fn has_own_subject(parts: &[Part]) -> bool {
    let mut is_empty = true;
    for part in parts {
        match part {
            Part::Value(Placeholder::Title | Placeholder::Id) => return true,
            Part::Value(_) => is_empty = false,
            Part::Text(text) => {
                // A message begins where it is no longer blank.
                let text = if is_empty { text.trim_start() } else { text };
                if text.contains('\n') {
                    return false;
                }
                is_empty &= text.is_empty();
            }
        }
    }
    false
}

fn parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        plain += &rest[..at];
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            // Doubled: the character itself.
            plain += brace;
            rest = after;
        } else if brace == "}" {
            plain += brace;
        } else {
            let (name, after) = rest.split_once('}').ok_or(TemplateError::Open)?;
            let mut names = Placeholder::NAMES.iter();
            let found = names.find(|(known, _)| *known == name);
            let (_, placeholder) = found.ok_or_else(|| TemplateError::Unknown(name.to_owned()))?;
            parts.push(Part::Text(std::mem::take(&mut plain)));
            parts.push(Part::Value(*placeholder));
            rest = after;
        }
    }
    plain += rest;
    parts.push(Part::Text(plain));
    parts.retain(|part| *part != Part::Text(String::new()));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn message(id: &str, title: &str, gates: &[&str]) -> StoryMessage {
        StoryMessage {
            story: StoryNote {
                id: StoryId(id.to_owned()),
                title: title.to_owned(),
                attempts: 2,
                gates: gates.iter().map(|&it| it.to_owned()).collect(),
            },
            run: RunId("run-1".to_owned()),
        }
    }

    #[test]
    fn what_a_checkpoint_says_can_be_read_back() {
        for gates in [&[][..], &["tests"], &["tests", "lint"]] {
            let wanted = message("2", "Tell people: Story: x", gates);
            assert_eq!(StoryMessage::parse(&wanted.text()), Some(wanted));
        }
        for other in [
            "checkpoint: 2",
            "checkpoint: 2\n\nStory: x\n",
            "fix: 2\n\nStory: x\nRun: a\nAttempts: 1\n",
            "initial state\n\nRun: a\nChange: c\n",
        ] {
            assert_eq!(StoryMessage::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_template_makes_the_message_of_a_story() {
        #[track_caller]
        fn case(template: &str, want: &str) {
            let template: MessageTemplate = template.parse().unwrap();
            let story = message("3", "Tell\tpeople ", &["tests", "lint"]);
            assert_eq!(template.message(&story, "add-retry"), want);
        }
        case("{title} ({id})", "Tell people (3)\n");
        case("\n \n{{}} {id}: x", "{} 3: x\n");
        case("{{{id}}} {title} }", "{3} Tell people }\n");
        case(
            "\n{change}/{id}\n\n{run} {attempts} {gates}\n\n",
            "add-retry/3\n\nrun-1 2 tests, lint\n",
        );
        let trailers = "Tell people\n\nStory: 3\nRun: run-1\nAttempts: 2\nGates: tests, lint\n";
        case(MessageTemplate::DEFAULT, trailers);
        assert_eq!(
            MessageTemplate::DEFAULT.parse(),
            Ok(MessageTemplate::default())
        );
        let untitled = MessageTemplate::default().message(&message("3", " ", &[]), "c");
        assert_eq!(untitled, "Story 3\n\nStory: 3\nRun: run-1\nAttempts: 2\n");
    }

    #[test]
    fn a_template_that_cannot_be_used_says_why() {
        #[track_caller]
        fn case(template: &str, want: TemplateError) {
            let read: Result<MessageTemplate, _> = template.parse();
            assert_eq!(read, Err(want));
        }
        case("{titel}", TemplateError::Unknown("titel".to_owned()));
        case("{title", TemplateError::Open);
        case("", TemplateError::SameForAll);
        case("done\n{title}", TemplateError::SameForAll);
        case("{id}\0", TemplateError::Nul);
        for same in [
            "{{title}}",
            "{{{{id}}}}",
            "{{id}}: {change}",
            "\n x\n{title}",
            "{gates}\n{id}",
        ] {
            case(same, TemplateError::SameForAll);
        }
        assert_eq!(
            TemplateError::Unknown("titel".to_owned()).to_string(),
            "unknown placeholder `{titel}`; known are `{id}`, `{title}`, `{change}`, `{run}`, \
             `{attempts}`, `{gates}`, `{trailers}`"
        );
    }

    #[test]
    fn a_squashed_commit_lists_each_story_and_run_once() {
        let stories = [("1", "Count"), ("2", "Wait"), ("1", "Count")];
        let stories = stories.map(|(id, title)| message(id, title, &["tests"]).text());
        let others = [
            "initial state\n\nRun: run-0\nChange: add-retry\n",
            "by the agent\n\n- x\n",
            "Add retry\n\n- Plan\n- Count\n\nRun: run-0\n",
            "Reworded\n\nStory: 0\nRun: run-0\nAttempts: 1\n",
        ];
        let all = others.into_iter().chain(stories.iter().map(String::as_str));
        assert_eq!(
            squashed("add-retry", all),
            "Add retry\n\n- Plan\n- Count\n- Reworded\n- Wait\n\nRun: run-0\nRun: run-1\n"
        );
        assert_eq!(
            ["add_HTTP-2", "Ärger", "-"].map(title_of),
            ["Add HTTP 2", "Ärger", "-"]
        );
    }

    #[test]
    fn commits_of_what_the_user_had_are_known_by_their_message() {
        for subject in ["initial state", "changes made meanwhile", "resumed state"] {
            assert!(
                is_users_work(&format!("{subject}\n\nRun: a\n")),
                "{subject}"
            );
        }
        for other in ["initial state", "initial state\n\nmine\n", "x\n\nRun: a\n"] {
            assert!(!is_users_work(other), "{other}");
        }
    }
}
