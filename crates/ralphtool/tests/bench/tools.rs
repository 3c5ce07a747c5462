//! From what a script wants to the tool an agent offers for it.

use serde_json::{Value, json};

use super::request::{Request, Tool};
use super::script::Call;

/// A call of one of the agent's own tools.
#[derive(Debug)]
pub(crate) struct ToolCall {
    /// The call's id.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// What it is called with: an object, or a text for a tool that takes one.
    pub(crate) input: Value,
}

/// Tools that write a file: name, argument for the path, argument for the content.
const WRITERS: [(&str, &str, &str); 3] = [
    ("Write", "file_path", "content"),
    ("write", "filePath", "content"),
    ("write_file", "file_path", "content"),
];

/// Tools that run a command: name, argument for it.
const SHELLS: [(&str, &str); 5] = [
    ("Bash", "command"),
    ("bash", "command"),
    ("exec_command", "cmd"),
    ("shell_command", "command"),
    ("run_shell_command", "command"),
];

/// The tool call that does what is wanted; nothing if the agent has no tool for it.
pub(crate) fn tool_call(wanted: &Call, request: &Request, id: String) -> Option<ToolCall> {
    let (name, input) = match wanted {
        Call::Write { path, content } => writing(path, content, request)?,
        Call::Run(command) => running(command, request)?,
    };
    Some(ToolCall { id, name, input })
}

fn writing(path: &str, content: &str, request: &Request) -> Option<(String, Value)> {
    let tool = WRITERS
        .iter()
        .find(|(name, argument, _)| takes(request, name, argument));
    if let Some((name, path_argument, content_argument)) = tool {
        let path = match request.folder() {
            Some(folder) => format!("{folder}/{path}"),
            None => path.to_owned(),
        };
        let input = json!({ *path_argument: path, *content_argument: content });
        return Some(((*name).to_owned(), input));
    }
    if !matches!(request.tools.get("apply_patch"), Some(Tool::Custom)) {
        return None;
    }
    let lines: Vec<String> = content.lines().map(|line| format!("+{line}\n")).collect();
    let lines = lines.concat();
    let whole = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
    Some(("apply_patch".to_owned(), whole.into()))
}

fn running(command: &str, request: &Request) -> Option<(String, Value)> {
    let (name, argument) = SHELLS
        .iter()
        .find(|(name, argument)| takes(request, name, argument))?;
    let mut input = json!({ *argument: command });
    if takes(request, name, "description") {
        input["description"] = "a command of the script".into();
    }
    if takes(request, name, "is_background") {
        input["is_background"] = false.into();
    }
    Some(((*name).to_owned(), input))
}

/// Whether a tool is offered and has an argument.
fn takes(request: &Request, tool: &str, argument: &str) -> bool {
    match request.tools.get(tool) {
        Some(Tool::Function(schema)) => schema["properties"].get(argument).is_some(),
        Some(Tool::Custom) | None => false,
    }
}
