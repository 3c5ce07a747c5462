//! The log git keeps of a ref: one line per move.

use std::fmt::Write as _;

use super::object_id::ObjectId;

/// Whom git names in what it writes, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committer {
    pub name: String,
    pub mail: String,
    /// Seconds and zone.
    pub date: String,
}

/// One move of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogLine {
    /// None where the ref was made.
    pub old: Option<ObjectId>,
    pub new: ObjectId,
    /// In seconds, by the clock of the one who moved it.
    pub time: i64,
    /// Who and when, as git wrote it.
    who: String,
    pub message: String,
}

impl LogLine {
    /// A line of `NAME <EMAIL> SECONDS ZONE` as git lists it, which does not say where the ref was before.
    pub(crate) fn listed(new: ObjectId, who: &str, message: &str) -> Option<Self> {
        Some(Self {
            old: None,
            new,
            time: who.rsplit(' ').nth(1)?.parse().ok()?,
            who: who.to_owned(),
            message: message.to_owned(),
        })
    }

    /// Who moved the ref, and when.
    pub(crate) fn committer(&self) -> Option<Committer> {
        let (name, rest) = self.who.split_once('<')?;
        let (mail, date) = rest.rsplit_once('>')?;
        Some(Committer {
            name: name.trim().to_owned(),
            mail: mail.to_owned(),
            date: date.trim().to_owned(),
        })
    }
}

/// Reads a log, the oldest line first; lines that git would not write are left out.
pub(crate) fn parse(log: &[u8]) -> Vec<LogLine> {
    log.split(|byte| *byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

/// `old new Name <mail> seconds zone<TAB>message`
fn parse_line(line: &[u8]) -> Option<LogLine> {
    let text = String::from_utf8_lossy(line);
    let (head, message) = text.split_once('\t').unwrap_or((&text, ""));
    let mut parts = head.splitn(3, ' ');
    let (old, new) = (parts.next()?, parts.next()?);
    let who = parts.next()?;
    let is_zero = old.bytes().all(|byte| byte == b'0');
    Some(LogLine {
        old: ObjectId::parse(old.as_bytes()).filter(|_| !is_zero),
        ..LogLine::listed(ObjectId::parse(new.as_bytes())?, who, message)?
    })
}

/// Writes lines as a log in which each begins where the one before it ended.
pub(crate) fn chained(lines: &[LogLine], zero: ObjectId) -> String {
    let mut text = String::new();
    let mut old = zero;
    for line in lines {
        let _ = writeln!(text, "{old} {} {}\t{}", line.new, line.who, line.message);
        old = line.new;
    }
    text
}

/// The moves that led from one commit to where a ref is now, the oldest first. None where the log does
/// not show them.
pub(crate) fn since(
    log: &[LogLine],
    before: Option<ObjectId>,
    now: ObjectId,
) -> Option<&[LogLine]> {
    if log.last()?.new != now {
        return None;
    }
    let first = log.iter().rposition(|line| line.old == before)?;
    Some(&log[first..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn id(digit: u8) -> ObjectId {
        ObjectId::parse(&[digit; 40]).unwrap()
    }

    #[test]
    fn a_log_is_read_and_written_again() {
        let (zero, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
        let text = format!(
            "{zero} {one} Ann B. <a@b> 17 +0100\tcommit (initial): x\n{one} {two} C <> 18 -0530\n"
        );
        let log = parse(text.as_bytes());
        let seen: Vec<_> = log
            .iter()
            .map(|line| (line.old, line.new, line.time, line.message.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (None, id(b'1'), 17, "commit (initial): x"),
                (Some(id(b'1')), id(b'2'), 18, "")
            ]
        );
        let zero = ObjectId::parse(zero.as_bytes()).unwrap();
        let wanted = text.replace("-0530\n", "-0530\t\n");
        assert_eq!(chained(&log, zero), wanted);
    }

    #[test]
    fn the_moves_since_a_commit_are_those_after_it() {
        let committer = Committer {
            name: "Ann B.".to_owned(),
            mail: "a@b".to_owned(),
            date: "17 +0100".to_owned(),
        };
        let line = |old: u8, new: u8| LogLine {
            old: Some(id(old)),
            ..LogLine::listed(id(new), "Ann B. <a@b> 17 +0100", "").unwrap()
        };
        let log = [line(b'1', b'2'), line(b'2', b'3'), line(b'3', b'4')];
        assert_eq!(since(&log, Some(id(b'2')), id(b'4')), Some(&log[1..]));
        assert_eq!(since(&log, Some(id(b'9')), id(b'4')), None);
        assert_eq!(since(&log, Some(id(b'2')), id(b'3')), None);
        assert_eq!(since(&log, None, id(b'4')), None);
        assert_eq!((log[0].time, log[0].committer()), (17, Some(committer)));
    }
}
