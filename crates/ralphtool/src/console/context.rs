//! What every command needs to know: where it works and what surrounds it.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::flags::{ColorArgument, GlobalArguments};
use crate::ui::style::Paint;
use crate::ui::words::shell;
use ralph_plan::change::Change;
use ralph_plan::source::{self, SourceError, Surroundings};
use ralph_run::failure::Failure;
use ralph_run::settings::SettingsProblem;
use ralph_run::settings::files::{self, Loaded, Places};
use ralph_vault::git::repository::Repository;
use ralph_vault::store::{VaultFolder, state_directory};

/// The width where the terminal does not say.
const WIDTH: usize = 80;

/// Where a command works, and the terminal and environment it works with.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The directory to work in.
    pub(crate) directory: PathBuf,
    /// The configuration file asked for.
    pub(crate) config: Option<PathBuf>,
    /// The environment, read once.
    pub(crate) environment: Vec<(OsString, OsString)>,
    color: ColorArgument,
}

impl Context {
    pub(crate) fn new(global: &GlobalArguments) -> Self {
        Self {
            directory: global.directory.clone().unwrap_or_else(|| ".".into()),
            config: global.config.clone(),
            environment: std::env::vars_os().collect(),
            color: global.color,
        }
    }

    /// The same terminal and environment in another directory, with the configuration that is there.
    pub(crate) fn in_directory(&self, directory: PathBuf) -> Self {
        Self {
            directory,
            config: None,
            ..self.clone()
        }
    }

    /// Whether text for a stream is coloured.
    pub(crate) fn paint_for(&self, stream: &impl IsTerminal) -> Paint {
        paint(self.color, stream.is_terminal(), &self.environment)
    }

    /// Whether there is a terminal that can show screens and take keys.
    pub(crate) fn has_screen(&self) -> bool {
        std::io::stdin().is_terminal() && self.can_redraw()
    }

    /// Whether standard output is a terminal that can do more than print.
    pub(crate) fn can_redraw(&self) -> bool {
        std::io::stdout().is_terminal() && !is_dumb(&self.environment)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        variable(&self.environment, name)
    }

    /// The directory to work in, whole and without links.
    pub(crate) fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = &self.directory;
        let whole = folder.canonicalize().map_err(|error| {
            Failure::refused(format!("could not go to `{}`", folder.display())).because(error)
        })?;
        if whole.is_dir() {
            return Ok(whole);
        }
        let message = format!("`{}` is not a directory", folder.display());
        Err(Failure::refused(message))
    }

    /// The user's state directory, with the vaults.
    pub(crate) fn state(&self) -> Result<PathBuf, Failure> {
        Ok(state_directory(&self.environment)?)
    }

    /// The vault of a repository; it may not exist yet.
    pub(crate) fn vault(&self, repository: &Repository) -> Result<PathBuf, Failure> {
        Ok(VaultFolder::folder_for(&self.state()?, repository))
    }

    /// The places where plans are searched.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, Failure> {
        Ok(Surroundings::from_environment(self.folder()?))
    }

    /// Reads what the user named: a plan by its name, its folder, or its file.
    pub(crate) fn change(&self, target: &str) -> Result<Change, Failure> {
        let around = self.surroundings()?;
        source::read_target(target, &around).map_err(|error| {
            let missing = matches!(
                error,
                SourceError::NoRoot { .. } | SourceError::NoSuchChange { .. }
            );
            let failure = Failure::from(error);
            if missing && around.folder.join(target).is_file() {
                return failure.hint(format!("for the file of that name say `./{target}`"));
            }
            failure
        })
    }

    /// Refuses a configuration file that the user named and that is not there, also where the command
    /// would not read it.
    pub(crate) fn check_config(&self) -> Result<(), Failure> {
        let missing = |file: &&PathBuf| !self.directory.join(file).exists();
        self.config.as_ref().filter(missing).map_or(Ok(()), |file| {
            let name = file.display().to_string();
            Err(unfit(SettingsProblem::new(name, "there is no such file")))
        })
    }

    /// What the files and variables say. With `trust`, what the repository's own file asks for is
    /// allowed, this once.
    pub(crate) fn load(&self, root: &Path, trust: bool) -> Result<Loaded, Failure> {
        let home = std::env::home_dir();
        let state = self.state().ok();
        let places = Places {
            root,
            home: home.as_deref(),
            config: self.config.as_deref(),
            directory: &self.directory,
            state: state.as_deref(),
            trust,
        };
        files::load(&places, &self.environment).map_err(unfit)
    }

    /// What to type for another command with the same global flags.
    pub(crate) fn typed(&self, command: &str) -> String {
        let mut words = vec!["ralphtool".to_owned()];
        if self.directory != Path::new(".") {
            words.push(format!("-C {}", shell(&self.directory.to_string_lossy())));
        }
        words.push(command.to_owned());
        if let Some(config) = &self.config {
            words.push(format!("--config {}", shell(&config.to_string_lossy())));
        }
        words.join(" ")
    }
}

pub(crate) fn unfit(problem: SettingsProblem) -> Failure {
    let failure = Failure::refused(problem.to_string());
    problem.hint.into_iter().fold(failure, Failure::hint)
}

/// How many columns the terminal has right now.
pub(crate) fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(WIDTH)
}

/// Whether text for a stream is coloured.
fn paint(choice: ColorArgument, is_terminal: bool, environment: &[(OsString, OsString)]) -> Paint {
    let is_set = |name| variable(environment, name).is_some_and(|value| !value.is_empty());
    let forced = variable(environment, "CLICOLOR_FORCE")
        .is_some_and(|value| !value.is_empty() && value != "0");
    let colored = match choice {
        ColorArgument::Always => true,
        ColorArgument::Never => false,
        ColorArgument::Auto if is_set("NO_COLOR") => false,
        ColorArgument::Auto => forced || (is_terminal && !is_dumb(environment)),
    };
    if colored {
        Paint::Colored
    } else {
        Paint::Plain
    }
}

/// Whether the terminal can only print.
fn is_dumb(environment: &[(OsString, OsString)]) -> bool {
    variable(environment, "TERM").is_some_and(|term| term == "dumb")
}

fn variable<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn colours_follow_flag_variables_and_terminal() {
        #[track_caller]
        fn case(choice: ColorArgument, is_terminal: bool, variables: &[(&str, &str)], want: Paint) {
            let environment: Vec<(OsString, OsString)> = variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            assert_eq!(paint(choice, is_terminal, &environment), want);
        }
        use ColorArgument::{Always, Auto, Never};
        case(Auto, true, &[], Paint::Colored);
        case(Auto, false, &[], Paint::Plain);
        case(Auto, true, &[("NO_COLOR", "1")], Paint::Plain);
        case(Auto, true, &[("NO_COLOR", "")], Paint::Colored);
        case(Auto, true, &[("TERM", "dumb")], Paint::Plain);
        case(Auto, false, &[("CLICOLOR_FORCE", "1")], Paint::Colored);
        case(Auto, false, &[("CLICOLOR_FORCE", "0")], Paint::Plain);
        case(Always, false, &[("NO_COLOR", "1")], Paint::Colored);
        case(Never, true, &[("CLICOLOR_FORCE", "1")], Paint::Plain);
    }
}
