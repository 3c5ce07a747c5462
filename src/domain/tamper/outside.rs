//! Files where none belong: outside of the roots the user named, or, where none are named, at the
//! top of a repository that had files of its own; and links that lead out of the work tree.

use std::collections::BTreeSet;

use super::{ChangedPath, Finding, TamperCheck, Watch, named, paths_of};

/// Looks at where things were changed.
pub(super) fn check(watch: &Watch, changed: &[ChangedPath]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let links: BTreeSet<&str> = changed
        .iter()
        .filter(|path| leads_out(path, &watch.work_tree))
        .map(|path| path.path.as_str())
        .collect();
    findings.extend(about("links that lead out of the work tree", links));
    let strays = if watch.roots.is_empty() {
        about("new at the top of the repository", new_tops(watch, changed))
    } else {
        let outside = changed.iter().map(|path| path.path.as_str());
        let plan = watch.plan_folder();
        let is_of_plan = |path: &str| watch.is_of_plan(plan.as_deref(), path);
        let outside = outside.filter(|path| !is_of_plan(path) && !is_in_roots(watch, path));
        about("changed outside of the roots", outside.collect())
    };
    findings.extend(strays);
    findings
}

fn about(what: &str, paths: BTreeSet<&str>) -> Option<Finding> {
    (!paths.is_empty()).then(|| Finding {
        check: TamperCheck::Outside,
        message: format!("{what}: {}", named(paths.iter().copied())),
        paths: paths_of(paths),
    })
}

fn is_in_roots(watch: &Watch, path: &str) -> bool {
    watch.roots.iter().any(|root| is_below(path, root))
}

/// Whether a path is a folder (or file) or below it; everything is below `.`.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    if folder.is_empty() || folder == "." {
        return true;
    }
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Names at the top of a repository that were not there.
fn new_tops<'a>(watch: &Watch, changed: &'a [ChangedPath]) -> BTreeSet<&'a str> {
    let own = |top: &&String| !is_customary(top) && !watch.is_top_of_plan(top);
    // In a repository without code, every file is the first of its kind.
    if !watch.tops.iter().any(|top| own(&top)) && !watch.has_code() {
        return BTreeSet::new();
    }
    let plan = watch.plan_folder();
    changed
        .iter()
        .filter(|path| path.is_added() && !watch.is_of_plan(plan.as_deref(), &path.path))
        .map(|path| path.path.split('/').next().unwrap_or(&path.path))
        .filter(|top| !watch.tops.contains(*top) && !is_customary(top))
        .filter(|top| !is_of_known_sort(watch, top))
        .collect()
}

/// In a project that keeps its code at the top, one file more of the same sort belongs there.
fn is_of_known_sort(watch: &Watch, top: &str) -> bool {
    let ending = |name: &str| Some(name.rsplit_once('.')?.1.to_owned());
    let Some(sort) = ending(top) else {
        return false;
    };
    let tops = watch.tops.iter().filter(|top| !is_customary(top));
    tops.filter_map(|top| ending(top))
        .any(|known| known == sort)
}

/// Names that belong at the top of a repository, whoever makes them.
fn is_customary(top: &str) -> bool {
    let stem = top.split('.').next().unwrap_or(top).to_ascii_uppercase();
    let (_, ending) = top.rsplit_once('.').unwrap_or_default();
    let is_page = [
        "README",
        "LICENSE",
        "LICENCE",
        "CHANGELOG",
        "CONTRIBUTING",
        "SECURITY",
        "NOTICE",
        "AUTHORS",
    ];
    top.starts_with('.')
        || is_page.contains(&stem.as_str())
        || CUSTOMARY.contains(&top)
        || top.contains(".config.")
        || top.contains(".conf.")
        || matches!(ending, "lock" | "lockb")
        || top.ends_with("-lock.json")
        || top.ends_with("-lock.yaml")
}

/// Folders and files that a project of some language has at its top.
const CUSTOMARY: &[&str] = &[
    "Cargo.toml",
    "Dockerfile",
    "Gemfile",
    "Makefile",
    "Pipfile",
    "Procfile",
    "Rakefile",
    "api",
    "app",
    "assets",
    "benches",
    "bin",
    "build.gradle",
    "build.gradle.kts",
    "build.rs",
    "clippy.toml",
    "cmd",
    "composer.json",
    "config",
    "crates",
    "deno.json",
    "doc",
    "docker-compose.yml",
    "docs",
    "e2e",
    "examples",
    "go.mod",
    "go.sum",
    "gradle",
    "gradlew",
    "include",
    "internal",
    "jsconfig.json",
    "justfile",
    "lib",
    "migrations",
    "mix.exs",
    "package.json",
    "packages",
    "phpunit.xml",
    "pkg",
    "pom.xml",
    "priv",
    "public",
    "pyproject.toml",
    "requirements.txt",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "scripts",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "setup.py",
    "spec",
    "src",
    "static",
    "templates",
    "test",
    "tests",
    "tools",
    "tox.ini",
    "tsconfig.json",
];

/// Whether a link's target is outside of the work tree.
fn leads_out(path: &ChangedPath, work_tree: &str) -> bool {
    let Some(target) = &path.link else {
        return false;
    };
    if target.starts_with('/') {
        return !is_below(target, work_tree);
    }
    let folders = path.path.split('/').count() - 1;
    let mut depth = folders;
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}
