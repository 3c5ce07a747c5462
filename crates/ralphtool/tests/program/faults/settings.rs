//! Settings of git that make its plain commands fail, hang, change files or miss changes.

use pretty_assertions::assert_eq;

use crate::faults::{goes_home, is_saved, leaves_no_trace, prepared};
use crate::sandbox::{GOOD, Sandbox, everything, there};

#[test]
fn f16a_signing_hooks_editors_and_a_missing_identity_stop_nothing() {
    let sandbox = prepared(
        "mkdir $root/hooks; for hook in pre-commit commit-msg prepare-commit-msg post-commit post-checkout reference-transaction post-index-change; do
             printf '#!/bin/sh\\ntouch \"%s/HOOKED\"; echo hooked >> a.txt; exit 1\\n' $root > $root/hooks/$hook; chmod +x $root/hooks/$hook
         done
         printf '#!/bin/sh\\ntouch \"%s/HOOKED\"; exec sleep 300\\n' $root > $root/hangs; chmod +x $root/hangs
         printf '[commit]\\n\\tgpgSign = true\\n[tag]\\n\\tgpgSign = true\\n[gpg]\\n\\tprogram = %s/hangs\\n[core]\\n\\teditor = %s/hangs\\n\\tpager = %s/hangs\\n\\thooksPath = %s/hooks\\n\\taskPass = %s/hangs\\n' $root $root $root $root $root > $root/home/.gitconfig",
    );
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 1.1 ] || {{ rm a.txt; failed no; exit; }}\n{GOOD}"
    ));
    goes_home(&sandbox);
    assert!(there(&sandbox.root.join("HOOKED")).is_none());
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn f16m_untracked_files_that_status_does_not_show_are_saved_and_undone() {
    let before = "git config status.showUntrackedFiles no";
    leaves_no_trace(before, "echo junk > junk.txt");
    let sandbox = is_saved(before, "echo made > made.txt");
    assert_eq!(sandbox.git("show HEAD:made.txt"), "made\n");
}

#[test]
fn f16n_modes_are_restored_with_core_file_mode_off() {
    leaves_no_trace(
        "git config core.fileMode false; echo s > run.sh; chmod 755 run.sh; git add run.sh; git commit -qm run",
        "chmod 644 run.sh; chmod 755 a.txt; echo x >> run.sh",
    );
}

#[test]
fn f16o_links_are_restored_with_core_symlinks_off() {
    leaves_no_trace(
        "ln -s a.txt link; git add link; git commit -qm link; git config core.symlinks false",
        "rm link; echo a.txt > link; ln -s b.txt dir/another",
    );
}

#[test]
fn f16p_a_repository_of_another_user_is_refused_with_gits_own_message() {
    let sandbox = Sandbox::new();
    let before = everything(&sandbox.repo);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c"])
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let output = sandbox.start_command(command).end().ends_with(2);
    assert!(
        output.stderr.contains("safe.directory"),
        "{}",
        output.stderr
    );
    assert_eq!(everything(&sandbox.repo), before);
}

#[test]
fn f16v_a_file_system_monitor_is_not_used() {
    let before = "printf '#!/bin/sh\\nprintf \"token\\\\0\"\\n' > $root/monitor; chmod +x $root/monitor
        git config core.fsmonitor $root/monitor; git config core.fsmonitorHookVersion 2; git status; git update-index --fsmonitor; git status";
    leaves_no_trace(before, "echo x > a.txt");
    let sandbox = is_saved(before, "echo made > a.txt");
    assert_eq!(sandbox.git("show HEAD:a.txt"), "made\n");
}
