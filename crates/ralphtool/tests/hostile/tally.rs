//! How many programs ran, and what they violated, by target and by misdeed.

use std::collections::BTreeMap;
use std::fmt;

use crate::misdeed::Program;
use crate::trial::Violation;

/// Programs and violations.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    programs: usize,
    violations: usize,
}

/// What all programs together did.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    all: Count,
    by: BTreeMap<(&'static str, &'static str), Count>,
}

impl Tally {
    /// Counts one program.
    pub(crate) fn count(&mut self, program: &Program, violation: Option<Violation>) {
        let found = usize::from(violation.is_some());
        let add = |count: &mut Count| {
            count.programs += 1;
            count.violations += found;
        };
        add(&mut self.all);
        let mut rows = Vec::new();
        for misdeed in &program.misdeeds {
            rows.extend([("target", misdeed.target), ("misdeed", misdeed.deed)]);
        }
        let end = if program.succeeds {
            "succeeds"
        } else {
            "fails"
        };
        rows.push(("attempt", end));
        if let Some(violation) = violation {
            rows.push(("violation", violation.rule));
        }
        rows.sort_unstable();
        rows.dedup();
        for row in rows {
            add(self.by.entry(row).or_default());
        }
    }

    /// Programs that violated something.
    pub(crate) fn violations(&self) -> usize {
        self.all.violations
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((sort, name), count) in &self.by {
            let Count {
                programs,
                violations,
            } = count;
            writeln!(
                f,
                "{sort:9} {name:34} {programs:5} programs {violations:5} violations"
            )?;
        }
        let Count {
            programs,
            violations,
        } = self.all;
        writeln!(f, "{programs} hostile programs, {violations} violations")
    }
}
