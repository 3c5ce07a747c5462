//! What decides whether an attempt passes: ralphtool's own configuration, and the files that the
//! gates obviously go by. A file that other things are written in too counts only where the part
//! that matters is another.

use std::collections::BTreeSet;

use serde_json::Value;

use super::languages::{file_name, language_of};
use super::{ChangedPath, Finding, Gates, TamperCheck, Watch, named, paths_of};

/// Looks at files that say what is checked.
pub(super) fn check(watch: &Watch, changed: &[ChangedPath]) -> Option<Finding> {
    let paths: BTreeSet<&str> = changed
        .iter()
        .filter(|path| is_edited(watch, path))
        .map(|path| path.path.as_str())
        .collect();
    if paths.is_empty() {
        return None;
    }
    Some(Finding {
        check: TamperCheck::Config,
        message: format!(
            "what is checked was changed: {}",
            named(paths.iter().copied())
        ),
        paths: paths_of(paths),
    })
}

/// Whether the check has to see what is in a file.
pub(super) fn wants_text(watch: &Watch, path: &str) -> bool {
    rules(&watch.gates, path).any(|rule| !matches!(rule.part, Part::Whole))
}

fn is_edited(watch: &Watch, path: &ChangedPath) -> bool {
    if file_name(&path.path) == "ralphtool.toml" {
        return true;
    }
    // What is new was no part of a check; the tool's first configuration is work like any other.
    if path.is_added() {
        return false;
    }
    is_workflow(&path.path)
        || watch.gates.names_script(&path.path)
        || rules(&watch.gates, &path.path).any(|rule| rule.part.differs(path))
}

fn is_workflow(path: &str) -> bool {
    let folders = [
        ".github/workflows/",
        ".circleci/",
        ".buildkite/",
        ".woodpecker/",
        ".gitea/workflows/",
        ".forgejo/workflows/",
    ];
    let files = [
        ".gitlab-ci.yml",
        ".travis.yml",
        ".drone.yml",
        ".woodpecker.yml",
        "Jenkinsfile",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        ".cirrus.yml",
    ];
    folders.iter().any(|folder| path.starts_with(folder)) || files.contains(&path)
}

fn rules<'a>(gates: &'a Gates, path: &'a str) -> impl Iterator<Item = &'static Rule> + 'a {
    let name = file_name(path);
    RULES
        .iter()
        .filter(move |rule| rule.names.iter().any(|pattern| fits(pattern, name)))
        .filter(|rule| gates.may_run(rule.tools))
}

/// `*` at the end of a pattern is any ending.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// A file that a tool goes by.
struct Rule {
    /// Its name, in whatever folder.
    names: &'static [&'static str],
    /// The tools that go by it.
    tools: &'static [&'static str],
    /// What of it counts.
    part: Part,
}

/// What of a file decides about a check.
enum Part {
    /// All of it.
    Whole,
    /// These keys of a JSON file.
    Json(&'static [&'static str]),
    /// These keys of a TOML file, with dots.
    Toml(&'static [&'static str]),
    /// Sections of an INI file that begin like this.
    Ini(&'static [&'static str]),
    /// How often these words are in it.
    Words(&'static [&'static str]),
}

impl Part {
    fn differs(&self, path: &ChangedPath) -> bool {
        if path.is_deleted() {
            return true;
        }
        let (Some(before), Some(after)) = (&path.before, &path.after) else {
            return matches!(self, Self::Whole);
        };
        match self {
            Self::Whole => before != after,
            Self::Json(keys) => differ(keys, json(before), json(after)),
            Self::Toml(keys) => differ(keys, toml(before), toml(after)),
            Self::Ini(starts) => sections(before, starts) != sections(after, starts),
            Self::Words(words) => {
                let count = |text: &str| -> usize {
                    words.iter().map(|word| text.matches(word).count()).sum()
                };
                count(after) > count(before)
            }
        }
    }
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn toml(text: &str) -> Option<Value> {
    let table: toml::Table = text.parse().ok()?;
    serde_json::to_value(table).ok()
}

fn differ(keys: &[&str], before: Option<Value>, after: Option<Value>) -> bool {
    // What was not readable before is no worse now.
    let Some(before) = before else {
        return false;
    };
    let Some(after) = after else {
        return true;
    };
    keys.iter().any(|key| at(&before, key) != at(&after, key))
}

fn at<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.')
        .try_fold(value, |value, part| value.get(part))
}

/// The lines of an INI file's sections, without blanks and comments.
fn sections(text: &str, starts: &[&str]) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            inside = starts.iter().any(|start| name.starts_with(start));
        }
        if inside && !line.is_empty() && !line.starts_with(['#', ';']) {
            lines.push(line.to_owned());
        }
    }
    lines
}

const NODE: &[&str] = &[
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "npx",
    "bunx",
    "node",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "eslint",
    "playwright",
    "cypress",
    "prettier",
    "biome",
    "deno",
    "karma",
    "turbo",
    "nx",
];
const PYTHON: &[&str] = &[
    "pytest", "python", "python3", "uv", "uvx", "tox", "nox", "poetry", "hatch", "pdm", "ruff",
    "mypy", "flake8", "pyright", "pylint", "coverage", "rye", "pixi",
];
const CARGO: &[&str] = &["cargo"];

const RULES: &[Rule] = &[
    Rule {
        names: &["Makefile", "makefile", "GNUmakefile"],
        tools: &["make", "gmake"],
        part: Part::Whole,
    },
    Rule {
        names: &["justfile", "Justfile", ".justfile"],
        tools: &["just"],
        part: Part::Whole,
    },
    Rule {
        names: &["Taskfile.yml", "Taskfile.yaml"],
        tools: &["task"],
        part: Part::Whole,
    },
    Rule {
        names: &[".pre-commit-config.yaml"],
        tools: &["pre-commit", "prek"],
        part: Part::Whole,
    },
    Rule {
        names: &["package.json"],
        tools: NODE,
        part: Part::Json(&[
            "scripts",
            "jest",
            "mocha",
            "ava",
            "vitest",
            "eslintConfig",
            "nyc",
            "c8",
        ]),
    },
    Rule {
        names: &[
            "jest.config.*",
            "vitest.config.*",
            "playwright.config.*",
            "cypress.config.*",
            "karma.conf.*",
            ".mocharc*",
            "ava.config.*",
            ".nycrc*",
            ".eslintrc*",
            "eslint.config.*",
            ".eslintignore",
            "biome.json*",
            ".prettierrc*",
            ".prettierignore",
        ],
        tools: NODE,
        part: Part::Whole,
    },
    Rule {
        names: &["pyproject.toml"],
        tools: PYTHON,
        part: Part::Toml(&[
            "tool.pytest",
            "tool.ruff",
            "tool.mypy",
            "tool.coverage",
            "tool.tox",
            "tool.pyright",
            "tool.pylint",
            "tool.flake8",
        ]),
    },
    Rule {
        names: &["setup.cfg", "tox.ini"],
        tools: PYTHON,
        part: Part::Ini(&[
            "tool:pytest",
            "pytest",
            "mypy",
            "flake8",
            "coverage",
            "testenv",
            "tox",
        ]),
    },
    Rule {
        names: &[
            "pytest.ini",
            ".pytest.ini",
            ".coveragerc",
            "noxfile.py",
            "ruff.toml",
            ".ruff.toml",
            "mypy.ini",
            ".mypy.ini",
            ".flake8",
            ".pylintrc",
            "pyrightconfig.json",
        ],
        tools: PYTHON,
        part: Part::Whole,
    },
    Rule {
        names: &["Cargo.toml"],
        tools: CARGO,
        part: Part::Toml(&[
            "lints",
            "workspace.lints",
            "test",
            "lib.test",
            "lib.doctest",
            "package.autotests",
            "bin.test",
        ]),
    },
    Rule {
        names: &[
            "clippy.toml",
            ".clippy.toml",
            "rustfmt.toml",
            ".rustfmt.toml",
            "nextest.toml",
            "deny.toml",
            "tarpaulin.toml",
        ],
        tools: CARGO,
        part: Part::Whole,
    },
    Rule {
        names: &[".golangci.*"],
        tools: &["golangci-lint", "go"],
        part: Part::Whole,
    },
    Rule {
        names: &["pom.xml"],
        tools: &["mvn", "mvnw"],
        part: Part::Words(&[
            "skipTests",
            "maven.test.skip",
            "testFailureIgnore",
            "<excludes>",
        ]),
    },
    Rule {
        names: &["build.gradle", "build.gradle.kts"],
        tools: &["gradle", "gradlew"],
        part: Part::Words(&[
            "ignoreFailures",
            "excludeTestsMatching",
            "excludeTags",
            "isEnabled = false",
            "enabled = false",
        ]),
    },
    Rule {
        names: &[".rspec", ".rubocop*"],
        tools: &["rspec", "rake", "rails", "bundle", "rubocop", "bin/rspec"],
        part: Part::Whole,
    },
    Rule {
        names: &[
            "phpunit.xml*",
            "phpstan.neon*",
            ".phpcs.xml*",
            "phpcs.xml*",
            "psalm.xml*",
        ],
        tools: &[
            "phpunit", "php", "composer", "pest", "phpstan", "phpcs", "psalm",
        ],
        part: Part::Whole,
    },
    Rule {
        names: &[".credo.exs", "test_helper.exs"],
        tools: &["mix"],
        part: Part::Whole,
    },
];

/// Tools that may run any other.
const INDIRECT: &[&str] = &[
    "make",
    "gmake",
    "just",
    "task",
    "pre-commit",
    "prek",
    "sh",
    "bash",
    "zsh",
    "nix",
    "docker",
    "earthly",
    "bazel",
    "mise",
];

/// Endings of scripts; a name without one may be a script too.
const SCRIPTS: &[&str] = &["sh", "bash", "zsh", "fish", "ps1", "bat", "cmd"];

/// Folders whose files are tools, not the work itself.
const TOOL_FOLDERS: &[&str] = &[
    "scripts", "script", "bin", "ci", ".ci", "tools", "hack", "build", "dev",
];

impl Gates {
    /// Reads the shell lines of gates.
    pub(crate) fn new(lines: &[String]) -> Self {
        let is_border = |letter: char| letter.is_whitespace() || ";|&()<>\"'`=$".contains(letter);
        let words = lines.iter().flat_map(|line| line.split(is_border));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let executed = words.iter().filter_map(|word| word.strip_prefix("./"));
        Self {
            executed: executed.map(str::to_owned).collect(),
            words: words
                .iter()
                .map(|word| word.trim_start_matches("./").to_owned())
                .collect(),
        }
    }

    fn may_run(&self, tools: &[&str]) -> bool {
        self.words.iter().any(|word| {
            let name = file_name(word);
            tools.contains(&name) || INDIRECT.contains(&name) || self.is_script(word)
        })
    }

    /// Whether a gate names this file as something it runs.
    fn names_script(&self, path: &str) -> bool {
        let is_named = |word: &&String| {
            *word == path || word.contains(['.', '/']) && path.ends_with(&format!("/{word}"))
        };
        let mut named = self.words.iter().filter(is_named);
        named.any(|word| self.is_script(word) || is_script(path))
    }

    /// Whether a word of a gate is a script of the repository that may run anything.
    fn is_script(&self, word: &str) -> bool {
        let is_wrapper = matches!(file_name(word), "gradlew" | "mvnw");
        is_script(word) || self.executed.iter().any(|it| it == word) && !is_wrapper
    }
}

/// Whether a file is one that gates run, and not the work they check.
fn is_script(path: &str) -> bool {
    let name = file_name(path);
    let is_test = language_of(path).is_some_and(|language| language.is_test_path(path));
    let in_tools = || {
        let mut parts = path.split('/').rev().skip(1);
        parts.any(|part| TOOL_FOLDERS.contains(&part))
    };
    match name.rsplit_once('.') {
        _ if is_test => false,
        Some((_, ending)) => SCRIPTS.contains(&ending) || in_tools(),
        None => in_tools(),
    }
}
