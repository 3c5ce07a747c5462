//! What a run of the demo leaves to look at.

/// Everything worth showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The commits of the branch, the oldest first.
    pub commits: Vec<Commit>,
    /// `git diff --stat` over all stories.
    pub stat: String,
    /// The attempts that failed.
    pub parked: Vec<ParkedAttempt>,
    /// What "the user" had not committed, by path.
    pub own_work: Vec<OwnWork>,
}

/// One commit of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its short name.
    pub id: String,
    /// Its first line.
    pub subject: String,
    /// How many files it changed, in git's words.
    pub size: String,
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedAttempt {
    /// Its name, such as `2.1`.
    pub name: String,
    /// Why it failed.
    pub reason: String,
    /// What it did to files.
    pub touches: Vec<Touch>,
    /// Subjects of commits it made itself.
    pub commits: Vec<String>,
}

/// What an attempt did to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touch {
    /// It is a new file.
    Created(String),
    /// It has another content.
    Changed(String),
    /// It is gone.
    Deleted(String),
}

/// A file of the user's that was not committed when the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnWork {
    /// Where it is.
    pub path: String,
    /// What sort of work.
    pub kind: OwnKind,
    /// It is still there.
    pub is_there: bool,
}

/// What sort of work is not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnKind {
    /// An edit of a file git knows.
    Edited,
    /// A file git has not been told about.
    Untracked,
}

/// What a diff did to each file.
pub fn touches(diff: &str) -> Vec<Touch> {
    let mut found: Vec<Touch> = Vec::new();
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            // Both names are the same, so each is half of the line.
            let half = names.len().saturating_sub(" b/".len()) / 2;
            let name = names.get(..half).unwrap_or(names);
            found.push(Touch::Changed(name.to_owned()));
        } else if line.starts_with("new file mode ") {
            relabel(&mut found, Touch::Created);
        } else if line.starts_with("deleted file mode ") {
            relabel(&mut found, Touch::Deleted);
        }
    }
    found
}

fn relabel(found: &mut Vec<Touch>, label: fn(String) -> Touch) {
    if let Some(Touch::Changed(name)) = found.pop() {
        found.push(label(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indoc::indoc;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_diff_tells_what_happened_to_each_file() {
        let diff = indoc! {"
            diff --git a/debug.log b/debug.log
            new file mode 100644
            index 0000000..e69de29
            --- /dev/null
            +++ b/debug.log
            +new file mode 100644
            diff --git a/greet.sh b/greet.sh
            index 1..2 100644
            diff --git a/my ideas.txt b/my ideas.txt
            deleted file mode 100644
        "};
        assert_eq!(
            touches(diff),
            [
                Touch::Created("debug.log".into()),
                Touch::Changed("greet.sh".into()),
                Touch::Deleted("my ideas.txt".into()),
            ]
        );
    }
}
