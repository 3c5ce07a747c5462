//! The history that is cut: commands one after the other, the repository they work in, and the
//! agent they ask.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Story 2 fails, then is red at a gate, then leaves what the gate at the end finds. All of this is
/// decided by the prompt and the tree, so that an attempt lost to a cut is made again alike.
const AGENT: &str = r#"
if [ $RALPHTOOL_STORY = 2 ] && [ ! -e rough.txt ]; then
    case "$prompt" in
        *"been here"* | *"exit code"*) ;;
        *"no luck"*) echo bad > bad.txt; echo worse > a.txt; tick 2; complete; exit ;;
        *) echo junk > junk.txt; rm dir/b.txt; echo mess > .env; git add junk.txt
           git -c user.name=a -c user.email=a@a commit -qm mess; failed "no luck"; exit ;;
    esac
fi
echo "work" > "story-$RALPHTOOL_STORY.txt"
if [ $RALPHTOOL_STORY = 2 ]; then
    if [ -e rough.txt ]; then
        rm rough.txt
        echo "been here" > "$RALPHTOOL_LEARNINGS"
    else
        case "$prompt" in
            *"been here"*) ;;
            *) echo "rough edges" > rough.txt ;;
        esac
    fi
fi
if [ $RALPHTOOL_STORY = 1 ]; then
    git add "story-1.txt"
    git -c user.name=a -c user.email=a@a commit -qm "by the agent" -- story-1.txt
fi
tick "$RALPHTOOL_STORY"
complete
"#;

const GATES: &str = r#"
[[gate]]
name = "good"
run = "test ! -e bad.txt"

[[gate]]
name = "smooth"
when = "end"
run = "! cat rough.txt"
"#;

/// One command, and the step of the journal that shows that it took effect; none for a command that
/// may simply be run again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    pub(crate) line: &'static str,
    effect: Option<&'static str>,
    /// The user may want to be back where the run began, right after a cut in this command.
    pub(crate) may_be_abandoned: bool,
}

const MOVED: Option<&str> = Some("move_intent");
const KEPT: Option<&str> = Some("kept");

const fn act(line: &'static str, effect: Option<&'static str>) -> Act {
    Act {
        line,
        effect,
        may_be_abandoned: false,
    }
}

const fn open(line: &'static str, effect: Option<&'static str>) -> Act {
    Act {
        line,
        effect,
        may_be_abandoned: true,
    }
}

/// `FAILED` is the first attempt that failed by itself.
pub(crate) const ACTS: [Act; 10] = [
    open("loop c --on-finish keep --json", KEPT),
    act("finish --cleanup", MOVED),
    act("undo", MOVED),
    open("rewind 2", MOVED),
    open("resume --on-finish keep --json", KEPT),
    open("attempts restore FAILED", MOVED),
    open("undo", MOVED),
    act("finish --abandon", MOVED),
    act("loop c --on-finish cleanup --json", MOVED),
    act("gc --older-than 0s --yes", None),
];

/// Changes nothing, but recovers first, as every command does.
pub(crate) const RECOVER: Act = act("attempts restore none", None);

impl Act {
    /// What the program is called with.
    pub(crate) fn args(&self, sandbox: &Sandbox) -> Vec<String> {
        let failed = || failed_attempt(sandbox);
        let word = |word: &str| match word {
            "FAILED" => failed(),
            word => word.to_owned(),
        };
        self.line.split(' ').map(word).collect()
    }

    /// How often the journal shows that this command took effect.
    pub(crate) fn effects(&self, sandbox: &Sandbox) -> usize {
        let steps = journal(sandbox);
        let is_effect = |step: &&Value| step["step"].as_str() == self.effect;
        steps.iter().filter(is_effect).count()
    }

    /// A command without an effect of its own in the journal may be run again.
    pub(crate) const fn is_repeatable(&self) -> bool {
        self.effect.is_none()
    }
}

/// Makes the user's repository, with work of the user's that was never committed.
pub(crate) fn furnish(sandbox: &Sandbox) {
    sandbox.config_and("", GATES);
    sandbox.git("commit -qam tasks");
    sandbox.make_rich();
    sandbox.agent(AGENT);
}

/// The lines of the journal that are whole.
pub(crate) fn journal(sandbox: &Sandbox) -> Vec<Value> {
    let vaults = sandbox.root.join("state/ralphtool");
    let Some(vault) = fs::read_dir(vaults).ok().and_then(|mut all| all.next()) else {
        return Vec::new();
    };
    let bytes = fs::read(vault.unwrap().path().join("journal")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .filter_map(|line| serde_json::from_str(line.get(9..)?).ok())
        .collect()
}

/// The first attempt that failed by itself; after a cut it may have another number.
fn failed_attempt(sandbox: &Sandbox) -> String {
    let is_failed = |step: &Value| step["step"] == "parked" && step["kind"] == "failed";
    let steps = journal(sandbox);
    let label = steps.iter().find(|step| is_failed(step));
    label
        .and_then(|step| step["label"].as_str())
        .unwrap_or("2.1")
        .to_owned()
}
