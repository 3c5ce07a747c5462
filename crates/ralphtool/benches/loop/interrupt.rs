//! Ctrl-C: ends what runs, and removes the folders as at any other end.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::Result;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on a signal to end is noted and does nothing else.
pub(crate) fn watch() -> Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        )
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        ASKED.store(true, Ordering::Relaxed);
    });
    Ok(())
}

/// Whether the end was asked for.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Ends with an error where the end was asked for.
pub(crate) fn check() -> Result<()> {
    if is_asked() {
        return Err("interrupted; nothing is left behind".into());
    }
    Ok(())
}
