//! How often the tree is walked: one folder of the repository is watched, and the log, which every
//! agent writes at its end. Both report to the same queue, so that no event counts for the wrong gap.
//!
//! A folder that is opened twice at once counts once; access to files by name is not counted.

use std::path::Path;

use crate::Result;

/// Watches a folder and a log.
#[cfg(target_os = "linux")]
pub(crate) struct Walks {
    queue: rustix::fd::OwnedFd,
    folder: i32,
}

#[cfg(target_os = "linux")]
impl Walks {
    /// Begins to watch.
    pub(crate) fn watch(folder: &Path, log: &Path) -> Result<Self> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let queue = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        // Without the ends of them, walks that follow each other would be told as one.
        let walk = WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE | WatchFlags::ONLYDIR;
        let folder = add_watch(&queue, folder, walk)?;
        add_watch(&queue, log, WatchFlags::CLOSE_WRITE)?;
        Ok(Self { queue, folder })
    }

    /// Walks from the end of each agent, or from the start, to the end of the next.
    pub(crate) fn counted(self) -> Result<Vec<usize>> {
        use rustix::fs::inotify::{ReadFlags, Reader};
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(self.queue, &mut buffer);
        let mut counts = Vec::new();
        let mut walks = 0;
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(rustix::io::Errno::AGAIN) => return Ok(counts),
                Err(error) => return Err(error.into()),
            };
            let what = event.events();
            if event.wd() != self.folder {
                counts.push(std::mem::take(&mut walks));
            } else if what.contains(ReadFlags::OPEN | ReadFlags::ISDIR)
                && event.file_name().is_none()
            {
                walks += 1;
            }
        }
    }
}

/// Elsewhere nothing is known.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Walks;

#[cfg(not(target_os = "linux"))]
#[allow(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the same signatures on every system"
)]
impl Walks {
    /// Does nothing.
    pub(crate) fn watch(_folder: &Path, _log: &Path) -> Result<Self> {
        Ok(Self)
    }

    /// None.
    pub(crate) fn counted(self) -> Result<Vec<usize>> {
        Ok(Vec::new())
    }
}
