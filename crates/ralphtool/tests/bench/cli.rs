//! The real agent programs: where they are, and what a user has who uses each of them with the
//! scripted model.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

/// A folder whose `node_modules/.bin` has the programs.
const FOLDER_VARIABLE: &str = "RALPHTOOL_TEST_AGENTS";

/// An agent program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cli {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
}

/// Who pays for what an agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    /// A key of the API.
    Key,
    /// A subscription, where the agent has one.
    Subscription,
}

impl Cli {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Opencode, Self::Gemini];

    /// Those whose sessions are continued.
    pub(crate) const CONTINUED: [Self; 3] = [Self::Claude, Self::Codex, Self::Opencode];

    /// Its name, which is its program's too.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
        }
    }

    /// The folder its program is in; nothing if it is not installed.
    pub(crate) fn folder(self) -> Option<PathBuf> {
        folders()
            .into_iter()
            .find(|folder| folder.join(self.name()).is_file())
    }

    /// Writes the settings a user has whose models are at `url`, and tells the variables they
    /// have set.
    pub(crate) fn settle(
        self,
        root: &Path,
        url: &str,
        account: Account,
    ) -> Vec<(&'static str, String)> {
        match self {
            Self::Claude => claude(url, account),
            Self::Codex => codex(root, url),
            Self::Opencode => opencode(root, url),
            Self::Gemini => gemini(root, url),
        }
    }
}

/// The folders to look for programs in, such that these are found first.
pub(crate) fn search_path(team: &[Cli]) -> OsString {
    let path = std::env::var_os("PATH").unwrap();
    let theirs = team.iter().filter_map(|cli| cli.folder());
    std::env::join_paths(theirs.chain(std::env::split_paths(&path))).unwrap()
}

/// Where programs are looked for, the best place first.
fn folders() -> Vec<PathBuf> {
    let bin = |folder: PathBuf| folder.join("node_modules/.bin");
    let told = std::env::var_os(FOLDER_VARIABLE).map(|folder| bin(folder.into()));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(home?.join(".cache")));
    let cached = cache.map(|cache| bin(cache.join("ralphtool/agents")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    told.into_iter()
        .chain(cached)
        .chain(std::env::split_paths(&path))
        .collect()
}

fn claude(url: &str, account: Account) -> Vec<(&'static str, String)> {
    let login = match account {
        Account::Key => ("ANTHROPIC_API_KEY", "sk-ant-none".to_owned()),
        Account::Subscription => ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-none".to_owned()),
    };
    vec![("ANTHROPIC_BASE_URL", url.to_owned()), login]
}

fn codex(root: &Path, url: &str) -> Vec<(&'static str, String)> {
    let config = format!(
        r#"model = "gpt-5.5"
model_provider = "bench"
[model_providers.bench]
name = "bench"
base_url = "{url}/v1"
env_key = "BENCH_API_KEY"
wire_api = "responses"
"#
    );
    write(&root.join("home/.codex/config.toml"), &config);
    vec![("BENCH_API_KEY", "none".to_owned())]
}

fn opencode(root: &Path, url: &str) -> Vec<(&'static str, String)> {
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "bench",
        "options": { "baseURL": format!("{url}/v1"), "apiKey": "none" },
        "models": { "model": { "name": "model", "limit": { "context": 200_000, "output": 8192 } } },
    });
    let config = json!({
        "$schema": "https://opencode.ai/config.json",
        "provider": { "bench": provider },
        "model": "bench/model",
    });
    let place = root.join("config/opencode/opencode.json");
    write(&place, &config.to_string());
    Vec::new()
}

fn gemini(root: &Path, url: &str) -> Vec<(&'static str, String)> {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "model": { "name": "gemini-2.5-pro" },
    });
    write(
        &root.join("home/.gemini/settings.json"),
        &settings.to_string(),
    );
    vec![
        ("GEMINI_API_KEY", "none".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
    ]
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}
