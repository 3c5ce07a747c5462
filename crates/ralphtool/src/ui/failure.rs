//! A failure, for people: what went wrong, its causes, what to do next.

use std::error::Error as _;

use anstyle::Style;

use super::page::Page;
use super::style::{BAD, NAME, WARN};
use super::text::clean_lines;
use ralph_run::failure::Failure;

/// Writes the failure, its causes and what to do next.
pub(crate) fn write_failure(page: &mut Page, failure: &Failure) {
    write_labelled(page, "", BAD, "error:", failure.message());
    let mut shown = failure.message().to_owned();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some errors repeat their cause in their own words.
        if !shown.contains(&text) {
            write_labelled(page, "  ", WARN, "because:", &text);
            shown = text;
        }
        cause = error.source();
    }
    for hint in failure.hints() {
        write_labelled(page, "  ", NAME, "hint:", hint);
    }
}

/// Writes a text after its label, further lines indented below it.
fn write_labelled(page: &mut Page, margin: &str, style: Style, label: &str, text: &str) {
    let label = page.paint(style, label);
    let lines = clean_lines(text);
    let (first, rest) = lines
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (first, rest));
    page.line(format!("{margin}{label} {first}"));
    for line in rest {
        page.line(format!("{margin}    {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use ralph_plan::source::SourceError;
    use ralph_run::failure::FailureKind;

    fn written(failure: &Failure, paint: Paint) -> String {
        let mut page = Page::new(paint);
        write_failure(&mut page, failure);
        page.text
    }

    fn failure() -> Failure {
        let io = std::io::Error::other("No space left\non device\u{1b}[2J");
        let inner = Failure::system("could not write `HEAD`").because(io);
        Failure::system("could not save the checkpoint of story 2")
            .because(inner)
            .hint("make room")
            .hint("run `ralphtool run add-retry` again")
    }

    #[test]
    fn a_failure_says_what_why_and_what_to_do() {
        let mut out = written(&failure(), Paint::Plain);
        out += &written(&failure(), Paint::Colored);
        let text = out.replace('\u{1b}', "␛");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_source_error_keeps_its_cause_and_only_a_failed_write_is_a_system_error() {
        let path = std::path::PathBuf::from("tasks.md");
        let source = || std::io::Error::other("disk on fire");
        let unreadable = SourceError::Unreadable {
            path: path.clone(),
            source: source(),
        };
        let unwritable = SourceError::Unwritable {
            path,
            source: source(),
        };
        let failure = Failure::from(unreadable);
        assert_eq!(
            written(&failure, Paint::Plain),
            "error: could not read `tasks.md`\n  because: disk on fire\n"
        );
        assert_eq!(failure.kind, FailureKind::Refused);
        assert_eq!(Failure::from(unwritable).kind, FailureKind::System);
    }

    #[test]
    fn a_cause_in_the_message_is_not_repeated() {
        let io = std::io::Error::other("disk on fire");
        let failure = Failure::refused("could not read `x`: disk on fire").because(io);
        let text = written(&failure, Paint::Plain);
        assert_eq!(text, "error: could not read `x`: disk on fire\n");
    }
}
