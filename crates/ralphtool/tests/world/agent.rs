//! The agent of a random history: a shell script that does to each attempt what was drawn for it.

use std::fmt::Write as _;

use super::steps::{Deed, Ending, Misdeed};

/// The script for one command; `name` makes its tokens its own. Whatever is lost by what an agent
/// does comes first; what it writes then is noted as written only when all of it is.
pub(super) fn script(name: &str, deeds: &[Deed]) -> String {
    let mut cases = String::new();
    for (number, deed) in deeds.iter().enumerate() {
        let misdeed = misdeed(deed.misdeed);
        let ending = match deed.ending {
            Ending::Complete => "work; complete",
            Ending::Failed => "junk; failed 'no luck'",
            Ending::Silent => "junk; exit 3",
            Ending::KillsItself => "junk; kill -9 $$",
        };
        let _ = writeln!(cases, "{number}) {misdeed}\n  {ending} ;;");
    }
    format!(
        r#"
exec 2>/dev/null
turn=$(cat "$root/turn"); turn=${{turn:-0}}
echo $((turn + 1)) > "$root/turn"
token="tok-{name}-$turn"
as_agent() {{ git -c user.name=a -c user.email=a@a -c commit.gpgsign=false "$@"; }}
work() {{
    echo "work $token" > "story-$RALPHTOOL_STORY.txt"
    tick "$RALPHTOOL_STORY"
    echo "$token" >> "$root/written"
}}
junk() {{
    mkdir -p mess
    echo "junk $token" > mess/junk.txt
    echo "more $token-more" >> dir/b.txt && echo "$token-more" >> "$root/written"
    echo "$token" >> "$root/written"
}}
case $turn in
{cases}
*) work; complete ;;
esac
"#
    )
}

fn misdeed(misdeed: Misdeed) -> &'static str {
    match misdeed {
        Misdeed::None => "",
        Misdeed::Commits => {
            "echo \"own $token-own\" > own.txt; git add own.txt
             as_agent commit -qm own && echo \"$token-own\" >> \"$root/written\""
        }
        Misdeed::Junk => "junk; rm -f a.txt; chmod 600 dir/b.txt",
        Misdeed::Amends => "git add -A; as_agent commit -q --amend -m amended",
        Misdeed::ResetsHard => "git reset -q --hard HEAD~1",
        Misdeed::ChecksOutMain => "git checkout -q -f main",
        Misdeed::Detaches => "git checkout -q --detach; git add -A; as_agent commit -qm detached",
        Misdeed::RemovesGit => "rm -rf .git",
        Misdeed::CollectsGarbage => "git reflog expire --expire=now --all; git gc -q --prune=now",
        Misdeed::ClearsStash => "git stash clear; git gc -q --prune=now",
        Misdeed::Cleans => "git clean -q -ffdx",
        Misdeed::DeletesIgnored => "rm -f .env; echo other > debug.log",
        Misdeed::ChangesConfig => {
            "git config core.excludesFile /dev/null; git config user.name Agent
             mkdir -p .git/hooks; printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit
             chmod +x .git/hooks/pre-commit; echo '*.txt' >> .git/info/exclude"
        }
        Misdeed::LeavesMerge => {
            "git checkout -q -f -b other HEAD~1; echo theirs > a.txt; echo theirs > dir/b.txt
             git add a.txt dir/b.txt; as_agent commit -qm theirs
             git checkout -q -f -; echo ours > a.txt; as_agent commit -qam ours
             as_agent merge -q other"
        }
        Misdeed::LeavesLock => "touch .git/index.lock .git/HEAD.lock",
        Misdeed::NestedRepository => {
            "mkdir -p nested && echo \"in $token-in\" > nested/inner.txt &&
             (cd nested && git init -q --template= . && echo \"$token-in\" >> \"$root/written\")"
        }
        Misdeed::DeletesBranches => {
            "git checkout -q --detach
             git for-each-ref --format='delete %(refname)' refs/heads | git update-ref --stdin"
        }
        Misdeed::OverwritesAll => {
            "for it in a.txt dir/b.txt new/c.txt .env debug.log story-1.txt; do
                 test -e $it && echo gone > $it; done"
        }
    }
}
