//! What follows from a finding: nothing, a warning, or a failed attempt.

use super::{Finding, Severity, TamperCheck};
use crate::settings::Settings;
use ralph_vault::outcome::FailureKind;

/// What follows from findings, and where work is expected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TamperPolicy {
    pub boxes: Severity,
    pub specs: Severity,
    pub tests: Severity,
    pub config: Severity,
    pub outside: Severity,
    pub submodules: Severity,
    /// Where work is expected; empty if the user does not say.
    pub roots: Vec<String>,
}

impl TamperPolicy {
    /// The policy that settings ask for.
    pub fn of(settings: &Settings) -> Self {
        let roots = settings.tamper_roots.as_ref();
        Self {
            boxes: settings.tamper_boxes.value,
            specs: settings.tamper_specs.value,
            tests: settings.tamper_tests.value,
            config: settings.tamper_config.value,
            outside: settings.tamper_outside.value,
            submodules: settings.tamper_submodules.value,
            roots: roots.map_or_else(Vec::new, |roots| roots.value.0.clone()),
        }
    }

    pub const fn severity(&self, check: TamperCheck) -> Severity {
        match check {
            TamperCheck::Boxes => self.boxes,
            TamperCheck::Specs => self.specs,
            TamperCheck::Tests => self.tests,
            TamperCheck::Config => self.config,
            TamperCheck::Outside => self.outside,
            TamperCheck::Submodules => self.submodules,
        }
    }

    /// The checks that are on.
    pub fn checks(&self) -> Vec<TamperCheck> {
        let all = TamperCheck::NAMES.into_iter().map(|(_, check)| check);
        all.filter(|check| self.severity(*check) != Severity::Off)
            .collect()
    }

    /// Why the attempt fails, with what is allowed instead, if one of the findings is set to fail.
    pub fn failure(&self, findings: &[Finding]) -> Option<(FailureKind, String)> {
        let failing = |finding: &&Finding| self.severity(finding.check) == Severity::Fail;
        let findings: Vec<&Finding> = findings.iter().filter(failing).collect();
        let reasons: Vec<String> = findings
            .iter()
            .map(|finding| format!("{}; {}", finding.message, self.allowed(finding)))
            .collect();
        let of_submodule = |finding: &&Finding| finding.check == TamperCheck::Submodules;
        let kind = if findings.iter().all(of_submodule) {
            FailureKind::Submodule
        } else {
            FailureKind::Tamper
        };
        (!reasons.is_empty()).then(|| (kind, reasons.join("\n")))
    }

    fn allowed(&self, finding: &Finding) -> String {
        let text = match finding.check {
            TamperCheck::Boxes => "tick only boxes of this story",
            TamperCheck::Specs => {
                "do not change the text of the plan; only add ticks and notes to the task file"
            }
            TamperCheck::Tests => {
                "existing tests must still run and check what they checked; they may be moved and \
                 renamed, and new ones added"
            }
            TamperCheck::Config => "do not change test, lint or CI configuration",
            TamperCheck::Outside if self.roots.is_empty() => "put new files into existing folders",
            TamperCheck::Outside => return format!("change only files in {}", self.named_roots()),
            TamperCheck::Submodules => {
                let modules = super::named(finding.paths.iter().map(String::as_str));
                return format!("commit in {modules}");
            }
        };
        text.to_owned()
    }

    fn named_roots(&self) -> String {
        super::named(self.roots.iter().map(String::as_str))
    }

    /// What the prompt asks an agent not to do.
    pub fn rule(&self) -> Option<String> {
        let sentence = |severity, end: &str| {
            let acts = self.acts(severity)?;
            Some(format!("Do not {acts}{end}."))
        };
        let sentences: Vec<String> = [
            sentence(Severity::Fail, ": such an attempt fails"),
            sentence(Severity::Warn, ", unless the story asks for it"),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// What an agent could do that has this consequence.
    fn acts(&self, severity: Severity) -> Option<String> {
        let outside = format!("change anything outside {}", self.named_roots());
        let has_roots = !self.roots.is_empty();
        // Few repositories have submodules: by default the prompt says nothing of them.
        let fails = severity == Severity::Fail;
        let acts = [
            (self.tests, true, "delete, skip or weaken tests"),
            (self.specs, true, "edit the text of the plan"),
            (self.config, true, "change test, lint or CI configuration"),
            (
                self.submodules,
                fails,
                "leave work in a submodule uncommitted",
            ),
            (self.outside, has_roots, outside.as_str()),
        ];
        let acts = acts.iter().filter(|act| act.0 == severity && act.1);
        let mut acts: Vec<&str> = acts.map(|act| act.2).collect();
        let last = acts.pop()?;
        Some(match acts.as_slice() {
            [] => last.to_owned(),
            others => format!("{} or {last}", others.join(", ")),
        })
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
            submodules: Severity::Fail,
            roots: vec!["src".to_owned(), "tests".to_owned()],
            ..TamperPolicy::default()
        };
        let mut findings = TamperCheck::NAMES.map(|(_, check)| finding(check));
        findings[5].paths = vec!["lib".to_owned(), "third party".to_owned()];
        assert_eq!(
            policy.failure(&findings),
            Some((
                FailureKind::Tamper,
                "about tests; existing tests must still run and check what they checked; they may be \
                 moved and renamed, and new ones added\n\
                 about outside; change only files in `src`, `tests`\n\
                 about submodules; commit in `lib`, `third party`"
                    .to_owned()
            ))
        );
        let of_submodule = policy.failure(&findings[5..]).map(|(kind, _)| kind);
        assert_eq!(of_submodule, Some(FailureKind::Submodule));
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
                "Do not delete, skip or weaken tests, edit the text of the plan or change test, lint or \
                 CI configuration, unless the story asks for it.",
            ),
        );
        let off = TamperPolicy {
            specs: Severity::Off,
            tests: Severity::Off,
            config: Severity::Off,
            ..TamperPolicy::default()
        };
        case(&off, None);
        let modules = TamperPolicy {
            submodules: Severity::Fail,
            ..off.clone()
        };
        case(
            &modules,
            Some("Do not leave work in a submodule uncommitted: such an attempt fails."),
        );
        let mixed = TamperPolicy {
            tests: Severity::Fail,
            roots: vec!["src".to_owned()],
            ..off
        };
        case(
            &mixed,
            Some(
                "Do not delete, skip or weaken tests: such an attempt fails. Do not change anything \
                 outside `src`, unless the story asks for it.",
            ),
        );
    }

    #[test]
    fn only_checks_that_are_on_are_made() {
        let policy = TamperPolicy {
            boxes: Severity::Off,
            tests: Severity::Fail,
            outside: Severity::Off,
            submodules: Severity::Off,
            ..TamperPolicy::default()
        };
        assert_eq!(
            policy.checks(),
            [TamperCheck::Specs, TamperCheck::Tests, TamperCheck::Config]
        );
    }
}
