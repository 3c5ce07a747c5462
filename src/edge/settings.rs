//! Finds and reads the configuration files; what they mean is for `domain::settings`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::domain::settings::{PartialSettings, SettingsProblem, file, variables};

/// The name of the file in the repository root.
pub(crate) const REPOSITORY_FILE: &str = "ralphtool.toml";

/// Where settings are looked for.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    /// The repository's root.
    pub(crate) root: &'a Path,
    /// The user's home directory, where there is one.
    pub(crate) home: Option<&'a Path>,
    /// The file given with `--config`; relative to `directory`.
    pub(crate) config: Option<&'a Path>,
    /// The directory the program works in.
    pub(crate) directory: &'a Path,
}

/// The layers found, the earliest first, without the flags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Repository file, user file, variables.
    pub(crate) layers: Vec<PartialSettings>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
}

/// Reads all layers. A file asked for by name replaces both others and must exist.
pub(crate) fn load(
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
    let mut layers = match asked {
        Some(path) => vec![asked_file(places, &path)?],
        None => found_files(places, &readable)?,
    };
    layers.push(variables.settings);
    Ok(Loaded {
        layers,
        warnings: variables.warnings,
    })
}

fn asked_file(places: &Places<'_>, path: &Path) -> Result<PartialSettings, SettingsProblem> {
    let name = path.display().to_string();
    match read(&places.directory.join(path), &name)? {
        Some(layer) => Ok(layer),
        None => Err(SettingsProblem::new(name, "there is no such file")),
    }
}

fn found_files(
    places: &Places<'_>,
    environment: &[(&str, &str)],
) -> Result<Vec<PartialSettings>, SettingsProblem> {
    let mut layers = Vec::new();
    layers.extend(read(&places.root.join(REPOSITORY_FILE), REPOSITORY_FILE)?);
    if let Some(path) = user_file(places.home, environment) {
        layers.extend(read(&path, &path.display().to_string())?);
    }
    Ok(layers)
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

/// Reads one file; none is no error.
fn read(path: &Path, name: &str) -> Result<Option<PartialSettings>, SettingsProblem> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if missing(error.kind()) => return Ok(None),
        Err(error) => {
            let message = format!("could not read the file: {error}");
            return Err(SettingsProblem::new(name, message));
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(SettingsProblem::new(name, "the file is not UTF-8 text"));
    };
    file::parse(name, text.strip_prefix('\u{feff}').unwrap_or(&text)).map(Some)
}

fn missing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Settings;
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
            };
            let environment: Vec<(OsString, OsString)> = environment
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)))
                .collect();
            load(&places, &environment)
        }

        fn retries(&self, config: Option<&str>, environment: &[(&str, &str)]) -> (u32, String) {
            let loaded = self.load(config, environment).unwrap();
            let retries = Settings::resolve(loaded.layers).unwrap().max_retries;
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
}
