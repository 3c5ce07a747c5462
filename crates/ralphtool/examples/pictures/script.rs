//! What the stand-ins do: `claude` prints and writes the text below, `cargo test` checks what it
//! wrote.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Result;
use super::project::{CLIENT, write};

/// The word with which this program is the agent.
pub(crate) const AGENT: &str = "as-agent";

/// The word with which it is the tests of the project.
pub(crate) const TESTS: &str = "as-tests";

/// The file an agent waits for.
pub(crate) const CUE: &str = "go-on";

/// The last words before an agent waits.
pub(crate) const AT_WORK: &str = "One test is left";

/// How long an agent waits for its cue.
const PATIENCE: Duration = Duration::from_secs(60);

/// A moment between two things an agent says.
const BREATH: Duration = Duration::from_millis(400);

/// Does the attempt it was started for.
pub(crate) fn work(args: &[OsString]) -> Result<()> {
    let root = args
        .first()
        .map(PathBuf::from)
        .ok_or("no folder is given")?;
    io::stdin().read_to_end(&mut Vec::new())?;
    let attempt = std::env::var("RALPHTOOL_ATTEMPT")?;
    let mut agent = Agent::begin(root)?;
    let (_, number) = attempt.rsplit_once('/').unwrap_or(("", &attempt));
    match number {
        "1.1" => agent.policy(),
        "2.1" => agent.client_carelessly(),
        "2.2" => agent.client(),
        "3.1" => agent.documentation(),
        other => Err(format!("attempt {other} is not in the script").into()),
    }
}

/// The tests of the project: red as long as a `POST` is sent twice.
pub(crate) fn test() -> ExitCode {
    let client = fs::read_to_string("src/client.rs").unwrap_or_default();
    let green = !client.contains("with_retry") || client.contains("is_safe");
    let mut out = io::stdout();
    let _ = out.write_all(if green { GREEN } else { RED }.as_bytes());
    if green {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(101)
    }
}

/// An agent at work in the folder it was started in.
struct Agent {
    root: PathBuf,
    message: u64,
}

impl Agent {
    fn begin(root: PathBuf) -> Result<Self> {
        let folder = std::env::current_dir()?;
        let agent = Self { root, message: 0 };
        tell(&json!({
            "type": "system", "subtype": "init", "session_id": "5f0c2a7e",
            "model": "claude-opus", "cwd": folder,
        }))?;
        Ok(agent)
    }

    fn policy(&mut self) -> Result<()> {
        self.say("I read the proposal and the specs first.")?;
        self.read(
            "openspec/changes/add-retry/proposal.md",
            "Client::get, and most of them forget Retry-After.",
        )?;
        self.read("src/client.rs", CLIENT)?;
        self.write("src/policy.rs", POLICY)?;
        self.bash("cargo test", GREEN, false)?;
        self.tick("1.")?;
        self.end(0.31)
    }

    fn client_carelessly(&mut self) -> Result<()> {
        self.say("The policy is there, so the client only has to ask it.")?;
        self.read("src/policy.rs", POLICY)?;
        self.write("src/client.rs", CARELESS)?;
        self.tick("2.")?;
        self.end(0.42)
    }

    fn client(&mut self) -> Result<()> {
        self.say(
            "A `POST` must never be sent twice, so **the method counts**, too. \
             I look at what decides about sending again.",
        )?;
        self.read("src/client.rs", CLIENT)?;
        self.bash(
            "rg -n 'enum Method' src",
            "src/lib.rs:9:pub enum Method {\n",
            false,
        )?;
        self.say(
            "The policy knows answers, not requests. Two things have to be true:\n\n\
             1. the method is **safe**: `GET`, `HEAD` or `OPTIONS`\n\
             2. the policy has tries left\n\n\
             ```rust\n\
             if !request.method.is_safe() {\n    return self.transport.send(request);\n}\n\
             ```",
        )?;
        self.write("src/client.rs", CAREFUL)?;
        self.write("tests/retry.rs", RETRY_TESTS)?;
        self.bash("cargo test retry", RED, true)?;
        self.say(&format!(
            "{AT_WORK}: the clock of the tests has no `Retry-After` yet."
        ))?;
        self.wait_for_the_cue()?;
        self.tick("2.")?;
        self.end(0.57)
    }

    fn documentation(&mut self) -> Result<()> {
        self.say("Only the README is left.")?;
        self.write("README.md", README)?;
        self.tick("3.")?;
        self.end(0.12)
    }

    fn say(&mut self, text: &str) -> Result<()> {
        self.assistant(&json!({"type": "text", "text": text}))
    }

    /// Reads a file with this text.
    fn read(&mut self, path: &str, text: &str) -> Result<()> {
        self.tool("Read", &json!({"file_path": here(path)?}))?;
        Self::answer(text, false)
    }

    fn bash(&mut self, command: &str, answer: &str, is_error: bool) -> Result<()> {
        self.tool("Bash", &json!({"command": command}))?;
        Self::answer(answer, is_error)
    }

    fn write(&mut self, path: &str, text: &str) -> Result<()> {
        let tool = if Path::new(path).exists() {
            "Edit"
        } else {
            "Write"
        };
        self.tool(tool, &json!({"file_path": here(path)?, "new_string": text}))?;
        write(Path::new(path), text)?;
        Self::answer("The file has been updated.", false)
    }

    /// Ticks the boxes of a story.
    fn tick(&mut self, story: &str) -> Result<()> {
        let path = "openspec/changes/add-retry/tasks.md";
        let open = format!("- [ ] {story}");
        let done = format!("- [x] {story}");
        let text = fs::read_to_string(path)?.replace(&open, &done);
        self.write(path, &text)
    }

    fn tool(&mut self, name: &str, input: &Value) -> Result<()> {
        self.assistant(&json!({"type": "tool_use", "name": name, "input": input}))
    }

    fn answer(text: &str, is_error: bool) -> Result<()> {
        let content = json!([{"type": "tool_result", "content": text, "is_error": is_error}]);
        tell(&json!({"type": "user", "message": {"content": content}}))
    }

    fn assistant(&mut self, block: &Value) -> Result<()> {
        sleep(BREATH);
        self.message += 1;
        let id = format!("m{}", self.message);
        let usage = json!({
            "input_tokens": 40, "output_tokens": 210,
            "cache_read_input_tokens": 9_300, "cache_creation_input_tokens": 480,
        });
        let message = json!({"id": id, "content": [block], "usage": usage});
        tell(&json!({"type": "assistant", "message": message}))
    }

    fn end(&mut self, cost: f64) -> Result<()> {
        let last = "The story is done.\n\n<promise>COMPLETE</promise>";
        self.say(last)?;
        let tokens = |each: u64| each * self.message;
        tell(&json!({
            "type": "result", "subtype": "success", "is_error": false, "result": last,
            "total_cost_usd": cost,
            "modelUsage": {"claude-opus": {
                "inputTokens": tokens(40), "outputTokens": tokens(210),
                "cacheReadInputTokens": tokens(9_300),
                "cacheCreationInputTokens": tokens(480), "costUSD": cost,
            }},
        }))
    }

    fn wait_for_the_cue(&self) -> Result<()> {
        let start = Instant::now();
        while !self.root.join(CUE).exists() {
            if start.elapsed() > PATIENCE {
                return Err("the cue did not come".into());
            }
            sleep(BREATH);
        }
        Ok(())
    }
}

fn tell(line: &Value) -> Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// A path as Claude Code names it.
fn here(path: &str) -> Result<PathBuf> {
    Ok(std::env::current_dir()?.join(path))
}

const GREEN: &str = "\
running 3 tests
test policy::waits_double ... ok
test policy::busy_answers_are_tried_again ... ok
test client::an_answer_is_handed_on ... ok

test result: ok. 3 passed; 0 failed
";

const RED: &str = "\
running 4 tests
test policy::waits_double ... ok
test policy::busy_answers_are_tried_again ... ok
test client::an_answer_is_handed_on ... ok
test client::a_post_is_sent_once ... FAILED

---- client::a_post_is_sent_once ----
assertion `left == right` failed: requests
  left: 3
 right: 1

test result: FAILED. 3 passed; 1 failed
";

const POLICY: &str = "\
//! Says whether and when to try again.

use std::time::Duration;

pub struct Policy {
    pub tries: u32,
    pub first_wait: Duration,
    pub longest_wait: Duration,
}

impl Policy {
    pub fn is_worth_it(status: u16) -> bool {
        matches!(status, 429 | 502..=504)
    }

    pub fn wait(&self, tries: u32) -> Duration {
        (self.first_wait * 2_u32.pow(tries)).min(self.longest_wait)
    }
}
";

const CARELESS: &str = "\
//! Sends requests.

use crate::policy::Policy;
use crate::{Request, Response, Transport};

pub struct Client<T> {
    transport: T,
    policy: Policy,
}

impl<T: Transport> Client<T> {
    pub fn get(&self, url: &str) -> Response {
        self.with_retry(&Request::get(url))
    }
}
";

const CAREFUL: &str = "\
//! Sends requests.

use crate::policy::Policy;
use crate::{Request, Response, Transport};

pub struct Client<T> {
    transport: T,
    policy: Policy,
}

impl<T: Transport> Client<T> {
    pub fn get(&self, url: &str) -> Response {
        self.with_retry(&Request::get(url))
    }

    fn with_retry(&self, request: &Request) -> Response {
        let mut response = self.transport.send(request);
        let mut tries = 1;
        while request.method.is_safe()
            && Policy::is_worth_it(response.status)
            && tries < self.policy.tries
        {
            let wait = response.retry_after();
            self.transport.pause(wait.unwrap_or_else(|| self.policy.wait(tries)));
            response = self.transport.send(request);
            tries += 1;
        }
        response
    }
}
";

const RETRY_TESTS: &str = "\
//! The server comes back, or stays away.

#[test]
fn the_server_comes_back() {
    let server = Server::answers([503, 503, 200]);
    assert_eq!(client(&server).get(\"/\").status, 200);
}
";

const README: &str = "\
# fetch

A small HTTP client.

## Retries

Safe requests are sent again after `429`, `502`, `503` and `504`, at most three times. Waits
double from 200 ms up to 5 s; a `Retry-After` of the server wins.
";
