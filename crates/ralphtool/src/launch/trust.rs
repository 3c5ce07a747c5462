//! What a repository's own settings file asks for, in words that hide nothing, and the question that
//! `loop` and `resume` ask before they run any of it.

use crate::console::context::Context;
use crate::console::output;
use crate::ui::page::Page;
use crate::ui::style::{DIM, STRONG};
use crate::ui::words::count;
use ralph_run::failure::Failure;
use ralph_run::settings::files::RepositoryFile;
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

/// The heading above the list.
pub(crate) fn heading(file: &str, claims: &[Claim]) -> String {
    let file = visible(file);
    format!("`{file}` asks for {}", count(claims.len(), "permission"))
}

/// The question below the list.
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

/// Shows what a file asks for, asks the user, and remembers a yes; anything else is a refusal.
pub(crate) fn ask_for(file: &RepositoryFile, context: &Context) -> Result<(), Failure> {
    output::page(context, |page| {
        write_claims(page, &file.name, &file.claims);
    })?;
    must_be_yes()?;
    give(file, context)
}

/// Remembers that the user has allowed this very content.
pub(crate) fn give(file: &RepositoryFile, context: &Context) -> Result<(), Failure> {
    let state = context.state()?;
    let given = file.allowance.give(&state);
    given.map_err(|error| Failure::system("could not remember the permission").because(error))
}

/// The refusal where the user cannot be asked.
pub(crate) fn refusal(file: &RepositoryFile, context: &Context) -> Failure {
    let heading = heading(&file.name, &file.claims);
    let lines = lines(&file.claims).join("\n");
    Failure::refused(format!("{heading} that you have not given\n{lines}"))
        .hint(format!(
            "to read and allow them, run `{}`",
            context.typed("trust")
        ))
        .hint("to allow them for one run only, add `--trust` or set `RALPHTOOL_TRUST=1`")
}

/// The warning of commands that run nothing.
pub(crate) fn warning(file: &RepositoryFile) -> String {
    let heading = heading(&file.name, &file.claims);
    format!("{heading} that you have not given; a run asks first")
}

pub(crate) fn must_be_yes() -> Result<(), Failure> {
    if output::confirm(QUESTION)? {
        return Ok(());
    }
    Err(Failure::refused("not allowed: nothing was run"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::style::Paint;
    use pretty_assertions::assert_eq;

    #[test]
    fn control_characters_of_a_permission_are_visible() {
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
