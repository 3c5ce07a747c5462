//! Which changes of an attempt count as tampering with what judges it, and what follows from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::value::{Item, Kind, Mistake, array, choices, filled, read};

choices! {
    /// Something an attempt should leave alone.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    TamperCheck {
        /// Boxes of other stories; they are restored whatever the severity is.
        Boxes = "boxes",
        /// The text of the plan: proposal, design, specs, tasks.
        Specs = "specs",
        /// Existing tests: not deleted, not skipped, not weakened.
        Tests = "tests",
        /// The configuration of ralphtool and of its gates.
        Config = "config",
        /// Everything outside of the expected folders.
        Outside = "outside",
        /// Work in a submodule that is not committed there, and so in no commit.
        Submodules = "submodules",
    }
}

choices! {
    /// What follows from a finding.
    #[derive(Default)]
    Severity {
        /// Nothing; the check does not run.
        Off = "off",
        /// It is reported.
        #[default]
        Warn = "warn",
        /// The attempt fails.
        Fail = "fail",
    }
}

/// Folders and files, as seen from the top of the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths(pub Vec<String>);

read! {
    Paths => Self, Kind::Paths, |item| {
        let paths = array(item, "an array of paths")?.iter().map(path);
        paths.collect::<Result<_, _>>().map(Paths)
    };
}

impl fmt::Display for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

fn path(item: &Item<'_>) -> Result<String, Mistake> {
    let path = filled(item)?;
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(Mistake::at(
            item,
            "expected a path inside of the repository",
        ));
    }
    let path = path.strip_prefix("./").unwrap_or(&path);
    Ok(path.trim_end_matches('/').to_owned())
}
