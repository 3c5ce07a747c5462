//! The repository the pictures are taken in: a small HTTP client with a few written changes, and
//! stand-ins for `claude` and `cargo` that come before the real ones.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::{Result, script};

/// What the project is called.
pub(crate) const NAME: &str = "fetch";

/// Everything in one folder, which is removed with it.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// Writes it all.
    pub(crate) fn make() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let project = Self { folder };
        for name in ["bin", "tmp", "projects"] {
            fs::create_dir(project.root().join(name))?;
        }
        project.stand_in("claude", script::AGENT)?;
        project.stand_in("cargo", script::TESTS)?;
        for (path, text) in FILES {
            write(&project.repository().join(path), text)?;
        }
        for (change, hours) in AGES {
            project.age(change, *hours)?;
        }
        project.git("init -q -b main --template=")?;
        project.git("add -A")?;
        project.git("commit -q -m import")?;
        Ok(project)
    }

    /// The program, as if started by hand in the repository.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let bin = self.root().join("bin");
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", self.root())
            .env("XDG_STATE_HOME", self.root().join("state"))
            .env("RALPHTOOL_TRUST", "1")
            .env("XDG_CONFIG_HOME", self.root().join("config"))
            .env("TMPDIR", self.root().join("tmp"))
            .env("TZ", "UTC")
            .env("COLORTERM", "truecolor")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.repository());
        command
    }

    /// Lets an agent go on that waits.
    pub(crate) fn go_on(&self) -> Result<()> {
        Ok(fs::write(self.root().join(script::CUE), "")?)
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn repository(&self) -> PathBuf {
        self.root().join("projects").join(NAME)
    }

    /// Sets the times of a change to `hours` hours ago.
    fn age(&self, change: &str, hours: u64) -> Result<()> {
        let when = SystemTime::now() - Duration::from_secs(hours * 3600 + 60);
        let folder = self.repository().join("openspec/changes").join(change);
        for (path, _) in FILES {
            let path = self.repository().join(path);
            if path.starts_with(&folder) {
                File::options().write(true).open(path)?.set_modified(when)?;
            }
        }
        Ok(())
    }

    /// A program of this name that is this one with a word for its part.
    fn stand_in(&self, name: &str, part: &str) -> Result<()> {
        let this = std::env::current_exe()?;
        let (this, root) = (this.display(), self.root().display());
        let path = self.root().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nexec '{this}' {part} '{root}'\n"))?;
        Ok(fs::set_permissions(
            &path,
            fs::Permissions::from_mode(0o755),
        )?)
    }

    fn git(&self, args: &str) -> Result<()> {
        let mut git = self.command(Path::new("git"));
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "User");
            git.env(format!("GIT_{who}_EMAIL"), "user@example.com");
        }
        let status = git.args(args.split(' ')).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`git {args}` failed with {status}").into())
        }
    }
}

/// Writes a file and the folders it is in.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}

const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", CARGO),
    ("README.md", README),
    (".gitignore", "/target\n"),
    ("ralphtool.toml", SETTINGS),
    ("src/lib.rs", LIBRARY),
    ("src/client.rs", CLIENT),
    ("openspec/changes/add-retry/proposal.md", PROPOSAL),
    ("openspec/changes/add-retry/design.md", DESIGN),
    ("openspec/changes/add-retry/tasks.md", TASKS),
    ("openspec/changes/add-retry/specs/retry/spec.md", SPEC),
    ("openspec/changes/add-proxy/proposal.md", PROXY),
    ("openspec/changes/add-proxy/tasks.md", PROXY_TASKS),
    ("openspec/changes/drop-old-tls/proposal.md", OLD_TLS),
    ("openspec/changes/drop-old-tls/tasks.md", OLD_TLS_TASKS),
    ("openspec/changes/stream-bodies/proposal.md", STREAM),
    ("openspec/changes/stream-bodies/tasks.md", STREAM_TASKS),
];

/// How many hours ago the changes were written.
const AGES: &[(&str, u64)] = &[
    ("add-retry", 0),
    ("add-proxy", 3),
    ("stream-bodies", 30),
    ("drop-old-tls", 24 * 9),
];

const CARGO: &str = "\
[package]
name = \"fetch\"
version = \"0.4.0\"
edition = \"2024\"
";

const README: &str = "# fetch\n\nA small HTTP client.\n";

const SETTINGS: &str = "\
model = \"opus\"
max_retries = 2

[budget]
usd = 5

[[gate]]
name = \"tests\"
run = \"cargo test\"
";

const LIBRARY: &str = "//! A small HTTP client.\n\npub mod client;\n";

/// As it is before the change.
pub(crate) const CLIENT: &str = "\
//! Sends requests.

use crate::{Request, Response, Transport};

pub struct Client<T> {
    transport: T,
}

impl<T: Transport> Client<T> {
    pub fn get(&self, url: &str) -> Response {
        let request = Request::get(url);
        self.transport.send(&request)
    }
}
";

const PROPOSAL: &str = "\
# Add a retry

## Why
A server that is restarted answers `503` for a second or two. Callers write their own loops around
`Client::get`, and most of them forget `Retry-After`.

## What changes
- Requests that may be sent twice are sent again after `429`, `502`, `503` and `504`.
- Waits double from 200 ms up to 5 s; `Retry-After` wins.
- Requests with effects are never sent again.
";

const DESIGN: &str = "\
# Design

A `Policy` says how often and how long; the client asks it after each answer. Time comes in as a
value, so that tests need not wait.
";

const SPEC: &str = "\
## ADDED Requirements

### Requirement: Safe requests are sent again
The client SHALL send a safe request again while the server says that it is busy.

#### Scenario: The server comes back
- **WHEN** a server answers `503` twice and then `200`
- **THEN** the caller gets the `200`

#### Scenario: The server stays away
- **WHEN** a server answers `503` every time
- **THEN** the caller gets the last `503` after three tries

### Requirement: Requests with effects are sent once
The client MUST NOT send a `POST` again.

#### Scenario: A post fails
- **WHEN** a server answers a `POST` with `503`
- **THEN** the caller gets that answer
";

const TASKS: &str = "\
## 1. Policy
- [ ] 1.1 Say which answers are worth another try
- [ ] 1.2 Double the wait up to a limit

## 2. Client
- [ ] 2.1 Send safe requests again
- [ ] 2.2 Honour `Retry-After`
- [ ] 2.3 Never send a `POST` twice

## 3. Documentation
- [ ] 3.1 Describe the policy in the README
";

const PROXY: &str = "# Add a proxy\n\n## Why\nMany machines reach the web through a proxy only.\n";
const PROXY_TASKS: &str = "\
## 1. Settings
- [x] 1.1 Read `HTTP_PROXY` and `NO_PROXY`
- [x] 1.2 Refuse addresses that make no sense

## 2. Tunnel
- [ ] 2.1 Send `CONNECT`
- [ ] 2.2 Answer `407` with what the user gave
";

const OLD_TLS: &str = "# Drop old TLS\n\n## Why\nNobody needs TLS 1.1.\n";
const OLD_TLS_TASKS: &str = "\
## 1. Drop it
- [x] 1.1 Refuse TLS 1.0 and 1.1
- [x] 1.2 Say so in the error
";

const STREAM: &str = "# Stream bodies\n\n## Why\nA large body need not be in memory.\n";
const STREAM_TASKS: &str = "\
## 1. Reader
- [ ] 1.1 Hand out a body as a reader
- [ ] 1.2 Bound what is buffered

## 2. Writer
- [ ] 2.1 Take a body from a reader
- [ ] 2.2 Send it in chunks

## 3. Examples
- [ ] 3.1 Copy a file to a server
";
