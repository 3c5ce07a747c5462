//! Notifications: the user's own program gets the event, once for each occasion it asked for.

use crate::sandbox::{Sandbox, records};
use pretty_assertions::assert_eq;

/// Reports, at its first attempt, a limit that ended long ago; then does its work.
const LIMITED_ONCE: &str = r#"
if [ ! -e "$root/limited" ]; then
    touch "$root/limited"
    echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your limit"}'
    exit 1
fi
echo work > "story-$RALPHTOOL_STORY.txt"
echo '{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>"}'
"#;

/// A sandbox whose notifications are kept in a file, with more lines of the table `[notify]`.
fn listening(lines: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let script = sandbox.root.join("herald.sh");
    let heard = sandbox.root.join("heard");
    let text = format!(
        "{{ printf '%s|%s|%s|' \"$RALPHTOOL_OCCASION\" \"$1\" \"$RALPHTOOL_MESSAGE\"; cat; }} >> {}\n",
        heard.display()
    );
    std::fs::write(&script, text).unwrap();
    sandbox.config_and(
        "limit_pause = \"100ms\"\nmax_retries = 0",
        &format!(
            "output = \"claude-json\"\n[notify]\ncommand = [\"sh\", \"{}\", \"-- {{message}}\"]\n{lines}\n",
            script.display()
        ),
    );
    sandbox
}

/// Occasion, argument, variable and event of each notification.
fn heard(sandbox: &Sandbox) -> Vec<(String, String, String, String)> {
    let text = std::fs::read_to_string(sandbox.root.join("heard")).unwrap_or_default();
    text.lines()
        .map(|line| {
            let parts: Vec<&str> = line.splitn(4, '|').collect();
            let event = &records(parts[3])[0]["event"];
            let event = event.as_str().unwrap().to_owned();
            (parts[0].into(), parts[1].into(), parts[2].into(), event)
        })
        .collect()
}

#[test]
fn a_program_gets_what_it_asked_for_and_nothing_else() {
    let sandbox = listening("");
    sandbox.agent(LIMITED_ONCE);
    sandbox.run(&["loop", "c"]).ends_with(0);
    let heard = heard(&sandbox);
    assert_eq!(heard.len(), 2, "{heard:?}");
    let (occasion, argument, variable, event) = &heard[0];
    assert_eq!((occasion.as_str(), event.as_str()), ("waiting", "waiting"));
    assert!(variable.starts_with("c: waits until "), "{variable}");
    assert_eq!(*argument, format!("-- {variable}"));
    let done = "c: 2 of 2 stories done".to_owned();
    let want = (
        "finished".to_owned(),
        format!("-- {done}"),
        done,
        "run_ended".to_owned(),
    );
    assert_eq!(heard[1], want);

    let sandbox = listening("on = [\"exhausted\"]");
    sandbox.agent("echo nothing");
    sandbox.run(&["loop", "c"]).ends_with(1);
    let heard = self::heard(&sandbox);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0].0, "exhausted");
    assert_eq!(
        heard[0].2,
        "c: story 1 failed after 1 attempt (the agent ended without a promise), 0 of 2 stories done"
    );
}

#[test]
fn a_notification_command_that_fails_is_reported_once_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "[notify]\ncommand = [\"/no/such/herald\"]\n");
    sandbox.run(&["loop", "c"]).ends_with(0);
    let warnings = sandbox.warnings();
    let told: Vec<&String> = warnings
        .iter()
        .filter(|it| it.starts_with("notify: "))
        .collect();
    assert_eq!(told.len(), 1, "{warnings:?}");
    assert!(
        told[0].starts_with("notify: the notify command `/no/such/herald` failed: "),
        "{told:?}"
    );
}
