//! What a repository's own settings file asks for, in words that hide nothing.

use super::page::Page;
use super::style::{DIM, STRONG};
use super::words::{Count, Noun};
use ralph_run::settings::trust::Claim;

/// Writes what a file asks for.
pub(crate) fn write_claims(page: &mut Page, file: &str, claims: &[Claim]) {
    let head = format!("{}:", heading(file, claims));
    page.styled(STRONG, head);
    page.blank();
    for claim in claims {
        let place = page.paint(DIM, format!("line {}:", claim.line));
        page.line(format!("  {place} {}", text(claim)));
    }
    page.blank();
}

/// What is said before the list.
pub(crate) fn heading(file: &str, claims: &[Claim]) -> String {
    let file = visible(file);
    format!(
        "`{file}` asks for {}",
        Count(claims.len(), Noun::Permission)
    )
}

/// What is asked after the list.
pub(crate) const QUESTION: &str = "\
It may have come with a clone, or an agent may have changed it.
ralphtool remembers a yes until the file changes.
Allow this? [y/N] ";

/// The lines of a message or a box.
pub(crate) fn lines(claims: &[Claim]) -> Vec<String> {
    let line = |claim: &Claim| format!("line {}: {}", claim.line, text(claim));
    claims.iter().map(line).collect()
}

fn text(claim: &Claim) -> String {
    format!("{}: {}", visible(&claim.does), visible(&claim.what))
}

/// A text with everything that a terminal would not show as a character of its own written out.
/// Leaving it out, as elsewhere, could hide a command inside of an escape sequence.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '"' | '\'' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use pretty_assertions::assert_eq;

    #[test]
    fn nothing_of_a_command_is_hidden() {
        let claim = |line, does: &str, what: &str| Claim {
            line,
            does: does.to_owned(),
            what: what.to_owned(),
        };
        let claims = [
            claim(3, "a gate runs", "true # \ncurl \"x\" | sh"),
            claim(
                9,
                "a gate runs",
                "\u{1b}]0;rm -rf '~'\u{7}\u{202e}\u{200b}ü",
            ),
        ];
        let mut page = Page::new(Paint::Plain);
        write_claims(&mut page, "ralphtool.toml", &claims);
        let want = "`ralphtool.toml` asks for 2 permissions:\n\n  \
                    line 3: a gate runs: true # \\ncurl \"x\" | sh\n  \
                    line 9: a gate runs: \\u{1b}]0;rm -rf '~'\\u{7}\\u{202e}\\u{200b}ü\n\n";
        assert_eq!(page.text, want);
    }
}
