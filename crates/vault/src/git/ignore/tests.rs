//! Against real git: the same rules, or git is asked.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;

use super::{IgnoreRules, IgnoreSettings, Reason};

/// Lines that are easily read otherwise than git reads them.
const LINES: &[&str] = &[
    "*",
    "**",
    "*/",
    "**/",
    "/*",
    "/**",
    "/*/",
    "a",
    "a/",
    "/a",
    "/a/",
    "a/*",
    "a/**",
    "a/**/",
    "a/**/foo",
    "**/foo",
    "**/a/b",
    "**/b/**",
    "a/*/foo",
    "a/*/*",
    "*/foo",
    "*/*/foo",
    "foo*",
    "*foo",
    "*.log",
    "f*.l*g",
    "foo.*",
    "*.*",
    "?",
    "??",
    "a?b",
    "a/?",
    "[ab]",
    "[a-c]",
    "[!a]",
    "[^a]",
    "[]a]",
    "[!]a]",
    "[a-]",
    "[-a]",
    "[a",
    "a]",
    "\\[a\\]",
    "[[]a]",
    "[\\]]",
    "[a\\-b]",
    "a[-]b",
    "a[!x]b",
    "[A-Z]",
    "[b-a]",
    "a[/]b",
    "a[!x]foo",
    "foo ",
    "x\\ ",
    "x\\  ",
    "x y",
    "x\\ y",
    " ",
    "  a",
    "a  ",
    "#h",
    "\\#h",
    "!n",
    "\\!n",
    "!",
    "!!n",
    "\\",
    "a\\",
    "\\a",
    "\\\\",
    "a\\\\b",
    "a\\/b",
    "a\\b",
    "foo\r",
    "foo\r\r",
    "\r",
    "\ta",
    "a\t",
    "/",
    "//",
    "a//b",
    "/a/b/",
    "b/",
    "b/foo",
    "/b/foo",
    "é",
    "*é",
    "?é",
    "[é]",
    ".h",
    ".*",
    "*.global",
    "!keep.global",
    "foo.log/",
    "a/b/c/**/d",
    "a/b/**/foo/*",
    "**/**/foo",
    "a/**/**/foo",
    "$x",
    "a/./b",
    "./a",
    "../a",
    "[[:alpha:]]",
    "*a*b*",
    "*o*o*",
    "a*/b",
    "a*/**/f*",
    "**/*.log",
    "/**/b",
    "/**/b/",
    "!a",
    "!a/",
    "!/a",
    "!*/",
    "!a/b",
    "!foo*",
    "!**/foo",
    "!*.log",
    "!a/**",
];

/// Two stars beside something other than a slash.
const GLUED: &[&str] = &[
    "***", "a**", "a**/foo", "/a**", "a/b**", "**b", "a/**b", "f**r", "**foo/b",
];

const NAMES: &[&str] = &[
    "a",
    "b",
    "foo",
    "bar",
    "foo.log",
    "ab",
    "a-b",
    "a]",
    "[a]",
    "[a",
    "A",
    "é",
    ".h",
    "#h",
    "!n",
    "x y",
    "x ",
    "x",
    "\\",
    "a\\b",
    "$x",
    " ",
    "]",
    "-",
    "keep.global",
    "x.global",
    "x.info",
    "n",
];

struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn list(&mut self) -> String {
        let mut text = String::new();
        if self.below(8) == 0 {
            text.push('\u{feff}');
        }
        for _ in 0..self.below(5) {
            text.push_str(self.one(LINES));
            text.push_str(self.one(&["\n", "\n", "\r\n"]));
        }
        // Not every list ends with an end of line.
        text.push_str(self.one(&["", "# a comment\n", "\n\n", "foo", "!foo.log"]));
        text
    }
}

fn git(top: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .current_dir(top)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout
}

/// A repository with a list for all, and one of its own.
fn repository(folder: &Path) -> (std::path::PathBuf, IgnoreSettings) {
    let top = folder.join("top");
    fs::create_dir(&top).unwrap();
    git(&top, &["init", "-q"], b"");
    let excludes = folder.join("excludes");
    fs::write(&excludes, "*.global\n*.info\n").unwrap();
    fs::write(top.join(".git/info/exclude"), "!keep.global\n*.info\n").unwrap();
    let excludes = excludes.to_str().unwrap();
    git(&top, &["config", "core.excludesFile", excludes], b"");
    let settings = IgnoreSettings {
        excludes_file: Some(excludes.to_owned()),
        folds_case: false,
    };
    (top, settings)
}

/// Folders with lists in them, and the paths in each that are asked for.
fn world(top: &Path, name: &str, lists: [&str; 3], paths: &mut Vec<Vec<u8>>) {
    let root = top.join(name);
    for (folder, list) in ["", "a", "a/b"].into_iter().zip(lists) {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        if !list.is_empty() {
            fs::write(folder.join(".gitignore"), list).unwrap();
        }
    }
    fs::create_dir_all(root.join("foo/b")).unwrap();
    for folder in ["", "a/", "foo/b/", "a/b/"] {
        for file in NAMES {
            paths.push(format!("{name}/{folder}{file}").into_bytes());
        }
    }
}

fn shown(paths: &BTreeSet<Vec<u8>>) -> Vec<String> {
    let text = paths.iter().map(|path| String::from_utf8_lossy(path));
    text.map(std::borrow::Cow::into_owned).collect()
}

#[test]
fn the_rules_are_gits() {
    let folder = tempfile::tempdir().unwrap();
    let (top, mut settings) = repository(folder.path());
    let mut paths = Vec::new();
    for (number, line) in LINES.iter().enumerate() {
        world(&top, &format!("one{number}"), [line, "", ""], &mut paths);
    }
    let mut chance = Chance(7);
    for number in 0..40 {
        let lists = [chance.list(), chance.list(), chance.list()];
        let lists = lists.each_ref().map(String::as_str);
        world(&top, &format!("many{number}"), lists, &mut paths);
    }
    compare(&top, &settings, &paths);
    git(&top, &["config", "core.ignoreCase", "true"], b"");
    settings.folds_case = true;
    compare(&top, &settings, &paths);
}

fn compare(top: &Path, settings: &IgnoreSettings, paths: &[Vec<u8>]) {
    let mut input = paths.join(&0);
    input.push(0);
    let answer = git(top, &["check-ignore", "-z", "--stdin"], &input);
    let answer = answer.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    let mut rules = IgnoreRules::read(top, &top.join(".git"), settings).unwrap();
    let (mut unsure, mut ours) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        match rules.ignores(path) {
            Err(_) => unsure.insert(path.clone()),
            Ok(true) => ours.insert(path.clone()),
            Ok(false) => false,
        };
    }
    let asked: BTreeSet<Vec<u8>> = answer
        .filter(|path| !path.is_empty() && !unsure.contains(path))
        .collect();
    assert!(asked.len() > 3_000, "{}", asked.len());
    assert!(unsure.len() < asked.len() / 4, "{}", unsure.len());
    let missed: BTreeSet<_> = asked.difference(&ours).cloned().collect();
    let made_up: BTreeSet<_> = ours.difference(&asked).cloned().collect();
    assert_eq!((shown(&missed), shown(&made_up)), (vec![], vec![]));
}

#[test]
fn git_is_asked_where_something_is_odd() {
    let folder = tempfile::tempdir().unwrap();
    let (top, settings) = repository(folder.path());
    let git_dir = top.join(".git");
    fs::create_dir_all(top.join("inner/.git")).unwrap();
    fs::create_dir_all(top.join("linked")).unwrap();
    std::os::unix::fs::symlink("../rules", top.join("linked/.gitignore")).unwrap();
    std::os::unix::fs::symlink("linked", top.join("link")).unwrap();
    let ignores = |path: &[u8]| IgnoreRules::read(&top, &git_dir, &settings)?.ignores(path);
    assert_eq!(ignores(b"plain"), Ok(false));
    for path in [
        "inner/a", "linked/a", "link/a", "a//b", "a/../b", "./a", "a/",
    ] {
        assert!(ignores(path.as_bytes()).is_err(), "{path}");
    }
    for line in GLUED {
        fs::write(top.join(".gitignore"), format!("x\n{line}\n")).unwrap();
        assert!(ignores(b"plain").is_err(), "{line}");
    }
    fs::remove_file(top.join(".gitignore")).unwrap();
    for odd in ["~other/x", "relative", ""] {
        let odd = IgnoreSettings {
            excludes_file: Some(odd.to_owned()),
            folds_case: false,
        };
        assert!(IgnoreRules::read(&top, &git_dir, &odd).is_err());
    }
    fs::write(git_dir.join("info/sparse-checkout"), "").unwrap();
    assert_eq!(ignores(b"plain"), Err(Reason::Sparse));
}
