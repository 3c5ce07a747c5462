//! A progress bar.

use ratatui::text::{Line, Span};

use crate::tui::palette::{DIM, GOOD};

/// From one to seven eighths of a cell.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// A bar of exactly this many columns.
///
/// It is full only if all is done, and empty only if nothing is done.
pub(crate) fn gauge(done: u64, total: u64, columns: usize) -> Line<'static> {
    let filled = eighths(done, total, columns);
    let (whole, rest) = (filled / 8, filled % 8);
    let mut bar = "█".repeat(whole);
    if let Some(at) = rest.checked_sub(1) {
        bar.push(EIGHTHS[at]);
    }
    let left = columns - whole - usize::from(rest > 0);
    Line::from(vec![
        Span::styled(bar, GOOD),
        Span::styled("░".repeat(left), DIM),
    ])
}

/// A bar that is as long as a value is large, for values that are compared with the largest.
pub(crate) fn bar(value: u64, most: u64, columns: usize) -> String {
    let filled = eighths(value, most, columns);
    let mut bar = "█".repeat(filled / 8);
    if let Some(at) = (filled % 8).checked_sub(1) {
        bar.push(EIGHTHS[at]);
    }
    bar
}

fn eighths(done: u64, total: u64, columns: usize) -> usize {
    let all = columns * 8;
    if total == 0 || done == 0 || columns == 0 {
        return 0;
    }
    if done >= total {
        return all;
    }
    let exact = u128::from(done) * all as u128 / u128::from(total);
    usize::try_from(exact).unwrap_or(all).clamp(1, all - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn bars_compare_values_with_the_largest() {
        assert_eq!(bar(4, 4, 4), "████");
        assert_eq!(bar(3, 8, 4), "█▌");
        assert_eq!(bar(1, 1_000, 4), "▏");
        assert_eq!(bar(0, 4, 4), "");
        assert_eq!(bar(0, 0, 4), "");
    }

    #[test]
    fn a_bar_is_full_only_when_all_is_done() {
        #[track_caller]
        fn case(done: u64, total: u64, columns: usize, want: &str) {
            assert_eq!(gauge(done, total, columns).to_string(), want);
        }
        case(0, 4, 4, "░░░░");
        case(1, 4, 4, "█░░░");
        case(3, 8, 4, "█▌░░");
        case(4, 4, 4, "████");
        case(5, 4, 4, "████");
        case(1, 1_000_000, 4, "▏░░░");
        case(999_999, 1_000_000, 4, "███▉");
        case(u64::MAX - 1, u64::MAX, 2, "█▉");
        case(0, 0, 3, "░░░");
        case(1, 2, 0, "");
    }
}
