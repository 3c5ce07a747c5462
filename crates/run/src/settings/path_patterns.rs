//! Patterns of paths in the repository, such as `src/**`.

use std::fmt;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::value::{Item, Kind, Mistake, array, filled, read};

/// Patterns of paths relative to the top of the repository, with `/` between names. `*` stays within
/// a folder, `**` does not, and a pattern that names a folder means everything in it. Case counts.
#[derive(Debug, Clone)]
pub struct PathPatterns {
    texts: Vec<String>,
    set: GlobSet,
}

impl PathPatterns {
    /// Patterns as users write them.
    pub fn new<T: AsRef<str>>(texts: &[T]) -> Result<Self, globset::Error> {
        let texts = texts.iter().map(|text| text.as_ref().to_owned());
        let texts: Vec<String> = texts.collect();
        let mut set = GlobSetBuilder::new();
        for text in &texts {
            set.add(glob(text)?);
            // A submodule is one path, whatever is in it.
            set.add(match text.strip_suffix("/**") {
                Some(folder) => glob(folder)?,
                None => glob(&format!("{text}/**"))?,
            });
        }
        let set = set.build()?;
        Ok(Self { texts, set })
    }

    /// Whether one of the patterns matches a path.
    pub fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    /// The patterns as they were written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

fn glob(text: &str) -> Result<Glob, globset::Error> {
    let mut glob = GlobBuilder::new(text);
    glob.literal_separator(true).backslash_escape(true).build()
}

impl PartialEq for PathPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for PathPatterns {}

impl fmt::Display for PathPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts.join(", "))
    }
}

/// A single pattern, or the path of a file.
pub(super) struct OnePattern;

read! {
    PathPatterns => Self, Kind::Patterns, patterns;
    OnePattern => PathPatterns, Kind::Text, |item| {
        let text = pattern(item)?;
        PathPatterns::new(&[text]).map_err(|error| Mistake::at(item, error))
    };
}

fn patterns(item: &Item<'_>) -> Result<PathPatterns, Mistake> {
    let items = array(item, "an array of patterns")?;
    if items.is_empty() {
        let mistake = Mistake::at(item, "without a pattern the gate would never run");
        return Err(mistake.hint("name the files it checks, such as `[\"src/**\"]`"));
    }
    let texts: Vec<String> = items.iter().map(pattern).collect::<Result<_, _>>()?;
    PathPatterns::new(&texts).map_err(|error| Mistake::at(item, error))
}

fn pattern(item: &Item<'_>) -> Result<String, Mistake> {
    let text = filled(item)?;
    if text.starts_with('!') {
        let mistake = Mistake::at(item, "a pattern cannot exclude files");
        return Err(mistake.hint("name the files that the gate checks"));
    }
    if text.starts_with('/') || text.split('/').any(|part| part == "..") {
        let message = "expected a pattern of paths inside of the repository";
        return Err(Mistake::at(item, message).hint("`src/**` is everything in the folder `src`"));
    }
    let text = text.strip_prefix("./").unwrap_or(&text);
    let text = text.trim_end_matches('/');
    if let Err(error) = PathPatterns::new(&[text]) {
        return Err(Mistake::at(item, error));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        PathPatterns::new(&[pattern]).unwrap().matches(path)
    }

    #[test]
    fn a_star_stays_within_a_folder_and_two_do_not() {
        assert!(matches("src/*.rs", "src/lib.rs"));
        assert!(!matches("src/*.rs", "src/a/lib.rs"));
        assert!(matches("src/**", "src/a/lib.rs"));
        assert!(matches("**/*.rs", "lib.rs"));
        assert!(matches("**/*.rs", "a/b/lib.rs"));
        assert!(!matches("*.rs", "a/lib.rs"));
        assert!(matches("{web,api}/**", "api/a"));
    }

    #[test]
    fn a_pattern_that_names_a_folder_means_everything_in_it() {
        assert!(matches("src", "src/a/lib.rs"));
        assert!(matches("crates/*", "crates/base/src/lib.rs"));
        assert!(!matches("src", "src2/lib.rs"));
        // A submodule is one path.
        assert!(matches("vendor/**", "vendor"));
    }

    #[test]
    fn case_counts_and_so_do_names_as_they_are() {
        assert!(!matches("src/**", "SRC/lib.rs"));
        assert!(matches("docs/a b*", "docs/a b ü.md"));
        assert!(matches(r"docs/\*.md", "docs/*.md"));
        assert!(!matches(r"docs/\*.md", "docs/a.md"));
    }
}
