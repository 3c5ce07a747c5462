//! One agent process and the reader of its stream, until nothing of it runs any more.

use std::time::Duration;

use super::{Happened, LEAK_GRACE, stop};
use crate::machine::{AgentEnd, AgentExit, Answer, Input, Ticket};
use ralph_agents::agent_event::{AgentEvent, EventSink as _, Usage, first_chars};
use ralph_agents::dialect::{ProcessEnd, StreamEnd, StreamReader, TurnEnd};
use ralph_agents::event_batch::EventBatch;
use ralph_process::{Ending, Exit, OutputLine, ProcessEvent, RunningProcess};

/// How much of the agent's last line is kept.
const LINE_CHARS: usize = 200;

/// A running agent.
pub(super) struct AgentRun {
    ticket: Ticket,
    process: RunningProcess,
    reader: Box<dyn StreamReader>,
    batch: EventBatch,
    last_line: Option<String>,
    stopped: bool,
    resumable: Resumable,
}

/// Whether the session of an agent can be continued.
#[derive(Debug)]
pub(super) enum Resumable {
    /// The agent cannot do that.
    No,
    /// With this id.
    With(String),
    /// With the id that its stream reports.
    AsReported,
}

impl Resumable {
    fn id(self, reported: Option<&String>) -> Option<String> {
        match self {
            Self::No => None,
            Self::With(id) => Some(id),
            Self::AsReported => reported.cloned(),
        }
    }
}

impl AgentRun {
    /// Takes charge of an agent that was just started, and listens to it.
    pub(super) fn new(
        ticket: Ticket,
        process: RunningProcess,
        reader: Box<dyn StreamReader>,
        batch: EventBatch,
        resumable: Resumable,
    ) -> Self {
        Self {
            ticket,
            process,
            reader,
            batch,
            last_line: None,
            stopped: false,
            resumable,
        }
    }

    /// Asks the agent to end; without grace it is killed.
    pub(super) fn stop(&mut self, grace: Duration) {
        self.stopped = true;
        stop(&mut self.process, grace);
    }

    /// The input that says the agent is at work, whatever it printed.
    pub(super) const fn woken(&self) -> Input {
        self.input(Answer::AgentActive)
    }

    const fn input(&self, answer: Answer) -> Input {
        let ticket = self.ticket;
        Input::Answer(ticket, answer)
    }

    /// Waits for what the agent does next. Cancel-safe.
    pub(super) async fn next(&mut self) -> Happened {
        let (reader, batch) = (&mut self.reader, &mut self.batch);
        let listen = |output: OutputLine<'_>| match output {
            OutputLine::Stdout(line) => reader.read(line.bytes, line.truncated, batch),
            OutputLine::Stderr(line) => {
                for event in reader.stderr_line(line.bytes) {
                    batch.push(event);
                }
            }
        };
        match self.process.next(listen).await {
            ProcessEvent::Wrote => Happened::Inputs(self.inputs()),
            ProcessEvent::Exited(_) => Happened::Ended,
        }
    }

    fn inputs(&mut self) -> Vec<Input> {
        let events = self.batch.take();
        if events.is_empty() {
            return vec![self.woken()];
        }
        let mut inputs = Vec::with_capacity(events.len() + 1);
        for event in events {
            if let AgentEvent::Text { text } = &event {
                self.last_line = last_line(text).or(self.last_line.take());
            }
            let is_final = matches!(event, AgentEvent::Final { .. });
            inputs.push(self.input(Answer::AgentSaid(event)));
            if is_final {
                inputs.push(self.input(Answer::AgentFinal));
            }
        }
        inputs
    }

    /// Ends what the agent left running and sums it up.
    pub(super) async fn finish(self: Box<Self>) -> Vec<Input> {
        let ticket = self.ticket;
        let AgentConclusion { last, end, .. } = self.conclude().await;
        let answers = last.into_iter().map(Answer::AgentSaid);
        let answers = answers.chain([Answer::AgentEnded(Box::new(end))]);
        answers
            .map(|answer| Input::Answer(ticket, answer))
            .collect()
    }

    /// The ticket that its end answers.
    pub(super) const fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Ends what the agent left running; what it said last, and what it comes to.
    pub(super) async fn conclude(self: Box<Self>) -> AgentConclusion {
        let mut this = *self;
        let ending = this.process.finish(LEAK_GRACE).await;
        let last = this.reader.end(&ProcessEnd {
            code: match ending.exit {
                Exit::Code(code) if !this.stopped => Some(code),
                _ => None,
            },
            stderr: &ending.stderr_tail,
        });
        let mut stream = this.reader.verdict();
        let words = std::mem::take(&mut stream.words);
        let end = AgentEnd {
            last_line: this.last_line,
            session: this.resumable.id(stream.session.as_ref()),
            ..sum_up(stream, ending, this.stopped)
        };
        AgentConclusion { last, end, words }
    }
}

/// An agent of which nothing runs any more.
pub(super) struct AgentConclusion {
    /// What it said after its output was read.
    pub(super) last: Vec<AgentEvent>,
    pub(super) end: AgentEnd,
    /// All that it said, where that is kept.
    pub(super) words: String,
}

fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(first_chars(line.trim(), LINE_CHARS).to_owned())
}

fn sum_up(stream: StreamEnd, ending: Ending, stopped: bool) -> AgentEnd {
    let exit = match ending.exit {
        _ if stopped => AgentExit::StoppedByUs,
        Exit::Code(code) => AgentExit::Code(code),
        Exit::Signal(signal) => AgentExit::Signal(signal),
        Exit::Unknown => AgentExit::Code(-1),
    };
    AgentEnd {
        exit,
        final_seen: stream.turn != TurnEnd::Open,
        is_error: stream.turn == TurnEnd::EndedWithError,
        promise: stream.promise,
        trouble: stream.trouble,
        last_words: ending.stderr_tail,
        last_line: None,
        swept: ending.swept.ended,
        still_running: ending.swept.survivors,
        session: None,
        began: stream.began,
        usage: (stream.usage != Usage::default()).then_some(stream.usage),
    }
}
