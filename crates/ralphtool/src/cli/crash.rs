//! What a user sees of a bug: a short message with what to do, never a bare panic.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::PanicHookInfo;

use crate::tui::session;

/// Replaces the panic message by one for users.
pub(super) fn install() {
    std::panic::set_hook(Box::new(|info| {
        // The user must see the message, and be able to use the shell after it.
        session::restore_terminal();
        let mut stderr = io::stderr().lock();
        // There is nowhere else to report a failure.
        let _ = write(&mut stderr, info, &Backtrace::capture());
    }));
}

fn write(out: &mut dyn Write, info: &PanicHookInfo<'_>, trace: &Backtrace) -> io::Result<()> {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown reason");
    let place = info.location().map_or_else(String::new, |location| {
        format!(" ({}:{})", location.file(), location.line())
    });
    writeln!(out, "error: ralphtool has a bug and cannot continue")?;
    writeln!(out, "  because: {message}{place}")?;
    writeln!(
        out,
        "  hint: run the same command again: it repairs what was left and continues from there"
    )?;
    if trace.status() == BacktraceStatus::Captured {
        return writeln!(out, "{trace}");
    }
    writeln!(
        out,
        "  hint: when you report it, add what it prints with `RUST_BACKTRACE=1`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_reported_like_other_errors() {
        let printed = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = printed.clone();
        let former = std::panic::take_hook();
        let main = std::thread::current().id();
        std::panic::set_hook(Box::new(move |info| {
            // Other tests may panic meanwhile; this one must not report them.
            if std::thread::current().id() == main {
                let _ = write(&mut *sink.lock().unwrap(), info, &Backtrace::disabled());
            }
        }));
        let ended = std::panic::catch_unwind(|| panic!("index {} is gone", 3));
        std::panic::set_hook(former);
        assert!(ended.is_err());
        let text = String::from_utf8(printed.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "error: ralphtool has a bug and cannot continue");
        assert!(
            lines[1].starts_with("  because: index 3 is gone (crates/ralphtool/src/cli/crash.rs:")
        );
        assert_eq!(lines.len(), 4);
    }
}
