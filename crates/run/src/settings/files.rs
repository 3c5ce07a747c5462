//! Finds and reads the configuration files; `file.rs` interprets their text.

use std::ffi::OsString;
use std::ops::Deref;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::settings::trust::{Allowance, Claim, TrustQuestion};
use crate::settings::{PartialSettings, Settings, SettingsProblem, file, variables};
use ralph_base::files::absent;

/// The name of the file in the repository root.
pub const REPOSITORY_FILE: &str = "ralphtool.toml";

/// Where settings are searched.
#[derive(Debug)]
pub struct Places<'a> {
    /// The repository's root.
    pub root: &'a Path,
    /// The user's home directory, where there is one.
    pub home: Option<&'a Path>,
    /// The file given with `--config`; relative to `directory`.
    pub config: Option<&'a Path>,
    /// The directory the program works in.
    pub directory: &'a Path,
    /// The user's state directory, where it is remembered what the user has allowed.
    pub state: Option<&'a Path>,
    /// What the repository's own file asks for is allowed, this once.
    pub trust: bool,
}

/// Settings that may be acted on: whatever in them starts a program, sets a variable of one or names
/// a folder comes from the user, or the user has allowed it. Only [`Loaded::allowed`] makes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedSettings(Settings);

impl Deref for AllowedSettings {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.0
    }
}

/// A settings file of the repository, which may have come with a clone, or which an agent may have
/// changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFile {
    /// The file, as the user knows it.
    pub name: String,
    /// What in it has to be allowed.
    pub claims: Vec<Claim>,
    /// The allowance it needs for that.
    pub allowance: Allowance,
    is_allowed: bool,
    /// All its settings.
    whole: Box<PartialSettings>,
    /// Its settings without those that have to be allowed.
    harmless: Box<PartialSettings>,
}

impl RepositoryFile {
    fn allowed(&self) -> &PartialSettings {
        if self.is_allowed {
            &self.whole
        } else {
            &self.harmless
        }
    }

    /// What the user is asked.
    pub fn question(&self) -> TrustQuestion {
        TrustQuestion {
            file: self.name.clone(),
            claims: self.claims.clone(),
            token: self.allowance.token().to_owned(),
        }
    }
}

/// The layers found, without the flags.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    file: Option<RepositoryFile>,
    /// The layers over it: the user's file, then variables.
    own: Vec<PartialSettings>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// The repository's own file, where there is one.
    pub fn repository_file(&self) -> Option<&RepositoryFile> {
        self.file.as_ref()
    }

    /// The repository's own file where it asks for something that the user has not allowed.
    pub fn unallowed(&self) -> Option<&RepositoryFile> {
        self.file.as_ref().filter(|file| !file.is_allowed)
    }

    /// The user has just allowed what the repository's file asks for.
    pub fn accept(&mut self) {
        if let Some(file) = &mut self.file {
            file.is_allowed = true;
        }
    }

    /// All settings, the flags over all: to show them, not to act on them.
    pub fn shown(&self, flags: PartialSettings) -> Result<Settings, SettingsProblem> {
        self.resolve(|file| &file.whole, flags)
    }

    /// The settings to act on; what is not allowed is not in them.
    pub fn allowed(&self, flags: PartialSettings) -> Result<AllowedSettings, SettingsProblem> {
        self.resolve(RepositoryFile::allowed, flags)
            .map(AllowedSettings)
    }

    fn resolve(
        &self,
        layer: fn(&RepositoryFile) -> &PartialSettings,
        flags: PartialSettings,
    ) -> Result<Settings, SettingsProblem> {
        let file = self.file.iter().map(layer);
        let layers = file.chain(&self.own).cloned();
        Settings::resolve(layers.chain([flags]))
    }
}

/// Reads all layers. A file asked for by name replaces both others and must exist.
pub fn load(
    places: &Places<'_>,
    environment: &[(OsString, OsString)],
) -> Result<Loaded, SettingsProblem> {
    let readable: Vec<(&str, &str)> = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
        .collect();
    let variables = variables::parse(readable.iter().copied())?;
    let asked = places
        .config
        .map(Path::to_owned)
        .or_else(|| variables.config.map(PathBuf::from));
    let mut loaded = Loaded {
        warnings: variables.warnings,
        ..Loaded::default()
    };
    let trust = places.trust || variables.trust;
    match asked {
        Some(path) => add_asked_file(&mut loaded, places, &path, trust)?,
        None => add_found_files(&mut loaded, places, &readable, trust)?,
    }
    loaded.own.push(variables.settings);
    Ok(loaded)
}

/// A file that the user names is the user's own, unless it is part of the work tree.
fn add_asked_file(
    loaded: &mut Loaded,
    places: &Places<'_>,
    path: &Path,
    trust: bool,
) -> Result<(), SettingsProblem> {
    let name = path.display().to_string();
    let path = places.directory.join(path);
    let missing = || SettingsProblem::new(name.as_str(), "there is no such file");
    if is_inside(&path, places.root) {
        let theirs = read_theirs(places, &path, &name, trust)?;
        loaded.file = Some(theirs.ok_or_else(missing)?);
    } else {
        let own = read_own(&path, &name)?;
        loaded.own.push(own.ok_or_else(missing)?);
    }
    Ok(())
}

fn add_found_files(
    loaded: &mut Loaded,
    places: &Places<'_>,
    environment: &[(&str, &str)],
    trust: bool,
) -> Result<(), SettingsProblem> {
    let path = places.root.join(REPOSITORY_FILE);
    loaded.file = read_theirs(places, &path, REPOSITORY_FILE, trust)?;
    if let Some(path) = user_file(places.home, environment) {
        loaded
            .own
            .extend(read_own(&path, &path.display().to_string())?);
    }
    Ok(())
}

/// Whether a file is in the work tree, by its own place or by what it links to.
fn is_inside(path: &Path, root: &Path) -> bool {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let is_below = |path: &Path| path.canonicalize().is_ok_and(|it| it.starts_with(&root));
    is_below(path) || path.parent().is_some_and(is_below)
}

/// `$XDG_CONFIG_HOME/ralphtool/config.toml`, or the same under `~/.config`.
fn user_file(home: Option<&Path>, environment: &[(&str, &str)]) -> Option<PathBuf> {
    let configured = environment
        .iter()
        .find(|(name, _)| *name == "XDG_CONFIG_HOME")
        .map(|(_, value)| PathBuf::from(value))
        .filter(|path| path.is_absolute());
    let directory = configured.or_else(|| home.map(|home| home.join(".config")))?;
    Some(directory.join("ralphtool").join("config.toml"))
}

/// Reads a file of the user's; none is no error.
fn read_own(path: &Path, name: &str) -> Result<Option<PartialSettings>, SettingsProblem> {
    let text = read(path, name)?;
    text.map(|text| file::parse(name, without_mark(&text)))
        .transpose()
}

/// Reads a file of the repository, and whether the user has allowed what it asks for.
fn read_theirs(
    places: &Places<'_>,
    path: &Path,
    name: &str,
    trust: bool,
) -> Result<Option<RepositoryFile>, SettingsProblem> {
    // An agent may have put it there, and nothing would ever be written to it.
    if std::fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo()) {
        let message = "this is a named pipe, not a file; remove it";
        return Err(SettingsProblem::new(name, message));
    }
    let Some(text) = read(path, name)? else {
        return Ok(None);
    };
    let reading = file::read(name, without_mark(&text))?;
    // Of the bytes that were read, not of the file, which may be another one by now.
    let allowance = Allowance::of(path, text.as_bytes());
    let is_given = |state: &Path| {
        allowance.is_given(state).map_err(|error| {
            let message = format!("could not find out whether it is allowed: {error}");
            SettingsProblem::new(name, message)
        })
    };
    let is_allowed = reading.claims.is_empty()
        || trust
        || places.state.map(is_given).transpose()?.unwrap_or(false);
    Ok(Some(RepositoryFile {
        name: name.to_owned(),
        claims: reading.claims,
        allowance,
        is_allowed,
        whole: Box::new(reading.whole),
        harmless: Box::new(reading.harmless),
    }))
}

/// The text of one file; none is no error.
fn read(path: &Path, name: &str) -> Result<Option<String>, SettingsProblem> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => {
            let message = format!("could not read the file: {error}");
            return Err(SettingsProblem::new(name, message));
        }
    };
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| SettingsProblem::new(name, "the file is not UTF-8 text"))
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    struct Home {
        folder: tempfile::TempDir,
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["repo", "xdg/ralphtool", "home/.config/ralphtool"] {
                std::fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            Self { folder }
        }

        fn write(&self, path: &str, text: &str) {
            std::fs::write(self.folder.path().join(path), text).unwrap();
        }

        fn load(
            &self,
            config: Option<&str>,
            environment: &[(&str, &str)],
        ) -> Result<Loaded, SettingsProblem> {
            let root = self.folder.path().join("repo");
            let home = self.folder.path().join("home");
            let places = Places {
                root: &root,
                home: Some(&home),
                config: config.map(Path::new),
                directory: &root,
                state: None,
                trust: false,
            };
            let environment: Vec<(OsString, OsString)> = environment
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)))
                .collect();
            load(&places, &environment)
        }

        fn retries(&self, config: Option<&str>, environment: &[(&str, &str)]) -> (u32, String) {
            let loaded = self.load(config, environment).unwrap();
            let settings = loaded.shown(PartialSettings::default()).unwrap();
            let retries = settings.max_retries;
            let origin = retries.origin.to_string();
            let folder = self.folder.path().display().to_string();
            (retries.value, origin.replace(&folder, ""))
        }
    }

    #[test]
    fn the_order_is_repository_then_user_then_variables() {
        let home = Home::new();
        let xdg = home.folder.path().join("xdg").display().to_string();
        let xdg = [("XDG_CONFIG_HOME", xdg.as_str())];
        assert_eq!(home.retries(None, &xdg), (3, "default".to_owned()));
        home.write("repo/ralphtool.toml", "max_retries = 4");
        assert_eq!(home.retries(None, &xdg), (4, "ralphtool.toml:1".to_owned()));
        home.write("xdg/ralphtool/config.toml", "\nmax_retries = 5");
        assert_eq!(
            home.retries(None, &xdg),
            (5, "/xdg/ralphtool/config.toml:2".to_owned())
        );
        home.write("home/.config/ralphtool/config.toml", "max_retries = 6");
        assert_eq!(
            home.retries(None, &[]),
            (6, "/home/.config/ralphtool/config.toml:1".to_owned())
        );
        let all = [xdg[0], ("RALPHTOOL_MAX_RETRIES", "7")];
        assert_eq!(
            home.retries(None, &all),
            (7, "RALPHTOOL_MAX_RETRIES".to_owned())
        );
    }

    #[test]
    fn a_file_asked_for_replaces_the_others_and_must_exist() {
        let home = Home::new();
        home.write("repo/ralphtool.toml", "this is = not even toml");
        home.write("repo/other.toml", "max_retries = 9");
        let want = (9, "other.toml:1".to_owned());
        assert_eq!(home.retries(Some("other.toml"), &[]), want);
        assert_eq!(
            home.retries(None, &[("RALPHTOOL_CONFIG", "other.toml")]),
            want
        );
        let problem = home.load(Some("none.toml"), &[]).unwrap_err();
        assert_eq!(problem.to_string(), "none.toml: there is no such file");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let home = Home::new();
        let path = home.folder.path().join("repo/ralphtool.toml");
        std::fs::write(&path, b"agent = \"\xff\"").unwrap();
        let problem = home.load(None, &[]).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "ralphtool.toml: the file is not UTF-8 text"
        );
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let problem = home.load(None, &[]).unwrap_err();
        assert_eq!(problem.place, "ralphtool.toml");
    }

    const ASKING: &str = "max_retries = 4\nvault_limit = \"1MB\"\n\
        [notify]\nbell = false\ncommand = [\"tell\", \"a b\"]\n\
        [[gate]]\nname = \"tests\"\nrun = \"make test\"\n\
        [agents.plain]\nlike = \"codex\"\n\
        [agents.claude]\nwrap = [\"box\", \"--\"]\nenv = { URL = \"x\", KEY = true, HOME = false }\n";

    #[test]
    fn what_is_not_allowed_is_shown_but_not_in_the_settings_to_act_on() {
        let home = Home::new();
        home.write("repo/ralphtool.toml", ASKING);
        let mut loaded = home.load(None, &[]).unwrap();
        let file = loaded.unallowed().unwrap();
        let claims: Vec<String> = file
            .claims
            .iter()
            .map(|it| format!("{} {}: {}", it.line, it.does, it.what))
            .collect();
        let want = [
            "2 old runs are removed from the vault above: 1MB",
            "5 a notification runs: tell 'a b'",
            "8 a gate runs: make test",
            "12 the agent `claude` is started by: box --",
            "13 the agent `claude` gets the variable: HOME, removed",
            "13 the agent `claude` gets the variable: KEY, with the value you have set",
            "13 the agent `claude` gets the variable: URL=x",
        ];
        assert_eq!(claims, want);
        let all = loaded.shown(PartialSettings::default()).unwrap();
        let some = loaded.allowed(PartialSettings::default()).unwrap();
        assert_eq!(some.max_retries, all.max_retries);
        assert_eq!(some.gates.value, []);
        assert_eq!(
            (some.notify.value.bell, &some.notify.value.command),
            (false, &None)
        );
        assert_eq!(some.agents.keys().collect::<Vec<_>>(), ["plain"]);
        assert_ne!(some.vault_limit, all.vault_limit);
        loaded.accept();
        assert_eq!(*loaded.allowed(PartialSettings::default()).unwrap(), all);
    }

    #[test]
    fn only_a_file_in_the_work_tree_has_to_be_allowed() {
        let home = Home::new();
        for path in [
            "repo/ralphtool.toml",
            "repo/other.toml",
            "beside.toml",
            "home/.config/ralphtool/config.toml",
        ] {
            home.write(path, ASKING);
        }
        std::os::unix::fs::symlink(
            "../repo/other.toml",
            home.folder.path().join("xdg/link.toml"),
        )
        .unwrap();
        std::os::unix::fs::symlink("../beside.toml", home.folder.path().join("repo/out.toml"))
            .unwrap();
        let is_asked = |config: Option<&str>, variables: &[(&str, &str)]| {
            home.load(config, variables).unwrap().unallowed().is_some()
        };
        assert!(is_asked(None, &[]));
        assert!(is_asked(Some("other.toml"), &[]));
        assert!(is_asked(
            None,
            &[("RALPHTOOL_CONFIG", "../repo/other.toml")]
        ));
        assert!(is_asked(Some("../xdg/link.toml"), &[]));
        assert!(is_asked(Some("out.toml"), &[]));
        assert!(!is_asked(Some("../beside.toml"), &[]));
        assert!(!is_asked(None, &[("RALPHTOOL_TRUST", "1")]));
        assert!(is_asked(None, &[("RALPHTOOL_TRUST", "0")]));
        home.write(
            "repo/ralphtool.toml",
            "agent = \"codex\"\n[notify]\nbell = false\n",
        );
        assert!(!is_asked(None, &[]));
    }
}
