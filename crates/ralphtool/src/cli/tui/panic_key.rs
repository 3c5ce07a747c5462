//! The seam of the crash test: in a debug build the screen can be told to panic when a key is
//! pressed. A release build has no such key.
//!
//! `RALPHTOOL_PANIC_KEY=CHARACTER` names the key.

use ratatui::crossterm::event::KeyEvent;

/// Panics if this is the key that was named.
#[cfg(debug_assertions)]
pub(super) fn pressed(key: &KeyEvent) {
    let named = std::env::var("RALPHTOOL_PANIC_KEY").ok();
    let named = named.and_then(|name| name.chars().next());
    let is_it = named.is_some() && named == key.code.as_char();
    assert!(!is_it, "the key that panics was pressed");
}

/// Does nothing without the seam.
#[cfg(not(debug_assertions))]
pub(super) fn pressed(_key: &KeyEvent) {}
