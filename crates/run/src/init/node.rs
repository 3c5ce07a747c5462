//! JavaScript and TypeScript: the scripts of a `package.json`, run by the manager the lock file is of.

use serde_json::Value;

use super::{Finds, Folder, Kind};

const MANIFEST: &str = "package.json";

/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

/// What scripts are called, the best first.
const SCRIPTS: &[(Kind, &[&str])] = &[
    (Kind::Tests, &["test"]),
    (Kind::Lint, &["lint"]),
    (
        Kind::Types,
        &["typecheck", "type-check", "check-types", "types", "tsc"],
    ),
];

/// Lock files, and whose they are.
const LOCKS: &[(&str, &str)] = &[
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// Notes the scripts that check something.
pub(super) fn find(finds: &mut Finds<'_>) {
    package(finds);
    deno(finds);
}

fn package(finds: &mut Finds<'_>) {
    let folder = finds.folder;
    let Ok(manifest) = serde_json::from_str::<Value>(folder.content(MANIFEST)) else {
        return;
    };
    let manager = manager(folder, &manifest);
    for (kind, names) in SCRIPTS {
        let script = |name: &&&str| manifest["scripts"][**name].as_str();
        let found = names.iter().find_map(|name| Some((*name, script(&name)?)));
        let Some((name, text)) = found.filter(|(_, text)| !text.contains(NO_TESTS)) else {
            continue;
        };
        // `bun test` would be the runner of bun itself, whatever the script says.
        let run = match (manager, name) {
            ("bun", _) => format!("bun run {name}"),
            (_, "test") => format!("{manager} test"),
            _ => format!("{manager} run {name}"),
        };
        // Its test runner watches, unless it believes to be on a build server.
        let run = if text.contains("react-scripts test") && !text.contains("CI=") {
            format!("CI=true {run}")
        } else {
            run
        };
        finds.add("node", *kind, &run, MANIFEST);
        if let Some(last) = finds.last() {
            last.program = Some(manager.to_owned());
            last.doubt = watches(text).then(|| "the script watches and would not end".to_owned());
        }
    }
}

fn watches(script: &str) -> bool {
    let mut words = script.split([' ', '=']);
    words.any(|word| matches!(word, "--watch" | "--watchAll" | "watch"))
        && !script.contains("--watch=false")
        && !script.contains("--watchAll=false")
}

fn manager(folder: &Folder, manifest: &Value) -> &'static str {
    let said = manifest["packageManager"].as_str().unwrap_or_default();
    let said = said.split('@').next().unwrap_or_default();
    let known = LOCKS.iter().map(|(_, manager)| *manager);
    let named = known.into_iter().find(|manager| *manager == said);
    let locked = LOCKS.iter().find(|(lock, _)| folder.has(lock));
    named
        .or(locked.map(|(_, manager)| *manager))
        .unwrap_or("npm")
}

fn deno(finds: &mut Finds<'_>) {
    let folder = finds.folder;
    let Some(file) = folder.first_of(&["deno.json", "deno.jsonc"]) else {
        return;
    };
    let settings = serde_json::from_str::<Value>(folder.content(file)).unwrap_or_default();
    let has_task = |name: &str| settings["tasks"].get(name).is_some();
    let tests = if has_task("test") {
        "deno task test"
    } else {
        "deno test"
    };
    finds.add("deno", Kind::Tests, tests, file);
    if has_task("lint") {
        finds.add("deno", Kind::Lint, "deno task lint", file);
    } else if settings.get("lint").is_some() {
        finds.add("deno", Kind::Lint, "deno lint", file);
    }
}
