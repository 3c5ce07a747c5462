//! Names that no other process has chosen.

/// A random name of lower-case letters and digits.
pub fn random_name(length: usize) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0; length];
    fill(&mut bytes);
    bytes
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect()
}

/// A random UUID (version 4), which some agents want as the id of a session.
pub fn random_uuid() -> String {
    let mut bytes = [0; 16];
    fill(&mut bytes);
    let version_4 = (u128::from_be_bytes(bytes) & !(0xf << 76)) | (4 << 76);
    let bits = (version_4 & !(0b11 << 62)) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

fn fill(bytes: &mut [u8]) {
    if getrandom::fill(bytes).is_err() {
        let clock = jiff::Timestamp::now().as_nanosecond().to_le_bytes();
        for (slot, byte) in bytes.iter_mut().zip(clock.iter().cycle()) {
            *slot = *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::random_uuid;

    #[test]
    fn a_uuid_says_that_it_is_random() {
        let shape = |uuid: &str| -> String {
            let shape = |c: char| if c.is_ascii_hexdigit() { 'x' } else { c };
            uuid.chars().map(shape).collect()
        };
        let uuid = random_uuid();
        assert_eq!(shape(&uuid), "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
        assert_eq!(&uuid[14..15], "4");
        assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        assert_ne!(uuid, random_uuid());
    }
}
