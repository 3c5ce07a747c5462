//! The settings that can be changed before a run starts: what each shows, and what keys and typed
//! text do to it.

use std::fmt::Display;
use std::str::FromStr;

use super::editor::Editor;
use crate::tui::keys::Action;
use ralph_run::settings::{
    AgentList, GateSettings, Origin, PartialSettings, Settings, Sourced, built_in_agents,
};

/// The most retries that keys can set; more can be set in the configuration.
const MOST_RETRIES: u32 = 99;

/// One line of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Agent,
    Model,
    Retries,
    /// A gate by its index.
    Gate(usize),
    AddGate,
    Cost,
    Tokens,
    Time,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acted {
    /// Nothing, or the cursor moved.
    Moved,
    /// The cursor was to move down from the last line.
    Passed,
    Changed,
    /// A text has to be typed.
    Types,
}

/// What the user chose, over what is configured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fields {
    /// The choices so far.
    pub(crate) chosen: PartialSettings,
    /// All gates, and whether each will run.
    gates: Vec<(GateSettings, bool)>,
    /// The line that has the cursor.
    pub(crate) selected: usize,
}

/// The text of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    /// It was changed on this screen.
    pub(crate) changed: bool,
}

impl Shown {
    fn setting<T: Display>(label: &'static str, setting: &Sourced<T>) -> Self {
        Self {
            label,
            value: setting.value.to_string(),
            changed: setting.origin == Origin::Screen,
        }
    }

    fn text(label: &'static str, value: &str) -> Self {
        Self {
            label,
            value: value.to_owned(),
            changed: false,
        }
    }
}

impl Fields {
    /// Adds the configured gates.
    pub(crate) fn learn(&mut self, settings: &Settings) {
        for gate in &settings.gates.value {
            if !self.gates.iter().any(|(listed, _)| listed == gate) {
                self.gates.push((gate.clone(), true));
            }
        }
    }

    pub(crate) fn all(&self) -> Vec<Field> {
        let gates = (0..self.gates.len()).map(Field::Gate);
        [Field::Agent, Field::Model, Field::Retries]
            .into_iter()
            .chain(gates)
            .chain([Field::AddGate, Field::Cost, Field::Tokens, Field::Time])
            .collect()
    }

    /// The line that has the cursor.
    pub(crate) fn current(&self) -> Field {
        let all = self.all();
        let last = all.len().saturating_sub(1);
        all[self.selected.min(last)]
    }

    /// What a line shows.
    pub(crate) fn shown(&self, field: Field, settings: &Settings) -> Shown {
        match field {
            Field::Agent => Shown::setting("agent", &settings.agent),
            Field::Model => match &settings.model {
                Some(model) => Shown::setting("model", model),
                None => Shown::text("model", "the agent's own"),
            },
            Field::Retries => Shown::setting("retries", &settings.max_retries),
            Field::Gate(index) => {
                let (name, on) = self.gate(index);
                let mark = if on { "☑" } else { "☐" };
                let gate = self.gates.get(index);
                let extras = gate.map(|(gate, _)| gate.extras()).unwrap_or_default();
                let parts: Vec<String> = std::iter::once(name.to_owned()).chain(extras).collect();
                Shown {
                    changed: settings.gates.origin == Origin::Screen,
                    ..Shown::text("gate", &format!("{mark} {}", parts.join(", ")))
                }
            }
            Field::AddGate => Shown::text("", "+ add a gate"),
            Field::Cost => Shown::setting("max cost", &settings.max_cost),
            Field::Tokens => Shown::setting("max tokens", &settings.max_tokens),
            Field::Time => Shown::setting("max time", &settings.max_time),
        }
    }

    fn gate(&self, index: usize) -> (&str, bool) {
        let gate = self.gates.get(index);
        gate.map_or(("", false), |(gate, on)| (gate.name.as_str(), *on))
    }

    pub(crate) fn act(&mut self, action: Action, settings: &Settings) -> Acted {
        let field = self.current();
        let up = match (action, field) {
            (Action::Left, _) => false,
            (Action::Right | Action::PageDown, _)
            | (Action::Enter, Field::Agent | Field::Gate(_)) => true,
            (Action::Enter, _) => return Acted::Types,
            (Action::Up | Action::Down, _) => {
                let last = self.all().len().saturating_sub(1);
                if action == Action::Down && self.selected == last {
                    return Acted::Passed;
                }
                let to = action.moved(self.selected, last, 1);
                self.selected = to.unwrap_or(self.selected);
                return Acted::Moved;
            }
            _ => return Acted::Moved,
        };
        match field {
            Field::Agent => self.next_agent(up, settings),
            Field::Retries => {
                let now = settings.max_retries.value;
                let next = if up {
                    now.saturating_add(1).min(MOST_RETRIES)
                } else {
                    now.saturating_sub(1)
                };
                self.chosen.max_retries = Some(Sourced::screen(next));
            }
            Field::Gate(index) => {
                if let Some((_, on)) = self.gates.get_mut(index) {
                    *on = !*on;
                }
                self.choose_gates();
            }
            _ => return Acted::Moved,
        }
        Acted::Changed
    }

    fn next_agent(&mut self, up: bool, settings: &Settings) {
        let own = settings.agents.keys().map(String::as_str);
        let agents: Vec<&str> = built_in_agents().chain(own).collect();
        let now = settings.agent.value.first();
        let place = agents.iter().position(|name| *name == now).unwrap_or(0);
        let step = if up { 1 } else { agents.len() - 1 };
        let next = agents[(place + step) % agents.len()];
        self.chosen.agent = Some(Sourced::screen(AgentList::one(next)));
    }

    fn choose_gates(&mut self) {
        let on = self.gates.iter().filter(|(_, on)| *on);
        let gates = on.map(|(gate, _)| gate.clone()).collect();
        self.chosen.gates = Some(Sourced::screen(gates));
    }

    /// The input for the current setting.
    pub(super) fn editor(&self, settings: &Settings) -> Editor {
        let field = self.current();
        let hint = match field {
            Field::Model => "a name; empty: as configured",
            Field::Retries => "a number",
            Field::AddGate => "a shell line, such as `make test`",
            Field::Cost => "dollars, such as 2.50, or off; empty: as configured",
            Field::Tokens => "such as 500k, or off; empty: as configured",
            Field::Time => "such as 90m, or off; empty: as configured",
            Field::Agent | Field::Gate(_) => "",
        };
        let shown = self.shown(field, settings);
        let value = match field {
            Field::Model if settings.model.is_none() => "",
            Field::Agent | Field::Gate(_) | Field::AddGate => "",
            _ => shown.value.as_str(),
        };
        Editor::new(shown.label, hint, value)
    }

    /// Applies a typed text, or returns what is wrong with it.
    pub(crate) fn typed(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim();
        match self.current() {
            Field::Model => {
                self.chosen.model = (!text.is_empty()).then(|| Sourced::screen(text.to_owned()));
            }
            Field::Retries => {
                let retries = text.parse();
                let retries = retries.map_err(|_| format!("`{text}` is not a number"))?;
                self.chosen.max_retries = Some(Sourced::screen(retries));
            }
            Field::AddGate if !text.is_empty() => {
                self.gates.push((GateSettings::from_line(text), true));
                self.choose_gates();
            }
            Field::Cost => self.chosen.max_cost = limit(text)?,
            Field::Tokens => self.chosen.max_tokens = limit(text)?,
            Field::Time => self.chosen.max_time = limit(text)?,
            Field::Agent | Field::Gate(_) | Field::AddGate => {}
        }
        Ok(())
    }
}

/// Parses a limit; none if the text is empty.
fn limit<T: FromStr<Err: Display>>(text: &str) -> Result<Option<Sourced<T>>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let limit = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(Some(Sourced::screen(limit)))
}
