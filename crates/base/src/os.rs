//! Small questions to the operating system about this very process.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The path under which this very program can be started again.
#[cfg(target_os = "linux")]
#[allow(
    clippy::unnecessary_wraps,
    reason = "other systems have to ask, which can fail"
)]
pub fn own_program() -> io::Result<PathBuf> {
    // Resolved in the child before it changes its image: right even if the file was replaced
    // meanwhile, as happens when an agent rebuilds this program.
    Ok(PathBuf::from("/proc/self/exe"))
}

/// The path under which this very program can be started again.
#[cfg(not(target_os = "linux"))]
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// When this program was started, or a moment before it was first asked.
pub fn started() -> SystemTime {
    static STARTED: OnceLock<SystemTime> = OnceLock::new();
    *STARTED.get_or_init(SystemTime::now)
}

/// How many threads can work at once. Asked once: the system has to read several files for it.
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// True if this process has all rights.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Lets the allocator keep memory that is freed and soon needed again. By default glibc returns it
/// to the system as soon as 128 kB are free, several times for each story. It raises that limit
/// to twice the size of the largest block that was ever freed.
pub fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)));
}

/// Names the time in which what is written to these folders can be read again, synced or not: from
/// one start of the machine, and one mount of the file systems, to the next. None where the system
/// cannot tell.
#[cfg(target_os = "linux")]
pub fn uptime(folders: &[PathBuf]) -> Option<String> {
    let mut name = boot()?;
    for folder in folders {
        name.push('/');
        name.push_str(&mount(folder)?.to_string());
    }
    Some(name)
}

/// Names the time from one start of the machine to the next.
#[cfg(target_os = "linux")]
pub fn boot() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned()).filter(|boot| !boot.is_empty())
}

/// The number of the mount a path is on.
#[cfg(target_os = "linux")]
fn mount(path: &std::path::Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    // Numbers that are never given out twice, where the kernel has them (STATX_MNT_ID_UNIQUE).
    let unique = StatxFlags::from_bits_retain(0x4000);
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID | unique).ok()?;
    Some(found.stx_mnt_id)
}

/// Names the time in which what is written to these folders can be read again, synced or not. None
/// where the system does not say.
#[cfg(not(target_os = "linux"))]
pub fn uptime(_folders: &[PathBuf]) -> Option<String> {
    None
}
