//! Shows the records of a run on a thread of its own, so that a slow terminal never holds up the
//! loop, and lets faces that show time draw again.

use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc::{Receiver, channel};

use crate::ui::Face;
use ralph_run::engine::Audience;
use ralph_run::records::event::Record;

/// How many times records may wait to be shown.
const WAITING: usize = 256;

/// How often a face may draw again.
const TICK: Duration = Duration::from_millis(100);

/// Starts showing; ends when the audience is dropped.
pub(super) fn start(face: Box<dyn Face + Send>) -> (Audience, JoinHandle<std::io::Result<()>>) {
    let (records, receiver) = channel(WAITING);
    let detail_level = face.detail_level();
    let shown = std::thread::spawn(move || show(face, receiver));
    let audience = Audience {
        records,
        detail_level,
    };
    (audience, shown)
}

fn show(
    mut face: Box<dyn Face + Send>,
    mut receiver: Receiver<Vec<Record>>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        loop {
            match tokio::time::timeout(TICK, receiver.recv()).await {
                Ok(Some(records)) => {
                    let now = Timestamp::now();
                    for record in &records {
                        face.show(record, now)?;
                    }
                    face.flush()?;
                }
                Ok(None) => return face.close(),
                Err(_elapsed) => face.tick(Timestamp::now())?,
            }
        }
    })
}
