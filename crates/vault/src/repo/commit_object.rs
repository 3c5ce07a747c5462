//! Commits as git stores them: read, changed and written without another byte of theirs changing.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::git::object_id::{ObjectFormat, ObjectId};

/// A commit. Signatures are left out: they would not fit a changed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitObject {
    pub id: ObjectId,
    pub tree: ObjectId,
    pub parents: Vec<ObjectId>,
    /// Author, committer and what else stands above the message, as whole lines.
    header: Vec<u8>,
    message: Vec<u8>,
    format: ObjectFormat,
}

/// A commit as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitBytes {
    pub id: ObjectId,
    pub bytes: Vec<u8>,
}

impl CommitObject {
    /// Reads what `git cat-file --batch` says of these commits; none where one is missing or odd.
    pub(crate) fn of_batch(
        output: &[u8],
        ids: &[ObjectId],
        format: ObjectFormat,
    ) -> Option<Vec<Self>> {
        let mut rest = output;
        let mut commits = Vec::new();
        for id in ids {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let line = std::str::from_utf8(&rest[..end]).ok()?;
            let size = line.strip_prefix(&format!("{id} commit "))?.parse().ok()?;
            let bytes = rest.get(end + 1..)?.get(..size)?;
            commits.push(Self::parse(*id, bytes, format)?);
            rest = rest.get(end + 1 + size + 1..)?;
        }
        Some(commits)
    }

    fn parse(id: ObjectId, bytes: &[u8], format: ObjectFormat) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let (mut tree, mut parents, mut header) = (None, Vec::new(), Vec::new());
        let mut is_signature = false;
        for line in bytes[..end].split(|byte| *byte == b'\n') {
            // A line that begins with a space continues the one above.
            is_signature = match line.first() {
                Some(b' ') => is_signature,
                _ => line.starts_with(b"gpgsig"),
            };
            if let Some(hex) = line.strip_prefix(b"tree ") {
                tree = ObjectId::parse(hex);
            } else if let Some(hex) = line.strip_prefix(b"parent ") {
                parents.push(ObjectId::parse(hex)?);
            } else if !is_signature {
                header.extend_from_slice(line);
                header.push(b'\n');
            }
        }
        Some(Self {
            id,
            tree: tree?,
            parents,
            header,
            message: bytes[end + 2..].to_vec(),
            format,
        })
    }

    pub(crate) fn message(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.message)
    }

    pub(crate) fn set_message(&mut self, message: &str) {
        self.message = message.as_bytes().to_vec();
    }

    /// The object as it is now, and its id.
    pub(crate) fn object(&self) -> CommitBytes {
        let mut text = format!("tree {}\n", self.tree);
        for parent in &self.parents {
            let _ = writeln!(text, "parent {parent}");
        }
        let bytes = [text.as_bytes(), &self.header, b"\n", &self.message].concat();
        CommitBytes {
            id: ObjectId::of_object(self.format, "commit", &bytes),
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_commit_keeps_every_byte_but_its_signature() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let head = format!("tree {one}\nparent {two}\nparent {one}\nauthor A <a> 1 +0000\n");
        let signature = "gpgsig -----BEGIN\n \n line\n -----END\n";
        let text = |signature| {
            let rest = "encoding latin1\n\nsubject \n\nbody\n\n";
            [format!("{head}{signature}{rest}").as_bytes(), b"\xe4"].concat()
        };
        let (signed, plain) = (text(signature), text(""));
        let id = ObjectId::of_object(ObjectFormat::Sha1, "commit", &signed);
        let batch = format!("{id} commit {}\n", signed.len());
        let batch = [batch.as_bytes(), &signed, b"\n"].concat();
        let read = CommitObject::of_batch(&batch, &[id], ObjectFormat::Sha1).unwrap();
        let plain_id = ObjectId::of_object(ObjectFormat::Sha1, "commit", &plain);
        assert_eq!(
            read[0].object(),
            CommitBytes {
                id: plain_id,
                bytes: plain
            }
        );
        assert_eq!(
            CommitObject::of_batch(&batch, &[id, id], ObjectFormat::Sha1),
            None
        );
    }
}
