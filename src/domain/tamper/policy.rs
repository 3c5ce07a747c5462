//! What follows from a finding: nothing, a warning, or a failed attempt that the next one is told of.

use super::{Finding, Severity, TamperCheck};
use crate::domain::settings::Settings;

/// What follows from findings, and where work is expected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TamperPolicy {
    /// Boxes of other stories.
    pub(crate) boxes: Severity,
    /// The plan's text.
    pub(crate) specs: Severity,
    /// Tests.
    pub(crate) tests: Severity,
    /// What says how work is checked.
    pub(crate) config: Severity,
    /// Unexpected places.
    pub(crate) outside: Severity,
    /// Where work is expected; empty where the user does not say.
    pub(crate) roots: Vec<String>,
}

impl TamperPolicy {
    /// The policy that settings ask for.
    pub(crate) fn of(settings: &Settings) -> Self {
        let roots = settings.tamper_roots.as_ref();
        Self {
            boxes: settings.tamper_boxes.value,
            specs: settings.tamper_specs.value,
            tests: settings.tamper_tests.value,
            config: settings.tamper_config.value,
            outside: settings.tamper_outside.value,
            roots: roots.map_or_else(Vec::new, |roots| roots.value.0.clone()),
        }
    }

    /// What follows from a finding of this check.
    pub(crate) const fn severity(&self, check: TamperCheck) -> Severity {
        match check {
            TamperCheck::Boxes => self.boxes,
            TamperCheck::Specs => self.specs,
            TamperCheck::Tests => self.tests,
            TamperCheck::Config => self.config,
            TamperCheck::Outside => self.outside,
        }
    }

    /// The checks that are on.
    pub(crate) fn checks(&self) -> Vec<TamperCheck> {
        let all = TamperCheck::NAMES.into_iter().map(|(_, check)| check);
        all.filter(|check| self.severity(*check) != Severity::Off)
            .collect()
    }

    /// Why the attempt fails, with what is allowed instead, if one of the findings is set to fail.
    pub(crate) fn failure(&self, findings: &[Finding]) -> Option<String> {
        let failing = |finding: &&Finding| self.severity(finding.check) == Severity::Fail;
        let reasons: Vec<String> = findings
            .iter()
            .filter(failing)
            .map(|finding| format!("{}; {}", finding.message, self.allowed(finding.check)))
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("\n"))
    }

    fn allowed(&self, check: TamperCheck) -> String {
        match check {
            TamperCheck::Boxes => "tick only boxes of this story".to_owned(),
            TamperCheck::Specs => {
                "leave the text of the plan as it is: only ticks and notes may be added to the task \
                 file"
                    .to_owned()
            }
            TamperCheck::Tests => {
                "tests that are there must stay, run, and check what they checked: they may be moved \
                 and renamed, and others added"
                    .to_owned()
            }
            TamperCheck::Config => {
                "leave the files as they are that say how the work is checked".to_owned()
            }
            TamperCheck::Outside if self.roots.is_empty() => {
                "put new files into the folders that are there".to_owned()
            }
            TamperCheck::Outside => format!(
                "change only what is in {}",
                super::named(self.roots.iter().map(String::as_str))
            ),
        }
    }

    /// What an agent is asked to leave alone, where a check looks at it.
    pub(crate) fn rule(&self) -> Option<String> {
        let forbidden = self
            .deeds(Severity::Fail)
            .map(|deeds| format!("Do not {deeds}: such an attempt fails."));
        let unwanted = self
            .deeds(Severity::Warn)
            .map(|deeds| format!("Do not {deeds}, unless the story asks for it."));
        let sentences: Vec<String> = forbidden.into_iter().chain(unwanted).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// What an agent could do that has this consequence.
    fn deeds(&self, severity: Severity) -> Option<String> {
        let mut deeds = Vec::new();
        if self.tests == severity {
            deeds.push("delete, skip or weaken tests".to_owned());
        }
        if self.specs == severity {
            deeds.push("edit the text of the plan".to_owned());
        }
        if self.config == severity {
            deeds.push("change what says how the work is checked".to_owned());
        }
        if self.outside == severity && !self.roots.is_empty() {
            let roots = super::named(self.roots.iter().map(String::as_str));
            deeds.push(format!("change anything outside of {roots}"));
        }
        let last = deeds.pop()?;
        if deeds.is_empty() {
            return Some(last);
        }
        Some(format!("{} or {last}", deeds.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn finding(check: TamperCheck) -> Finding {
        Finding {
            check,
            paths: Vec::new(),
            message: format!("about {check}"),
        }
    }

    #[test]
    fn the_reason_says_what_was_done_and_what_is_allowed() {
        let policy = TamperPolicy {
            tests: Severity::Fail,
            outside: Severity::Fail,
            roots: vec!["src".to_owned(), "tests".to_owned()],
            ..TamperPolicy::default()
        };
        let findings = TamperCheck::NAMES.map(|(_, check)| finding(check));
        assert_eq!(
            policy.failure(&findings).as_deref(),
            Some(
                "about tests; tests that are there must stay, run, and check what they checked: they \
                 may be moved and renamed, and others added\n\
                 about outside; change only what is in `src`, `tests`"
            )
        );
        assert_eq!(TamperPolicy::default().failure(&findings), None);
    }

    #[test]
    fn the_rule_says_what_a_check_looks_at() {
        #[track_caller]
        fn case(policy: &TamperPolicy, want: Option<&str>) {
            assert_eq!(policy.rule().as_deref(), want);
        }
        case(
            &TamperPolicy::default(),
            Some(
                "Do not delete, skip or weaken tests, edit the text of the plan or change what says \
                 how the work is checked, unless the story asks for it.",
            ),
        );
        let off = TamperPolicy {
            specs: Severity::Off,
            tests: Severity::Off,
            config: Severity::Off,
            ..TamperPolicy::default()
        };
        case(&off, None);
        let mixed = TamperPolicy {
            tests: Severity::Fail,
            roots: vec!["src".to_owned()],
            ..off
        };
        case(
            &mixed,
            Some(
                "Do not delete, skip or weaken tests: such an attempt fails. Do not change anything \
                 outside of `src`, unless the story asks for it.",
            ),
        );
    }

    #[test]
    fn only_checks_that_are_on_are_made() {
        let policy = TamperPolicy {
            boxes: Severity::Off,
            tests: Severity::Fail,
            outside: Severity::Off,
            ..TamperPolicy::default()
        };
        assert_eq!(
            policy.checks(),
            [TamperCheck::Specs, TamperCheck::Tests, TamperCheck::Config]
        );
    }
}
