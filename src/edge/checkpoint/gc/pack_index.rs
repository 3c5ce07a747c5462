//! What a pack of git's holds, read from its index.

use crate::edge::object_id::{ObjectFormat, ObjectId};

/// An index of version 2 begins so.
const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];

/// The table of how many objects begin with each byte.
const FANOUT: usize = 256 * 4;

/// Ids of all objects in a pack; none where its index cannot be read.
pub(super) fn object_ids(index: &[u8], format: ObjectFormat) -> Option<Vec<ObjectId>> {
    let rest = index.strip_prefix(&MAGIC)?;
    let (fanout, rest) = rest.split_at_checked(FANOUT)?;
    let count = u32::from_be_bytes(*fanout.last_chunk::<4>()?);
    let length = match format {
        ObjectFormat::Sha1 => 20,
        ObjectFormat::Sha256 => 32,
    };
    let names = rest.get(..usize::try_from(count).ok()?.checked_mul(length)?)?;
    names
        .chunks_exact(length)
        .map(ObjectId::from_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_index_names_what_its_pack_holds() {
        let (one, two) = ([1; 20], [2; 20]);
        let mut bytes = MAGIC.to_vec();
        for first in 0..=255u8 {
            let upto = u32::from(first >= 1) + u32::from(first >= 2);
            bytes.extend_from_slice(&upto.to_be_bytes());
        }
        bytes.extend_from_slice(&one);
        bytes.extend_from_slice(&two);
        let want = [one, two].map(|raw| ObjectId::from_bytes(&raw).unwrap());
        let read = object_ids(&bytes, ObjectFormat::Sha1);
        assert_eq!(read, Some(want.to_vec()));
        for cut in 0..bytes.len() {
            assert_eq!(object_ids(&bytes[..cut], ObjectFormat::Sha1), None);
        }
    }
}
