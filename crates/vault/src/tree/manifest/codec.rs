//! A manifest as bytes: whole, or as the difference to an earlier one. Ends with a checksum, so
//! that half a file is never read as a manifest.

use imbl::ordmap::DiffItem;

use super::{Content, Entry, Kind, Lane, Manifest};
use crate::git::object_id::ObjectId;
use crate::stat::Stat;

const MAGIC: &[u8; 4] = b"RTM1";

/// Kinds and lanes, each in the place of its number.
const KINDS: [Kind; 4] = [Kind::File, Kind::Link, Kind::Folder, Kind::Special];
const LANES: [Lane; 3] = [Lane::Ignored, Lane::Committed, Lane::Kept];

/// What turns one manifest into another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// When the walk began.
    pub scanned_ns: i64,
    /// New or changed entries.
    pub upserts: Vec<(Vec<u8>, Entry)>,
    pub removals: Vec<Vec<u8>>,
}

impl Difference {
    /// Applies this difference.
    pub fn apply(self, manifest: &mut Manifest) {
        manifest.scanned_ns = self.scanned_ns;
        for path in self.removals {
            manifest.entries.remove(&path);
        }
        manifest.entries.extend(self.upserts);
    }

    /// From bytes; none where they are not whole.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut input = Reader(body.strip_prefix(MAGIC)?);
        let scanned_ns = input.signed()?;
        let mut upserts = Vec::new();
        for _ in 0..input.unsigned()? {
            upserts.push((input.bytes()?.to_vec(), input.entry()?));
        }
        let mut removals = Vec::new();
        for _ in 0..input.unsigned()? {
            removals.push(input.bytes()?.to_vec());
        }
        Some(Self {
            scanned_ns,
            upserts,
            removals,
        })
    }
}

/// What turns `base` into `target`, as bytes. Costs with what the two do not share.
pub(crate) fn encode(base: &Manifest, target: &Manifest) -> Vec<u8> {
    let mut out = Writer::default();
    out.0.extend_from_slice(MAGIC);
    out.signed(target.scanned_ns);
    let count_at = out.0.len();
    out.unsigned(0);
    let mut count: u64 = 0;
    let mut removals = Vec::new();
    for item in base.entries.diff(&target.entries) {
        match item {
            DiffItem::Add(path, entry)
            | DiffItem::Update {
                new: (path, entry), ..
            } => {
                out.bytes(path);
                out.entry(entry);
                count += 1;
            }
            DiffItem::Remove(path, _) => removals.push(path),
        }
    }
    out.0[count_at..count_at + 8].copy_from_slice(&count.to_le_bytes());
    out.unsigned(removals.len() as u64);
    for path in removals {
        out.bytes(path);
    }
    let checksum = crc32fast::hash(&out.0);
    out.0.extend_from_slice(&checksum.to_le_bytes());
    out.0
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn unsigned(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn signed(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.unsigned(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn entry(&mut self, entry: &Entry) {
        self.0.push(entry.kind as u8);
        self.0.push(entry.lane as u8);
        self.unsigned(u64::from(entry.stat.mode));
        self.unsigned(entry.stat.size);
        self.signed(entry.stat.modified_ns);
        self.signed(entry.stat.changed_ns);
        self.unsigned(entry.stat.inode);
        match &entry.content {
            Content::Git(id) => self.tagged(0, id.as_bytes()),
            Content::Raw(id) => self.tagged(1, id.as_bytes()),
            Content::Link(target) => self.tagged(2, target),
            Content::Nothing => self.tagged(3, &[]),
            Content::Unkept => self.tagged(4, &[]),
        }
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.bytes(bytes);
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn unsigned(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn signed(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.unsigned()?).ok()?;
        self.take(length)
    }

    fn entry(&mut self) -> Option<Entry> {
        let kind = *KINDS.get(usize::from(self.byte()?))?;
        let lane = *LANES.get(usize::from(self.byte()?))?;
        let stat = Stat {
            mode: u32::try_from(self.unsigned()?).ok()?,
            size: self.unsigned()?,
            modified_ns: self.signed()?,
            changed_ns: self.signed()?,
            inode: self.unsigned()?,
        };
        let tag = self.byte()?;
        let bytes = self.bytes()?;
        let content = match tag {
            0 => Content::Git(ObjectId::from_bytes(bytes)?),
            1 => Content::Raw(ObjectId::from_bytes(bytes)?),
            2 => Content::Link(bytes.to_vec()),
            3 => Content::Nothing,
            4 => Content::Unkept,
            _ => return None,
        };
        Some(Entry {
            kind,
            stat,
            content,
            lane,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = Entry> {
        let kind = prop_oneof![
            Just(Kind::File),
            Just(Kind::Link),
            Just(Kind::Folder),
            Just(Kind::Special)
        ];
        let content = prop_oneof![
            any::<[u8; 20]>()
                .prop_map(|raw| ObjectId::from_bytes(&raw).map_or(Content::Unkept, Content::Git)),
            any::<[u8; 32]>()
                .prop_map(|raw| ObjectId::from_bytes(&raw).map_or(Content::Unkept, Content::Raw)),
            any::<Vec<u8>>().prop_map(Content::Link),
            Just(Content::Nothing),
            Just(Content::Unkept),
        ];
        let stat = any::<(u16, u64, i64, i64, u64)>();
        let lane = prop_oneof![Just(Lane::Committed), Just(Lane::Kept), Just(Lane::Ignored)];
        (kind, stat, content, lane).prop_map(|(kind, stat, content, lane)| Entry {
            kind,
            stat: Stat {
                mode: u32::from(stat.0),
                size: stat.1,
                modified_ns: stat.2,
                changed_ns: stat.3,
                inode: stat.4,
            },
            content,
            lane,
        })
    }

    fn manifest() -> impl Strategy<Value = Manifest> {
        let entries = proptest::collection::btree_map(any::<Vec<u8>>(), entry(), 0..12);
        (any::<i64>(), entries).prop_map(|(scanned_ns, entries)| Manifest {
            scanned_ns,
            entries: entries.into_iter().collect(),
        })
    }

    proptest! {
        #[test]
        fn a_difference_survives_its_bytes_and_leads_to_its_target(
            base in manifest(), target in manifest()
        ) {
            let bytes = encode(&base, &target);
            let mut reached = base;
            Difference::decode(&bytes).unwrap().apply(&mut reached);
            prop_assert_eq!(reached, target);
        }

        #[test]
        fn a_torn_file_is_no_manifest(target in manifest(), cut in 0.0..1.0f64) {
            let bytes = encode(&Manifest::default(), &target);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a fraction of a short length")]
            let length = (bytes.len() as f64 * cut) as usize;
            prop_assert_eq!(Difference::decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn random_bytes_are_no_manifest() {
        assert_eq!(Difference::decode(b"RTM1"), None);
        assert_eq!(Difference::decode(&[]), None);
    }
}
