//! The name of the branch of a run: that of its change as git can store it. Plans in several places
//! can have one name; each gets a branch of its own.

use std::path::Path;

use ralph_plan::change::Change;
use ralph_plan::source::place_of;
use ralph_vault::BranchRuns;
use ralph_vault::git::repository::Repository;
use ralph_vault::store::where_now;

/// How many plans may share one name.
const NAMESAKES: u32 = 100;

/// The branch for a run of the change: the one its last run had, else one that no other plan has.
pub(crate) fn branch_name(
    change: &Change,
    runs: &BranchRuns,
    vault: &Path,
    repository: &Repository,
) -> String {
    let name = plain(&change.name);
    let place = place_of(change);
    let is_free = |branch: &String| {
        let Some(run) = runs.on(branch) else {
            return true;
        };
        let plan = run.plan.as_ref();
        let plan = plan.map(|plan| where_now(vault, repository, plan));
        let mut places = plan.zip(place.as_ref()).into_iter();
        run.change == change.name && places.all(|(plan, place)| plan == *place)
    };
    let ending = place.as_deref().and_then(ending);
    let named = ending.map(|ending| format!("{name}-{ending}"));
    let numbered = (2..NAMESAKES).map(|number| format!("{name}-{number}"));
    let all = std::iter::once(name.clone()).chain(named).chain(numbered);
    let mut branches = all.map(|name| format!("ralph/{name}"));
    let free = branches.find(is_free);
    free.unwrap_or_else(|| format!("ralph/{name}"))
}

/// The name of a change with `-` for what git takes in no branch. One that git takes stays as it is.
fn plain(change: &str) -> String {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let mut name = change
        .replace(is_odd, "-")
        .replace("..", "-")
        .replace("@{", "-");
    while name.ends_with(['.', '/']) || name.to_ascii_lowercase().ends_with(".lock") {
        let end = name.rfind(['.', '/']).unwrap_or(0);
        name.replace_range(end..=end, "-");
    }
    if name.starts_with('.') {
        name.replace_range(..1, "-");
    }
    name
}

/// What tells a file from others of its name: `md` or `json`.
fn ending(place: &str) -> Option<String> {
    let ending = Path::new(place).extension()?.to_str()?;
    let is_plain = ending.chars().all(|c| c.is_ascii_alphanumeric());
    is_plain.then(|| ending.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_name_that_git_takes_stays_as_it_is() {
        for name in ["add-retry", "a.b", "重试", "feature@2", "UPPER"] {
            assert_eq!(plain(name), name);
        }
        let odd = [
            "UPPER and space",
            "a..b",
            ".hidden",
            "a.lock",
            "what?",
            "end.",
        ];
        let named = [
            "UPPER-and-space",
            "a-b",
            "-hidden",
            "a-lock",
            "what-",
            "end-",
        ];
        assert_eq!(odd.map(plain), named);
    }
}
