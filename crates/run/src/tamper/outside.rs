//! Unexpected files: outside the roots that the user named or, without roots, new names at
//! the top of a repository; and links that point outside the work tree.

use std::collections::BTreeSet;

use super::languages::has_word;
use super::{ChangedPath, Finding, TamperCheck, Watch};

pub(super) fn check(watch: &Watch, changed: &[ChangedPath]) -> Vec<Finding> {
    let links = changed.iter().filter(|path| leads_out(path, watch));
    let links = links.map(|path| path.path.as_str()).collect();
    let (what, strays) = if watch.roots.is_empty() {
        let what = "new at the top of the repository";
        (what, new_tops(watch, changed))
    } else {
        ("changed outside the roots", outside_roots(watch, changed))
    };
    let about = |what, paths: BTreeSet<&str>| Finding::about(TamperCheck::Outside, what, &paths);
    let links = about("links that point outside the work tree", links);
    links.into_iter().chain(about(what, strays)).collect()
}

fn outside_roots<'a>(watch: &Watch, changed: &'a [ChangedPath]) -> BTreeSet<&'a str> {
    let plan = watch.plan_folder();
    let is_in_roots = |path: &str| watch.roots.iter().any(|root| is_below(path, root));
    let paths = changed.iter().map(|path| path.path.as_str());
    paths
        .filter(|path| !watch.is_in_plan(plan, path) && !is_in_roots(path))
        .collect()
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
    let is_code = |top: &&String| {
        let is_plan = watch.plan_files().any(|path| is_below(path, top));
        has_word(CODE_FOLDERS, top) || !is_customary(top) && !is_plan
    };
    // In a repository without code, every file is the first of its kind.
    if !watch.tops.iter().any(|top| is_code(&top)) {
        return BTreeSet::new();
    }
    let plan = watch.plan_folder();
    changed
        .iter()
        .filter(|path| path.is_added() && !watch.is_in_plan(plan, &path.path))
        .map(|path| path.path.split('/').next().unwrap_or(&path.path))
        .filter(|top| !watch.tops.contains(*top) && !is_customary(top))
        .filter(|top| !has_sibling(watch, top))
        .collect()
}

/// In a project that keeps its code at the top, one more file with the same extension belongs there.
fn has_sibling(watch: &Watch, top: &str) -> bool {
    let Some((_, extension)) = top.rsplit_once('.') else {
        return false;
    };
    let mut tops = watch.tops.iter().filter(|top| !is_customary(top));
    tops.any(|other| other.rsplit_once('.').is_some_and(|it| it.1 == extension))
}

/// Names that belong at the top of any repository.
fn is_customary(top: &str) -> bool {
    let stem = top.split('.').next().unwrap_or(top).to_ascii_uppercase();
    let (_, extension) = top.rsplit_once('.').unwrap_or_default();
    top.starts_with('.')
        || has_word(PAGES, &stem)
        || has_word(CUSTOMARY, top)
        || [".config.", ".conf."].iter().any(|part| top.contains(part))
        || matches!(extension, "lock" | "lockb")
        || top.ends_with("-lock.json")
        || top.ends_with("-lock.yaml")
}

const CODE_FOLDERS: &str = "src lib app pkg cmd internal crates packages";

const PAGES: &str = "README LICENSE LICENCE CHANGELOG CONTRIBUTING SECURITY NOTICE AUTHORS";

/// Folders and files that projects of some language have at the top.
const CUSTOMARY: &str = "
    api app assets benches bin cmd config crates doc docs e2e examples gradle include internal lib
    migrations packages pkg priv public scripts spec src static templates test tests tools

    Cargo.toml Dockerfile Gemfile Makefile Pipfile Procfile Rakefile build.gradle build.gradle.kts
    build.rs clippy.toml composer.json deno.json docker-compose.yml go.mod go.sum gradlew
    jsconfig.json justfile mix.exs package.json phpunit.xml pom.xml pyproject.toml requirements.txt
    rust-toolchain.toml rustfmt.toml settings.gradle settings.gradle.kts setup.cfg setup.py tox.ini
    tsconfig.json
";

fn leads_out(path: &ChangedPath, watch: &Watch) -> bool {
    let Some(target) = &path.link else {
        return false;
    };
    if target.starts_with('/') {
        return !is_below(target, &watch.work_tree);
    }
    let mut depth = path.path.split('/').count() - 1;
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
