//! What decides whether an attempt passes: ralphtool's own configuration, CI, and the files that
//! tools of the gates read. Of a file with other things in it, only the part that matters counts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::languages::{file_name, has_word, language_of};
use super::pattern::Pattern;
use super::{ChangedPath, Finding, Gates, TamperCheck, Watch};

pub(super) fn check(watch: &Watch, changed: &[ChangedPath]) -> Option<Finding> {
    let edited = changed.iter().filter(|path| is_edited(watch, path));
    let paths: BTreeSet<&str> = edited.map(|path| path.path.as_str()).collect();
    let what = "test, lint or CI configuration was changed";
    Finding::about(TamperCheck::Config, what, &paths)
}

/// Whether the check needs the text of a file.
pub(super) fn wants_text(watch: &Watch, path: &str) -> bool {
    rules(&watch.gates, path).any(|rule| !matches!(rule.part, Part::Whole))
}

fn is_edited(watch: &Watch, path: &ChangedPath) -> bool {
    if file_name(&path.path) == "ralphtool.toml" {
        return true;
    }
    // A new file was no part of any check: the first configuration of a tool is work like any other.
    if path.is_added() {
        return false;
    }
    is_workflow(&path.path)
        || watch.gates.names_script(&path.path)
        || rules(&watch.gates, &path.path).any(|rule| rule.part.differs(path))
}

fn is_workflow(path: &str) -> bool {
    let mut folders = WORKFLOW_FOLDERS.split_whitespace();
    folders.any(|folder| path.starts_with(folder)) || has_word(WORKFLOWS, path)
}

const WORKFLOW_FOLDERS: &str = ".github/workflows/ .circleci/ .buildkite/ .woodpecker/ \
                                .gitea/workflows/ .forgejo/workflows/";

const WORKFLOWS: &str = ".gitlab-ci.yml .travis.yml .drone.yml .woodpecker.yml Jenkinsfile \
                         azure-pipelines.yml bitbucket-pipelines.yml .cirrus.yml";

fn rules<'a>(gates: &'a Gates, path: &'a str) -> impl Iterator<Item = &'static Rule> + 'a {
    let name = file_name(path);
    // `*` at the end of a pattern is any ending.
    let fits = move |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    RULES
        .iter()
        .filter(move |rule| rule.names.split_whitespace().any(fits))
        .filter(|rule| gates.may_run(rule.tools))
}

/// Files that tools read. Lists are separated by blanks.
struct Rule {
    names: &'static str,
    tools: &'static str,
    part: Part,
}

/// The part of a file that decides about a check.
enum Part {
    Whole,
    /// These keys of a JSON file.
    Json(&'static str),
    /// These keys of a TOML file, with dots.
    Toml(&'static str),
    /// Sections of an INI file that begin with one of these.
    Ini(&'static str),
    /// How often this occurs.
    Count(Pattern),
}

impl Rule {
    const fn new(names: &'static str, tools: &'static str, part: Part) -> Self {
        Self { names, tools, part }
    }
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
            Self::Count(pattern) => pattern.count(after) > pattern.count(before),
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

fn differ(keys: &str, before: Option<Value>, after: Option<Value>) -> bool {
    // A file that was invalid before is no worse now.
    let Some(before) = before else {
        return false;
    };
    let Some(after) = after else {
        return true;
    };
    keys.split_whitespace()
        .any(|key| at(&before, key) != at(&after, key))
}

fn at<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.')
        .try_fold(value, |value, part| value.get(part))
}

/// The lines of an INI file's sections, without empty lines and comments.
fn sections(text: &str, starts: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            inside = starts
                .split_whitespace()
                .any(|start| name.starts_with(start));
        }
        if inside && !line.is_empty() && !line.starts_with(['#', ';']) {
            lines.push(line.to_owned());
        }
    }
    lines
}

const NODE: &str = "npm pnpm yarn bun npx bunx node jest vitest mocha ava eslint playwright cypress \
                    prettier biome deno karma turbo nx";
const PYTHON: &str = "pytest python python3 uv uvx tox nox poetry hatch pdm ruff mypy flake8 pyright \
                      pylint coverage rye pixi";

static RULES: [Rule; 17] = [
    Rule::new("Makefile makefile GNUmakefile", "make gmake", Part::Whole),
    Rule::new("justfile Justfile .justfile", "just", Part::Whole),
    Rule::new("Taskfile.yml Taskfile.yaml", "task", Part::Whole),
    Rule::new(".pre-commit-config.yaml", "pre-commit prek", Part::Whole),
    Rule::new(
        "package.json",
        NODE,
        Part::Json("scripts jest mocha ava vitest eslintConfig nyc c8"),
    ),
    Rule::new(
        "jest.config.* vitest.config.* playwright.config.* cypress.config.* karma.conf.* .mocharc* \
         ava.config.* .nycrc* .eslintrc* eslint.config.* .eslintignore biome.json* .prettierrc* \
         .prettierignore",
        NODE,
        Part::Whole,
    ),
    Rule::new(
        "pyproject.toml",
        PYTHON,
        Part::Toml(
            "tool.pytest tool.ruff tool.mypy tool.coverage tool.tox tool.pyright tool.pylint \
             tool.flake8",
        ),
    ),
    Rule::new(
        "setup.cfg tox.ini",
        PYTHON,
        Part::Ini("tool:pytest pytest mypy flake8 coverage testenv tox"),
    ),
    Rule::new(
        "pytest.ini .pytest.ini .coveragerc noxfile.py ruff.toml .ruff.toml mypy.ini .mypy.ini \
         .flake8 .pylintrc pyrightconfig.json",
        PYTHON,
        Part::Whole,
    ),
    Rule::new(
        "Cargo.toml",
        "cargo",
        Part::Toml("lints workspace.lints test lib.test lib.doctest package.autotests bin.test"),
    ),
    Rule::new(
        "clippy.toml .clippy.toml rustfmt.toml .rustfmt.toml nextest.toml deny.toml tarpaulin.toml",
        "cargo",
        Part::Whole,
    ),
    Rule::new(".golangci.*", "golangci-lint go", Part::Whole),
    Rule::new(
        "pom.xml",
        "mvn mvnw",
        Part::Count(Pattern::new(
            r"skipTests|maven\.test\.skip|testFailureIgnore|<excludes>",
        )),
    ),
    Rule::new(
        "build.gradle build.gradle.kts",
        "gradle gradlew",
        Part::Count(Pattern::new(
            r"ignoreFailures|excludeTestsMatching|excludeTags|[eE]nabled\s=\sfalse",
        )),
    ),
    Rule::new(
        ".rspec .rubocop*",
        "rspec rake rails bundle rubocop",
        Part::Whole,
    ),
    Rule::new(
        "phpunit.xml* phpstan.neon* .phpcs.xml* phpcs.xml* psalm.xml*",
        "phpunit php composer pest phpstan phpcs psalm",
        Part::Whole,
    ),
    Rule::new(".credo.exs test_helper.exs", "mix", Part::Whole),
];

/// Tools that may run any other.
const INDIRECT: &str =
    "make gmake just task pre-commit prek sh bash zsh nix docker earthly bazel mise";

/// Extensions of scripts; a name without one may be a script too.
const SCRIPTS: &str = "sh bash zsh fish ps1 bat cmd";

/// Folders whose files are tools, not the work itself.
const TOOL_FOLDERS: &str = "scripts script bin ci .ci tools hack build dev";

impl Gates {
    /// Reads the shell lines of gates.
    pub fn new(lines: &[String]) -> Self {
        let is_border = |letter: char| letter.is_whitespace() || ";|&()<>\"'`=$".contains(letter);
        let words = lines.iter().flat_map(|line| line.split(is_border));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let executed = words.iter().filter_map(|word| word.strip_prefix("./"));
        let plain = words.iter().map(|word| word.trim_start_matches("./"));
        Self {
            executed: executed.map(str::to_owned).collect(),
            words: plain.map(str::to_owned).collect(),
        }
    }

    fn may_run(&self, tools: &str) -> bool {
        self.words.iter().any(|word| {
            let name = file_name(word);
            has_word(tools, name) || has_word(INDIRECT, name) || self.is_script(word)
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
    if language_of(path).is_some_and(|language| language.is_test_path(path)) {
        return false;
    }
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| has_word(SCRIPTS, extension))
        || folders
            .split('/')
            .any(|folder| has_word(TOOL_FOLDERS, folder))
}
