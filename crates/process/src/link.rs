//! A supervisor as the program sees it: a child process and two pipes.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::protocol::{Reply, Request};
use crate::{Exit, server};

/// How long an idle supervisor may take to end.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// Supervisors that have nothing to supervise.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdleLinks(Arc<Mutex<Vec<Link>>>);

impl IdleLinks {
    pub(crate) fn keep(&self, link: Link) {
        self.lock().push(link);
    }

    pub(crate) fn take(&self) -> Option<Link> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Link>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A supervisor process and the pipes to it. It ends itself, with all its processes, once this is
/// dropped.
#[derive(Debug)]
pub(crate) struct Link {
    child: Child,
    requests: pipe::Sender,
    replies: pipe::Receiver,
    /// What was read of a reply that is not complete.
    partial: Vec<u8>,
}

impl Link {
    pub(crate) fn open(program: &Path) -> io::Result<Self> {
        let (requests_end, requests) = io::pipe()?;
        let (replies, replies_end) = io::pipe()?;
        let child = Command::new(program)
            .arg(server::WORD)
            .current_dir("/")
            .stdin(requests_end)
            .stdout(replies_end)
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            child,
            requests: pipe::Sender::from_owned_fd(requests.into())?,
            replies: pipe::Receiver::from_owned_fd(replies.into())?,
            partial: Vec::new(),
        })
    }

    /// The supervisor's process id.
    pub(crate) fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }

    /// Has a signal sent to the process. One that cannot be delivered is sent again later, or the
    /// supervisor is killed.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Ok(line) = line(&Request::Signal(signal.as_raw())) {
            // Whole or not at all: it is shorter than what a pipe takes at once.
            let _ = self.requests.try_write(&line);
        }
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a request, with the input that belongs to it, and waits for the reply.
    pub(crate) async fn ask(&mut self, request: &Request, input: &[u8]) -> io::Result<Reply> {
        self.requests.write_all(&line(request)?).await?;
        self.requests.write_all(input).await?;
        self.reply().await
    }

    /// Waits for the next reply. Cancel-safe.
    pub(crate) async fn reply(&mut self) -> io::Result<Reply> {
        loop {
            if let Some(reply) = self.try_reply() {
                return reply;
            }
            self.replies.readable().await?;
        }
    }

    /// The next reply, if it has come.
    pub(crate) fn try_reply(&mut self) -> Option<io::Result<Reply>> {
        let mut piece = [0; 4096];
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.partial) {
                let line: Vec<u8> = self.partial.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).map_err(io::Error::from));
            }
            match self.replies.try_read(&mut piece) {
                Ok(0) => return Some(Err(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.partial.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Kills a supervisor that does not react, which kills its process too (Linux).
    pub(crate) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// How the process of a supervisor ended that is gone: by the same signal. An exit code of the
    /// supervisor says nothing about the process.
    pub(crate) async fn exit(&mut self) -> Exit {
        self.kill();
        let status = self.child.wait().await.ok();
        let signal = status.and_then(|status| status.signal());
        signal.map_or(Exit::Unknown, Exit::Signal)
    }

    /// Lets an idle supervisor end, and returns when it is gone.
    pub(crate) async fn close(mut self) {
        drop(self.requests);
        if timeout(CLOSE_LIMIT, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

fn line(request: &Request) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    Ok(line)
}
