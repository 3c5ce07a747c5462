//! Runs in a repository that has everything a repository can have.

use crate::sandbox::{Sandbox, WholeState};

/// Fails the first attempt of the first story, with damage of every kind.
const FAILS_ONCE: &str = r#"
case "$prompt" in
    *"no luck"*) ;;
    *) if [ $RALPHTOOL_STORY = 1 ]; then
           echo junk > junk.txt; rm -r dir deep odd; echo mess > .env; git add -A
           git -c user.name=a -c user.email=a@a commit -qm mess
           failed "no luck"; exit
       fi ;;
esac
echo "work" > "story-$RALPHTOOL_STORY.txt"
echo "filtered" > "story-$RALPHTOOL_STORY.swap"
tick "$RALPHTOOL_STORY"
complete
"#;

/// Entries that ralphtool or the agent's git writes to reflogs during a run.
fn is_added_by_a_run(line: &str) -> bool {
    line.contains("ralph") || line.contains("a <a@a>")
}

#[test]
fn abandon_restores_everything_of_a_rich_repository() {
    let sandbox = Sandbox::rich();
    sandbox.agent(FAILS_ONCE);
    let before = WholeState::of(&sandbox);
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    let difference = before.difference(&WholeState::of(&sandbox), is_added_by_a_run);
    assert_eq!(difference, "");
}
