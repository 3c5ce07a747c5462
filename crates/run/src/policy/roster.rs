//! Who makes an attempt: agents in order of preference, for a story and the number of its failures.

use serde::{Deserialize, Serialize};

use crate::settings::{Settings, StorySettings};
use ralph_base::ids::StoryId;

/// An agent with the model it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Choice {
    /// The agent's name.
    pub agent: String,
    /// The model; its own default where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.model {
            Some(model) => write!(f, "`{}` with `{model}`", self.agent),
            None => write!(f, "`{}`", self.agent),
        }
    }
}

/// The agents of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    usual: Vec<Choice>,
    stories: Vec<(StoryId, Choice)>,
    escalated: Option<Escalated>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Escalated {
    after: u32,
    agent: Option<Choice>,
    model: Option<String>,
}

/// Why an agent is the first that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    /// It always is.
    Usual,
    /// The story asks for it.
    Story,
    /// The story failed so often.
    Escalated(u32),
}

impl Roster {
    /// The agents that the settings name for a change.
    pub fn of(settings: &Settings, change: &str) -> Self {
        Self::where_change(settings, &|named| named == change)
    }

    /// The agents that the settings name for any change.
    pub(crate) fn of_any_change(settings: &Settings) -> Self {
        Self::where_change(settings, &|_| true)
    }

    fn where_change(settings: &Settings, is_it: &dyn Fn(&str) -> bool) -> Self {
        let list = settings.agent.value.names().iter();
        let choice = |name: &str, model: Option<&String>| Choice {
            agent: name.to_owned(),
            model: model.cloned().or_else(|| usual_model(settings, name)),
        };
        let first = settings.agent.value.first();
        let has_agent = |it: &&StorySettings| it.agent.is_some() || it.model.is_some();
        let stories = || settings.stories.value.iter().filter(has_agent);
        let of_a_change = stories().filter(|story| story.change.as_deref().is_some_and(is_it));
        let of_any = stories().filter(|story| story.change.is_none());
        Self {
            usual: list.map(|name| choice(name, None)).collect(),
            // What is said of a change says more than what is said of any.
            stories: of_a_change
                .chain(of_any)
                .map(|story| {
                    let agent = story.agent.as_deref().unwrap_or(first);
                    (
                        StoryId(story.id.clone()),
                        choice(agent, story.model.as_ref()),
                    )
                })
                .collect(),
            escalated: settings.escalate.as_ref().map(|it| Escalated {
                after: it.value.after,
                agent: it
                    .value
                    .agent
                    .as_deref()
                    .map(|name| choice(name, it.value.model.as_ref())),
                model: it.value.model.clone(),
            }),
        }
    }

    /// Just one agent.
    #[cfg(test)]
    pub fn just(agent: &str, model: Option<&str>) -> Self {
        Self {
            usual: vec![Choice {
                agent: agent.to_owned(),
                model: model.map(str::to_owned),
            }],
            stories: Vec::new(),
            escalated: None,
        }
    }

    /// The agents of a configuration file.
    #[cfg(test)]
    pub fn parsed(text: &str) -> Self {
        let layer = crate::settings::file::parse("ralphtool.toml", text);
        let settings = layer.and_then(|layer| Settings::resolve([layer]));
        Self::of(&settings.unwrap(), "my-feature")
    }

    /// The agent a run is known by.
    pub fn first(&self) -> Choice {
        self.usual.first().cloned().unwrap_or(Choice {
            agent: String::new(),
            model: None,
        })
    }

    /// The names of those who take over from the first.
    pub fn fallback(&self) -> Vec<String> {
        let others = self.usual.iter().skip(1);
        others.map(|choice| choice.agent.clone()).collect()
    }

    /// Every agent that may be asked, each once.
    pub fn all(&self) -> Vec<Choice> {
        let escalated = self.escalated.as_ref();
        let own = self.stories.iter().map(|(_, choice)| choice);
        let mut all: Vec<Choice> = Vec::new();
        let named = escalated.and_then(|it| it.agent.as_ref());
        for choice in self.usual.iter().chain(own).chain(named) {
            if !all.contains(choice) {
                all.push(choice.clone());
            }
        }
        all
    }

    /// Who is asked for an attempt, the preferred one first, after this number of failed ones.
    pub(crate) fn line_up(&self, story: &StoryId, failures: u32) -> (Vec<Choice>, Preference) {
        let own = self.stories.iter().find(|(id, _)| id == story);
        let mut line: Vec<Choice> = own.iter().map(|(_, choice)| choice.clone()).collect();
        let mut preference = match own {
            Some(_) => Preference::Story,
            None => Preference::Usual,
        };
        line.extend(self.usual.iter().cloned());
        if let Some(escalated) = self.escalated.as_ref().filter(|it| failures >= it.after) {
            let usual = line.first().cloned();
            let choice = escalated.agent.clone().or(usual.map(|usual| Choice {
                model: escalated.model.clone(),
                ..usual
            }));
            line.splice(0..0, choice);
            preference = Preference::Escalated(failures);
        }
        let mut seen: Vec<String> = Vec::new();
        // One agent has one account: asking it for another model does not help where it is limited.
        line.retain(|choice| {
            let is_new = !seen.contains(&choice.agent);
            seen.push(choice.agent.clone());
            is_new
        });
        (line, preference)
    }
}

/// What the settings say about agents that will never matter for a change with these stories.
pub(crate) fn never_asked(settings: &Settings, change: &str, stories: &[&StoryId]) -> Vec<String> {
    let retries = settings.max_retries.value;
    let late = settings
        .escalate
        .as_ref()
        .filter(|it| it.value.after > retries);
    let late = late.map(|it| {
        let after = it.value.after;
        format!("`[escalate]` comes after {after} failed attempts, but with `max_retries = {retries}` there is none after that")
    });
    let own = settings.stories.value.iter();
    let unknown = own
        .filter(|it| it.change.as_deref() == Some(change))
        .filter(|it| stories.iter().all(|story| story.0 != it.id))
        .map(|it| {
            format!(
                "`[[story]]` names story `{}`, which `{change}` does not have",
                it.id
            )
        });
    late.into_iter().chain(unknown).collect()
}

/// The model of an agent where nothing more particular is said.
pub(crate) fn usual_model(settings: &Settings, name: &str) -> Option<String> {
    let own = settings.agents.get(name);
    let own = own.and_then(|it| it.value.model.clone());
    let said = settings.model.as_ref().map(|model| model.value.clone());
    if name == settings.agent.value.first() {
        said.or(own)
    } else {
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indoc::indoc;
    use pretty_assertions::assert_eq;

    #[track_caller]
    fn asked(roster: &Roster, story: &str, failures: u32, want: &[(&str, &str)]) {
        let (line, _) = roster.line_up(&StoryId(story.into()), failures);
        let line: Vec<(&str, &str)> = line
            .iter()
            .map(|it| (it.agent.as_str(), it.model.as_deref().unwrap_or("")))
            .collect();
        assert_eq!(line, want, "story {story} after {failures}");
    }

    #[test]
    fn one_agent_is_asked_for_the_model_of_the_run() {
        let roster = Roster::parsed("model = \"opus\"");
        asked(&roster, "1", 9, &[("claude", "opus")]);
        assert_eq!(roster.first().to_string(), "`claude` with `opus`");
    }

    #[test]
    fn stories_and_failures_change_who_is_asked_first() {
        let roster = Roster::parsed(indoc! {r#"
            agent = ["claude", "mine"]
            model = "sonnet"
            [agents.mine]
            command = ["mine"]
            model = "m"
            [agents.other]
            like = "claude"
            [escalate]
            after = 2
            agent = "other"
            model = "opus"
            [[story]]
            id = "3"
            model = "haiku"
            [[story]]
            id = "4"
            change = "my-feature"
            agent = "mine"
            [[story]]
            id = "5"
            change = "another"
            agent = "mine"
        "#});
        let usual = [("claude", "sonnet"), ("mine", "m")];
        asked(&roster, "1", 1, &usual);
        asked(&roster, "5", 0, &usual);
        asked(&roster, "3", 0, &[("claude", "haiku"), ("mine", "m")]);
        asked(&roster, "4", 0, &[("mine", "m"), ("claude", "sonnet")]);
        let escalated = [("other", "opus"), ("claude", "sonnet"), ("mine", "m")];
        asked(&roster, "1", 2, &escalated);
        let all: Vec<String> = roster.all().into_iter().map(|it| it.agent).collect();
        assert_eq!(all, ["claude", "mine", "claude", "other"]);
    }

    #[test]
    fn what_is_said_of_a_change_counts_before_what_is_said_of_any() {
        let roster = Roster::parsed(indoc! {r#"
            [[story]]
            id = "1"
            model = "any"
            [[story]]
            id = "1"
            change = "my-feature"
            model = "mine"
        "#});
        asked(&roster, "1", 0, &[("claude", "mine")]);
    }

    #[test]
    fn stories_of_every_change_count_where_no_change_is_meant() {
        let text = "[[story]]\nid = \"5\"\nchange = \"another\"\nagent = \"demo\"";
        let layer = crate::settings::file::parse("ralphtool.toml", text).unwrap();
        let settings = Settings::resolve([layer]).unwrap();
        let names = |roster: Roster| -> Vec<String> {
            let all = roster.all().into_iter();
            all.map(|choice| choice.agent).collect()
        };
        assert_eq!(names(Roster::of(&settings, "my-feature")), ["claude"]);
        assert_eq!(names(Roster::of_any_change(&settings)), ["claude", "demo"]);
    }

    #[test]
    fn what_will_never_matter_is_told() {
        let text = "max_retries = 2\n[escalate]\nafter = 3\nmodel = 'opus'\n\
                    [[story]]\nid = '9'\nchange = 'c'\nmodel = 'opus'\n[[story]]\nid = '8'\nmodel = 'opus'";
        let layer = crate::settings::file::parse("ralphtool.toml", text).unwrap();
        let settings = Settings::resolve([layer]).unwrap();
        let one = StoryId("1".into());
        let told = never_asked(&settings, "c", &[&one]);
        assert_eq!(
            told,
            [
                "`[escalate]` comes after 3 failed attempts, but with `max_retries = 2` there is none after that",
                "`[[story]]` names story `9`, which `c` does not have",
            ]
        );
        let nine = StoryId("9".into());
        assert_eq!(never_asked(&settings, "c", &[&nine]).len(), 1);
    }

    #[test]
    fn an_escalation_without_an_agent_is_another_model_of_the_storys_own() {
        let roster = Roster::parsed(indoc! {r#"
            [escalate]
            after = 1
            model = "opus"
        "#});
        asked(&roster, "1", 0, &[("claude", "")]);
        asked(&roster, "1", 1, &[("claude", "opus")]);
    }
}
