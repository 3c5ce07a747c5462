//! Shows the records of a run on a thread of its own, so that a slow terminal never holds up the
//! loop, and lets faces that show time draw again.

use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc::{Receiver, channel};

use crate::domain::event::Record;
use crate::engine::Audience;
use crate::ui::Face;

/// How many records may wait to be shown.
const WAITING: usize = 1024;

/// How many are shown before what was written must be seen.
const AT_ONCE: usize = 256;

/// How often a face may draw again.
const TICK: Duration = Duration::from_millis(100);

/// Starts showing; ends when the audience is dropped.
pub(super) fn start(face: Box<dyn Face + Send>) -> (Audience, JoinHandle<std::io::Result<()>>) {
    let (records, receiver) = channel(WAITING);
    let attention = face.attention();
    let shown = std::thread::spawn(move || show(face, receiver));
    (Audience { records, attention }, shown)
}

fn show(mut face: Box<dyn Face + Send>, mut receiver: Receiver<Record>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let mut waiting = Vec::with_capacity(AT_ONCE);
        loop {
            let received = receiver.recv_many(&mut waiting, AT_ONCE);
            match tokio::time::timeout(TICK, received).await {
                Ok(0) => return face.close(),
                Ok(_some) => {
                    let now = Timestamp::now();
                    for record in waiting.drain(..) {
                        face.show(&record, now)?;
                    }
                    face.flush()?;
                }
                Err(_elapsed) => face.tick(Timestamp::now())?,
            }
        }
    })
}
