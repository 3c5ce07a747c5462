//! What a story costs, in git processes and walks of the tree. The benchmark measures how long they
//! take (docs/performance.md); their number must not grow unnoticed.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod sandbox;

use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;

use pretty_assertions::assert_eq;
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use sandbox::{GOOD, Sandbox, mode};

/// Counts how often a folder is listed between the ends of agents: the kernel keeps both in one
/// queue, in their order.
struct Walks {
    queue: OwnedFd,
    folder: i32,
}

impl Walks {
    fn watch(folder: &Path, log: &Path) -> Self {
        let queue = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        // Without their ends, walks that follow each other would count as one.
        let walk = WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE | WatchFlags::ONLYDIR;
        let folder = add_watch(&queue, folder, walk).unwrap();
        add_watch(&queue, log, WatchFlags::CLOSE_WRITE).unwrap();
        Self { queue, folder }
    }

    /// Before the first agent's end, and between each two.
    fn counted(self) -> Vec<usize> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(self.queue, &mut buffer);
        let mut counts = vec![0];
        while let Ok(event) = reader.next() {
            let is_listing = event.events().contains(ReadFlags::OPEN | ReadFlags::ISDIR);
            if event.wd() != self.folder {
                counts.push(0);
            } else if is_listing && event.file_name().is_none() {
                *counts.last_mut().unwrap() += 1;
            }
        }
        counts
    }
}

/// The git processes and walks of a run: up to the end of the first agent, then from the end of each
/// to the end of the next.
fn costs(script: &str, config: &str) -> (Vec<Vec<String>>, Vec<usize>) {
    let sandbox = Sandbox::new();
    sandbox.config_and("", config);
    sandbox.write("canary/file.txt", "here\n");
    sandbox.git("add -A");
    sandbox.git("commit -q -m canary");
    sandbox.tasks("## 1. A\n- [ ] a\n## 2. B\n- [ ] b\n## 3. C\n- [ ] c\n## 4. D\n- [ ] d\n");
    let log = sandbox.root.join("calls");
    fs::write(&log, "").unwrap();
    let ends = sandbox.root.join("ends");
    fs::write(&ends, "").unwrap();
    let bin = sandbox.root.join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let mut folders = std::env::split_paths(&path);
    let real = folders
        .find_map(|folder| Some(folder.join("git")).filter(|git| git.is_file()))
        .unwrap();
    let fake = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{}'\nexec '{}' \"$@\"\n",
        log.display(),
        real.display()
    );
    fs::write(bin.join("git"), fake).unwrap();
    fs::set_permissions(bin.join("git"), mode(0o755)).unwrap();
    sandbox.agent(&format!(
        "{script}\necho AGENT >>'{}'\necho >>'{}'",
        log.display(),
        ends.display()
    ));
    let walks = Walks::watch(&sandbox.repo.join("canary"), &ends);
    let folders = std::iter::once(bin).chain(std::env::split_paths(&path));
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c"])
        .env("PATH", std::env::join_paths(folders).unwrap());
    sandbox.start_command(command).end().ends_with(0);
    let calls = fs::read_to_string(&log).unwrap();
    let calls = calls.split("AGENT\n").map(|part| {
        let lines = part.lines().map(|line| {
            let words = line
                .split(' ')
                .skip_while(|word| *word == "-c" || word.contains('='));
            words.take(1).collect::<String>()
        });
        lines.collect()
    });
    (calls.collect(), walks.counted())
}

#[test]
fn a_story_needs_no_git_process_and_one_walk() {
    let (calls, walks) = costs(GOOD, "");
    let none: Vec<String> = Vec::new();
    assert_eq!(&calls[1..4], [none.clone(), none.clone(), none]);
    assert_eq!(&walks[1..4], [1, 1, 1]);
}

#[test]
fn a_gate_adds_no_git_process_and_one_walk_to_a_story() {
    let gate = "[[gate]]\nname = \"t\"\nrun = \"true\"\n";
    let (calls, walks) = costs(GOOD, gate);
    let none: Vec<String> = Vec::new();
    assert_eq!(&calls[1..4], [none.clone(), none.clone(), none]);
    assert_eq!(&walks[1..4], [2, 2, 2]);
}

#[test]
fn the_first_agent_starts_after_three_git_processes_and_one_walk() {
    let (calls, walks) = costs(GOOD, "");
    // Two of them run side by side.
    let mut began = calls[0].clone();
    began.sort();
    assert_eq!(began, ["config", "rev-parse", "var"]);
    assert_eq!(walks[0], 1);
}

#[test]
fn a_failed_attempt_is_parked_and_undone_with_one_walk() {
    let failing = format!(
        "if [ $attempt = 1 ]; then echo spoilt > canary/file.txt; echo new > canary/new.txt; echo AGENT >>$root/calls; echo >>$root/ends; exit 1; fi\n{GOOD}"
    );
    let (calls, walks) = costs(&failing, "");
    // From the end of the first attempt of the second story on. It runs while the tree is restored.
    assert_eq!(calls[3], ["diff"]);
    assert_eq!(walks[3], 1);
}

#[test]
fn a_run_logs_why_it_asked_git() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.bin filter=none\n");
    sandbox.git("add -A");
    sandbox.git("commit -q -m attributes");
    sandbox.tasks("## 1. A\n- [ ] a\n## 2. B\n- [ ] b\n");
    sandbox.agent(GOOD);
    sandbox.start(&["loop", "c"]).end().ends_with(0);
    let log = fs::read_to_string(sandbox.runs()[0].join("git.log")).unwrap();
    let lines: Vec<&str> = log
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    let [line] = lines[..] else {
        panic!("one line per reason: {log}");
    };
    assert!(
        line.starts_with("write a tree: asked git, because git may convert `"),
        "{line}"
    );
    assert!(line.ends_with("` when it stores it"), "{line}");
}
