//! Author and committer of a run's commits, and the bytes of a commit object.

use std::fmt::Write as _;

use super::frozen_config::value_of;
use crate::git::object_id::ObjectId;

/// Who makes the commits of a run, as `NAME <EMAIL>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    author: String,
    pub(crate) committer: String,
}

impl Identity {
    /// Who makes commits, by a configuration and by the answer of `git var -l`. None where git guessed a
    /// part of that answer: with a guessed identity it refuses to commit.
    pub(super) fn named(
        config: &str,
        variables: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let has_letters = |text: String| text.contains(|c: char| c.is_ascii_alphanumeric());
        let is_named = |role: &str, part: &str| {
            let places = [role, "user"].map(|section| format!("{section}.{part}"));
            let variable = variable(&format!("GIT_{role}_{part}").to_uppercase());
            // Git uses the first that is set, even where it is empty.
            let value = variable.or_else(|| {
                let mut values = places.iter().map(|key| value_of(config, key));
                values.find_map(|value| value)
            });
            value.is_some_and(has_letters)
        };
        let of = |role: &str| {
            if !["name", "email"].iter().all(|part| is_named(role, part)) {
                return None;
            }
            let start = format!("GIT_{}_IDENT=", role.to_uppercase());
            // The configuration comes first, and may say anything.
            let mut lines = variables.lines().rev();
            let line = lines.find_map(|line| line.strip_prefix(&start))?;
            let who = &line[..=line.rfind('>')?];
            // Bytes that are not UTF-8 were replaced.
            (!who.contains(char::REPLACEMENT_CHARACTER)).then(|| who.to_owned())
        };
        Some(Self {
            author: of("author")?,
            committer: of("committer")?,
        })
    }

    /// The text of a commit.
    pub(super) fn commit(
        &self,
        tree: ObjectId,
        parents: &[ObjectId],
        message: &str,
        now: &jiff::Zoned,
    ) -> String {
        let when = now.strftime("%s %z");
        let mut text = format!("tree {tree}\n");
        for parent in parents {
            let _ = writeln!(text, "parent {parent}");
        }
        let Self { author, committer } = self;
        let _ = write!(
            text,
            "author {author} {when}\ncommitter {committer} {when}\n\n{message}"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_commit_says_what_git_would() {
        let identity = Identity {
            author: "Ann B. <a@b>".to_owned(),
            committer: "C <>".to_owned(),
        };
        let id = ObjectId::parse(&[b'a'; 40]).unwrap();
        let now: jiff::Zoned = "2026-02-03T04:05:06-05:30[-05:30]".parse().unwrap();
        let seconds = now.timestamp().as_second();
        assert_eq!(
            identity.commit(id, &[id], "message\n", &now),
            format!(
                "tree {id}\nparent {id}\nauthor Ann B. <a@b> {seconds} -0530\n\
                 committer C <> {seconds} -0530\n\nmessage\n"
            )
        );
    }

    #[test]
    fn who_commits_is_known_where_nothing_of_it_is_guessed() {
        #[track_caller]
        fn case(config: &str, variables: &[(&str, &str)], want: bool) {
            let said = "alias.x=a\nGIT_AUTHOR_IDENT=no <no> 1 +0000\n\
                GIT_COMMITTER_IDENT=Ann <a@b> 17 +0100\nGIT_AUTHOR_IDENT=Bo <b@c> 17 +0100\n";
            let value = |name: &str| {
                let mut all = variables.iter();
                let found = all.find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let known = Identity::named(config, said, value);
            let wanted = Identity {
                author: "Bo <b@c>".to_owned(),
                committer: "Ann <a@b>".to_owned(),
            };
            assert_eq!(known, want.then_some(wanted));
        }
        let (name, email) = ("[user]\n\tname = \"a\"\n", "[user]\n\temail = \"b\"\n");
        let both = &format!("{name}{email}");
        case(both, &[], true);
        case(name, &[], false);
        case(email, &[], false);
        case("[user]\n\tname = \".\"\n\temail = \"b\"\n", &[], false);
        case(both, &[("GIT_AUTHOR_NAME", "")], false);
        case(&format!("{both}[committer]\n\tname = \"\"\n"), &[], false);
        let author = ("GIT_AUTHOR_EMAIL", "x");
        case(name, &[author], false);
        case(name, &[author, ("GIT_COMMITTER_EMAIL", "y")], true);
    }
}
