//! What is kept out of commits although git does not ignore it: files whose name says that they
//! hold a secret, and files too large for a repository. No file is read for that.

use ralph_base::size::SizeLimit;

/// What a run may put into commits, and what it must leave free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// An untracked file larger than this is not committed.
    pub largest_file: SizeLimit,
    /// Bytes that stay free on a file system after anything is written there.
    pub least_free: u64,
}

impl Limits {
    /// The limits where no setting names others.
    pub const DEFAULT: Self = Self {
        largest_file: SizeLimit::bytes(50_000_000),
        least_free: 64_000_000,
    };
}

/// Why an untracked file is kept out of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Its name says that it holds a secret.
    Secret,
    /// It is larger than `largest_file`.
    Large,
}

/// Whether an untracked file is kept out of commits.
pub fn guard(path: &[u8], size: u64, largest_file: SizeLimit) -> Option<Guard> {
    if looks_like_secret(path) {
        Some(Guard::Secret)
    } else if largest_file.is_exceeded_by(size) {
        Some(Guard::Large)
    } else {
        None
    }
}

/// Words in a name that say that it is made to be shared.
const SHARED: &[&str] = &[
    "default", "defaults", "dist", "example", "examples", "sample", "schema", "template", "tmpl",
    "tpl",
];

/// Whole names of files with passwords, tokens and keys.
const NAMES: &[&str] = &[
    ".boto",
    ".credentials",
    ".dockercfg",
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".secrets",
    ".vault-pass",
    ".vault_pass",
    "_netrc",
    "credentials",
    "htpasswd",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
];

/// Endings of files that hold keys.
const ENDINGS: &[&str] = &[
    "jks", "kdbx", "key", "keystore", "p12", "p8", "pem", "pfx", "ppk",
];

/// How names begin that hold secrets with one of the endings of [`DATA`].
const STEMS: &[&str] = &["credentials", "secret", "secrets"];

/// Endings of files with settings.
const DATA: &[&str] = &["ini", "json", "toml", "yaml", "yml"];

/// How names of keys to services begin, as they are downloaded.
const DOWNLOADED: &[&str] = &["service-account", "service_account", "client_secret"];

/// True where the name of a file says that it holds a secret.
pub fn looks_like_secret(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).to_lowercase();
    let mut words = name.split(['.', '-', '_']);
    if words.any(|word| SHARED.contains(&word)) {
        return false;
    }
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    NAMES.contains(&&*name)
        || [".env.", ".env-", ".env_", ".envrc."]
            .iter()
            .any(|start| name.starts_with(start))
        || !stem.is_empty() && ENDINGS.contains(&ending)
        || STEMS.contains(&stem) && DATA.contains(&ending)
        || ending == "json" && DOWNLOADED.iter().any(|start| stem.starts_with(start))
}

pub(crate) fn is_rules(path: &[u8]) -> bool {
    path == b".gitignore" || path.ends_with(b"/.gitignore")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_of_secrets_are_known() {
        for path in [
            ".env",
            ".ENV",
            "api/.env.local",
            ".env.production",
            ".env-staging",
            ".envrc",
            "home/.ssh/id_rsa",
            "id_ed25519",
            "id_ecdsa_sk",
            "certs/server.pem",
            "server.KEY",
            "a.p12",
            "a.pfx",
            "release.jks",
            "release.keystore",
            "passwords.kdbx",
            ".aws/credentials",
            "credentials.json",
            ".netrc",
            ".git-credentials",
            ".pgpass",
            ".pypirc",
            ".htpasswd",
            "config/secrets.yml",
            "secrets.yaml",
            "secrets.json",
            "secrets.toml",
            "service-account.json",
            "service-account-prod.json",
            "client_secret_123.apps.json",
        ] {
            assert!(looks_like_secret(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn names_that_only_look_similar_are_no_secrets() {
        for path in [
            "",
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.dist",
            ".env.local.example",
            "env",
            "env.ts",
            ".environment",
            ".env/readme.md",
            "id_rsa.pub",
            "id_ed25519.pub",
            "key",
            ".key",
            "keys.rs",
            "pem.rs",
            "credentials.rs",
            "credentials.yml.enc",
            "credentials/readme.md",
            "secrets.rs",
            "secrets.example.json",
            "service-account.md",
            "sample.pem",
            "monkey",
            "tasks.md",
        ] {
            assert!(!looks_like_secret(path.as_bytes()), "{path}");
        }
        assert!(!looks_like_secret(b"\xff\xfe"));
    }

    #[test]
    fn a_file_is_guarded_by_its_name_or_its_size() {
        let limit = SizeLimit::bytes(10);
        assert_eq!(guard(b".env", 1, limit), Some(Guard::Secret));
        assert_eq!(guard(b".env", 99, limit), Some(Guard::Secret));
        assert_eq!(guard(b"dump.sql", 11, limit), Some(Guard::Large));
        assert_eq!(guard(b"dump.sql", 10, limit), None);
        assert_eq!(guard(b"dump.sql", u64::MAX, SizeLimit::OFF), None);
    }
}
