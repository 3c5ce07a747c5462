//! What git makes of a file before it stores it: as a rule nothing, and then the bytes need not go
//! through git. Whatever may be otherwise (filters, encodings, line endings, settings for odd file
//! systems) is left to git, which knows.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::frozen_config::value_of;
use crate::paths::absolute;
use crate::repo::Repo;
use ralph_base::files::read_if_present;

/// Words in a file of attributes by which files become something else than their bytes.
const CONVERTING: &[&str] = &["filter", "ident", "working-tree-encoding"];

/// Where attributes for the whole machine are, for a git that does not say.
const USUAL_PLACES: &[&str] = &["/etc/gitattributes", "/usr/local/etc/gitattributes"];

/// Which settings take more than the bytes and the mode of a file, and what is the ordinary.
const ORDINARY: &[(&str, &[&str])] = &[
    ("core.filemode", &["true", "yes", "on", "1"]),
    ("core.symlinks", &["true", "yes", "on", "1"]),
    ("core.ignorecase", &["false", "no", "off", "0"]),
    ("core.precomposeunicode", &["false", "no", "off", "0"]),
    (
        "core.sharedrepository",
        &["false", "no", "off", "0", "umask"],
    ),
    ("i18n.commitencoding", &["utf-8", "utf8"]),
];

/// Where git keeps logs of refs as it mostly does.
const LOGS: (&str, &[&str]) = ("core.logallrefupdates", &["true", "yes", "on", "1"]);

/// What the frozen configuration says about conversions.
#[derive(Debug)]
pub(crate) struct Conversions {
    /// Everything goes through git.
    pub always: bool,
    pub line_endings: LineEndings,
    /// Git keeps logs of branches, and of nothing that mostly has none.
    pub logs: bool,
    /// Files with attributes outside of the work tree.
    outside: Vec<PathBuf>,
}

/// What the configuration says about line endings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEndings {
    /// Nothing.
    Unsaid,
    /// They are not converted now. They may have been when git wrote the files.
    AsTheyAre,
    /// They are converted, whatever attributes say.
    Converted,
}

/// What may become of the files in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Converted {
    /// They are stored as they are.
    Never,
    /// Line endings may be converted: a file without a carriage return has none that could be.
    Lines,
    /// Anything.
    Anyhow,
}

impl Repo {
    /// What git makes of files in this run.
    pub(crate) fn conversions(&self) -> &Conversions {
        if let Some(known) = self.conversions.get() {
            return known;
        }
        let config = self.places.vault.scratch("work").join("config");
        let config = fs::read_to_string(config).unwrap_or_default();
        let said = self.work.run(["var", "-l"]).unwrap_or_default();
        self.learn_conversions(&config, &String::from_utf8_lossy(&said))
    }

    /// Takes from the frozen configuration, and from git's own variables, what git makes of files.
    pub(crate) fn learn_conversions(&self, config: &str, variables: &str) -> &Conversions {
        let work = self.places.vault.scratch("work");
        let mut outside = vec![work.join("info/attributes")];
        outside.extend(attribute_files(variables));
        self.conversions
            .get_or_init(|| Conversions::new(config, outside))
    }
}

/// The files git says it reads attributes from.
fn attribute_files(variables: &str) -> Vec<PathBuf> {
    let named = variables.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        ["GIT_ATTR_SYSTEM", "GIT_ATTR_GLOBAL"]
            .contains(&name)
            .then(|| PathBuf::from(value))
    });
    let named: Vec<PathBuf> = named.collect();
    if !named.is_empty() {
        return named;
    }
    let mut usual: Vec<PathBuf> = USUAL_PLACES.iter().map(PathBuf::from).collect();
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    usual.extend(folder.or_else(home).map(|it| it.join("git/attributes")));
    usual
}

impl Conversions {
    fn new(config: &str, mut outside: Vec<PathBuf>) -> Self {
        let is_ordinary = |(key, values): (&str, &[&str])| {
            value_of(config, key)
                .is_none_or(|value| values.contains(&value.to_ascii_lowercase().as_str()))
        };
        let line_endings = match value_of(config, "core.autocrlf") {
            Some(value) if !value.eq_ignore_ascii_case("false") => LineEndings::Converted,
            None if value_of(config, "core.eol").is_none() => LineEndings::Unsaid,
            _ => LineEndings::AsTheyAre,
        };
        outside.extend(value_of(config, "core.attributesfile").map(PathBuf::from));
        Self {
            always: !ORDINARY.iter().all(|setting| is_ordinary(*setting)),
            line_endings,
            logs: is_ordinary(LOGS),
            outside,
        }
    }

    /// Looks at the attributes that hold for a path, folder by folder.
    pub(crate) fn of(&self, top: &Path, path: &[u8], seen: &mut Folders) -> Converted {
        let mut worst = *seen.outside.get_or_insert_with(|| {
            let outside = self.outside.iter().map(|file| said_in(file));
            let lines = if self.line_endings == LineEndings::Converted {
                Converted::Lines
            } else {
                Converted::Never
            };
            outside.fold(lines, Converted::max)
        });
        let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        for end in std::iter::once(0).chain(slashes) {
            let folder = &path[..end];
            if !seen.inside.contains_key(folder) {
                let said = said_in(&absolute(top, folder).join(".gitattributes"));
                seen.inside.insert(folder.to_vec(), said);
            }
            worst = worst.max(seen.inside.get(folder).copied().unwrap_or(worst));
        }
        worst
    }
}

/// What was found out already.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    outside: Option<Converted>,
    inside: HashMap<Vec<u8>, Converted>,
}

/// What a file of attributes may do to the files it speaks of.
fn said_in(file: &Path) -> Converted {
    let is_link = fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink());
    match read_if_present(file) {
        Ok(None) if !is_link => Converted::Never,
        Ok(Some(bytes)) if !is_link => {
            let text = String::from_utf8_lossy(&bytes);
            let says_nothing = |line: &str| line.trim().is_empty() || line.starts_with('#');
            if text.lines().all(says_nothing) {
                Converted::Never
            } else if CONVERTING.iter().any(|word| text.contains(word)) {
                Converted::Anyhow
            } else {
                Converted::Lines
            }
        }
        _ => Converted::Anyhow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversions(config: &str) -> Conversions {
        Conversions::new(config, Vec::new())
    }

    #[test]
    fn odd_settings_leave_everything_to_git() {
        assert!(!conversions("[core]\n\tfilemode = \"true\"\n").always);
        for odd in [
            "[core]\n\tfilemode = \"false\"\n",
            "[core]\n\tfilemode = \"true\"\n[core]\n\tfilemode = \"no\"\n",
            "[core]\n\tsharedrepository = \"group\"\n",
            "[i18n]\n\tcommitencoding = \"latin-1\"\n",
        ] {
            assert!(conversions(odd).always, "{odd}");
        }
    }

    #[test]
    fn attributes_above_a_path_decide() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/.gitattributes"), "*.txt text=auto\n").unwrap();
        fs::write(top.join("a/b/.gitattributes"), "*.bin filter=lfs\n").unwrap();
        let none = conversions("");
        let of = |path: &str| none.of(top, path.as_bytes(), &mut Folders::default());
        assert_eq!(of("x"), Converted::Never);
        fs::write(top.join(".gitattributes"), "# nothing\n\n").unwrap();
        assert_eq!(of("x"), Converted::Never);
        fs::remove_file(top.join(".gitattributes")).unwrap();
        assert_eq!(of("a/x"), Converted::Lines);
        assert_eq!(of("a/b/x"), Converted::Anyhow);
        let lines = conversions("[core]\n\tautocrlf = \"input\"\n");
        let seen = &mut Folders::default();
        assert_eq!(lines.of(top, b"x", seen), Converted::Lines);
        std::os::unix::fs::symlink("a/.gitattributes", top.join(".gitattributes")).unwrap();
        assert_eq!(of("x"), Converted::Anyhow);
    }
}
