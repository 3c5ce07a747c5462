//! The pipes of a git process: input is written while both outputs are read, so that neither side
//! can block the other.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Both outputs of a process, up to `most` bytes of the first; none if it still writes at the
/// deadline.
pub(super) fn converse(
    child: &mut Child,
    input: &[u8],
    most: u64,
    deadline: Instant,
) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut stdin = child.stdin.take().map(|pipe| Input { pipe, left: input });
    let mut stdout = Output::new(child.stdout.take(), most)?;
    let mut stderr = Output::new(child.stderr.take(), u64::MAX)?;
    if let Some(input) = &stdin {
        do_not_block(&input.pipe)?;
    }
    if input.is_empty() {
        stdin = None;
    }
    while stdin.is_some() || stdout.pipe.is_some() || stderr.pipe.is_some() {
        let mut waiting: Vec<PollFd<'_>> = Vec::with_capacity(3);
        waiting.extend(stdin.iter().map(|it| PollFd::new(&it.pipe, PollFlags::OUT)));
        waiting.extend(
            stdout
                .pipe
                .iter()
                .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
        waiting.extend(
            stderr
                .pipe
                .iter()
                .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let left = Timespec::try_from(left).ok();
        match poll(&mut waiting, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(input) = &mut stdin
            && input.write()?
        {
            stdin = None;
        }
        stdout.read()?;
        stderr.read()?;
    }
    Ok(Some((stdout.bytes, stderr.bytes)))
}

struct Input<'a> {
    pipe: ChildStdin,
    left: &'a [u8],
}

impl Input<'_> {
    /// Writes what fits into the pipe; true once there is nothing left to write.
    fn write(&mut self) -> io::Result<bool> {
        while !self.left.is_empty() {
            match self.pipe.write(self.left) {
                Ok(written) => self.left = &self.left[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Git may end without reading everything; its exit code tells.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// An output of the process; the pipe is closed at its end, and where enough was read.
struct Output<P> {
    pipe: Option<P>,
    bytes: Vec<u8>,
    most: u64,
}

impl<P: Read + AsFd> Output<P> {
    fn new(pipe: Option<P>, most: u64) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            do_not_block(pipe)?;
        }
        Ok(Self {
            pipe,
            bytes: Vec::new(),
            most,
        })
    }

    /// Reads what is there.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(());
        };
        let room = self.most - self.bytes.len() as u64;
        match pipe.take(room).read_to_end(&mut self.bytes) {
            // Closed where there is more than asked for, which ends git.
            Ok(_) => self.pipe = None,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn do_not_block(pipe: &impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(pipe)?;
    fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?;
    Ok(())
}
