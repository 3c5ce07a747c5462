//! Small questions to the operating system about this very process.

use std::io;
use std::path::PathBuf;

/// The path under which this very program can be started again.
#[cfg(target_os = "linux")]
#[allow(
    clippy::unnecessary_wraps,
    reason = "other systems have to ask, which can fail"
)]
pub(crate) fn own_program() -> io::Result<PathBuf> {
    // Resolved in the child before it changes its image: right even if the file was replaced
    // meanwhile, as happens when an agent rebuilds this program.
    Ok(PathBuf::from("/proc/self/exe"))
}

/// The path under which this very program can be started again.
#[cfg(not(target_os = "linux"))]
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// True if this process has all rights.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes orphaned descendants children of this process, where the system can do that.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Makes orphaned descendants children of this process, where the system can do that.
#[cfg(not(target_os = "linux"))]
#[allow(
    clippy::unnecessary_wraps,
    reason = "the same signature on every system"
)]
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}
