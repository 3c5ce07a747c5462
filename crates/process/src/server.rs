//! What the supervisor process does: start processes on request, report their ends, end what they
//! leave behind.
//!
//! It adopts and reaps every process that its children orphan (Linux), whatever session or
//! environment that has, so all that comes of a process descends from the supervisor. When the
//! program that started it dies, its request pipe closes, and the supervisor ends its descendants
//! and itself. Called as `PROGRAM __supervise` with pipes for input and output; not for people.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::protocol::{Reply, Request, Start};
use crate::sweep::{self, Patience};
use crate::{EnvChange, Exit, guard};

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
                Ok(pid) => {
                    self.leader = Some(pid);
                    self.is_running = true;
                    let pid = pid.as_raw_nonzero().get();
                    send(&Reply::Started { pid });
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
        // Before the guard has made its group there is only the process itself.
        if kill_process_group(leader, signal).is_err() {
            let _ = kill_process(leader, signal);
        }
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

fn spawn(start: &Start, stdin: &[u8]) -> io::Result<Pid> {
    let stdout = open_output(start.stdout.as_ref())?;
    let stderr = match &start.stderr {
        Some(path) => open_output(path.as_ref())?,
        None => stdout.try_clone()?,
    };
    let mut command = guard::command(&start.program)?;
    for change in &start.env {
        match change {
            EnvChange::Set(name, value) => command.env(name, value),
            EnvChange::Remove(name) => command.env_remove(name),
        };
    }
    let child = command
        .args(&start.args)
        .current_dir(&start.cwd)
        .stdin(input_file(stdin)?)
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("it has no process id"))
}

/// Input comes from an unnamed file: no writer is needed, and it may be left unread.
fn input_file(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = unnamed_file()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

/// In memory: a file on disk that is gone at once makes ext4 slower at creating the next ones.
#[cfg(target_os = "linux")]
fn unnamed_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("stdin", MemfdFlags::CLOEXEC)?.into())
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Opens a private file to add output to.
pub(crate) fn open_output(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}
