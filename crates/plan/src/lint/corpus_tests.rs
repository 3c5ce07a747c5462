//! Runs the rules over a corpus of real plans, with every box open and no file present, and prints how
//! often each finds something: the limits in the rules are from these figures.
//!
//! Not part of the default tests: it needs a directory with `tasks/*.md` and `specs/*.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::source::{Surroundings, read_target};

fn corpus() -> PathBuf {
    std::env::var_os("RALPHTOOL_CORPUS")
        .expect("RALPHTOOL_CORPUS names a directory")
        .into()
}

/// Makes a change of a task file and the delta spec with the same number, whatever that is about.
fn read_change(project: &Path, number: &str) -> Change {
    let folder = project.join("openspec/changes").join(number);
    fs::create_dir_all(folder.join("specs/any")).unwrap();
    let tasks = fs::read(corpus().join(format!("tasks/{number}.md"))).unwrap();
    let tasks = String::from_utf8_lossy(&tasks)
        .replace("[x]", "[ ]")
        .replace("[X]", "[ ]");
    fs::write(folder.join("tasks.md"), tasks).unwrap();
    if let Ok(spec) = fs::read(corpus().join(format!("specs/{number}.md"))) {
        fs::write(folder.join("specs/any/spec.md"), spec).unwrap();
    }
    read_target(number, &Surroundings::from_environment(project.to_owned())).unwrap()
}

#[test]
#[ignore = "needs a corpus directory in RALPHTOOL_CORPUS"]
#[expect(clippy::print_stderr, reason = "the figures are what one runs it for")]
fn ordinary_plans_have_few_findings() {
    let project = tempfile::tempdir().unwrap();
    let names = fs::read_dir(corpus().join("tasks")).unwrap();
    let names = names.map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned());
    let numbers: BTreeSet<String> = names.map(|name| name.into_string().unwrap()).collect();
    let mut plans: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut findings: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut tasks, mut words) = (Vec::new(), Vec::new());
    for number in &numbers {
        let change = read_change(project.path(), number);
        let open = open_tasks::of(&change);
        for story in &change.stories {
            let leaves = open
                .iter()
                .filter(|it| it.is_leaf && it.story.id == story.id);
            tasks.push(leaves.count());
            words.push(story.section.split_whitespace().count());
        }
        for finding in lint(&change, Some(&|_| false)) {
            plans.entry(finding.code).or_default().insert(number);
            *findings.entry(finding.code).or_default() += 1;
        }
    }
    tasks.sort_unstable();
    words.sort_unstable();
    eprintln!("{} plans, {} stories", numbers.len(), tasks.len());
    for share in [500, 750, 900, 950, 980, 990, 1000] {
        let at = (tasks.len() - 1) * share / 1000;
        eprintln!(
            "{share:>5} of 1000 have at most {:>3} tasks, {:>5} words",
            tasks[at], words[at]
        );
    }
    for (code, count) in findings {
        eprintln!(
            "{code:<24} {count:>4} findings in {:>3} plans",
            plans[code].len()
        );
    }
    for (code, _) in CODES {
        // No file is present here, and the specs belong to other plans.
        let is_about_others = ["missing_file", "scenario_without_task"].contains(&code);
        let share = plans.get(code).map_or(0, BTreeSet::len);
        assert!(
            is_about_others || share * 20 <= numbers.len(),
            "{code}: {share} plans"
        );
    }
}
