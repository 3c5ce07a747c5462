//! The terminal while it is ours: raw, on its other screen, and given back however the program
//! ends.

use std::io::{self, Stdout, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::clipboard::CopyToClipboard;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use rustix::process::{Signal, getpid, kill_process};

use crate::tui::app::App;
use crate::tui::view;
use crate::ui::bell;

/// Whether the terminal is ours now; asked before it is restored.
static OURS: AtomicBool = AtomicBool::new(false);

/// Presses and the wheel, with coordinates of any size; movements would only be noise.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l";

/// The terminal, taken over.
pub(super) struct ScreenGuard {
    /// Never dropped: it would complain on a terminal that is gone, and panic when that fails.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    mouse: bool,
}

impl ScreenGuard {
    /// Takes the terminal over.
    pub(super) fn enter() -> io::Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let mut guard = Self {
            terminal: ManuallyDrop::new(terminal),
            mouse: true,
        };
        guard.take_over()?;
        Ok(guard)
    }

    /// Takes the terminal over, at first or after the process was stopped: it may be anything by then.
    pub(super) fn take_over(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        OURS.store(true, Ordering::SeqCst);
        let mut out = io::stdout();
        execute!(out, EnterAlternateScreen, Hide, EnableBracketedPaste)?;
        self.write_mouse()?;
        self.invalidate()
    }

    /// Listens to the mouse or leaves it to the terminal.
    pub(super) fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        self.mouse = on;
        self.write_mouse()
    }

    fn write_mouse(&self) -> io::Result<()> {
        let mut out = io::stdout();
        out.write_all(if self.mouse { MOUSE_ON } else { MOUSE_OFF })?;
        out.flush()
    }

    /// The size in columns and lines.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Draws, all at once for terminals that can do that.
    pub(super) fn draw(&mut self, app: &App) -> io::Result<()> {
        // Given back meanwhile, by a panic on another thread: there is nothing to draw on.
        if !OURS.load(Ordering::SeqCst) {
            return Ok(());
        }
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| view::draw(app, frame))?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// Draws everything again the next time.
    pub(super) fn invalidate(&mut self) -> io::Result<()> {
        // `Terminal::clear` asks where the cursor is, and the answer would be read as keys.
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Puts a text into the clipboard of the terminal.
    pub(super) fn copy(text: &str) -> io::Result<()> {
        execute!(
            io::stdout(),
            CopyToClipboard::to_clipboard_from(text.as_bytes())
        )
    }

    /// Lets the terminal call its user.
    pub(super) fn notify(message: &str) -> io::Result<()> {
        let mut out = io::stdout();
        out.write_all(bell::call(message).as_bytes())?;
        out.flush()
    }

    /// Gives the terminal back and stops this process; a signal says when it continues.
    pub(super) fn suspend() -> io::Result<()> {
        restore();
        Ok(kill_process(getpid(), Signal::STOP)?)
    }
}

impl Drop for ScreenGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, if it is ours.
pub(crate) fn restore() {
    if !OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // There is nowhere else to report a failure.
    let _ = out.write_all(MOUSE_OFF);
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}
