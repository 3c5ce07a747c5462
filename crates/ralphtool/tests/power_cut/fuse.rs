//! The disk that records: a FUSE file system that is a single file, the image of a disk. It speaks
//! the kernel's protocol itself, so that nothing needs to be installed.
//!
//! Every write and every flush is appended to a log in the order in which it arrives. The kernel
//! reports a write as done only after the answer, and a loop device passes each flush of the file
//! system above as an fsync, so a flush in the log covers every write before it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::mount::MsFlags;
use rustix::io::Errno;

use super::cut::Event;

/// The longest write the kernel may send.
const MAX_WRITE: usize = 1 << 20;

/// The version of the protocol this speaks; the kernel adapts to it.
const VERSION: (u32, u32) = (7, 31);
const BIG_WRITES: u32 = 1 << 5;
const MAX_PAGES: u32 = 1 << 22;
/// Reads and writes bypass the page cache of the image file.
const DIRECT_IO: u32 = 1;
const PUNCH_HOLE: u32 = 2;
const ZERO_RANGE: u32 = 16;

/// The operations that are answered; see `fuse(4)` and `linux/fuse.h`.
mod operation {
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const SETATTR: u32 = 4;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const WRITE: u32 = 16;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FSYNC: u32 = 20;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const DESTROY: u32 = 38;
    pub(super) const BATCH_FORGET: u32 = 42;
    pub(super) const FALLOCATE: u32 = 43;
}

/// The content of the disk, and everything that was done to it.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) log: Vec<Event>,
}

/// A recorded disk that several threads look at.
#[derive(Clone, Default)]
pub(crate) struct Recorded(Arc<Mutex<Disk>>);

impl Recorded {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let log = Vec::new();
        Self(Arc::new(Mutex::new(Disk { bytes, log })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Mounts the disk as the given file, for the mount namespace of the calling thread, and serves
    /// it on a thread of its own until it is unmounted.
    ///
    /// This process must not use what is mounted on top: ended in the middle of such a call, it
    /// would wait for itself. Its children may.
    pub(crate) fn serve(&self, file: &Path) -> io::Result<()> {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/fuse")?;
        let options = format!(
            "fd={},rootmode=100600,user_id=0,group_id=0,max_read={MAX_WRITE}",
            device.as_raw_fd()
        );
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        nix::mount::mount(
            Some("power-cut"),
            file,
            Some("fuse"),
            flags,
            Some(options.as_str()),
        )?;
        let disk = self.clone();
        std::thread::spawn(move || disk.answer_all(device));
        Ok(())
    }

    fn answer_all(&self, mut device: File) {
        let mut buffer = vec![0; MAX_WRITE + 4096];
        loop {
            let length = match device.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => return,
                // A request that was interrupted before it was read.
                Err(_) => continue,
            };
            let request = Request(&buffer[..length]);
            let answer = self.answer(&request);
            let Some((error, body)) = answer else {
                continue;
            };
            let size = u32::try_from(16 + body.len()).unwrap_or(u32::MAX);
            let mut bytes = Vec::with_capacity(16 + body.len());
            bytes.extend(size.to_le_bytes());
            bytes.extend((-error).to_le_bytes());
            bytes.extend(request.unique().to_le_bytes());
            bytes.extend(body);
            // Fails where the request was interrupted meanwhile: then no answer is expected.
            let _ = device.write(&bytes);
        }
    }

    /// The error number and the body of an answer; none where the kernel expects none.
    fn answer(&self, request: &Request) -> Option<(i32, Vec<u8>)> {
        let mut disk = self.lock();
        let body = match request.operation() {
            operation::FORGET | operation::BATCH_FORGET | operation::INTERRUPT => return None,
            operation::INIT => init(),
            operation::GETATTR | operation::SETATTR => attributes(disk.bytes.len()),
            operation::OPEN => open(),
            operation::READ => disk.read(request.u64(8), request.u32(16)).to_vec(),
            operation::WRITE => {
                let bytes = request.rest(40).to_vec();
                let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                disk.write(request.u64(8), bytes);
                [size.to_le_bytes(), [0; 4]].concat()
            }
            operation::FALLOCATE if request.u32(24) & (PUNCH_HOLE | ZERO_RANGE) != 0 => {
                let length = usize::try_from(request.u64(16)).unwrap_or_default();
                disk.write(request.u64(8), vec![0; length]);
                Vec::new()
            }
            operation::FSYNC => {
                disk.log.push(Event::Flush);
                Vec::new()
            }
            operation::FLUSH | operation::RELEASE | operation::DESTROY => Vec::new(),
            _ => return Some((Errno::NOSYS.raw_os_error(), Vec::new())),
        };
        Some((0, body))
    }
}

impl Disk {
    fn read(&self, offset: u64, size: u32) -> &[u8] {
        let from = usize::try_from(offset).map_or(self.bytes.len(), |at| at.min(self.bytes.len()));
        let to = from.saturating_add(size as usize).min(self.bytes.len());
        &self.bytes[from..to]
    }

    fn write(&mut self, offset: u64, mut bytes: Vec<u8>) {
        let from = usize::try_from(offset).map_or(self.bytes.len(), |at| at.min(self.bytes.len()));
        bytes.truncate(self.bytes.len() - from);
        self.bytes[from..from + bytes.len()].copy_from_slice(&bytes);
        self.log.push(Event::Write { offset, bytes });
    }
}

/// A request of the kernel: a header of 40 bytes, then what the operation needs.
struct Request<'a>(&'a [u8]);

impl Request<'_> {
    fn operation(&self) -> u32 {
        little(&self.0[4..8])
    }

    fn unique(&self) -> u64 {
        wide(&self.0[8..16])
    }

    fn u32(&self, at: usize) -> u32 {
        little(&self.rest(at)[..4])
    }

    fn u64(&self, at: usize) -> u64 {
        wide(&self.rest(at)[..8])
    }

    fn rest(&self, at: usize) -> &[u8] {
        &self.0[40 + at..]
    }
}

fn little(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap_or_default())
}

fn wide(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap_or_default())
}

fn init() -> Vec<u8> {
    let mut body = Vec::new();
    let max_write = u32::try_from(MAX_WRITE).unwrap_or(u32::MAX);
    for field in [VERSION.0, VERSION.1, 0, BIG_WRITES | MAX_PAGES] {
        body.extend(field.to_le_bytes());
    }
    // Background requests: how many at once, and from how many on the kernel waits.
    body.extend([16_u16, 12].map(u16::to_le_bytes).concat());
    body.extend(max_write.to_le_bytes());
    body.extend(1_u32.to_le_bytes());
    body.extend(256_u16.to_le_bytes());
    body.resize(64, 0);
    body
}

/// A regular file of this size that is valid for an hour.
fn attributes(size: usize) -> Vec<u8> {
    let size = size as u64;
    let mut body = Vec::new();
    body.extend(3600_u64.to_le_bytes());
    body.extend([0; 8]);
    for field in [1, size, size / 512, 0, 0, 0] {
        body.extend(field.to_le_bytes());
    }
    for field in [0, 0, 0, 0o100_600, 1, 0, 0, 0, 4096, 0_u32] {
        body.extend(field.to_le_bytes());
    }
    body
}

fn open() -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(DIRECT_IO.to_le_bytes());
    body.extend([0; 4]);
    body
}
