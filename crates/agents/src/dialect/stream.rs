//! What every reader of a JSON stream has in common: the state of the stream, and the loop that
//! turns lines into events. What a line means is the parser's business, one for each agent.

use std::fmt::Debug;

use serde_json::Value;

use super::json::{last_lines, short, size};
use super::tool_input;
use super::trouble::Trouble;
use super::words::Words;
use super::{ProcessEnd, StreamEnd, StreamReader, TurnEnd};
use crate::agent_event::{AgentEvent, EventSink, TEXT_CAP, Usage, as_text, event_text, start_of};
use crate::promise::PromiseScanner;

/// How much of a line that is not understood is shown.
const UNKNOWN_CAP: usize = 200;

/// A line that is no JSON object of a known shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line is not understood")]
pub(crate) struct NotUnderstood;

/// The meaning of one agent's lines.
pub(crate) trait Parser: Clone + Debug + Send + 'static {
    /// Reports what a line means.
    fn line(&mut self, line: &Value, stream: &mut StreamState) -> Result<(), NotUnderstood>;

    /// Reports what a line of standard error means.
    fn stderr_line(&mut self, _line: &str, _stream: &mut StreamState) {}

    /// Reports what the end of the process means.
    fn end(&mut self, _ended: &ProcessEnd<'_>, _stream: &mut StreamState) {}
}

/// Reads a stream of JSON objects, one per line.
#[derive(Debug, Clone, Default)]
pub(crate) struct JsonReader<P> {
    parser: P,
    stream: StreamState,
}

impl<P: Parser> JsonReader<P> {
    /// A reader for the start of a stream.
    pub(crate) fn new(parser: P) -> Self {
        Self {
            parser,
            stream: StreamState::default(),
        }
    }

    fn parse(&mut self, line: &[u8]) -> Result<(), NotUnderstood> {
        let line: Value = serde_json::from_str(&as_text(line)).map_err(|_| NotUnderstood)?;
        self.parser.line(&line, &mut self.stream)
    }
}

impl<P: Parser> StreamReader for JsonReader<P> {
    fn read(&mut self, line: &[u8], truncated: bool, sink: &mut dyn EventSink) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if truncated || self.parse(line).is_err() {
            self.stream.events.push(unknown(line));
        }
        for event in self.stream.events.drain(..) {
            sink.push(event);
        }
    }

    fn stderr_line(&mut self, line: &[u8]) -> Vec<AgentEvent> {
        self.parser.stderr_line(&as_text(line), &mut self.stream);
        std::mem::take(&mut self.stream.events)
    }

    fn set_folder(&mut self, folder: &str) {
        folder.clone_into(&mut self.stream.folder);
    }

    fn set_earlier_usage(&mut self, earlier: Usage) {
        self.stream.earlier = earlier;
    }

    fn keep_words(&mut self) {
        self.stream.words.keep();
    }

    fn end(&mut self, ended: &ProcessEnd<'_>) -> Vec<AgentEvent> {
        self.stream.end_line();
        self.parser.end(ended, &mut self.stream);
        std::mem::take(&mut self.stream.events)
    }

    fn verdict(&self) -> StreamEnd {
        self.stream.verdict()
    }

    fn fork(&self) -> Box<dyn StreamReader + Send> {
        Box::new(self.clone())
    }
}

/// What is known of a stream so far, and the events of the line that is being read.
///
/// Its methods keep the two consistent: every report ends a line of text that arrived in
/// pieces, and a tool call of the main agent voids what it promised before.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamState {
    /// The folder the agent works in; files are named as seen from there.
    pub folder: String,
    pub session: Option<String>,
    pub turn: TurnEnd,
    /// Why the turn cannot continue, as far as it is known.
    pub trouble: Option<Trouble>,
    /// What this process used.
    pub usage: Usage,
    /// What earlier processes of the session used.
    pub earlier: Usage,
    /// The agent said or did something.
    began: bool,
    promise: PromiseScanner,
    words: Words,
    /// The start of a line of text whose end has not arrived.
    line: String,
    events: Vec<AgentEvent>,
}

impl StreamState {
    /// Reports an event.
    pub(crate) fn push(&mut self, event: AgentEvent) {
        self.end_line();
        self.events.push(event);
    }

    /// The agent's session began, with a model where the line names one.
    pub(crate) fn begin_session(&mut self, id: &Value, model: &Value) {
        self.set_session(id);
        self.began = true;
        let id = short(id).to_owned();
        let model = Some(short(model).to_owned()).filter(|model| !model.is_empty());
        self.events.push(AgentEvent::Session { id, model });
    }

    /// The agent's session has this id. It becomes an argument of the agent, which must not take it
    /// for a flag.
    pub(crate) fn set_session(&mut self, id: &Value) {
        let id = short(id);
        if !id.is_empty() && !id.starts_with('-') {
            self.session = Some(id.to_owned());
        }
    }

    /// The agent works: its turn is not over, and what it waited for is.
    pub(crate) fn resume(&mut self) {
        self.turn = TurnEnd::Open;
        self.trouble = None;
    }

    /// The main agent said a whole block of text.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.began = true;
            self.promise.feed(text);
            self.promise.feed("\n");
            self.words.add(text);
            self.words.add("\n");
            self.push(AgentEvent::text(text));
        }
    }

    /// The main agent said a piece of text, which may end anywhere; whole lines are reported.
    pub(crate) fn text_piece(&mut self, piece: &str) {
        self.began = true;
        self.promise.feed(piece);
        self.words.add(piece);
        let mut rest = piece;
        while let Some((end, next)) = rest.split_once('\n') {
            self.extend_line(end);
            self.report_line();
            rest = next;
        }
        self.extend_line(rest);
    }

    /// The main agent showed its reasoning.
    pub(crate) fn thinking(&mut self, text: &str) {
        if !text.is_empty() {
            self.began = true;
            let text = event_text(text);
            self.push(AgentEvent::Thinking { text });
        }
    }

    /// The main agent called a tool.
    pub(crate) fn tool_call(&mut self, tool: &Value, input: &Value) {
        self.forget_promise();
        self.sub_agent_tool_call(tool, input);
    }

    /// A sub-agent called a tool.
    pub(crate) fn sub_agent_tool_call(&mut self, tool: &Value, input: &Value) {
        self.began = true;
        let tool = short(tool).to_owned();
        let summary = tool_input::summary(input, &self.folder);
        self.push(AgentEvent::ToolCall { tool, summary });
    }

    /// A tool answered with what these values hold.
    pub(crate) fn tool_result(&mut self, answer: &[&Value], is_error: bool) {
        self.push(AgentEvent::ToolResult {
            bytes: answer.iter().map(|value| size(value)).sum(),
            is_error,
            tail: last_lines(answer),
        });
    }

    /// The agent used this much so far.
    pub(crate) fn set_usage(&mut self, usage: Usage) {
        self.usage = usage;
        self.push(AgentEvent::usage(usage));
    }

    /// The whole session used this much so far, in this process and in earlier ones.
    pub(crate) fn set_session_usage(&mut self, total: Usage) {
        self.set_usage(total.since(&self.earlier));
    }

    /// The agent used this much more.
    pub(crate) fn add_usage(&mut self, usage: &Usage) {
        if usage.total_tokens() > 0 {
            self.usage.add(usage);
            self.push(AgentEvent::usage(self.usage));
        }
    }

    /// The agent reported an error that does not end its turn.
    pub(crate) fn error(&mut self, message: &str) {
        let message = event_text(message);
        self.push(AgentEvent::Error { message });
    }

    /// The agent waits and tries again by itself. This may come by standard error in the middle
    /// of a line of text, which it does not end.
    pub(crate) fn retrying(&mut self, message: impl Into<String>) {
        let message = message.into();
        self.events.push(AgentEvent::Retrying { message });
    }

    /// The agent waits because of this, until it reports something else. Only a limit is worth
    /// remembering: the next try may well repair anything else.
    pub(crate) fn waits_for(&mut self, trouble: Trouble) {
        if self.turn == TurnEnd::Open {
            self.trouble = Some(trouble).filter(|it| matches!(it, Trouble::Limit(_)));
        }
    }

    /// The turn cannot continue.
    pub(crate) fn fail(&mut self, trouble: Trouble) {
        self.push(trouble.event());
        self.trouble = Some(trouble);
    }

    /// The turn is over. Usage must be reported after this, not before: a budget that is used up
    /// by then must not stop an agent that is done.
    pub(crate) fn finish(&mut self, is_error: bool) {
        if is_error {
            self.turn = TurnEnd::EndedWithError;
        } else {
            self.turn = TurnEnd::Ended;
            self.trouble = None;
        }
        self.push(AgentEvent::Final { is_error });
    }

    /// Whether the text since the last tool call has a promise.
    pub(crate) fn has_promise(&self) -> bool {
        self.promise.found().is_some()
    }

    /// What the agent promised so far is void.
    pub(crate) fn forget_promise(&mut self) {
        self.promise = PromiseScanner::default();
    }

    /// The agent's final message is this one; promises in earlier text do not count.
    pub(crate) fn set_final_text(&mut self, text: &str) {
        self.forget_promise();
        self.promise.feed(text);
        self.words.add("\n");
        self.words.add(text);
    }

    /// Reports a line of text whose end has not arrived.
    pub(crate) fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.report_line();
        }
    }

    fn extend_line(&mut self, piece: &str) {
        // What does not fit into an event need not be kept.
        let room = (TEXT_CAP + 8).saturating_sub(self.line.len());
        self.line.push_str(start_of(piece, room));
    }

    fn report_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.events.push(AgentEvent::text(line.trim_end()));
    }

    fn verdict(&self) -> StreamEnd {
        StreamEnd {
            promise: self.promise.found(),
            turn: self.turn,
            trouble: self.trouble.clone(),
            usage: self.usage,
            session: self.session.clone(),
            began: self.began,
            words: self.words.kept(),
        }
    }
}

fn unknown(line: &[u8]) -> AgentEvent {
    let start = &line[..line.len().min(UNKNOWN_CAP + 4)];
    AgentEvent::Unknown {
        line: start_of(&as_text(start), UNKNOWN_CAP).to_owned(),
    }
}
