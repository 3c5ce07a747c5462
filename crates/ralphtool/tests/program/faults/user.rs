//! What the user does at the same time or between two commands.

use std::fs;

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox, there};

#[test]
fn f18g_git_commands_of_the_user_and_a_run_do_not_block_each_other() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $attempt != 1 ] || {{ echo x > a.txt; failed no; exit; }}\n{GOOD}"
    ));
    let running = sandbox.start(&["loop", "c"]);
    let mut failed = Vec::new();
    let over = sandbox.root.join("over");
    let output = std::thread::scope(|scope| {
        let ended = scope.spawn(|| {
            let output = running.end();
            fs::write(&over, "").unwrap();
            output
        });
        while there(&over).is_none() {
            let status = sandbox
                .command("git")
                .args(["status", "--porcelain"])
                .output()
                .unwrap();
            if !status.status.success() {
                failed.push(String::from_utf8_lossy(&status.stderr).into_owned());
            }
        }
        ended.join().unwrap()
    });
    output.ends_with(0);
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
}
