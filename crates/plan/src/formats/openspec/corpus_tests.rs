//! Compares the readers with `OpenSpec`'s own answers over a corpus of real files.
//!
//! Not part of the default tests: it needs a directory with `tasks/*.md` and `specs/*.md`, and
//! `tasks.expected.jsonl` and `specs.expected.jsonl` with one answer a line.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::delta::{Requirement, read_delta};
use crate::change::TaskFile;
use crate::stories::{Rules, read_markdown};
use crate::tasks::TaskState;

fn corpus() -> PathBuf {
    std::env::var_os("RALPHTOOL_CORPUS")
        .expect("RALPHTOOL_CORPUS names a directory")
        .into()
}

fn expected(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn content(folder: &str, answer: &Value) -> Vec<u8> {
    let name = answer["file"].as_str().unwrap();
    std::fs::read(corpus().join(folder).join(name)).unwrap()
}

#[test]
#[ignore = "needs a corpus directory in RALPHTOOL_CORPUS"]
#[expect(clippy::print_stderr, reason = "the figures are what one runs it for")]
fn corpus_tasks_are_read_as_openspec_reads_them() {
    let answers = expected(&corpus().join("tasks.expected.jsonl"));
    let files: Vec<TaskFile> = answers
        .iter()
        .map(|answer| TaskFile {
            path: PathBuf::from("tasks.md"),
            label: "tasks.md".to_owned(),
            bytes: content("tasks", answer),
        })
        .collect();
    let begin = std::time::Instant::now();
    let read: Vec<_> = files
        .iter()
        .map(|file| read_markdown(std::slice::from_ref(file), &Rules::PLAIN).0)
        .collect();
    let took = begin.elapsed();
    let (mut tasks, mut stories) = (0, 0);
    for (answer, read) in answers.iter().zip(&read) {
        let listed: Vec<Value> = read
            .iter()
            .flat_map(|story| &story.tasks)
            .filter(|task| task.is_listed())
            .map(|task| json!({"done": task.state == TaskState::Done, "description": task.raw}))
            .collect();
        tasks += listed.len();
        stories += read.len();
        assert_eq!(json!(listed), answer["tasks"], "{}", answer["file"]);
    }
    let files = answers.len();
    eprintln!("{files} task files, {tasks} tasks, {stories} stories: all agree; read in {took:?}");
}

#[test]
#[ignore = "needs a corpus directory in RALPHTOOL_CORPUS"]
#[expect(clippy::print_stderr, reason = "the figures are what one runs it for")]
fn corpus_deltas_are_read_as_openspec_reads_them() {
    let answers = expected(&corpus().join("specs.expected.jsonl"));
    let mut scenarios = 0;
    for answer in &answers {
        let delta = read_delta("", &content("specs", answer));
        let read = |found: &Requirement| json!([found.name, found.scenarios.len()]);
        let want = |part: &str| -> Vec<Value> {
            let found = answer[part].as_array().unwrap().iter();
            found.map(|it| json!([it["name"], it["scen"]])).collect()
        };
        let requirements = || delta.added.iter().chain(&delta.modified);
        scenarios += requirements()
            .map(|found| found.scenarios.len())
            .sum::<usize>();
        let got = [&delta.added, &delta.modified].map(|it| it.iter().map(read).collect::<Vec<_>>());
        assert_eq!(got, [want("added"), want("modified")], "{}", answer["file"]);
    }
    eprintln!(
        "{} delta specs, {scenarios} scenarios: all agree",
        answers.len()
    );
}
