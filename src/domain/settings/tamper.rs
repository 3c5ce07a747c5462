//! What is made of an attempt that tampers with what judges it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Origin, Sourced};

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

    /// Its key in a configuration.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Boxes => "tamper.boxes",
            Self::Specs => "tamper.specs",
            Self::Tests => "tamper.tests",
            Self::Config => "tamper.config",
            Self::Outside => "tamper.outside",
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

    /// The name users write.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What is looked for, and what follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TamperSettings {
    /// What was said about a check.
    pub(super) severities: BTreeMap<TamperCheck, Sourced<Severity>>,
    /// The folders and files that work is expected in; where nothing is said, what is there.
    pub(crate) roots: Option<Sourced<Vec<String>>>,
}

impl TamperSettings {
    /// What follows from a finding of that check, and who said so.
    pub(crate) fn severity(&self, check: TamperCheck) -> (Severity, Origin) {
        self.severities
            .get(&check)
            .map_or((Severity::default(), Origin::Default), |it| {
                (it.value, it.origin.clone())
            })
    }
}
