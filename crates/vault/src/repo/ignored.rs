//! Which paths are ignored: the rules say of most that they are not, and git is asked about the others.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;

use tempfile::TempDir;

use super::frozen_config::value_of;
use crate::error::Result;
use crate::git::access::Direct;
use crate::git::ignore::{IgnoreRules, IgnoreSettings, is_unreadable_list, own_rules};
use crate::git::process::{Git, nul_separated};
use crate::paths::{absolute, folders_above};
use crate::repo::Repo;
use ralph_base::files::{Tried as _, create_private_folder, read_if_present};

impl Repo {
    /// Says which paths are ignored and not tracked.
    pub(crate) fn check_ignore(&self, git: &Git, paths: &[Vec<u8>]) -> Result<HashSet<Vec<u8>>> {
        let bytes = read_if_present(&git.directory().join("config"))?.unwrap_or_default();
        let settings = ignore_settings(&String::from_utf8_lossy(&bytes));
        let direct = self.perhaps_ignored(git, &settings, paths);
        let asked = self
            .reasons
            .or_git("apply ignore rules", direct, || Ok(paths.to_vec()))?;
        if asked.is_empty() {
            return Ok(HashSet::new());
        }
        let mut args = ["check-ignore", "-z", "--stdin"]
            .map(OsString::from)
            .to_vec();
        if settings
            .excludes()
            .is_ok_and(|it| it.is_some_and(|it| is_unreadable_list(&it)))
        {
            let none = ["-c", "core.excludesFile=/dev/null"].map(OsString::from);
            args.splice(..0, none);
        }
        match self.copy_rules(&asked)? {
            Some(copy) => ask_check_ignore(&git.with_work_tree(copy.path()), &args, &asked),
            None => ask_check_ignore(git, &args, &asked),
        }
    }

    /// The paths a rule ignores: whether they are tracked is for git to say.
    fn perhaps_ignored(
        &self,
        git: &Git,
        settings: &IgnoreSettings,
        paths: &[Vec<u8>],
    ) -> Direct<Vec<Vec<u8>>> {
        let top = &self.places.repository.work_tree;
        let mut rules = IgnoreRules::read(top, git.directory(), settings)?;
        let mut ignored = Vec::new();
        for path in paths {
            if rules.ignores(path)? {
                ignored.push(path.clone());
            }
        }
        Ok(ignored)
    }

    /// The rules for the paths in folders of their own, where git could not read some of them.
    fn copy_rules(&self, paths: &[Vec<u8>]) -> Result<Option<TempDir>> {
        let top = &self.places.repository.work_tree;
        let folders = folders_above(paths);
        let rules = |folder: &[u8]| absolute(top, folder).join(".gitignore");
        if !folders
            .iter()
            .any(|folder| is_unreadable_list(&rules(folder)))
        {
            return Ok(None);
        }
        let vault = self.places.vault.folder();
        let copy = tempfile::tempdir_in(vault).tried("create a folder in", vault)?;
        for folder in folders {
            let target = absolute(copy.path(), folder);
            create_private_folder(&target)?;
            let bytes = own_rules(&rules(folder)).unwrap_or_default();
            if !bytes.is_empty() {
                let target = target.join(".gitignore");
                fs::write(&target, bytes).tried("write", &target)?;
            }
        }
        // Some rules are for folders alone.
        let is_folder =
            |path: &&Vec<u8>| fs::symlink_metadata(absolute(top, path)).is_ok_and(|it| it.is_dir());
        for path in paths.iter().filter(is_folder) {
            create_private_folder(&absolute(copy.path(), path))?;
        }
        Ok(Some(copy))
    }
}

fn ignore_settings(config: &str) -> IgnoreSettings {
    let folds = value_of(config, "core.ignorecase");
    let folds = folds.is_some_and(|value| !["false", "no", "off", "0"].contains(&value.as_str()));
    IgnoreSettings {
        excludes_file: value_of(config, "core.excludesfile"),
        // Elsewhere git runs with names that differ by case, whatever the configuration says.
        folds_case: cfg!(target_os = "macos") && folds,
    }
}

fn ask_check_ignore(git: &Git, args: &[OsString], paths: &[Vec<u8>]) -> Result<HashSet<Vec<u8>>> {
    let mut input = Vec::new();
    for path in paths {
        // A file may be called `:!x`, which git would take for more than a name.
        if path.starts_with(b":") {
            input.extend_from_slice(b"./");
        }
        input.extend_from_slice(path);
        input.push(0);
    }
    let output = git.output(args, &input)?;
    // 1 means that none is ignored.
    if output.status.code() == Some(1) {
        return Ok(HashSet::new());
    }
    let ignored = output.answer("check-ignore".to_owned())?;
    let plain = |path: &[u8]| path.strip_prefix(b"./").unwrap_or(path).to_vec();
    Ok(nul_separated(&ignored).map(plain).collect())
}
