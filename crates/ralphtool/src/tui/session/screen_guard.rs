//! Takes over the terminal (raw mode, alternate screen) and restores it however the program ends.

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

/// Whether the terminal is taken over and has to be restored.
static OURS: AtomicBool = AtomicBool::new(false);

/// Reports buttons and the wheel, with coordinates of any size, but no movements.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l";

/// The terminal while it is taken over.
pub(super) struct ScreenGuard {
    /// Never dropped: dropping it on a closed terminal prints an error, and panics if that fails.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    mouse: bool,
}

impl ScreenGuard {
    /// Takes over the terminal.
    pub(super) fn enter() -> io::Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let mut guard = Self {
            terminal: ManuallyDrop::new(terminal),
            mouse: true,
        };
        guard.take_over()?;
        Ok(guard)
    }

    /// Takes over the terminal, at the start or after the process was stopped and the terminal may be
    /// in any state.
    pub(super) fn take_over(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        OURS.store(true, Ordering::SeqCst);
        let mut out = io::stdout();
        execute!(out, EnterAlternateScreen, Hide, EnableBracketedPaste)?;
        self.write_mouse()?;
        self.invalidate()
    }

    /// Turns mouse events on or off.
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

    /// Draws a frame, as one synchronized update if the terminal supports that.
    pub(super) fn draw(&mut self, app: &App) -> io::Result<()> {
        // A panic on another thread may have restored the terminal.
        if !OURS.load(Ordering::SeqCst) {
            return Ok(());
        }
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| view::draw(app, frame))?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// Clears the terminal, so that the next frame draws everything.
    pub(super) fn invalidate(&mut self) -> io::Result<()> {
        // `Terminal::clear` asks where the cursor is, and the answer would be read as keys.
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Copies a text to the clipboard of the terminal.
    pub(super) fn copy(text: &str) -> io::Result<()> {
        execute!(
            io::stdout(),
            CopyToClipboard::to_clipboard_from(text.as_bytes())
        )
    }

    /// Sends a notification through the terminal.
    pub(super) fn notify(message: &str) -> io::Result<()> {
        let mut out = io::stdout();
        out.write_all(bell::call(message).as_bytes())?;
        out.flush()
    }

    /// Restores the terminal and stops this process until a signal continues it.
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

/// Restores the terminal, if it is taken over.
pub(crate) fn restore() {
    if !OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // A failure cannot be reported anywhere.
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
