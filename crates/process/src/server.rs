//! What the supervisor process does: start processes on request, report their ends, end what they
//! leave behind.
//!
//! It adopts and reaps every process that its children orphan (Linux), whatever session or
//! environment that has, so all that comes of a process descends from the supervisor. When the
//! program that started it dies, its request pipe closes, and the supervisor ends its descendants
//! and itself. Called as `PROGRAM __supervise` with pipes for input and output; not for people.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::Exit;
use crate::protocol::{Reply, Request};
use crate::spawn::{Spawned, spawn};
use crate::sweep::{self, Patience};

/// The hidden argument that asks for the supervisor.
pub(crate) const WORD: &str = "__supervise";

/// Serves the program at the other end of the pipes until it closes them.
pub(crate) fn run() -> ExitCode {
    // Away from the terminal: what is typed there is meant for the program. Fails only for a
    // process that already leads its group.
    let _ = rustix::process::setsid();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime.and_then(|runtime| runtime.block_on(serve())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

async fn serve() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    // Where the kernel refuses it, what is orphaned is only found at the next start.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // Requests to end are ignored: a user who ends all processes gives the program time to end its
    // own, and this one ends after it.
    let _ignored = [
        signal(SignalKind::hangup())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    ];
    let mut child_ended = signal(SignalKind::child())?;
    let mut requests = requests()?;
    let mut process = Process::default();
    loop {
        tokio::select! {
            request = requests.recv() => match request {
                Some((request, stdin)) => process.handle(request, &stdin).await,
                None => break,
            },
            _ = child_ended.recv() => {}
        }
        process.reap();
    }
    process.kill().await;
    Ok(())
}

/// Requests, each with the input that follows it, until the pipe closes.
fn requests() -> io::Result<mpsc::Receiver<(Request, Vec<u8>)>> {
    let pipe = io::stdin().as_fd().try_clone_to_owned()?;
    let mut pipe = BufReader::new(pipe::Receiver::from_owned_fd(pipe)?);
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).await? > 0 {
            // A line that the death of the program cut off says nothing.
            let request: Request = serde_json::from_slice(&line)?;
            let mut stdin = Vec::new();
            if let Request::Start(start) = &request {
                stdin.resize(start.stdin_length, 0);
                pipe.read_exact(&mut stdin).await?;
            }
            if sender.send((request, stdin)).await.is_err() {
                break;
            }
            line.clear();
        }
        io::Result::Ok(())
    });
    Ok(receiver)
}

/// The process that was started last.
#[derive(Debug, Default)]
struct Process {
    /// Leads its session and group.
    leader: Option<Pid>,
    /// It has not been waited for, so its id is still its own.
    is_running: bool,
}

impl Process {
    async fn handle(&mut self, request: Request, stdin: &[u8]) {
        match request {
            Request::Start(start) => match spawn(&start, stdin) {
                Ok(Spawned::Running(pid)) => {
                    self.leader = Some(pid);
                    self.is_running = true;
                    let pid = pid.as_raw_nonzero().get();
                    send(&Reply::Started { pid: Some(pid) });
                }
                Ok(Spawned::NotRun { code }) => {
                    *self = Self::default();
                    send(&Reply::Started { pid: None });
                    send(&Reply::Exited {
                        exit: Exit::Code(code),
                        has_leftovers: false,
                    });
                }
                Err(error) => send(&Reply::NotStarted {
                    reason: error.to_string(),
                }),
            },
            Request::Signal(number) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    self.signal(signal);
                }
            }
            Request::Sweep(patience) => {
                let swept = sweep::end_descendants(self.leader, patience).await;
                send(&Reply::Swept(swept));
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let Some(leader) = self.leader.filter(|_| self.is_running) else {
            return;
        };
        // It fails only for a group that has ended meanwhile.
        let _ = kill_process_group(leader, signal);
    }

    /// Waits for all children that have ended, adopted ones too; reports the end of the process.
    fn reap(&mut self) {
        let mut exit = None;
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if Some(pid) == self.leader && self.is_running {
                self.is_running = false;
                exit = Some(exit_of(status));
            }
        }
        if let Some(exit) = exit {
            let has_leftovers = sweep::has_descendants(self.leader);
            send(&Reply::Exited {
                exit,
                has_leftovers,
            });
        }
    }

    /// Ends the process without grace, as the kernel would, and then all that came of it.
    async fn kill(&self) {
        self.signal(Signal::KILL);
        sweep::end_descendants(self.leader, Patience::USUAL).await;
    }
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

fn send(reply: &Reply) {
    // A program that does not read replies has died, which closes the pipe of requests too.
    if let Ok(mut line) = serde_json::to_vec(reply) {
        line.push(b'\n');
        let mut pipe = io::stdout().lock();
        let _ = pipe.write_all(&line).and_then(|()| pipe.flush());
    }
}
