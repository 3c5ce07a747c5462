//! What an agent may do wrong: a misdeed on a target, and programs of several.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::select;

/// Paths of the repository; `@` is the first match of a pattern. Every file and folder of the git
/// directory that is read or written, the git directory, the top folder, and the tree.
pub(crate) const TARGETS: &[&str] = &[
    ".",
    ".git",
    ".git/HEAD",
    ".git/ORIG_HEAD",
    ".git/branches",
    ".git/config",
    ".git/config.lock",
    ".git/config.worktree",
    ".git/description",
    ".git/HEAD.lock",
    ".git/hooks",
    ".git/hooks/post-merge",
    ".git/hooks/pre-commit.d",
    ".git/hooks/pre-commit.d/lint",
    ".git/index",
    ".git/index.lock",
    ".git/info",
    ".git/info/exclude",
    ".git/info/sparse-checkout",
    ".git/logs",
    ".git/logs/HEAD",
    ".git/logs/refs",
    ".git/logs/refs/heads/main",
    ".git/logs/refs/stash",
    ".git/modules",
    ".git/modules/module",
    ".git/modules/module/HEAD",
    ".git/objects",
    ".git/objects/info",
    ".git/objects/info/alternates",
    ".git/objects/info/commit-graph",
    ".git/objects/pack",
    ".git/objects/pack/multi-pack-index",
    "@.git/objects/??",
    "@.git/objects/??/*",
    "@.git/objects/pack/*.idx",
    "@.git/objects/pack/*.pack",
    ".git/packed-refs",
    ".git/packed-refs.lock",
    ".git/ralphtool.id",
    ".git/refs",
    ".git/refs/heads",
    ".git/refs/heads/main",
    ".git/refs/heads/main.lock",
    ".git/refs/heads/ralph",
    ".git/refs/heads/ralph/c",
    ".git/refs/heads/ralph/c.lock",
    ".git/refs/heads/side",
    ".git/refs/stash",
    ".git/refs/tags",
    ".git/shallow",
    ".git/shallow.lock",
    ".git/worktrees",
    ".git/worktrees/linked",
    ".git/worktrees/linked/HEAD",
    ".gitattributes",
    ".gitignore",
    ".gitmodules",
    ".env",
    "a.txt",
    "dir",
    "dir/b.txt",
    "dir/inner",
    "dir/inner/.gitignore",
    "link",
    "module",
    "module/.git",
    "openspec/changes/c/tasks.md",
    "ralphtool.toml",
    "untracked",
    "untracked/new.txt",
];

/// Each is a function of the agent's script.
pub(crate) const DEEDS: &[&str] = &[
    "append",
    "chmod_000",
    "chmod_400",
    "chmod_500",
    "chmod_777",
    "deep",
    "garbage",
    "hard_link",
    "link_dangling",
    "link_file",
    "link_folder",
    "link_itself",
    "move_and_link",
    "move_inside",
    "move_outside",
    "remove",
    "rename_over",
    "sparse",
    "to_empty_folder",
    "to_fifo",
    "to_file",
    "to_folder",
    "to_socket",
    "truncate",
];

/// The functions; what fails is left undone. `$1` is an absolute path.
pub(crate) const FUNCTIONS: &str = r#"
repo=$root/repo
number=0
append() { printf 'junk\n' >> "$1"; }
chmod_000() { chmod 000 "$1"; }
chmod_400() { chmod 400 "$1"; }
chmod_500() { chmod 500 "$1"; }
chmod_777() { chmod 777 "$1"; }
deep() {
    if [ ! -d "$1" ]; then clear_away "$1"; mkdir "$1"; fi
    (cd "$1" && perl -e 'for (1..24) { mkdir "d" x 200; chdir "d" x 200 } open F, ">file"; print F "deep"')
}
garbage() { chmod u+w "$1"; printf 'garbage\000\377 %s\n' "$1" > "$1"; }
hard_link() { clear_away "$1"; ln "$root/outside/file.txt" "$1"; }
link_dangling() { clear_away "$1"; ln -s "$root/outside/none" "$1"; }
link_file() { clear_away "$1"; ln -s "$root/outside/file.txt" "$1"; }
link_folder() { clear_away "$1"; ln -s "$root/outside/folder" "$1"; }
link_itself() { clear_away "$1"; ln -s "${1##*/}" "$1"; }
move_and_link() { mv "$1" "$root/elsewhere/$number" && ln -s "$root/elsewhere/$number" "$1"; }
move_inside() { mv "$1" "$repo/moved-$number"; }
move_outside() { mv "$1" "$root/elsewhere/$number"; }
remove() { clear_away "$1"; }
rename_over() { printf 'other\n' > "$root/elsewhere/$number" && mv -f "$root/elsewhere/$number" "$1"; }
sparse() { truncate -s 200G "$1" || truncate -s 3G "$1"; } # Less where the size of files is limited.
to_empty_folder() { clear_away "$1"; mkdir "$1"; }
to_fifo() { clear_away "$1"; mkfifo "$1"; }
to_file() { clear_away "$1"; printf 'file\n' > "$1"; }
to_folder() { clear_away "$1"; mkdir "$1"; printf 'junk\n' > "$1/junk"; }
to_socket() { clear_away "$1"; (cd "${1%/*}" && perl -MSocket -e 'socket S, PF_UNIX, SOCK_STREAM, 0; bind S, sockaddr_un($ARGV[0])' "${1##*/}"); }
truncate_it() { chmod u+w "$1"; : > "$1"; }
clear_away() { rm -rf "$1"; }
at() { # at DEED PATH
    number=$((number + 1))
    case $2 in
        .) path=$repo ;;
        @*) path=$(cd "$repo" && set -- ${2#@} && printf %s "$repo/$1") ;;
        *) path=$repo/$2 ;;
    esac
    case $1 in truncate) set -- truncate_it ;; esac
    ( cd "$root" && "$1" "$path" ) > /dev/null 2>&1
}
"#;

/// One thing done to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Misdeed {
    pub(crate) deed: &'static str,
    pub(crate) target: &'static str,
}

impl Misdeed {
    /// Reads `TARGET DEED`.
    pub(crate) fn parse(words: &str) -> Option<Self> {
        let (target, deed) = words.trim().split_once(' ')?;
        let find = |all: &'static [&'static str], name: &str| {
            all.iter().copied().find(|known| *known == name)
        };
        Some(Self {
            deed: find(DEEDS, deed)?,
            target: find(TARGETS, target)?,
        })
    }
}

/// What an agent does before it ends its attempt.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) misdeeds: Vec<Misdeed>,
    /// The attempt does its story, too.
    pub(crate) succeeds: bool,
}

impl Program {
    /// One misdeed alone: all of them, by number.
    pub(crate) fn alone(number: usize) -> Self {
        let misdeed = Misdeed {
            target: TARGETS[number / DEEDS.len()],
            deed: DEEDS[number % DEEDS.len()],
        };
        Self {
            misdeeds: vec![misdeed],
            succeeds: false,
        }
    }

    /// The misdeeds as lines of the agent's script.
    pub(crate) fn lines(&self) -> String {
        let line = |it: &Misdeed| format!("at {} '{}'\n", it.deed, it.target);
        self.misdeeds.iter().map(line).collect()
    }
}

/// What docs/limits.md does not promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exception {
    /// What is written into an object in place is in the vault, too.
    ObjectsInPlace,
    /// The state of other work trees may be their user's.
    OtherWorkTrees,
    /// A file of this name at the top of the git directory may be another tool's.
    UnknownFile(usize),
    /// The agent itself changes what is outside, through a link it made before.
    ReachesOutside,
}

impl Program {
    /// The exceptions that hold for the program.
    pub(crate) fn exceptions(&self) -> Vec<Exception> {
        let exception = |(number, it): (usize, &Misdeed)| {
            let in_place = ["append", "garbage", "sparse", "truncate"].contains(&it.deed);
            if it.target.starts_with("@.git/objects/") && in_place {
                Some(Exception::ObjectsInPlace)
            } else if it.target.starts_with(".git/worktrees") {
                Some(Exception::OtherWorkTrees)
            } else if it.target == ".git" && it.deed == "rename_over" {
                Some(Exception::UnknownFile(number + 1))
            } else {
                None
            }
        };
        let numbered = self.misdeeds.iter().enumerate();
        let outside = self.reaches_outside().then_some(Exception::ReachesOutside);
        numbered.filter_map(exception).chain(outside).collect()
    }

    /// True where something is done to a path after it, or a folder above it, became a link. An agent
    /// that succeeds writes its work into the tree at the end.
    fn reaches_outside(&self) -> bool {
        let links = ["hard_link", "link_file", "link_folder", "move_and_link"];
        let is_below = |path: &str, above: &str| {
            let path = path.trim_start_matches('@');
            let above = above.trim_start_matches('@');
            above == "."
                || path
                    .strip_prefix(above)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let later = |number: usize| self.misdeeds.iter().skip(number + 1);
        let numbered = self.misdeeds.iter().enumerate();
        let mut made = numbered.filter(|(_, it)| links.contains(&it.deed));
        made.any(|(number, link)| {
            (self.succeeds && link.target == ".")
                || later(number).any(|it| is_below(it.target, link.target))
        })
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for misdeed in &self.misdeeds {
            writeln!(f, "    {} {}", misdeed.target, misdeed.deed)?;
        }
        let end = if self.succeeds { "succeeds" } else { "fails" };
        writeln!(f, "    and {end}")
    }
}

/// One misdeed mostly, up to four; one program in five succeeds.
pub(crate) fn program() -> impl Strategy<Value = Program> {
    let misdeed =
        (select(TARGETS), select(DEEDS)).prop_map(|(target, deed)| Misdeed { deed, target });
    // A smaller program has fewer misdeeds, not others.
    let misdeed = misdeed.no_shrink();
    let count = prop_oneof![3 => 1..=1usize, 2 => 2..=4usize];
    let misdeeds =
        count.prop_flat_map(move |count| prop::collection::vec(misdeed.clone(), 1..=count));
    (misdeeds, prop::bool::weighted(0.2))
        .prop_map(|(misdeeds, succeeds)| Program { misdeeds, succeeds })
}
