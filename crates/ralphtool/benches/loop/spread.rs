//! A median between its extremes.

use std::time::Duration;

/// A median between its extremes.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Spread {
    /// The lowest of all values.
    pub(crate) lowest: f64,
    /// The one in the middle.
    pub(crate) median: f64,
    /// The highest of all values.
    pub(crate) highest: f64,
}

impl Spread {
    /// Of some values; zero where there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or_default();
        let last = values.len().saturating_sub(1);
        Self {
            lowest: at(0),
            median: f64::midpoint(at(last / 2), at(values.len() / 2)),
            highest: at(last),
        }
    }

    /// As the tables show it.
    pub(crate) fn shown(self) -> String {
        let Self {
            lowest,
            median,
            highest,
        } = self;
        format!("{median:.1} ({lowest:.1}-{highest:.1})")
    }

    /// The same for what is short.
    pub(crate) fn shown_finely(self) -> String {
        let Self {
            lowest,
            median,
            highest,
        } = self;
        format!("{median:.2} ({lowest:.2}-{highest:.2})")
    }

    /// The same without a fraction.
    pub(crate) fn shown_whole(self) -> String {
        let Self {
            lowest,
            median,
            highest,
        } = self;
        format!("{median:.0} ({lowest:.0}-{highest:.0})")
    }

    /// The same for a ratio.
    pub(crate) fn shown_as_ratio(self) -> String {
        let Self {
            lowest,
            median,
            highest,
        } = self;
        format!("{median:.2}x ({lowest:.2}-{highest:.2})")
    }
}

/// Milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A number of bytes or kilobytes, exact enough.
#[allow(
    clippy::cast_precision_loss,
    reason = "no figure here comes near to where a bit is lost"
)]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
