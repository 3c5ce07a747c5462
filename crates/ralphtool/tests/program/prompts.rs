//! The command in a prompt that shows the previous attempt works as printed.

use std::fs;

use crate::sandbox::{GOOD, Sandbox};
use pretty_assertions::assert_eq;

#[test]
fn the_command_that_shows_the_last_attempt_works_whatever_is_in_the_path() {
    let sandbox = Sandbox::new();
    // The second attempt runs the command from its prompt.
    let script = r#"
if [ "$attempt" = 1 ]; then echo tried > tried.txt; failed "not yet"; exit; fi
given=$(printf '%s\n' "$prompt" | sed -n 's/.*kept as attempt 1\.1; `\(.*\)` shows its diff.*/\1/p')
[ "$RALPHTOOL_STORY" = 2 ] || sh -c "$given" > "$root/shown" 2>&1
"#;
    sandbox.agent(&format!("{script}{GOOD}"));
    let state = sandbox.root.join("my state; it's $HERE");
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(["loop", "c"]).env("XDG_STATE_HOME", &state);
    sandbox.start_command(command).end().ends_with(0);
    let shown = fs::read_to_string(sandbox.root.join("shown")).unwrap();
    assert!(shown.contains("+tried"), "{shown}");
    assert_eq!(sandbox.read("story-1.txt"), "work\n");
}
