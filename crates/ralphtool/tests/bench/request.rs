//! What a script has to know about one call of a model, whatever the API.

use std::collections::BTreeMap;

use serde_json::Value;

/// One of the APIs that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
    /// Google Gemini.
    Gemini,
}

/// How a tool is called.
#[derive(Debug, Clone)]
pub(crate) enum Tool {
    /// With an object of this schema.
    Function(Value),
    /// With a free text, which only the Responses API has.
    Custom,
}

/// One call of a model.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// The model that is asked for.
    pub(crate) model: String,
    /// Whether the answer is to come in pieces.
    pub(crate) stream: bool,
    /// The tools the agent offers.
    pub(crate) tools: BTreeMap<String, Tool>,
    /// What users said before the first answer: the prompt, and what the agent puts around it.
    pub(crate) opening: String,
    /// What users said after it.
    pub(crate) later: String,
    /// How many answers the conversation has already.
    pub(crate) answers: usize,
    /// What the agent calls the conversation, if it does.
    pub(crate) session: Option<String>,
    /// Everything that names the agent's folder: system texts.
    pub(crate) system: String,
    /// All of it, as it was sent.
    pub(crate) body: String,
}

impl Request {
    /// Reads the body of a call; `path` names the model where the API has it there.
    pub(crate) fn read(api: Api, path: &str, headers: &hyper::HeaderMap, body: &Value) -> Self {
        let mut request = Self {
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            stream: body["stream"] == true,
            session: session(headers, body),
            body: body.to_string(),
            ..Self::default()
        };
        match api {
            Api::Anthropic => super::anthropic::read(body, &mut request),
            Api::Responses => super::responses::read(body, &mut request),
            Api::Chat => super::chat::read(body, &mut request),
            Api::Gemini => super::gemini::read(path, body, &mut request),
        }
        request
    }

    /// Whether it is the agent's own business (a title, a look at the quota) and not the work.
    pub(crate) fn is_aside(&self) -> bool {
        self.tools.is_empty()
    }

    /// Adds an answer of the conversation.
    pub(crate) fn add_answer(&mut self) {
        self.answers += 1;
    }

    /// Adds what a user said.
    pub(crate) fn add_user(&mut self, text: &str) {
        let place = if self.answers == 0 {
            &mut self.opening
        } else {
            &mut self.later
        };
        place.push_str(text);
        place.push('\n');
    }

    /// Adds the text that names the agent's folder.
    pub(crate) fn add_system(&mut self, text: &str) {
        self.system.push_str(text);
        self.system.push('\n');
    }

    /// The folder the agent says it works in.
    pub(crate) fn folder(&self) -> Option<&str> {
        let signs = [
            "<cwd>",
            "orking directory: ",
            "Workspace Directories:**\n  - ",
        ];
        [&self.system, &self.opening].into_iter().find_map(|text| {
            let after = signs.iter().find_map(|sign| text.split_once(sign))?.1;
            let end = after.find(['<', '\n', '`']).unwrap_or(after.len());
            Some(after[..end].trim()).filter(|folder| folder.starts_with('/'))
        })
    }
}

/// The text of a message: a string, or the texts of its parts without thoughts.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts
                .iter()
                .filter(|part| part["thought"] != true && part["type"] != "tool_result");
            let texts: Vec<&str> = texts
                .filter_map(|part| part.as_str().or(part["text"].as_str()))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The elements of a list; none where it is missing.
pub(crate) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The name an agent gives its conversation, in a header or in the body.
fn session(headers: &hyper::HeaderMap, body: &Value) -> Option<String> {
    const HEADERS: [&str; 4] = [
        "x-claude-code-session-id",
        "session_id",
        "x-session-affinity",
        "conversation_id",
    ];
    let header = HEADERS.iter().find_map(|name| headers.get(*name));
    let header = header.and_then(|value| value.to_str().ok());
    header
        .or(body["prompt_cache_key"].as_str())
        .map(str::to_owned)
}
