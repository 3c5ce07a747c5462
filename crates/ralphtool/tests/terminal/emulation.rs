//! The screen of a terminal, kept by a thread that reads what the program writes.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use super::PATIENCE;

/// The screen, and everything that waits for it to change.
pub(crate) struct Emulation {
    pane: Mutex<Pane>,
    changed: Condvar,
    writer: Mutex<Option<Box<dyn Write + Send>>>,
}

/// What was written so far and how it looks.
pub(crate) struct Pane {
    parser: vt100::Parser<Answers>,
    /// All that was written.
    pub(crate) bytes: Vec<u8>,
    /// Whether nothing more will be read.
    pub(crate) over: bool,
    /// Whether reading is to end with the next bytes.
    stopping: bool,
}

impl Pane {
    /// The screen as the parser has it.
    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// A line a row, without spaces at the ends.
    pub(crate) fn text(&self) -> String {
        let (_, cols) = self.screen().size();
        let rows = self.screen().rows(0, cols.get());
        let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Whether some bytes are among those that were written.
    pub(crate) fn has_written(&self, wanted: &[u8]) -> bool {
        self.bytes.windows(wanted.len()).any(|some| some == wanted)
    }
}

impl Emulation {
    /// Starts to read what a program writes.
    pub(crate) fn start(
        reader: Box<dyn Read + Send>,
        writer: Box<dyn Write + Send>,
        rows: NonZeroU16,
        cols: NonZeroU16,
    ) -> Arc<Self> {
        let answers = Answers::default();
        let emulation = Arc::new(Self {
            pane: Mutex::new(Pane {
                parser: vt100::Parser::new_with_callbacks(rows, cols, 0, answers),
                bytes: Vec::new(),
                over: false,
                stopping: false,
            }),
            changed: Condvar::new(),
            writer: Mutex::new(Some(writer)),
        });
        let reading = Arc::clone(&emulation);
        // It ends with the last process that has the terminal; no test has to wait for that.
        std::thread::spawn(move || reading.read(reader));
        emulation
    }

    fn read(&self, mut reader: Box<dyn Read + Send>) {
        let mut buffer = [0; 16 * 1024];
        // Reading a pty fails once its other side is closed.
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            let mut pane = self.lock();
            pane.bytes.extend_from_slice(&buffer[..count]);
            pane.parser.process(&buffer[..count]);
            let answers = std::mem::take(&mut pane.parser.callbacks_mut().0);
            let stopping = pane.stopping;
            drop(pane);
            if !answers.is_empty() {
                self.write(&answers);
            }
            self.changed.notify_all();
            if stopping {
                break;
            }
        }
        drop(reader);
        self.lock().over = true;
        self.changed.notify_all();
    }

    /// Writes to the program.
    #[track_caller]
    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut writer = self.writer.lock().unwrap();
        let writer = writer.as_mut().unwrap();
        writer.write_all(bytes).unwrap();
        writer.flush().unwrap();
    }

    /// Gives the parser another size.
    pub(crate) fn resize(&self, rows: NonZeroU16, cols: NonZeroU16) {
        self.lock().parser.set_size(rows, cols);
    }

    /// Has the reading end with the next bytes that come.
    pub(crate) fn read_no_more(&self) {
        self.lock().stopping = true;
    }

    /// Closes the way to the program.
    pub(crate) fn close_writer(&self) {
        *self.writer.lock().unwrap() = None;
    }

    /// Looks at the screen as it is now.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Pane) -> T) -> T {
        look(&self.lock())
    }

    /// Waits until something is found; shows the screen where that does not come.
    #[track_caller]
    pub(crate) fn wait<T>(&self, what: &str, look: impl Fn(&Pane) -> Option<T>) -> T {
        let start = Instant::now();
        let mut pane = self.lock();
        loop {
            if let Some(found) = look(&pane) {
                return found;
            }
            let left = PATIENCE.saturating_sub(start.elapsed());
            let in_vain = pane.over || left.is_zero();
            assert!(!in_vain, "waited in vain for {what}:\n{}", pane.text());
            pane = self.changed.wait_timeout(pane, left).unwrap().0;
        }
    }

    /// Waits until nothing more will be written.
    #[track_caller]
    pub(crate) fn wait_for_the_end(&self, what: &str) {
        self.wait(what, |pane| pane.over.then_some(()));
    }

    fn lock(&self) -> MutexGuard<'_, Pane> {
        self.pane
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What a terminal answers when it is asked.
#[derive(Default)]
struct Answers(Vec<u8>);

impl vt100::Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        mark: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let first = params.first().and_then(|param| param.first()).copied();
        match (mark, last, first) {
            (None, 'n', Some(6)) => {
                let (row, col) = screen.cursor_position();
                let answer = format!("\u{1b}[{};{}R", row + 1, col + 1);
                self.0.extend_from_slice(answer.as_bytes());
            }
            (None, 'c', None | Some(0)) => self.0.extend_from_slice(b"\x1b[?62;22c"),
            _ => {}
        }
    }
}
