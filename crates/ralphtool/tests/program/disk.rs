//! A disk that is full in the middle of a step, for real: a small file system of its own. The run
//! stops with exit code 4, nothing is lost, and once there is room again the next start continues.
//!
//! The files are many and tiny, so they need more room than their sizes say: the check beforehand
//! lets them through.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test ends where it cannot go on, and says why it does not begin"
)]

use std::path::PathBuf;

use crate::sandbox::{Sandbox, files};
use pretty_assertions::assert_eq;

/// What the scripts share: how much is free, and a file that takes all but a given number of kB.
const SHARED: &str = r#"
fill() {
    free=$(df -k --output=avail "$small" | tail -n 1)
    head -c $(((free - $1) * 1024)) /dev/zero > "$small/filler"
}
many() { mkdir -p "$1"; i=0; while [ $i -lt 1500 ]; do echo "$1 $i" > "$1/$i"; i=$((i + 1)); done; }
"#;

/// One run on a small disk that `agent`, `gate` or the preparation fills, and another after the
/// disk was cleared.
struct SmallDisk {
    sandbox: Sandbox,
}

impl SmallDisk {
    /// None if this system does not let a user mount anything.
    fn new(agent: &str, gate: &str) -> Option<Self> {
        let sandbox = Sandbox::on_disk();
        let possible = sandbox
            .command("unshare")
            .args(["-rm", "mount", "-t", "tmpfs", "none"])
            .arg(sandbox.root.join("tmp"))
            .output();
        if !possible.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: no file system can be mounted here");
            return None;
        }
        let small = sandbox.root.join("small");
        std::fs::create_dir(&small).unwrap();
        let shared = format!("small='{}'\n{SHARED}", small.display());
        std::fs::write(sandbox.root.join("shared.sh"), shared).unwrap();
        let gate = match gate {
            "" => String::new(),
            gate => format!(
                "[[gate]]\nname = \"fills\"\nbaseline = false\nrun = '. {0}/shared.sh; [ -e {0}/full ] || {{ touch {0}/full; {gate}; }}'\n",
                sandbox.root.display()
            ),
        };
        sandbox.config_and("least_free = \"off\"\nmax_retries = 0", &gate);
        sandbox.git("commit -q -a -m settings");
        sandbox.agent(&format!(". $root/shared.sh\n{agent}"));
        Some(Self { sandbox })
    }

    /// Runs, clears the disk, runs again; returns both outputs, and the files between and after.
    fn run(&self, prepare: &str) -> Ran {
        let root = self.sandbox.root.display();
        let script = format!(
            r#"root='{root}'; . "$root/shared.sh"
               mount -t tmpfs -o size=60m none "$small" && cp -a "$root/repo" "$small/repo" && cd "$small/repo" || exit 9
               {prepare}
               export XDG_STATE_HOME="$small/state"
               '{program}' loop c > "$root/first.out" 2>&1; echo $? > "$root/first"
               cp -a . "$root/between"
               rm -f "$small/filler"
               '{program}' loop c > "$root/second.out" 2>&1; echo $? > "$root/second"
               cp -a . "$root/after""#,
            program = env!("CARGO_BIN_EXE_ralphtool"),
        );
        let mut command = self.sandbox.command("unshare");
        command.args(["-rm", "sh", "-c", &script]);
        self.sandbox.start_command(command).end().ends_with(0);
        let said = |name: &str| std::fs::read_to_string(self.sandbox.root.join(name)).unwrap();
        Ran {
            first: (said("first"), said("first.out")),
            second: (said("second"), said("second.out")),
            between: self.sandbox.root.join("between"),
            after: self.sandbox.root.join("after"),
        }
    }

    fn git(&self, ran: &Ran, args: &str) -> String {
        self.sandbox
            .git(&format!("-C {} {args}", ran.after.display()))
    }

    /// The first run stopped because of the disk, the second one did everything.
    #[track_caller]
    fn check(&self, ran: &Ran) {
        assert_eq!(ran.first.0, "4\n", "{}", ran.first.1);
        let said = &ran.first.1;
        assert!(
            said.contains("No space left") || said.contains("too little space"),
            "{said}"
        );
        assert_eq!(ran.second.0, "0\n", "{}\n{said}", ran.second.1);
        assert_eq!(self.git(ran, "fsck --no-dangling"), "");
        assert_eq!(self.git(ran, "status --porcelain"), "");
        let log = self.git(ran, "log --format=%s main..ralph/c");
        for title in ["initial state", "checkpoint: 1", "checkpoint: 2"] {
            assert_eq!(log.lines().filter(|it| *it == title).count(), 1, "{log}");
        }
    }
}

/// What both runs left.
struct Ran {
    first: (String, String),
    second: (String, String),
    between: PathBuf,
    after: PathBuf,
}

/// How many of the tiny files are there, with their bytes.
fn whole(top: &std::path::Path, folder: &str) -> usize {
    (0..1500)
        .filter(|number| {
            let text = std::fs::read_to_string(top.join(folder).join(number.to_string()));
            text.is_ok_and(|text| text == format!("{folder} {number}\n"))
        })
        .count()
}

const DOES_ITS_WORK: &str =
    "echo work > story-$RALPHTOOL_STORY.txt; tick $RALPHTOOL_STORY; complete";

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_full_disk_while_a_run_begins_loses_nothing() {
    let Some(disk) = SmallDisk::new(DOES_ITS_WORK, "") else {
        return;
    };
    let ran = disk.run("many mine; fill 3000");
    disk.check(&ran);
    assert_eq!(whole(&ran.between, "mine"), 1500);
    assert_eq!(
        std::fs::read_to_string(ran.between.join(".git/HEAD")).unwrap(),
        "ref: refs/heads/main\n"
    );
    assert_eq!(whole(&ran.after, "mine"), 1500);
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_full_disk_while_a_story_is_saved_loses_nothing() {
    let agent = format!("[ $RALPHTOOL_STORY != 1 ] || many made; {DOES_ITS_WORK}");
    let Some(disk) = SmallDisk::new(&agent, "fill 1500") else {
        return;
    };
    let ran = disk.run("");
    disk.check(&ran);
    assert_eq!(whole(&ran.between, "made"), 1500);
    assert_eq!(whole(&ran.after, "made"), 1500);
    assert!(
        ran.second.1.contains("story 1 was done"),
        "{}",
        ran.second.1
    );
}

#[test]
fn a_full_disk_while_an_attempt_is_parked_loses_nothing() {
    let agent = format!(
        "if [ ! -e $root/full ]; then touch $root/full; many junk; fill 3000; failed no; exit; fi; {DOES_ITS_WORK}"
    );
    let Some(disk) = SmallDisk::new(&agent, "") else {
        return;
    };
    let ran = disk.run("");
    disk.check(&ran);
    assert_eq!(whole(&ran.between, "junk"), 1500);
    assert!(!ran.after.join("junk").exists());
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_full_disk_while_the_tree_is_restored_loses_nothing() {
    let agent = format!(
        "if [ ! -e $root/full ]; then touch $root/full; rm -r mine; echo x > a.txt; fill 3000; failed no; exit; fi; {DOES_ITS_WORK}"
    );
    let Some(disk) = SmallDisk::new(&agent, "") else {
        return;
    };
    let ran = disk.run("many mine");
    disk.check(&ran);
    assert!(whole(&ran.between, "mine") < 1500, "the disk was not full");
    assert_eq!(whole(&ran.after, "mine"), 1500);
    let mut expected = files(&disk.sandbox.repo);
    expected.retain(|path, _| path == "a.txt");
    let mut found = files(&ran.after);
    found.retain(|path, _| path == "a.txt");
    assert_eq!(found, expected);
}
