//! What the program is started on: a terminal or not, its width, colours or not.

use std::ffi::{OsStr, OsString};

use super::flags::ColorArgument;
use crate::ui::style::Paint;

/// The width where the terminal does not say.
const WIDTH: usize = 80;

/// How many columns the terminal has right now.
pub(super) fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(WIDTH)
}

/// Whether text for a stream is coloured.
pub(super) fn paint(
    choice: ColorArgument,
    is_terminal: bool,
    environment: &[(OsString, OsString)],
) -> Paint {
    let is_set = |name| value(environment, name).is_some_and(|value| !value.is_empty());
    let forced =
        value(environment, "CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    let colored = match choice {
        ColorArgument::Always => true,
        ColorArgument::Never => false,
        ColorArgument::Auto if is_set("NO_COLOR") => false,
        ColorArgument::Auto => forced || (is_terminal && !is_dumb(environment)),
    };
    if colored {
        Paint::Colored
    } else {
        Paint::Plain
    }
}

/// Whether the terminal can only print.
pub(super) fn is_dumb(environment: &[(OsString, OsString)]) -> bool {
    value(environment, "TERM").is_some_and(|term| term == "dumb")
}

fn value<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn colours_follow_flag_variables_and_terminal() {
        #[track_caller]
        fn case(choice: ColorArgument, is_terminal: bool, variables: &[(&str, &str)], want: Paint) {
            let environment: Vec<(OsString, OsString)> = variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            assert_eq!(paint(choice, is_terminal, &environment), want);
        }
        use ColorArgument::{Always, Auto, Never};
        case(Auto, true, &[], Paint::Colored);
        case(Auto, false, &[], Paint::Plain);
        case(Auto, true, &[("NO_COLOR", "1")], Paint::Plain);
        case(Auto, true, &[("NO_COLOR", "")], Paint::Colored);
        case(Auto, true, &[("TERM", "dumb")], Paint::Plain);
        case(Auto, false, &[("CLICOLOR_FORCE", "1")], Paint::Colored);
        case(Auto, false, &[("CLICOLOR_FORCE", "0")], Paint::Plain);
        case(Always, false, &[("NO_COLOR", "1")], Paint::Colored);
        case(Never, true, &[("CLICOLOR_FORCE", "1")], Paint::Plain);
    }
}
