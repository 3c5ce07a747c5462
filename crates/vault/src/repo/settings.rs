//! The settings of a run, frozen when it began: who commits, and what git makes of a file before it
//! stores it. As a rule that is nothing, and then the bytes need not go through git. Whatever may be
//! otherwise (filters, encodings, line endings, settings for odd file systems) is left to git.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::frozen_config::value_of;
use super::identity::Identity;
use crate::git::access::{Direct, Reason};
use crate::paths::absolute;
use crate::repo::Repo;
use ralph_base::files::read_if_present;

/// Words in a file of attributes by which files become something else than their bytes.
const CONVERTING: &[&str] = &["filter", "ident", "working-tree-encoding"];

/// Where attributes for the whole machine are, for a git that does not say.
const USUAL_PLACES: &[&str] = &["/etc/gitattributes", "/usr/local/etc/gitattributes"];

/// Settings that take more than the bytes and the mode of a file, and their ordinary values. Those that
/// fold names (`core.ignoreCase`, `core.precomposeUnicode`) do not change a path that git is given.
const ORDINARY: &[(&str, &[&str])] = &[
    ("core.filemode", &["true", "yes", "on", "1"]),
    ("core.symlinks", &["true", "yes", "on", "1"]),
    (
        "core.sharedrepository",
        &["false", "no", "off", "0", "umask"],
    ),
    ("core.logallrefupdates", &["true", "yes", "on", "1"]),
    ("i18n.commitencoding", &["utf-8", "utf8"]),
];

/// What git answered when the run began.
#[derive(Debug)]
pub(crate) struct RawSettings {
    /// The user's configuration, flat.
    pub(crate) config: String,
    /// Git's own variables, after the configuration once more.
    pub(crate) variables: String,
}

/// The settings as far as they decide how the repository is written.
#[derive(Debug)]
pub(crate) struct Settings {
    /// A setting with which git must write everything.
    pub(crate) odd: Option<&'static str>,
    pub(crate) line_endings: LineEndings,
    /// None where git has to guess or to complain.
    pub(crate) identity: Option<Identity>,
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
    /// The settings of this run.
    pub(crate) fn settings(&self) -> &Settings {
        if let Some(settings) = self.settings.get() {
            return settings;
        }
        let config = self.places.vault.scratch("work").join("config");
        let variables = self.gits.work.run(["var", "-l"]).unwrap_or_default();
        self.learn_settings(&RawSettings {
            config: fs::read_to_string(config).unwrap_or_default(),
            variables: String::from_utf8_lossy(&variables).into_owned(),
        })
    }

    /// Keeps the settings that git answered with.
    pub(crate) fn learn_settings(&self, raw: &RawSettings) -> &Settings {
        let attributes = self.places.vault.scratch("work").join("info/attributes");
        self.settings.get_or_init(|| Settings::new(raw, attributes))
    }

    /// Refuses to be direct where git must write everything.
    pub(crate) fn ordinary(&self) -> Direct<&Settings> {
        let settings = self.settings();
        match settings.odd {
            Some(key) => Err(Reason::Setting(key).into()),
            None => Ok(settings),
        }
    }

    /// Who moves refs and commits.
    pub(crate) fn identity(&self) -> Direct<&Identity> {
        let identity = self.ordinary()?.identity.as_ref();
        Ok(identity.ok_or(Reason::NoIdentity)?)
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

impl Settings {
    fn new(raw: &RawSettings, attributes: PathBuf) -> Self {
        let config = &raw.config;
        let is_odd = |(key, values): &&(&str, &[&str])| {
            let value = value_of(config, key);
            value.is_some_and(|value| !values.contains(&value.to_ascii_lowercase().as_str()))
        };
        let line_endings = match value_of(config, "core.autocrlf") {
            Some(value) if !value.eq_ignore_ascii_case("false") => LineEndings::Converted,
            None if value_of(config, "core.eol").is_none() => LineEndings::Unsaid,
            _ => LineEndings::AsTheyAre,
        };
        let mut outside = vec![attributes];
        outside.extend(attribute_files(&raw.variables));
        outside.extend(value_of(config, "core.attributesfile").map(PathBuf::from));
        let variable = |name: &str| {
            let value = std::env::var_os(name)?;
            Some(value.into_string().unwrap_or_default())
        };
        Self {
            odd: ORDINARY.iter().find(is_odd).map(|(key, _)| *key),
            line_endings,
            identity: Identity::named(config, &raw.variables, variable),
            outside,
        }
    }

    /// What may become of a file, by the attributes of each folder above it.
    pub(crate) fn of(&self, top: &Path, path: &[u8], seen: &mut Folders) -> Converted {
        let mut worst = *seen.outside.get_or_insert_with(|| {
            let outside = self.outside.iter().map(|file| conversion_by(file));
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
                let converted = conversion_by(&absolute(top, folder).join(".gitattributes"));
                seen.inside.insert(folder.to_vec(), converted);
            }
            worst = worst.max(seen.inside.get(folder).copied().unwrap_or(worst));
        }
        worst
    }
}

/// What attributes do to the files of folders that were checked already.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    outside: Option<Converted>,
    inside: HashMap<Vec<u8>, Converted>,
}

/// What a file of attributes may do to the files that it names.
fn conversion_by(file: &Path) -> Converted {
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

    fn settings(config: &str) -> Settings {
        let raw = RawSettings {
            config: config.to_owned(),
            variables: "GIT_ATTR_SYSTEM=/nowhere\n".to_owned(),
        };
        Settings::new(&raw, PathBuf::from("/nowhere"))
    }

    #[test]
    fn odd_settings_leave_everything_to_git() {
        let odd = |config: &str| settings(config).odd;
        assert_eq!(odd("[core]\n\tfilemode = \"true\"\n"), None);
        for (config, key) in [
            ("[core]\n\tfilemode = \"false\"\n", "core.filemode"),
            (
                "[core]\n\tfilemode = \"true\"\n[core]\n\tfilemode = \"no\"\n",
                "core.filemode",
            ),
            (
                "[core]\n\tsharedrepository = \"group\"\n",
                "core.sharedrepository",
            ),
            (
                "[i18n]\n\tcommitencoding = \"latin-1\"\n",
                "i18n.commitencoding",
            ),
        ] {
            assert_eq!(odd(config), Some(key), "{config}");
        }
    }

    #[test]
    fn attributes_above_a_path_decide() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/.gitattributes"), "*.txt text=auto\n").unwrap();
        fs::write(top.join("a/b/.gitattributes"), "*.bin filter=lfs\n").unwrap();
        let none = settings("");
        let of = |path: &str| none.of(top, path.as_bytes(), &mut Folders::default());
        assert_eq!(of("x"), Converted::Never);
        fs::write(top.join(".gitattributes"), "# nothing\n\n").unwrap();
        assert_eq!(of("x"), Converted::Never);
        fs::remove_file(top.join(".gitattributes")).unwrap();
        assert_eq!(of("a/x"), Converted::Lines);
        assert_eq!(of("a/b/x"), Converted::Anyhow);
        let lines = settings("[core]\n\tautocrlf = \"input\"\n");
        let seen = &mut Folders::default();
        assert_eq!(lines.of(top, b"x", seen), Converted::Lines);
        std::os::unix::fs::symlink("a/.gitattributes", top.join(".gitattributes")).unwrap();
        assert_eq!(of("x"), Converted::Anyhow);
    }
}
