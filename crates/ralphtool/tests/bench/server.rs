//! The server: HTTP on a loopback port, for the time of the test.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::answer::{Answer, Event, INPUT_TOKENS, OUTPUT_TOKENS};
use super::play::{Play, Script, Served};
use super::request::{Api, Request};
use super::script::{Moment, Refusal, Step, Turn};
use super::{errors, limit};

/// What ends a stream of Chat Completions, which is no JSON.
pub(crate) const DONE: &str = "[DONE]";
/// How long a test waits for a request: an agent that starts on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(120);

type Body = Either<Full<Bytes>, Channel<Bytes, Cut>>;
type Response = hyper::Response<Body>;

/// The connection is to be cut.
#[derive(Debug, thiserror::Error)]
#[error("cut by the script")]
struct Cut;

/// What the server and the test look at together.
#[derive(Debug)]
struct Stage {
    play: Mutex<(Play, Vec<Served>)>,
    changed: Condvar,
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, (Play, Vec<Served>)> {
        self.play.lock().unwrap()
    }
}

/// A scripted model on a loopback port; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    stage: Arc<Stage>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to play the scripts.
    pub(crate) fn start(scripts: Vec<Script>) -> Self {
        let stage = Arc::new(Stage {
            play: Mutex::new((Play::new(scripts), Vec::new())),
            changed: Condvar::new(),
        });
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&stage);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = accept(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            port,
            stage,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Its address, without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that was asked so far, without what is in no script.
    pub(crate) fn served(&self) -> Vec<Served> {
        let stage = self.stage.lock();
        let scripted = stage.1.iter().filter(|served| !served.word.is_empty());
        scripted.cloned().collect()
    }

    /// How many agent processes came for a script.
    pub(crate) fn attempts(&self, word: &str) -> usize {
        let served = self.served().into_iter();
        let of_script = served.filter(|served| served.word == word);
        of_script.map(|served| served.attempt).max().unwrap_or(0)
    }

    /// The tokens of all questions and answers so far, without what is in no script.
    pub(crate) fn tokens(&self) -> (usize, usize) {
        let served = self.served();
        let answered = served.iter().filter(|served| served.is_answered).count();
        (answered * INPUT_TOKENS, answered * OUTPUT_TOKENS)
    }

    /// Waits until a step of an attempt was asked for.
    #[track_caller]
    pub(crate) fn wait_for(&self, word: &str, attempt: usize, step: usize) {
        let is_it = |served: &Served| {
            (served.word.as_str(), served.attempt, served.step) == (word, attempt, step)
        };
        let stage = self.stage.lock();
        let (stage, waited) = self
            .stage
            .changed
            .wait_timeout_while(stage, PATIENCE, |stage| !stage.1.iter().any(is_it))
            .unwrap();
        let in_vain = waited.timed_out();
        assert!(
            !in_vain,
            "no step {step} of {word} {attempt}: {:?}",
            stage.1
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, stage: Arc<Stage>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        tokio::spawn(converse(stream, Arc::clone(&stage)));
    }
}

async fn converse(stream: TcpStream, stage: Arc<Stage>) {
    let service = service_fn(|request| answer(request, &stage));
    // A client that closes the connection, or is refused, is no error.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(request: hyper::Request<Incoming>, stage: &Stage) -> Result<Response, Cut> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    let path = head.uri.path();
    let Some(api) = api(&head.method, path) else {
        return Ok(besides(path, body.len()));
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let request = Request::read(api, path, &head.headers, &body);
    let step = {
        let mut stage = stage.lock();
        let (served, step) = stage.0.next(&request);
        stage.1.push(served);
        step
    };
    stage.changed.notify_all();
    match step {
        Step::Say(turn) => Ok(say(api, &turn, &request)),
        Step::Refuse(refusal) => Ok(refuse(api, &refusal)),
        Step::Limit { ends_in } => Ok(refuse(api, &limit::refusal(api, ends_in))),
        Step::Hang(Moment::BeforeHeaders) => std::future::pending().await,
        Step::Drop(Moment::BeforeHeaders) => Err(Cut),
        Step::Hang(moment) => Ok(broken(api, &request, moment, Afterwards::Nothing)),
        Step::Drop(moment) => Ok(broken(api, &request, moment, Afterwards::Cut)),
    }
}

/// The API a call is for.
fn api(method: &Method, path: &str) -> Option<Api> {
    if method != Method::POST {
        return None;
    }
    let ends = |end: &str| path.ends_with(end);
    if ends("/messages") {
        Some(Api::Anthropic)
    } else if ends("/responses") {
        Some(Api::Responses)
    } else if ends("/chat/completions") {
        Some(Api::Chat)
    } else if ends(":generateContent") || ends(":streamGenerateContent") {
        Some(Api::Gemini)
    } else {
        None
    }
}

/// What is asked besides answers of a model.
fn besides(path: &str, size: usize) -> Response {
    let (status, body) = match path {
        _ if path.ends_with("/count_tokens") => (200, json!({ "input_tokens": size / 4 })),
        _ if path.ends_with(":countTokens") => (200, json!({ "totalTokens": size / 4 })),
        _ if path.ends_with("/models") => {
            (200, json!({ "object": "list", "data": [], "models": [] }))
        }
        _ => (404, json!({ "error": { "message": "no such path" } })),
    };
    whole(StatusCode::from_u16(status).unwrap(), &body)
}

fn say(api: Api, turn: &Turn, request: &Request) -> Response {
    let answer = Answer::new(turn, request);
    if !request.stream {
        return whole(StatusCode::OK, &answer.whole(api));
    }
    let text: String = answer.events(api).iter().map(event_text).collect();
    let mut response = hyper::Response::new(Either::Left(Full::new(text.into())));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, EVENT_STREAM.clone());
    response
}

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

fn refuse(api: Api, refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap();
    let mut response = whole(status, &errors::body(api, refusal));
    for (name, value) in &refusal.headers {
        let value = HeaderValue::from_str(value).unwrap();
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, value);
    }
    response
}

/// What comes after the part of an answer that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    Nothing,
    Cut,
}

/// An answer that breaks off.
fn broken(api: Api, request: &Request, moment: Moment, afterwards: Afterwards) -> Response {
    let (sender, body) = Channel::new(1);
    let part = match moment {
        Moment::MidStream => half(api, request),
        Moment::BeforeHeaders | Moment::AfterHeaders => Vec::new(),
    };
    tokio::spawn(send(sender, part, afterwards));
    let mut response = hyper::Response::new(Either::Right(body));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, EVENT_STREAM.clone());
    response
}

fn half(api: Api, request: &Request) -> Vec<Event> {
    let turn = Turn {
        text: "This answer breaks off in the middle of a sentence that".to_owned(),
        ..Turn::default()
    };
    let mut events = Answer::new(&turn, request).events(api);
    events.truncate(events.len() / 2);
    events
}

async fn send(mut sender: Sender<Bytes, Cut>, part: Vec<Event>, afterwards: Afterwards) {
    for event in part {
        if sender.send_data(event_text(&event).into()).await.is_err() {
            return;
        }
    }
    match afterwards {
        Afterwards::Cut => sender.abort(Cut),
        Afterwards::Nothing => std::future::pending().await,
    }
}

fn event_text((name, data): &Event) -> String {
    let name = name.map(|name| format!("event: {name}\n"));
    let data = match data {
        Value::String(text) => text.clone(),
        data => data.to_string(),
    };
    format!("{}data: {data}\n\n", name.unwrap_or_default())
}

fn whole(status: StatusCode, body: &Value) -> Response {
    let mut response = hyper::Response::new(Either::Left(Full::new(body.to_string().into())));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
