//! Times of day, as short as they are clear.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time near now: `03:40`; with the weekday or the date where the time alone would mislead.
pub(crate) fn time_of_day(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    const HALF_A_DAY: i64 = 12 * 3600;
    const NEARLY_A_WEEK: i64 = 6 * 24 * 3600;
    let distance = at.duration_since(now).as_secs().abs();
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = match distance {
        _ if at.date() == now.date() => "%H:%M",
        ..HALF_A_DAY => "%H:%M",
        HALF_A_DAY..NEARLY_A_WEEK => "%a %H:%M",
        _ => "%Y-%m-%d %H:%M",
    };
    at.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_day_is_named_where_the_time_alone_would_mislead() {
        let now: Timestamp = "2026-11-15T22:10:00Z".parse().unwrap();
        let shown = |at: &str| time_of_day(at.parse().unwrap(), now, &TimeZone::UTC);
        assert_eq!(shown("2026-11-15T23:30:00Z"), "23:30");
        assert_eq!(shown("2026-11-15T01:00:00Z"), "01:00");
        assert_eq!(shown("2026-11-16T03:40:00Z"), "03:40");
        assert_eq!(shown("2026-11-16T20:00:00Z"), "Mon 20:00");
        assert_eq!(shown("2026-12-01T03:40:00Z"), "2026-12-01 03:40");
    }
}
