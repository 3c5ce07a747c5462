//! A scripted run with every event in it, for the tests of the reporters.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};

use ralph_agents::agent_event::{AgentEvent, Refusal, Usage};
use ralph_agents::dialect::Output;
use ralph_base::ids::{AttemptNumber, RunId, StoryId};
use ralph_plan::change::StoryState;
use ralph_run::policy::roster::Choice;
use ralph_run::records::event::{
    AttemptFailed, AttemptStarted, BudgetLimits, Event, FailureKind, FinishChoice, FinishFailed,
    Finished, GateFinished, GateResult, GateStarted, Outcome, Record, Request, ReviewFinished,
    ReviewStarted, RunEnded, RunStarted, StoryCompleted, StoryOutline, StoryStarted, WIRE_VERSION,
};
use ralph_run::records::review::{Judged, JudgedItem, ReviewResult, Verdict};

/// Keeps what is written.
#[derive(Clone, Default)]
pub(crate) struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes records, each with the number of seconds since the one before.
pub(crate) struct Script {
    at: Timestamp,
    records: Vec<Record>,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self {
            at: "2026-11-15T21:59:00Z".parse().unwrap(),
            records: Vec::new(),
        }
    }

    pub(crate) fn then(&mut self, seconds: i64, event: Event) -> &mut Self {
        self.at += SignedDuration::from_secs(seconds);
        self.records.push(Record {
            v: WIRE_VERSION,
            seq: self.records.len() as u64,
            at: self.at,
            run: RunId("20261115-215900-x7k2".to_owned()),
            event,
        });
        self
    }

    pub(crate) fn records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    fn agent(&mut self, attempt: u32, agent: AgentEvent) -> &mut Self {
        let (story, attempt) = (id("2"), AttemptNumber(attempt));
        self.then(
            1,
            Event::Agent {
                story,
                attempt,
                agent,
            },
        )
    }

    fn asked(&mut self, request: Request) -> &mut Self {
        self.then(1, Event::Requested { request })
    }

    pub(crate) fn attempt(&mut self, attempt: u32) -> &mut Self {
        let transcript = format!("/state/runs/20261115-215900-x7k2/attempts/2.{attempt}");
        self.then(
            1,
            Event::AttemptStarted(AttemptStarted {
                story: id("2"),
                attempt: AttemptNumber(attempt),
                max_attempts: 4,
                uncounted: 0,
                transcript,
                base: Some("c0ffee".to_owned()),
                output: Output::ClaudeJson,
                agent: None,
            }),
        )
    }

    fn gate(&mut self, seconds: i64, baseline: bool, result: GateResult) -> &mut Self {
        let (story, gate) = (id("2"), "tests".to_owned());
        self.then(
            0,
            Event::GateStarted(GateStarted {
                story: story.clone(),
                gate: gate.clone(),
                baseline,
                whole: false,
                log: "/state/gates/2.1-1.log".to_owned(),
                try_number: 1,
            }),
        );
        self.then(
            seconds,
            Event::GateFinished(GateFinished {
                story,
                gate,
                baseline,
                whole: false,
                result,
                duration_ms: u64::try_from(seconds).unwrap() * 1000,
                tries: 1,
                flaky: false,
                tests: None,
                new_failures: Vec::new(),
            }),
        )
    }

    pub(crate) fn failed(&mut self, attempt: u32, kind: FailureKind, reason: &str) -> &mut Self {
        self.then(
            1,
            Event::AttemptFailed(AttemptFailed {
                story: id("2"),
                attempt: AttemptNumber(attempt),
                kind,
                reason: reason.to_owned(),
                parked: format!("2.{attempt}"),
                changed_files: 3,
                retrying: attempt < 4,
                duration_ms: 192_000,
                usage: usage(45_000, 0.42),
                repairs: 0,
            }),
        )
    }
}

pub(crate) fn id(story: &str) -> StoryId {
    StoryId(story.to_owned())
}

pub(crate) fn usage(tokens: u64, usd: f64) -> Usage {
    Usage {
        input_tokens: tokens,
        cost_usd: Some(usd),
        ..Usage::default()
    }
}

pub(crate) fn started() -> Event {
    Event::RunStarted(RunStarted {
        change: "add-retry".to_owned(),
        branch: "ralph/add-retry".to_owned(),
        original: "main".to_owned(),
        original_commit: Some("c0".to_owned()),
        abandon_to: None,
        agent: "claude".to_owned(),
        model: Some("opus".to_owned()),
        stories_total: 3,
        stories_done: 1,
        max_retries: 3,
        gates: vec!["tests".to_owned()],
        gates_at_end: Vec::new(),
        reviews: vec!["second opinion".to_owned()],
        reviews_at_end: Vec::new(),
        resumed: false,
        stories: vec![
            outline("1", "Read the settings", StoryState::Done),
            outline("2", "Retry the upload", StoryState::Open),
            outline("3", "Metrics", StoryState::Deferred),
        ],
        budget: BudgetLimits {
            usd: Some(5.0),
            tokens: Some(2_000_000),
            time_ms: Some(7_200_000),
        },
        story_budget: BudgetLimits::default(),
        fallback: vec!["codex".to_owned()],
    })
}

fn choice(agent: &str, model: Option<&str>) -> Choice {
    Choice {
        agent: agent.to_owned(),
        model: model.map(str::to_owned),
    }
}

fn outline(story: &str, title: &str, state: StoryState) -> StoryOutline {
    StoryOutline {
        id: id(story),
        title: title.to_owned(),
        state,
        tasks_done: if state == StoryState::Done { 4 } else { 0 },
        tasks_total: 4,
        tasks_deferred: 0,
        depends_on: None,
    }
}

pub(crate) fn ended(outcome: Outcome, stories_done: usize) -> Event {
    Event::RunEnded(RunEnded {
        outcome,
        stories_done,
        stories_total: 3,
        attempts: 5,
        duration_ms: 3_912_000,
        usage: usage(145_000, 1.3),
    })
}

pub(crate) fn completed() -> Event {
    Event::StoryCompleted(StoryCompleted {
        story: id("2"),
        title: "Retry the upload".to_owned(),
        attempts: 3,
        commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        changed_files: 1,
        duration_ms: 700_000,
        usage: usage(145_000, 1.3),
        repairs: 0,
    })
}

/// A run in which everything happens that can.
pub(crate) fn run() -> Vec<Record> {
    let mut script = Script::new();
    begin(&mut script);
    first_attempt(&mut script);
    second_attempt(&mut script);
    third_attempt(&mut script);
    end(&mut script);
    script.records()
}

fn begin(script: &mut Script) {
    script
        .then(0, started())
        .then(
            0,
            Event::Recovered {
                found: "an attempt of run 20261114-100000-abcd was interrupted".to_owned(),
                done: "it is parked as 1.2 and the tree is back at the checkpoint".to_owned(),
            },
        )
        .then(
            1,
            Event::StoryStarted(StoryStarted {
                story: id("2"),
                title: "Retry the upload".to_owned(),
                position: 2,
                total: 3,
                open_tasks: 4,
                tasks: Vec::new(),
            }),
        )
        .gate(3, true, GateResult::Passed);
    let tail = "1 test failed".to_owned();
    let how = "exit code 1".to_owned();
    let result = GateResult::Failed {
        how,
        tail,
        cannot_run: false,
    };
    script.gate(2, true, result);
}

fn first_attempt(script: &mut Script) {
    script
        .attempt(1)
        .agent(1, AgentEvent::Session {
            id: "5f2c".to_owned(),
            model: Some("claude-opus-4".to_owned()),
        })
        .agent(1, AgentEvent::Thinking { text: "Where is the client?".to_owned() })
        .agent(1, AgentEvent::Text {
            text: "I will read the \u{1b}[31mclient\u{1b}[0m first.\nThen I change it.".to_owned(),
        })
        .agent(1, AgentEvent::ToolCall {
            tool: "Bash".to_owned(),
            summary: "rg --files-with-matches 'fn upload' src tests benches examples | sort -u | head -50\rrm".to_owned(),
        })
        .agent(1, AgentEvent::ToolResult { bytes: 2_150, is_error: false, tail: Vec::new() })
        .agent(1, AgentEvent::ToolResult { bytes: 40, is_error: true, tail: vec!["error: no test `a`".to_owned(), "exit code 1".to_owned()] })
        .agent(1, AgentEvent::usage(usage(45_000, 0.42)))
        .agent(1, AgentEvent::Retrying { message: "overloaded, again in 4s".to_owned() })
        .agent(1, AgentEvent::Unknown { line: "{\"type\":\"novel\"}".to_owned() })
        .agent(1, AgentEvent::Error { message: "stream broke off".to_owned() })
        .agent(1, AgentEvent::Final { is_error: false })
        .failed(
            1,
            FailureKind::Failed,
            "The upload client has no place for a delay: `Client::send` is called from four places that each build their own request.\n\nTried: a wrapper around it.",
        );
}

fn second_attempt(script: &mut Script) {
    let tail: Vec<String> = (1..=60).map(|n| format!("test case_{n} ... ok")).collect();
    let tail = tail.join("\n");
    script.attempt(2).gate(
        12,
        false,
        GateResult::Failed {
            how: "exit code 101".to_owned(),
            tail: tail.clone(),
            cannot_run: false,
        },
    );
    let reason = format!("gate `tests` failed: exit code 101\n{tail}");
    script.failed(2, FailureKind::Gate, &reason);
}

fn third_attempt(script: &mut Script) {
    let resets = "2026-11-15T22:30:00Z".parse().unwrap();
    script
        .attempt(3)
        .agent(
            3,
            AgentEvent::Limit {
                message: "usage limit reached".to_owned(),
                resets_at: Some(resets),
            },
        )
        .agent(
            3,
            AgentEvent::Auth {
                cause: Refusal::Login,
                message: "please run /login".to_owned(),
            },
        )
        .then(
            1,
            Event::Waiting {
                story: id("2"),
                reason: "usage limit reached".to_owned(),
                until: resets,
                continues: None,
            },
        )
        .asked(Request::TryNow)
        .then(
            1,
            Event::AgentChanged {
                story: id("2"),
                from: choice("claude", Some("opus")),
                to: choice("codex", None),
                reason: "`claude` is limited until 2026-11-16T01:20:00Z".to_owned(),
            },
        )
        .asked(Request::Pause)
        .then(
            1,
            Event::Paused {
                story: id("2"),
                continues: None,
            },
        )
        .then(
            1,
            Event::NoteAdded {
                text: "The delay is in\u{1b}[31m seconds.\nSee the RFC.".to_owned(),
                story: Some(id("2")),
            },
        )
        .asked(Request::GoOn)
        .attempt(3)
        .gate(10, false, GateResult::Passed);
    reviews(script);
    script
        .then(
            0,
            Event::Warning {
                code: "boxes_ticked".to_owned(),
                message:
                    "the agent left 1 box of story 2 open; it is ticked: 2.3 Document the delay"
                        .to_owned(),
            },
        )
        .then(1, completed());
}

fn reviews(script: &mut Script) {
    let item = |item: &str, verdict, evidence: &str| JudgedItem {
        item: item.to_owned(),
        what: Judged::Task,
        text: "2.1 Retry on a 503".to_owned(),
        verdict,
        evidence: evidence.to_owned(),
    };
    let said = AgentEvent::Text {
        text: "I look at\u{1b}[31m the tests.".to_owned(),
    };
    let no_verdict = ReviewResult::NoVerdict {
        reason: "it gave no answer".to_owned(),
    };
    let judged = ReviewResult::Judged {
        items: vec![
            item("T1", Verdict::Met, "src/upload.rs:12"),
            item("T2", Verdict::CannotTell, "there is no network"),
        ],
    };
    script
        .then(0, review_started(None))
        .then(
            1,
            Event::Reviewer {
                story: id("2"),
                review: "second opinion".to_owned(),
                agent: said,
            },
        )
        .then(20, review_finished(no_verdict, true))
        .then(0, review_started(Some("it gave no answer")))
        .then(20, review_finished(judged, false));
}

pub(crate) fn review_started(again: Option<&str>) -> Event {
    Event::ReviewStarted(ReviewStarted {
        story: id("2"),
        attempt: Some(AttemptNumber(3)),
        review: "second opinion".to_owned(),
        agent: choice("gemini", Some("pro")),
        advisory: false,
        again: again.map(str::to_owned),
        transcript: "t/review".to_owned(),
        output: Output::GeminiJson,
    })
}

pub(crate) fn review_finished(result: ReviewResult, retrying: bool) -> Event {
    Event::ReviewFinished(ReviewFinished {
        story: id("2"),
        attempt: Some(AttemptNumber(3)),
        review: "second opinion".to_owned(),
        result,
        retrying,
        duration_ms: 20_000,
        usage: usage(9_000, 0.02),
        prices: None,
    })
}

fn end(script: &mut Script) {
    script
        .then(
            0,
            Event::StorySkipped {
                story: id("3"),
                title: "Metrics".to_owned(),
                reason: "all of its tasks are deferred".to_owned(),
                waits_for: None,
            },
        )
        .asked(Request::Skip)
        .asked(Request::Stop)
        .asked(Request::StopNow)
        .then(1, ended(Outcome::AllDone, 2))
        .then(
            0,
            Event::FinishFailed(FinishFailed {
                choice: FinishChoice::Cleanup,
                reason: "could not finish the run: disk full".to_owned(),
                hint: "free some space".to_owned(),
                begun: false,
            }),
        )
        .then(
            0,
            Event::Finished(Finished {
                choice: FinishChoice::Keep,
                head: "ralph/add-retry".to_owned(),
                branch: "ralph/add-retry".to_owned(),
                changed_files: 9,
            }),
        );
}
