//! A real terminal around the real program: keys go in, and what a person would see comes out.
//!
//! A pty, the program as the leader of its session, and a parser of what it writes.

#![allow(dead_code, unused_imports, reason = "no file of tests uses all of it")]

mod emulation;
pub(crate) mod keys;
pub(crate) mod svg;

use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};

use emulation::{Emulation, Pane};
pub(crate) use keys::{Key, Wheel};

/// No step of a test takes longer, however loaded the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program in a terminal; ended with the test, however that ends.
pub(crate) struct Terminal {
    child: Child,
    /// None once it was closed.
    master: Option<Box<dyn MasterPty + Send>>,
    emulation: Arc<Emulation>,
}

impl Terminal {
    /// Starts a command, such as a sandbox gives it: its program, arguments, folder and
    /// variables, and none of this process's own ones.
    pub(crate) fn start(command: &Command, rows: u16, cols: u16) -> Self {
        let pair = native_pty_system().openpty(size(rows, cols)).unwrap();
        let child: Box<dyn portable_pty::Child> =
            pair.slave.spawn_command(builder(command)).unwrap();
        drop(pair.slave);
        // The standard library's child also reports the signal that ended it.
        let Ok(child) = child.downcast::<Child>() else {
            panic!("the child is of another kind");
        };
        let reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let emulation = Emulation::start(reader, writer, non_zero(rows), non_zero(cols));
        Self {
            child: *child,
            master: Some(pair.master),
            emulation,
        }
    }

    /// Types a text.
    #[track_caller]
    pub(crate) fn keys(&self, text: &str) {
        self.emulation.write(text.as_bytes());
    }

    /// Presses a key.
    #[track_caller]
    pub(crate) fn key(&self, key: Key) {
        self.keys(&key.sequence());
    }

    /// Pastes a text, in brackets where the program asked for them.
    #[track_caller]
    pub(crate) fn paste(&self, text: &str) {
        if self.pane(|pane| pane.screen().bracketed_paste()) {
            self.keys(&format!("\u{1b}[200~{text}\u{1b}[201~"));
        } else {
            self.keys(text);
        }
    }

    /// Turns the wheel of the mouse over a cell.
    #[track_caller]
    pub(crate) fn wheel(&self, wheel: Wheel, row: u16, col: u16) {
        self.keys(&wheel.sequence(row, col));
    }

    /// Clicks on a cell with the left button.
    #[track_caller]
    pub(crate) fn click(&self, row: u16, col: u16) {
        self.keys(&keys::click(row, col));
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&self, rows: u16, cols: u16) {
        // The parser first: what the program draws for the new size must find it.
        self.emulation.resize(non_zero(rows), non_zero(cols));
        let master = self.master.as_ref().unwrap();
        master.resize(size(rows, cols)).unwrap();
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// The program's process id.
    pub(crate) fn pid(&self) -> Pid {
        let pid = i32::try_from(self.child.id()).unwrap();
        Pid::from_raw(pid).unwrap()
    }

    /// Closes it under the program, as a window is closed.
    ///
    /// The program has to draw something for a change of size.
    #[track_caller]
    pub(crate) fn hang_up(&mut self) {
        self.emulation.read_no_more();
        // The thread that reads has the terminal open until there is something to read.
        let now = self.pane(|pane| pane.screen().size());
        self.resize(now.0.get(), now.1.get() + 1);
        self.emulation
            .wait("the last reader", |pane| pane.over.then_some(()));
        self.emulation.close_writer();
        self.master = None;
    }

    /// What a user sees: one line per row, without trailing spaces.
    pub(crate) fn screen(&self) -> String {
        self.pane(Pane::text)
    }

    /// The screen as it is, with everything about its cells.
    pub(crate) fn cells(&self) -> vt100::Screen {
        self.pane(|pane| pane.screen().clone())
    }

    /// The row and column of the first cell of a text, if it is on one row of the screen.
    pub(crate) fn find(&self, text: &str) -> Option<(u16, u16)> {
        find(&self.cells(), text)
    }

    /// The first cell of a text that is on the screen.
    #[track_caller]
    pub(crate) fn cell_of(&self, text: &str) -> vt100::Cell {
        let screen = self.cells();
        let Some((row, col)) = find(&screen, text) else {
            panic!("no {text} on the screen:\n{}", self.screen());
        };
        screen.cell(row, col).unwrap().clone()
    }

    /// Whether anything on the screen has a colour of its own.
    pub(crate) fn is_colored(&self) -> bool {
        let screen = self.cells();
        let (rows, cols) = screen.size();
        let places = (0..rows.get()).flat_map(|row| (0..cols.get()).map(move |col| (row, col)));
        let mut cells = places.filter_map(|(row, col)| screen.cell(row, col));
        cells.any(|cell| {
            cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
        })
    }

    /// Waits for a text on one row of the screen.
    #[track_caller]
    pub(crate) fn waits_for(&self, text: &str) {
        self.waits(text, |screen| screen.contains(text));
    }

    /// Waits until a text is no longer on the screen.
    #[track_caller]
    pub(crate) fn waits_for_no(&self, text: &str) {
        self.waits(&format!("no {text}"), |screen| !screen.contains(text));
    }

    /// Waits until the screen is as wanted.
    #[track_caller]
    pub(crate) fn waits_until(&self, wanted: impl Fn(&str) -> bool) {
        self.waits("the screen that is wanted", wanted);
    }

    #[track_caller]
    fn waits(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        self.emulation
            .wait(what, |pane| wanted(&pane.text()).then_some(()));
    }

    /// Waits until something is in the bytes the program wrote.
    #[track_caller]
    pub(crate) fn waits_for_bytes(&self, bytes: &[u8]) {
        let what = String::from_utf8_lossy(bytes).escape_debug().to_string();
        self.emulation
            .wait(&what, |pane| pane.has_written(bytes).then_some(()));
    }

    /// Whether the alternate screen is shown.
    pub(crate) fn is_alternate(&self) -> bool {
        self.pane(|pane| pane.screen().alternate_screen())
    }

    /// Whether the cursor is shown.
    pub(crate) fn cursor_visible(&self) -> bool {
        self.pane(|pane| !pane.screen().hide_cursor())
    }

    /// The row and column of the cursor.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.pane(|pane| pane.screen().cursor_position())
    }

    /// Whether the program turned mouse events on.
    pub(crate) fn mouse_on(&self) -> bool {
        self.pane(|pane| pane.screen().mouse_protocol_mode() != vt100::MouseProtocolMode::None)
    }

    /// Whether the program asked for brackets around what is pasted.
    pub(crate) fn brackets_pastes(&self) -> bool {
        self.pane(|pane| pane.screen().bracketed_paste())
    }

    /// Whether keys reach the program at once and unseen, as in raw mode.
    pub(crate) fn is_raw(&self) -> bool {
        let path = self.master.as_ref().unwrap().tty_name().unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        let modes = tcgetattr(terminal).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// All bytes the program wrote.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.pane(|pane| pane.bytes.clone())
    }

    /// Waits for the program's end, with all it wrote: its exit code, and 128 and more for a
    /// signal as a shell has it.
    #[track_caller]
    pub(crate) fn end(&mut self) -> i32 {
        self.emulation
            .wait_for_the_end("the end of the program and of all that has its terminal");
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                use std::os::unix::process::ExitStatusExt;
                let signal = status.signal().unwrap_or(0);
                return status.code().unwrap_or(128 + signal);
            }
            // It has closed the terminal and is about to end.
            let screen = self.screen();
            assert!(start.elapsed() < PATIENCE, "it does not end:\n{screen}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether the program and all that has its terminal are gone.
    pub(crate) fn is_over(&self) -> bool {
        self.pane(|pane| pane.over)
    }

    fn pane<T>(&self, look: impl FnOnce(&Pane) -> T) -> T {
        self.emulation.look(look)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed half way leaves it running; one that did not has waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn builder(command: &Command) -> CommandBuilder {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.env_clear();
    builder.env("LANG", "C.UTF-8");
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            builder.env(name, value);
        }
    }
    // Without a terminal a sandbox has this one.
    if builder.get_env("TERM").is_none_or(|term| term == "dumb") {
        builder.env("TERM", "xterm-256color");
    }
    if let Some(folder) = command.get_current_dir() {
        builder.cwd(folder);
    }
    builder
}

fn find(screen: &vt100::Screen, text: &str) -> Option<(u16, u16)> {
    let (rows, cols) = screen.size();
    for row in 0..rows.get() {
        let mut written = String::new();
        let mut starts = Vec::new();
        for col in 0..cols.get() {
            let Some(cell) = screen.cell(row, col) else {
                continue;
            };
            if cell.is_wide_continuation() {
                continue;
            }
            starts.push((written.len(), col));
            let contents = cell.contents();
            written.push_str(if contents.is_empty() { " " } else { contents });
        }
        if let Some(at) = written.find(text) {
            let (_, col) = starts.iter().rfind(|(start, _)| *start <= at)?;
            return Some((row, *col));
        }
    }
    None
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn non_zero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}
