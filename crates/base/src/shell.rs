//! Paths as a shell takes them: for commands that a user or an agent is to type.

use std::path::Path;

/// A path as one word of a POSIX shell; left as it is where no quotes are needed.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+,:@%=".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_path_with_any_characters_is_one_word() {
        let names = [
            "plain/path-1.txt",
            "",
            "my repo",
            "it's",
            "a;rm -rf $HOME",
            "`x`",
            "ü",
        ];
        for name in names {
            let line = format!("printf %s {}", quoted(Path::new(name)));
            let output = std::process::Command::new("sh")
                .args(["-c", &line])
                .output();
            assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), name);
        }
        assert_eq!(quoted(Path::new("/a/b-1.txt")), "/a/b-1.txt");
    }
}
