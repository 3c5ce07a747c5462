//! A repository with everything a repository can have: linked work tree, submodule, nested
//! repository, half-staged files, flags, links, odd names, filters, hooks, stash, notes, custom and
//! symbolic refs, packs; and its whole state as text to compare.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::state::PASSING;
use super::{Sandbox, mode};

/// Swaps halves of the alphabet: a filter that is its own inverse.
const SWAP: &str = "tr a-z n-za-m";

/// Names git quotes, patterns match or UTF-8 does not allow.
fn odd_names() -> Vec<OsString> {
    let plain = [
        "new\nline.txt",
        " leading and trailing ",
        "-dash.txt",
        ":(top)magic.txt",
        "glob*[a].txt",
        "quote\"back\\slash.txt",
        "umläut-\u{65}\u{301}.txt",
        "#hash.txt",
    ];
    let mut names: Vec<OsString> = plain.iter().map(OsString::from).collect();
    names.push(OsString::from_vec(b"not-utf8-\xff\xfe.txt".to_vec()));
    names
}

impl Sandbox {
    /// The repository of [`Sandbox::new`] made rich: see [`Sandbox::make_rich`].
    pub(crate) fn rich() -> Self {
        let sandbox = Self::new();
        sandbox.make_rich();
        sandbox
    }

    /// The linked work tree of a rich repository.
    pub(crate) fn side(&self) -> std::path::PathBuf {
        self.root.join("side")
    }

    /// Adds everything a repository can have to the one of [`Sandbox::new`].
    pub(crate) fn make_rich(&self) {
        self.add_filters_and_line_ends();
        self.add_submodule();
        self.add_tracked_oddities();
        self.git("add -A");
        self.git("commit -q -m second");
        self.add_refs_and_packs();
        self.add_linked_work_tree();
        self.add_nested_repository();
        self.add_stashes();
        self.add_changes();
        self.add_settings_and_hooks();
    }

    fn add_filters_and_line_ends(&self) {
        self.git_args(&["config", "filter.swap.clean", SWAP]);
        self.git_args(&["config", "filter.swap.smudge", SWAP]);
        let attributes =
            "*.swap filter=swap\n*.crlf text eol=crlf\n*.auto text=auto\n*.bin -text\n";
        self.write(".gitattributes", attributes);
        self.write("filtered.swap", "hello filter\n");
        self.write("lines.crlf", "one\r\ntwo\r\n");
        self.write("mixed.auto", "one\ntwo\n");
        self.write("raw.bin", "one\r\ntwo\n");
    }

    fn add_submodule(&self) {
        let upstream = self.root.join("upstream");
        fs::create_dir(&upstream).unwrap();
        let place = upstream.display().to_string();
        self.git_args(&["init", "-q", "-b", "main", "--template=", &place]);
        fs::write(upstream.join("inner.txt"), "inner\n").unwrap();
        self.git_args(&["-C", &place, "add", "-A"]);
        self.git_args(&["-C", &place, "commit", "-q", "-m", "upstream"]);
        let allow = "protocol.file.allow=always";
        self.git_args(&["-c", allow, "submodule", "--quiet", "add", &place, "sub"]);
    }

    fn add_tracked_oddities(&self) {
        self.write("run.sh", "#!/bin/sh\necho run\n");
        fs::set_permissions(self.repo.join("run.sh"), mode(0o755)).unwrap();
        for name in [
            "flagged.txt",
            "skipped.txt",
            "deleted.txt",
            "moved.txt",
            "both.txt",
        ] {
            self.write(name, &format!("{name}\n"));
        }
        self.write("deep/er/est/file.txt", "deep\n");
        self.write("deep/.gitignore", "*.tmp\n");
        self.write("deep/er/kept.tmp", "ignored below\n");
        symlink("a.txt", self.repo.join("link-to-file")).unwrap();
        symlink("deep/er", self.repo.join("link-to-folder")).unwrap();
        symlink("nowhere/at-all", self.repo.join("link-to-nothing")).unwrap();
        fs::create_dir(self.repo.join("odd")).unwrap();
        for name in odd_names() {
            fs::write(self.repo.join("odd").join(name), "odd\n").unwrap();
        }
    }

    fn add_refs_and_packs(&self) {
        self.git("tag light");
        self.git_args(&["tag", "-a", "-m", "annotated", "heavy"]);
        self.git("branch other");
        self.git("update-ref refs/remotes/origin/main HEAD~1");
        self.git("symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main");
        self.git("update-ref refs/custom/packed HEAD~1");
        self.git_args(&["notes", "add", "-m", "a note", "HEAD"]);
        self.git("repack -q -a -d");
        self.git("pack-refs --all");
        // Loose ones beside those that are packed, one of them newer than its packed value.
        self.git("update-ref refs/custom/loose HEAD");
        self.git("update-ref refs/custom/packed HEAD");
        self.git_args(&[
            "notes",
            "--ref=extra",
            "add",
            "-m",
            "another note",
            "HEAD~1",
        ]);
        self.write("both.txt", "third\n");
        self.git("commit -q -a -m third");
    }

    fn add_linked_work_tree(&self) {
        let side = self.side();
        let place = side.display().to_string();
        self.git_args(&["worktree", "add", "-q", "-b", "side", &place]);
        fs::write(side.join("a.txt"), "side, committed\n").unwrap();
        self.git_args(&["-C", &place, "commit", "-q", "-a", "-m", "on the side"]);
        fs::write(side.join("a.txt"), "side, staged\n").unwrap();
        fs::write(side.join("only-staged.txt"), "side, only staged\n").unwrap();
        self.git_args(&["-C", &place, "add", "-A"]);
        fs::remove_file(side.join("only-staged.txt")).unwrap();
        fs::write(side.join("a.txt"), "side, edited\n").unwrap();
        fs::write(side.join("untracked.txt"), "side, untracked\n").unwrap();
    }

    fn add_nested_repository(&self) {
        self.git("init -q -b main --template= nested");
        self.write("nested/inner.txt", "nested\n");
        self.git("-C nested add -A");
        self.git("-C nested commit -q -m nested");
        self.write("nested/inner.txt", "nested, edited\n");
        self.write("nested/staged.txt", "nested, staged\n");
        self.git("-C nested add staged.txt");
    }

    fn add_stashes(&self) {
        self.write("a.txt", "first stash\n");
        self.git("stash push -q -m first -- a.txt");
        self.write("dir/b.txt", "second stash\n");
        self.write("stashed-untracked.txt", "untracked in the stash\n");
        self.git("stash push -q -u -m second -- dir/b.txt stashed-untracked.txt");
    }

    fn add_changes(&self) {
        self.add_edits();
        self.write("filtered.swap", "hello filter, edited\n");
        self.write("lines.crlf", "one\r\ntwo\r\nthree\r\n");
        self.write("intended.txt", "only announced\n");
        self.git("add -N intended.txt");
        self.git("rm -q --cached deleted.txt");
        fs::remove_file(self.repo.join("deleted.txt")).unwrap();
        self.git("mv moved.txt moved-to.txt");
        self.write("only-staged.txt", "in the index alone\n");
        self.git("add only-staged.txt");
        fs::remove_file(self.repo.join("only-staged.txt")).unwrap();
        self.git("update-index --assume-unchanged flagged.txt");
        self.write("flagged.txt", "edited behind the flag\n");
        self.git("update-index --skip-worktree skipped.txt");
        self.write("skipped.txt", "edited behind the other flag\n");
        self.write("untracked/new.txt", "new\n");
        fs::set_permissions(self.repo.join("untracked/new.txt"), mode(0o600)).unwrap();
        symlink("../nested", self.repo.join("untracked/link")).unwrap();
        let invalid = OsString::from_vec(b"untracked/\xfe\xff".to_vec());
        fs::write(self.repo.join(invalid), "invalid name\n").unwrap();
        fs::create_dir(self.repo.join("empty")).unwrap();
        self.write("sub/inner.txt", "inner, edited\n");
        self.write(".env", "SECRET=1\n");
        self.write("target/cache", "cache\n");
    }

    fn add_settings_and_hooks(&self) {
        self.git("config core.abbrev 12");
        self.git_args(&["config", "alias.shown", "log --oneline -1"]);
        self.write(".git/info/exclude", "*.swp\n");
        self.write("a.swp", "swap\n");
        self.write(".git/description", "a rich repository\n");
        for hook in ["pre-commit", "post-checkout", "pre-commit.d/10-check"] {
            let path = format!(".git/hooks/{hook}");
            self.write(&path, "#!/bin/sh\nexit 0\n");
            fs::set_permissions(self.repo.join(path), mode(0o755)).unwrap();
        }
        self.write(".git/hooks/not-executable.sample", "#!/bin/sh\n");
    }
}

/// What git says of a repository, ids and all.
const ASKED: [&str; 7] = [
    "status --porcelain=v2 --branch --untracked-files=all --ignored",
    "rev-parse HEAD --symbolic-full-name HEAD",
    "for-each-ref --format=%(refname)|%(objectname)|%(symref)",
    "stash list --format=%gd|%gs|%H",
    "ls-files --stage -v",
    "worktree list --porcelain",
    "fsck --full --no-dangling --no-progress",
];

/// Everything of a repository, its linked work tree and what is nested in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WholeState {
    /// Everything except the reflogs, one line per fact.
    pub(crate) text: String,
    /// Reflogs by file, one line per entry.
    pub(crate) reflogs: BTreeMap<String, Vec<String>>,
}

impl WholeState {
    /// Everything as it is now: files with mode and bytes, index with flags, HEAD, refs, stash,
    /// configuration, hooks, work trees, `git fsck`.
    pub(crate) fn of(sandbox: &Sandbox) -> Self {
        let mut text = String::new();
        for args in ASKED {
            let _ = write!(text, "$ git {args}\n{}", ask(sandbox, &sandbox.repo, args));
        }
        text.push_str(&index_flags(sandbox));
        let side = sandbox.side();
        if side.exists() {
            // What is common to both is not asked again.
            for args in [ASKED[0], ASKED[1], ASKED[4]] {
                let _ = write!(text, "side$ git {args}\n{}", ask(sandbox, &side, args));
            }
            list(&side, "side/", &mut text);
        }
        list(&sandbox.repo, "", &mut text);
        let reflogs = reflogs(&sandbox.repo.join(".git"));
        Self { text, reflogs }
    }

    /// The lines that two states do not share, each with `-` or `+`; nothing where they are equal.
    /// Reflogs may have grown by entries for which `may_be_added` holds.
    pub(crate) fn difference(&self, now: &Self, may_be_added: impl Fn(&str) -> bool) -> String {
        let mut text = line_difference(&self.text, &now.text);
        let files: BTreeSet<&String> = self.reflogs.keys().chain(now.reflogs.keys()).collect();
        for file in files {
            let was = self.reflogs.get(file).map_or(&[][..], Vec::as_slice);
            let is = now.reflogs.get(file).map_or(&[][..], Vec::as_slice);
            let Some(added) = is.strip_prefix(was) else {
                let _ = writeln!(text, "reflog {file}: {was:#?}\nbecame {is:#?}");
                continue;
            };
            for line in added.iter().filter(|line| !may_be_added(line)) {
                let _ = writeln!(text, "+ reflog {file}: {line}");
            }
        }
        text
    }

    /// The same without what differs from one run to the next: commits that are not in `known` are
    /// named by subject and tree, because their ids hold times.
    pub(crate) fn neutral(&self, sandbox: &Sandbox, known: &BTreeSet<String>) -> String {
        let made: Vec<String> = commits(sandbox)
            .into_iter()
            .filter(|id| !known.contains(id))
            .collect();
        let mut text = self.text.clone();
        if !made.is_empty() {
            let mut args = vec!["log", "--no-walk=unsorted", "--format=%H <%s %T>"];
            args.extend(made.iter().map(String::as_str));
            for line in sandbox.git_args(&args).lines() {
                let (id, name) = line.split_once(' ').unwrap();
                text = text.replace(id, name);
            }
        }
        text.push_str(&ask(sandbox, &sandbox.repo, "log --all --format=log:%s|%T"));
        text
    }
}

/// The ids of all commits in a repository.
pub(crate) fn commits(sandbox: &Sandbox) -> BTreeSet<String> {
    let format = "cat-file --batch-all-objects --batch-check=%(objecttype)|%(objectname)";
    let all = ask(sandbox, &sandbox.repo, format);
    let ids = all.lines().filter_map(|line| line.strip_prefix("commit|"));
    ids.map(str::to_owned).collect()
}

/// Every path below a folder with kind, mode and bytes, each in a line of its own.
fn list(folder: &Path, prefix: &str, text: &mut String) {
    let mut names: Vec<OsString> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let shown = format!("{prefix}{}", name.as_bytes().escape_ascii());
        if is_passing(&shown) {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            let target = target.as_os_str().as_bytes().escape_ascii();
            let _ = writeln!(text, "{shown}: link to {target}");
        } else if metadata.is_dir() {
            let _ = writeln!(text, "{shown}: folder {mode:o}");
            list(&path, &format!("{shown}/"), text);
        } else if metadata.is_file() {
            let bytes = fs::read(&path).unwrap();
            let _ = writeln!(text, "{shown}: file {mode:o} {}", bytes.escape_ascii());
        } else {
            let _ = writeln!(text, "{shown}: special {mode:o}");
        }
    }
}

fn is_passing(path: &str) -> bool {
    let Some(inside) = path.strip_prefix(".git/") else {
        return false;
    };
    // The token ties the repository to its vault.
    inside == "ralphtool.id" || PASSING.contains(&inside)
}

/// Git's answer, complaints included; nothing is written, not even a refreshed index.
fn ask(sandbox: &Sandbox, place: &Path, args: &str) -> String {
    let output = sandbox
        .command("git")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .args(args.split(' '))
        .current_dir(place)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    format!("{told}{}", String::from_utf8_lossy(&output.stderr))
}

/// Flags of the index that `ls-files --stage -v` does not show, such as intent-to-add.
fn index_flags(sandbox: &Sandbox) -> String {
    let mut text = String::new();
    let mut path = String::new();
    for line in ask(sandbox, &sandbox.repo, "ls-files --debug").lines() {
        match line.split_once("flags: ") {
            Some((_, "0")) => {}
            Some((_, flags)) => {
                let _ = writeln!(text, "index flags {flags}: {path}");
            }
            None if !line.starts_with("  ") => line.clone_into(&mut path),
            None => {}
        }
    }
    text
}

/// All logs of refs below a git directory, those of linked work trees too.
fn reflogs(git_dir: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![git_dir.join("logs")];
    if let Ok(entries) = fs::read_dir(git_dir.join("worktrees")) {
        folders.extend(entries.map(|entry| entry.unwrap().path().join("logs")));
    }
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            let lines = String::from_utf8_lossy(&bytes).into_owned();
            let name = path.strip_prefix(git_dir).unwrap().as_os_str();
            let name = OsStr::to_string_lossy(name).into_owned();
            found.insert(name, lines.lines().map(str::to_owned).collect());
        }
    }
    found
}

/// Lines that are in one of two texts only.
pub(crate) fn line_difference(wanted: &str, now: &str) -> String {
    let count = |text: &str| {
        text.lines().fold(BTreeMap::new(), |mut all, line| {
            *all.entry(line.to_owned()).or_insert(0) += 1;
            all
        })
    };
    let (wanted, now) = (count(wanted), count(now));
    let mut text = String::new();
    for (line, times) in &now {
        if wanted.get(line) < Some(times) {
            let _ = writeln!(text, "+ {line}");
        }
    }
    for (line, times) in &wanted {
        if now.get(line) < Some(times) {
            let _ = writeln!(text, "- {line}");
        }
    }
    text
}
