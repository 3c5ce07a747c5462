//! When a usage limit of Codex ends: it says so in words, in local time, without seconds.

use jiff::civil::{DateTime, Time};
use jiff::fmt::strtime;
use jiff::{SignedDuration, Span, Timestamp, Zoned};

/// How the time begins.
const TRY_AGAIN: &str = "try again at ";

/// A process does not work for longer before it meets a limit.
const HALF_A_DAY: SignedDuration = SignedDuration::from_hours(12);

/// The end of the limit, given when the process started and where.
pub(super) fn reset_in(message: &str, started: &Zoned) -> Option<Timestamp> {
    // A reader that only shows a transcript does not know when and where it was written.
    if started.timestamp() == Timestamp::UNIX_EPOCH {
        return None;
    }
    let (_, rest) = message.rsplit_once(TRY_AGAIN)?;
    let half = ["AM", "PM"].iter().filter_map(|half| rest.find(half));
    let end = half.min()? + 2;
    let words = rest[..end].trim();
    let local = with_date(words).or_else(|| without_date(words, started))?;
    let zoned = local.to_zoned(started.time_zone().clone()).ok()?;
    // The seconds were cut off.
    let later = zoned.checked_add(Span::new().minutes(1)).ok()?;
    Some(later.timestamp())
}

/// `Nov 16th, 2026 1:20 AM`.
fn with_date(words: &str) -> Option<DateTime> {
    let (month, rest) = words.split_once(' ')?;
    let (day, rest) = rest.split_once(", ")?;
    let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let plain = format!("{month} {day} {rest}");
    strtime::parse("%b %d %Y %I:%M %p", plain)
        .ok()?
        .to_datetime()
        .ok()
}

/// `1:20 AM`, of the day on which it was written.
fn without_date(words: &str, started: &Zoned) -> Option<DateTime> {
    let time: Time = strtime::parse("%I:%M %p", words).ok()?.to_time().ok()?;
    let today = started.date();
    // A little before the start it is past, as clocks differ; much before, the process worked on
    // past midnight.
    let is_of_the_next_day = time.duration_until(started.time()) > HALF_A_DAY;
    let day = if is_of_the_next_day {
        today.tomorrow().ok()?
    } else {
        today
    };
    Some(day.to_datetime(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_reset_is_local_and_may_lack_its_date() {
        let reset = |started: &str, words: &str| {
            let started: Zoned = started.parse().unwrap();
            let message = format!("You’ve hit your usage limit. Visit x or try again at {words}.");
            reset_in(&message, &started).map(|at| at.to_string())
        };
        let berlin = "2026-11-15T20:30:00+01:00[Europe/Berlin]";
        let at = |text: &str| Some(text.to_owned());
        assert_eq!(
            reset(berlin, "Nov 16th, 2026 1:20 AM"),
            at("2026-11-16T00:21:00Z")
        );
        assert_eq!(
            reset(berlin, "Dec 1st, 2026 12:05 PM"),
            at("2026-12-01T11:06:00Z")
        );
        assert_eq!(reset(berlin, "11:45 PM"), at("2026-11-15T22:46:00Z"));
        assert_eq!(reset(berlin, "8:30 PM"), at("2026-11-15T19:31:00Z"));
        // The limit has just ended, by a clock that is a little behind.
        assert_eq!(reset(berlin, "8:27 PM"), at("2026-11-15T19:28:00Z"));
        // The run went past midnight.
        assert_eq!(reset(berlin, "1:20 AM"), at("2026-11-16T00:21:00Z"));
        assert_eq!(reset(berlin, "12:05 AM"), at("2026-11-15T23:06:00Z"));
        let noon = "2026-11-15T12:00:00+01:00[Europe/Berlin]";
        assert_eq!(reset(noon, "12:05 PM"), at("2026-11-15T11:06:00Z"));
        let late = "2026-12-31T23:59:00+01:00[Europe/Berlin]";
        assert_eq!(reset(late, "12:05 AM"), at("2026-12-31T23:06:00Z"));
        // In the hour that clocks skip, and in one of the two that they repeat.
        let spring = "2027-03-28T01:00:00+01:00[Europe/Berlin]";
        assert_eq!(reset(spring, "2:30 AM"), at("2027-03-28T01:31:00Z"));
        let autumn = "2026-10-25T01:00:00+02:00[Europe/Berlin]";
        assert_eq!(reset(autumn, "2:30 AM"), at("2026-10-25T00:31:00Z"));
        assert_eq!(
            reset(berlin, "11:45 PM. (MAMBO)"),
            at("2026-11-15T22:46:00Z")
        );
        assert_eq!(reset(berlin, "later"), None);
        assert_eq!(reset(berlin, "Foo 1st, 2026 1:00 AM"), None);
        assert_eq!(reset("1970-01-01T00:00:00Z[UTC]", "1:20 AM"), None);
    }
}
