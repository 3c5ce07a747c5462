//! What there is on the disk of the scenes, as answers to looks.

use std::path::PathBuf;

use crate::tui::message::{
    Answer, ChangeDetail, ChangesFound, Created, DocumentText, ErrorText, FileWindow, Needle, Part,
    Previewed, Query, Undone, Window,
};
use ralph_agents::agent_event::AgentEvent;
use ralph_agents::transcript::{Entry, Source};
use ralph_base::ids::{RunId, StoryId};
use ralph_plan::change::{Change, SourceKind, TaskFile};
use ralph_plan::source::read_stories;
use ralph_plan::summary::{ChangeState, ChangeSummary};
use ralph_run::check::{CheckedChange, FoundIssue};
use ralph_run::history::listed::{Hold, LastRun, LastRuns};
use ralph_run::preview::Remark;
use ralph_run::records::counts::StoryCounts;
use ralph_run::records::event::FinishChoice;
use ralph_run::records::state::RunState;
use ralph_run::records::summary::RunSummary;
use ralph_run::settings::{GateSettings, PartialSettings, Settings, Sourced};
use ralph_vault::diff::{self, Cut, Diff};

/// What is on disk.
pub(in crate::tui) struct World {
    /// The changes.
    pub(in crate::tui) changes: Result<ChangesFound, ErrorText>,
    /// What there is to know before a start, or why the change cannot be read.
    pub(in crate::tui) remarks: Result<Vec<Remark>, ErrorText>,
    /// What is weak in the plan.
    pub(in crate::tui) findings: Vec<FoundIssue>,
    /// A run of the change is open.
    pub(in crate::tui) open: bool,
    /// What agents said.
    pub(in crate::tui) said: Vec<AgentEvent>,
    /// What was changed.
    pub(in crate::tui) diff: Result<Diff, String>,
    /// What gates printed.
    pub(in crate::tui) printed: Vec<String>,
    /// The settings have gates.
    pub(in crate::tui) gates: bool,
    /// What an undo restores.
    pub(in crate::tui) undone: Result<Undone, ErrorText>,
    /// The change is still there after the run.
    pub(in crate::tui) is_there: bool,
}

impl Default for World {
    fn default() -> Self {
        Self {
            changes: Ok(changes()),
            remarks: Ok(remarks()),
            findings: Vec::new(),
            open: false,
            said: said(),
            diff: Ok(diff()),
            printed: printed(),
            gates: true,
            undone: Ok(undone()),
            is_there: true,
        }
    }
}

impl World {
    fn detail(&self, target: &str) -> ChangeDetail {
        let shown = previewed(target, PartialSettings::default(), Vec::new(), self);
        let gates = shown.settings.gates.value.into_iter().map(|gate| gate.name);
        ChangeDetail {
            proposal: shown.documents[0].text.clone(),
            gates: gates.filter(|_| self.gates).collect(),
            change: Box::new(shown.change),
        }
    }
}

pub(super) fn answer(world: &World, query: &Query) -> Answer {
    match query.clone() {
        Query::Export(path, _) => Answer::Exported(Ok(path)),
        Query::Changes => Answer::Changes(world.changes.clone()),
        Query::Preview(name, chosen) => Answer::Preview(
            world
                .remarks
                .clone()
                .map(|remarks| Box::new(previewed(&name, *chosen, remarks, world))),
        ),
        Query::Window(transcript, part) => Answer::Window(transcript, Ok(window(world, part))),
        Query::Find(transcript, needle) => {
            let place = find(world, &needle);
            Answer::Found(transcript, needle, place)
        }
        Query::Detail(transcript, source) => Answer::Detail(transcript, source, detail()),
        Query::Diff(id) => Answer::Diff(id, world.diff.clone().map(Box::new)),
        Query::File(path, part) => Answer::File(path, Ok(file(world, part))),
        Query::Result(name) => Answer::Result(world.is_there.then(|| Box::new(change(&name)))),
        Query::Look(target) => {
            let found = Ok(Box::new(world.detail(&target)));
            Answer::Look(target, found)
        }
        Query::Create(name) => Answer::Created(Ok(Created {
            files: vec!["tasks.md".to_owned(), "proposal.md".to_owned()],
            folder: format!("openspec/changes/{name}"),
            name,
        })),
        Query::Undo(_) => Answer::Undone(world.undone.clone()),
    }
}

fn row(
    name: &str,
    stories: (usize, usize),
    tasks: (usize, usize),
    modified: &str,
    state: ChangeState,
) -> ChangeSummary {
    ChangeSummary {
        name: name.to_owned(),
        kind: SourceKind::OpenSpec,
        path: format!("openspec/changes/{name}"),
        target: name.to_owned(),
        stories_done: stories.0,
        stories_total: stories.1,
        tasks_done: tasks.0,
        tasks_total: tasks.1,
        modified: Some(modified.parse().unwrap()),
        state,
    }
}

/// A list with every state a change can be in.
pub(super) fn changes() -> ChangesFound {
    let reason = "openspec/changes/rename-everything/tasks.md is not UTF-8 text (byte 0xff in \
                  line 12), and its proposal is missing";
    ChangesFound {
        folder: "openspec/changes".to_owned(),
        rows: vec![
            row(
                "add-retry",
                (1, 5),
                (4, 17),
                "2026-11-15T21:57:30Z",
                ChangeState::Open,
            ),
            row(
                "add-export",
                (0, 2),
                (0, 6),
                "2026-11-15T09:00:00Z",
                ChangeState::Open,
            ),
            row(
                "drop-the-old-and-long-winded-importer-of-spreadsheets",
                (3, 3),
                (12, 12),
                "2026-11-12T09:00:00Z",
                ChangeState::Done,
            ),
            row(
                "rename-everything",
                (0, 0),
                (0, 0),
                "2026-11-01T09:00:00Z",
                ChangeState::Unreadable {
                    reason: reason.to_owned(),
                },
            ),
            row(
                "日本語の名前",
                (0, 0),
                (0, 0),
                "2026-10-01T09:00:00Z",
                ChangeState::NoTasks,
            ),
            row(
                "later",
                (1, 2),
                (3, 4),
                "2026-10-01T09:00:00Z",
                ChangeState::Deferred,
            ),
        ],
        runs: last_runs("add-retry", RunState::Interrupted, (1, 5)),
    }
}

/// The last run of a change: open, or kept if its finish says so.
pub(in crate::tui) fn last_runs(
    change: &str,
    state: RunState,
    stories: (usize, usize),
) -> LastRuns {
    let is_kept = state != RunState::Interrupted;
    let run = RunSummary {
        run: RunId("20261115-215900-x7k2".to_owned()),
        change: change.to_owned(),
        began: "2026-11-15T21:59:00Z".parse().unwrap(),
        ended: "2026-11-15T22:59:00Z".parse().unwrap(),
        state,
        headline: state.word().to_owned(),
        alerts: Vec::new(),
        branch: Some(format!("ralph/{change}")),
        finish: is_kept.then_some(FinishChoice::Keep),
        stories: StoryCounts {
            total: stories.1,
            done: stories.0,
            open: stories.1 - stories.0,
            ..StoryCounts::default()
        },
        attempts: 3,
        elapsed_ms: 95_000,
        tokens: 45_000,
        cost_usd: Some(0.42),
        cost_is_partial: false,
    };
    let last = LastRun {
        run,
        hold: if is_kept { Hold::Kept } else { Hold::Open },
        is_last: true,
        plan: None,
    };
    LastRuns::new(vec![last])
}

const TASKS: &str = "\
## 1. Read the settings

- [x] 1.1 Add `retry.times`
- [x] 1.2 Add `retry.wait`
- [x] 1.3 Refuse what is not a number
- [x] 1.4 Document both

## 2. Retry the upload 🚀 with 指数バックオフ

- [x] 2.1 Put `Client::send` into one place
  - [x] 2.1.1 Move the four callers over
- [ ] 2.2 Wait longer each time, with jitter, and never longer than what the settings allow, \
whatever the server says in its `Retry-After`
- [ ] 2.3 Document the delay

## 3. Tell the user how often it was tried

- [ ] 3.1 In the log
- [ ] 3.2 On the screen

## 4. Metrics

- [ ] 4.1 Count retries

## 5. Dashboards 📊 for 運用

- [~] 5.1 Draw them
";

fn change(name: &str) -> Change {
    let file = TaskFile {
        path: PathBuf::from("/project/openspec/changes/add-retry/tasks.md"),
        label: "tasks.md".to_owned(),
        bytes: TASKS.as_bytes().to_vec(),
    };
    let task_files = vec![file];
    let (stories, warnings) = read_stories(&task_files, SourceKind::OpenSpec);
    Change {
        name: name.to_owned(),
        root: PathBuf::from("/project/openspec/changes/add-retry"),
        source: SourceKind::OpenSpec,
        stories,
        scenarios: Vec::new(),
        documents: Vec::new(),
        context: None,
        guidance: Vec::new(),
        warnings,
        task_files,
    }
}

fn document(artifact: &str, path: &str, text: &str) -> DocumentText {
    DocumentText {
        artifact: artifact.to_owned(),
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// Remarks of every weight.
fn remarks() -> Vec<Remark> {
    vec![
        Remark::warns("not committed, for their names look like secrets: `.env`")
            .hint("the agent can read them; add them to `.gitignore` if they belong here"),
        Remark::tells("2 changed and 1 untracked files are committed first"),
    ]
}

fn previewed(
    name: &str,
    chosen: PartialSettings,
    remarks: Vec<Remark>,
    world: &World,
) -> Previewed {
    let gate = |name: &str, run: &str| GateSettings {
        name: name.to_owned(),
        ..GateSettings::from_line(run)
    };
    let configured = PartialSettings {
        gates: Some(Sourced::flag(
            vec![
                gate("tests", "cargo test --workspace"),
                gate("lint 🧹", "cargo clippy"),
            ],
            "--gate",
        )),
        max_cost: Some(Sourced::flag("5".parse().unwrap(), "--max-cost")),
        ..PartialSettings::default()
    };
    let proposal = "\
# Why

Uploads **fail** when the network is *slow*, and no error shows. See \
[the report](https://example.com/report).

## What changes

- The client tries again, with `Retry-After` honoured
  - at most five times
- The user sees it

| face | how often | 説明 |
| --- | ---: | --- |
| log | 1 | one line a try |
| screen | 10 | a counter ⏳ |

> A retry without a bound is an attack.

```rust
fn wait(tries: u32) -> Duration {
    Duration::from_millis(250) * 2_u32.pow(tries)
}
```
";
    let spec = "## ADDED Requirements\n\n### Requirement: Retries are bounded\n\nThe client SHALL \
                stop after `retry.times` tries.\n\n#### Scenario: the last try fails\n\n- **WHEN** \
                the last try fails\n- **THEN** the user sees why\n";
    let other = "## MODIFIED Requirements\n\n### Requirement: Uploads are whole\n\nAn upload SHALL \
                 be all or nothing.\n";
    Previewed {
        change: change(name),
        documents: vec![
            document("proposal", "proposal.md", proposal),
            document("specs", "specs/retry/spec.md", spec),
            document("specs", "specs/upload/spec.md", other),
        ],
        settings: Settings::resolve([configured, chosen]).unwrap(),
        remarks,
        prompt: "# Your task\n\nImplement story 2 of the change `add-retry`: Retry the upload 🚀 \
                 with 指数バックオフ\n\n- [ ] 2.2 Wait longer each time\n\nWhen you are done, end \
                 with `<promise>COMPLETE</promise>`."
            .to_owned(),
        checked: CheckedChange {
            change: name.to_owned(),
            kind: SourceKind::OpenSpec.word(),
            stories: 4,
            tasks: 10,
            scenarios: 1,
            gates: 2,
            findings: world.findings.clone(),
        },
        open: world.open,
    }
}

/// Findings about the change and about two of its stories.
pub(in crate::tui) fn findings() -> Vec<FoundIssue> {
    let file = "openspec/changes/add-retry/tasks.md";
    let found =
        |story: Option<&str>, task: Option<&str>, place: Option<(&str, usize)>, message: &str| {
            FoundIssue {
                code: "code",
                story: story.map(|id| StoryId(id.to_owned())),
                task: task.map(str::to_owned),
                file: place.map(|(file, _)| file.to_owned()),
                line: place.map(|(_, line)| line),
                message: message.to_owned(),
                hint: None,
            }
        };
    let spec = "openspec/changes/add-retry/specs/retry/spec.md";
    let mut findings = vec![
        found(
            None,
            None,
            None,
            "gate `lint 🧹` passes whatever the agent did",
        ),
        found(
            None,
            None,
            Some((spec, 7)),
            "no task is about the scenario \"the last try fails\"",
        ),
        found(
            Some("2"),
            Some("2.2"),
            Some((file, 9)),
            "\"指数バックオフ etc\" leaves open what is to be done",
        ),
        found(
            Some("2"),
            Some("2.3"),
            Some((file, 10)),
            "`src/uplaod.rs` does not exist",
        ),
        found(
            Some("3"),
            None,
            Some((file, 12)),
            "the story has 32 open tasks, which is a lot for one agent",
        ),
    ];
    findings[2].hint =
        Some("name the function, file or command, and say what holds afterwards".to_owned());
    findings[3].hint = Some("correct the path, or say which task creates it".to_owned());
    findings
}

/// Everything an agent can say.
fn said() -> Vec<AgentEvent> {
    let text = |text: &str| AgentEvent::Text {
        text: text.to_owned(),
    };
    let call = |tool: &str, summary: &str| AgentEvent::ToolCall {
        tool: tool.to_owned(),
        summary: summary.to_owned(),
    };
    vec![
        AgentEvent::Session {
            id: "5f2c81aa-90".to_owned(),
            model: Some("claude-opus-4".to_owned()),
        },
        AgentEvent::Thinking {
            text: "Where is the client? There are four callers that each build a request of \
                   their own.\nI should look at all of them first.\nThen decide.\nThen write \
                   it.\nThen test it.\nThen be done."
                .to_owned(),
        },
        text(
            "I will read the \u{1b}[31mclient\u{1b}[0m first. 🧐\n\n1. Find it\n2. Change `Client::send`",
        ),
        call("Grep", "fn upload in src"),
        AgentEvent::ToolResult {
            bytes: 2_150,
            is_error: false,
            tail: [
                "src/client.rs:31: fn upload(",
                "src/main.rs:9: upload(",
                "src/queue.rs:77: upload(",
            ]
            .map(str::to_owned)
            .to_vec(),
        },
        call(
            "Bash",
            "cargo test upload --workspace --all-features -- --nocapture 2>&1 | tail -20 # 試験",
        ),
        AgentEvent::ToolResult {
            bytes: 40,
            is_error: true,
            tail: vec!["error: could not compile \u{1b}[31m`upload`".to_owned()],
        },
        AgentEvent::Retrying {
            message: "overloaded, again in 4s".to_owned(),
        },
        AgentEvent::Unknown {
            line: "{\"type\":\"novel\",\"what\":\"events that are not known yet\"}".to_owned(),
        },
        AgentEvent::Error {
            message: "stream broke off".to_owned(),
        },
        text("The test fails as it should. Now the code."),
        call("Edit", "src/upload/client.rs"),
    ]
}

fn entries(world: &World) -> Vec<Entry> {
    let said = world.said.iter().enumerate();
    said.map(|(index, event)| Entry {
        index,
        event: event.clone(),
        source: Source {
            offset: index as u64 * 100,
            len: 100,
        },
    })
    .collect()
}

fn window(world: &World, part: Part) -> Window {
    let entries = entries(world);
    let total = entries.len();
    let (first, count) = match part {
        Part::Last(count) => (total.saturating_sub(count), count),
        Part::From(first, count) => (first, count),
    };
    Window {
        entries: entries.into_iter().skip(first).take(count).collect(),
        total,
        more: false,
    }
}

fn find(world: &World, needle: &Needle) -> Option<usize> {
    let has = |event: &AgentEvent| {
        let text = match event {
            AgentEvent::Text { text } | AgentEvent::Thinking { text } => text.clone(),
            AgentEvent::ToolCall { tool, summary } => format!("{tool} {summary}"),
            _ => String::new(),
        };
        text.to_lowercase().contains(&needle.text.to_lowercase())
    };
    let places = world.said.iter().enumerate();
    let mut places = places
        .filter(|(_, event)| has(event))
        .map(|(place, _)| place);
    if needle.forward {
        let all: Vec<usize> = places.collect();
        let next = all.iter().find(|place| **place > needle.here);
        return next.or(all.first()).copied();
    }
    places.rfind(|place| *place < needle.here)
}

fn detail() -> Vec<String> {
    [
        "$ cargo test upload --workspace --all-features -- --nocapture 2>&1 | tail -20",
        "   Compiling upload v0.1.0 (/project/upload)",
        "test upload::waits ... FAILED",
        "error: test failed, to rerun pass `--lib`",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// A file that came, one that was changed, one that is gone and one that moved; and more.
fn diff() -> Diff {
    let text = "\
diff --git a/docs/retry.md b/docs/retry.md
new file mode 100644
index 0000000..1111111
--- /dev/null
+++ b/docs/retry.md
@@ -0,0 +1,2 @@
+# Retries 🚀
+待ち時間は毎回二倍になります。
diff --git a/src/client.rs b/src/client.rs
index 2222222..3333333 100644
--- a/src/client.rs
+++ b/src/client.rs
@@ -10,3 +10,4 @@ impl Client {
     fn send(&self) -> Result<()> {
-        self.once()
+        let wait = self.settings.retry.wait.min(self.settings.retry.longest).max(Duration::from_millis(1));
+        self.again(wait)
     }
diff --git a/src/old.rs b/src/old.rs
deleted file mode 100644
index 4444444..0000000
--- a/src/old.rs
+++ /dev/null
@@ -1 +0,0 @@
-// gone
diff --git a/src/a.rs b/src/b.rs
similarity index 100%
rename from src/a.rs
rename to src/b.rs
";
    diff::parse(text.as_bytes(), false).without(Cut {
        lines: 120,
        unread: true,
        new_files: 2,
    })
}

fn printed() -> Vec<String> {
    let passed = (1..=6).map(|number| format!("test case_{number} ... ok"));
    let last = [
        "test upload::waits_and_then_tries_again_until_the_server_is_there ... \u{1b}[31mFAILED\u{1b}[0m",
        "assertion `left == right` failed: 待ち時間",
        "  left: 250ms",
        " right: 500ms",
    ];
    passed.chain(last.map(str::to_owned)).collect()
}

fn file(world: &World, count: usize) -> FileWindow {
    let first = world.printed.len().saturating_sub(count);
    let lines = world.printed[first..].to_vec();
    FileWindow { first, lines }
}

fn undone() -> Undone {
    Undone {
        head: Some("ralph/add-retry".to_owned()),
        restored: vec![
            "branch `ralph/add-retry` is at 0123456789 again".to_owned(),
            "9 files restored".to_owned(),
        ],
        way_back: "ralphtool finish --cleanup".to_owned(),
    }
}
