//! The terminal calls its user: the bell, and a message of the terminal's own (OSC 9).

use super::text::clean;

/// The longest message; terminals cut longer ones, or drop them.
const LONGEST: usize = 200;

/// What a terminal has to be sent to call its user.
pub(crate) fn call(message: &str) -> String {
    let message: String = clean(message).chars().take(LONGEST).collect();
    // A number first would mean something else to some terminals, so the name comes first.
    format!("\x1b]9;ralphtool: {message}\x1b\\\x07")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_bell_message_cannot_end_its_escape_sequence() {
        assert_eq!(
            call("c: \u{1b}]0;x\u{7}done\nnow"),
            format!(
                "\x1b]9;ralphtool: {}\x1b\\\x07",
                clean("c: \u{1b}]0;x\u{7}done\nnow")
            )
        );
        let body = call("\u{1b}\u{7}\u{9c}\n");
        let inner = &body["\x1b]9;".len()..body.len() - 3];
        assert!(
            !inner.contains(['\u{1b}', '\u{7}', '\u{9c}', '\n']),
            "{inner:?}"
        );
        assert!(call(&"x".repeat(999)).len() < 250);
    }
}
