//! One agent process and the reader of its stream, until nothing of it runs any more.

use std::time::Duration;

use super::Happened;
use crate::domain::agent_event::AgentEvent;
use crate::domain::dialect::{Dialect, Ended, StreamEnd, TurnEnd};
use crate::domain::machine::{AgentEnd, AgentExit, Input, Ticket};
use crate::edge::process::{Ending, Exit, ProcessEvent, RunningProcess};

/// What an agent leaves running may end by itself for this long after it.
const LEAK_GRACE: Duration = Duration::from_millis(300);

/// How much of the agent's last line is kept.
const LINE_CHARS: usize = 200;

/// A running agent.
pub(super) struct AgentRun {
    ticket: Ticket,
    process: RunningProcess,
    dialect: Box<dyn Dialect>,
    last_line: Option<String>,
    stopped: bool,
}

impl AgentRun {
    /// Takes charge of an agent that was just started.
    pub(super) fn new(ticket: Ticket, process: RunningProcess, dialect: Box<dyn Dialect>) -> Self {
        Self {
            ticket,
            process,
            dialect,
            last_line: None,
            stopped: false,
        }
    }

    /// Asks the agent to end; without grace it is pressed at once.
    pub(super) fn stop(&mut self, grace: Duration) {
        self.stopped = true;
        if grace.is_zero() {
            self.process.kill_now();
        } else {
            self.process.request_stop(grace);
        }
    }

    /// The input that says the agent is at work, whatever it printed.
    pub(super) const fn woken(&self) -> Input {
        Input::AgentActive {
            ticket: self.ticket,
        }
    }

    /// Waits for what the agent does next. Cancel-safe.
    pub(super) async fn next(&mut self) -> Happened {
        match self.process.next().await {
            ProcessEvent::Activity => Happened::Inputs(vec![Input::AgentActive {
                ticket: self.ticket,
            }]),
            ProcessEvent::Line(line) => {
                let events = self.dialect.line(&line.bytes, line.truncated);
                Happened::Inputs(self.inputs(events))
            }
            ProcessEvent::Complaint(line) => {
                let events = self.dialect.complaint(&line.bytes);
                Happened::Inputs(self.inputs(events))
            }
            ProcessEvent::Exited(_) => Happened::Ended,
        }
    }

    fn inputs(&mut self, events: Vec<AgentEvent>) -> Vec<Input> {
        let ticket = self.ticket;
        let mut inputs = Vec::with_capacity(events.len() + 1);
        if events.is_empty() {
            inputs.push(Input::AgentActive { ticket });
        }
        for event in last_figures_last(events) {
            if let AgentEvent::Text { text } = &event {
                self.last_line = last_line(text).or(self.last_line.take());
            }
            let is_final = matches!(event, AgentEvent::Final { .. });
            inputs.push(Input::AgentSaid { ticket, event });
            if is_final {
                inputs.push(Input::AgentFinal { ticket });
            }
        }
        inputs
    }

    /// Ends what the agent left running and sums it up.
    pub(super) async fn finish(self: Box<Self>) -> Vec<Input> {
        let mut this = *self;
        let ending = this.process.finish(LEAK_GRACE).await;
        let last = this.dialect.end(&Ended {
            code: match ending.exit {
                Exit::Code(code) if !this.stopped => Some(code),
                _ => None,
            },
            stderr: &ending.stderr_tail,
        });
        let mut inputs: Vec<Input> = last
            .into_iter()
            .map(|event| Input::AgentSaid {
                ticket: this.ticket,
                event,
            })
            .collect();
        let stream = this.dialect.verdict();
        inputs.push(Input::AgentEnded {
            ticket: this.ticket,
            end: Box::new(AgentEnd {
                last_line: this.last_line,
                ..sum_up(stream, ending, this.stopped)
            }),
        });
        inputs
    }
}

/// What an agent used is the last thing heard of its final line: a budget that is used up by then
/// must not end an agent that is done.
fn last_figures_last(mut events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let has_final = events
        .iter()
        .any(|event| matches!(event, AgentEvent::Final { .. }));
    if has_final {
        events.sort_by_key(|event| matches!(event, AgentEvent::Usage { .. }));
    }
    events
}

fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(LINE_CHARS).collect())
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
        limit: stream.limit,
        auth: stream.auth,
        overflow: stream.overflow,
        last_words: stream.error.unwrap_or(ending.stderr_tail),
        last_line: None,
        swept: ending.swept.ended,
        still_running: ending.swept.survivors,
        usage: (stream.usage != crate::domain::agent_event::Usage::default())
            .then_some(stream.usage),
    }
}
