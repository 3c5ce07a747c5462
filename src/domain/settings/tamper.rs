//! What is made of an attempt that tampers with what judges it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::keys::Kind;
use super::value::{Item, Mistake, array, choices, filled, read};

/// Something an attempt should leave alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum TamperCheck {
    /// Boxes of other stories; they are put back whatever is made of it.
    Boxes,
    /// The text of the plan: proposal, design, specs, tasks.
    Specs,
    /// Tests that are there: not deleted, not skipped, not weakened.
    Tests,
    /// The configuration of ralphtool and of its gates.
    Config,
    /// Everything outside of the expected folders.
    Outside,
}

impl TamperCheck {
    /// Every check by the name users write.
    pub(crate) const NAMES: [(&'static str, Self); 5] = [
        ("boxes", Self::Boxes),
        ("specs", Self::Specs),
        ("tests", Self::Tests),
        ("config", Self::Config),
        ("outside", Self::Outside),
    ];

    /// The name users write.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Boxes => "boxes",
            Self::Specs => "specs",
            Self::Tests => "tests",
            Self::Config => "config",
            Self::Outside => "outside",
        }
    }
}

/// What follows from a finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Nothing; it is not looked for.
    Off,
    /// It is told.
    #[default]
    Warn,
    /// The attempt fails.
    Fail,
}

impl Severity {
    /// Every severity by the name users write.
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("off", Self::Off),
        ("warn", Self::Warn),
        ("fail", Self::Fail),
    ];
}

choices!(Severity);

/// Folders and files, as seen from the top of the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths(pub(crate) Vec<String>);

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
