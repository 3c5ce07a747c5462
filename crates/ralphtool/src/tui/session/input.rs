//! Keys, the wheel, pasted text and new sizes, read on a thread of their own.

use ratatui::crossterm::event::{self, Event, KeyEvent, MouseEventKind};
use tokio::sync::mpsc::UnboundedSender;

use crate::tui::message::{Msg, Wheel};

/// Reads until the receiver or the terminal is gone.
pub(super) fn listen(sender: UnboundedSender<Msg>) {
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            let Some(msg) = message(event) else {
                continue;
            };
            if sender.send(msg).is_err() {
                return;
            }
        }
    });
}

fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) => Some(Msg::Key(key)),
        Event::Paste(text) => Some(Msg::Paste(text)),
        Event::Resize(columns, rows) => Some(Msg::Resize { columns, rows }),
        Event::Mouse(mouse) => {
            let up = match mouse.kind {
                MouseEventKind::ScrollUp => true,
                MouseEventKind::ScrollDown => false,
                _ => return None,
            };
            Some(Msg::Wheel(Wheel {
                up,
                column: mouse.column,
                row: mouse.row,
            }))
        }
        Event::FocusGained | Event::FocusLost => None,
    }
}

/// Panics if this is the key that `RALPHTOOL_PANIC_KEY=CHARACTER` names: a hook for the crash test,
/// which a release build does not have.
#[cfg(debug_assertions)]
pub(super) fn panic_if_named(key: &KeyEvent) {
    let named = std::env::var("RALPHTOOL_PANIC_KEY").ok();
    let named = named.and_then(|name| name.chars().next());
    let is_it = named.is_some() && named == key.code.as_char();
    assert!(!is_it, "the key that panics was pressed");
}

/// A release build has no such hook.
#[cfg(not(debug_assertions))]
pub(super) fn panic_if_named(_key: &KeyEvent) {}
