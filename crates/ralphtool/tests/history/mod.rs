//! A scripted history of commands, and the sweep that kills it.

mod stage;
mod sweep;

use crate::sandbox::{Sandbox, TASKS};

pub(crate) use sweep::{Sweep, What};

/// Fails once, then leaves what a gate finds, then does its work; it decides by what the prompt
/// says of the attempt before, so that an attempt that was killed changes nothing.
const AGENT: &str = r#"
if [ $RALPHTOOL_STORY = 3 ]; then
    case "$prompt" in
        *"no luck"* | *"not whole 42"*) ;;
        *) echo junk > junk.txt; rm dir/b.txt; failed "no luck"; exit ;;
    esac
fi
if [ $RALPHTOOL_STORY = 2 ]; then
    case "$prompt" in
        *"exit code"* | *"been here"*) ;;
        *"no luck"*) echo bad > bad.txt; echo worse > a.txt; tick 2; complete; exit ;;
        *) echo junk > junk.txt; rm dir/b.txt; echo mess > .env; git add junk.txt
           git -c user.name=a -c user.email=a@a commit -qm mess; failed "no luck"; exit ;;
    esac
fi
echo "work" > "story-$RALPHTOOL_STORY.txt"
# What the gate at the end prints is in no prompt before it has run.
case "$prompt" in *"not whole 42"*) echo whole > e2e.txt ;; esac
# Notes outlive a rewind: the second time it is done at once.
# Added once: a kill must not find the notes emptied to be written again.
[ $RALPHTOOL_STORY != 2 ] || grep -qs "been here" "$RALPHTOOL_LEARNINGS" ||
    echo "been here" >> "$RALPHTOOL_LEARNINGS"
if [ $RALPHTOOL_STORY = 1 ]; then
    # Written through a filter, where there is one.
    echo "filtered" > "story-1.swap"
    git add "story-1.txt"
    git -c user.name=a -c user.email=a@a commit -qm "by the agent" -- story-1.txt
fi
tick "$RALPHTOOL_STORY"
complete
"#;

/// Repairs its work in the same session once a gate is red and once a review finds something, and asks a
/// question whose answer continues the session; it decides by its arguments and by what the prompt says.
const AGENT_IN_SESSIONS: &str = r#"
case "$1-$RALPHTOOL_STORY-$prompt" in
    first-1-*) echo bad > bad.txt; echo draft > story-1.txt; rm dir/b.txt; tick 1; complete; exit ;;
    again-1-*"no second line"*) echo second >> story-1.txt; complete; exit ;;
    again-1-*) rm -f bad.txt; git checkout -q -- dir/b.txt ;;
    *-2-*"The answer:"*) ;;
    *-2-*) echo half > story-2.txt; echo '<promise>BLOCKED: which one?</promise>'; exit ;;
esac
echo "work" > "story-$RALPHTOOL_STORY.txt"
tick "$RALPHTOOL_STORY"
complete
"#;

/// Judges what is in the tree, and leaves there what a reviewer should not.
const JUDGE: &str = r#"
prompt=$(cat)
key=$(printf '%s\n' "$prompt" | sed -n 's/.*"review": "\(review-[a-z0-9]*\)".*/\1/p')
echo junk > junk.txt; echo more >> a.txt
git -c user.name=a -c user.email=a@a commit -qam "by the reviewer"
verdict=met
[ $RALPHTOOL_STORY != 1 ] || grep -q second story-1.txt || verdict=not_met
item() { printf '{"item": "%s", "verdict": "%s", "evidence": "story-1.txt: no second line"}' "$1" $verdict; }
printf '```json\n{"review": "%s", "verdicts": [%s, %s]}\n```\n' "$key" "$(item T1)" "$(item T2)"
"#;

/// One command of a history, and how the journal shows that it took effect: by the number of
/// lines of these steps. If none are named, the command runs again until it succeeds.
#[derive(Debug, Clone)]
struct Act {
    line: &'static str,
    effect: &'static [&'static str],
}

/// Commands one after the other.
#[derive(Debug, Clone)]
pub(crate) struct History {
    acts: Vec<Act>,
    tasks: &'static str,
    gates: &'static str,
    /// In a repository that has everything a repository can have.
    rich: bool,
    /// With an agent that can continue its sessions, and a program that answers its questions.
    in_sessions: bool,
}

const MOVED: &[&str] = &["\"step\":\"move_intent\""];
const KEPT: &[&str] = &["\"step\":\"kept\""];
const REOPENED: &[&str] = &["\"step\":\"reopened\""];
const NONE: &[&str] = &[];

const GATE: &str = "[[gate]]\nname = \"good\"\nrun = \"test ! -e bad.txt\"\n";
const GATES: &str = "[[gate]]\nname = \"good\"\nrun = \"test ! -e bad.txt\"\n\
    [[gate]]\nname = \"e2e\"\nwhen = \"end\"\nbaseline = false\n\
    run = \"test -e e2e.txt || { echo not whole $((6 * 7)); exit 1; }\"\n";

fn act(line: &'static str, effect: &'static [&'static str]) -> Act {
    Act { line, effect }
}

impl History {
    /// A story that fails once, then succeeds, is opened again by a gate at the end, and taken home.
    pub(crate) fn short() -> Self {
        Self {
            acts: vec![act("loop c --on-finish cleanup", MOVED)],
            tasks: "## 3. Third\n- [ ] 3.1 Do c\n",
            gates: GATES,
            rich: false,
            in_sessions: false,
        }
    }

    /// A story that is repaired in the session of its agent, after a gate and after a review, and one whose
    /// agent asks a question and continues with the answer.
    pub(crate) fn in_sessions() -> Self {
        Self {
            acts: vec![
                act("loop c --on-finish keep", KEPT),
                act("finish --abandon", MOVED),
            ],
            tasks: TASKS,
            gates: GATE,
            rich: false,
            in_sessions: true,
        }
    }

    /// Success with commits of the agent's, failure, a red gate, keep, cleanup, squash, reword, undo, rewind,
    /// resume, a parked attempt restored, abandon.
    pub(crate) fn whole() -> Self {
        Self {
            acts: vec![
                act("loop c --on-finish keep", KEPT),
                act("finish --cleanup", MOVED),
                act("undo", MOVED),
                act("finish --squash", MOVED),
                act("undo", MOVED),
                act("finish --reword", MOVED),
                act("undo", MOVED),
                act("rewind 2", MOVED),
                act("resume --on-finish keep", KEPT),
                act("attempts restore FAILED", MOVED),
                act("undo", MOVED),
                act("finish --abandon", MOVED),
            ],
            tasks: TASKS,
            gates: GATE,
            rich: false,
            in_sessions: false,
        }
    }

    /// The same in a rich repository, with a gate at the end that reopens a story, a garbage
    /// collection, and a second run, resumed and kept.
    pub(crate) fn rich() -> Self {
        let mut history = Self {
            rich: true,
            gates: GATES,
            ..Self::whole()
        };
        history.acts.extend([
            act("gc --older-than 0s --yes", NONE),
            act("loop c --on-finish keep", KEPT),
            act("undo", REOPENED),
            act("finish --keep", KEPT),
            act("finish --abandon", MOVED),
        ]);
        history
    }

    /// The first and the last command of that: a run, and the abandon that reverts it.
    pub(crate) fn rich_and_short() -> Self {
        Self {
            rich: true,
            gates: GATES,
            acts: vec![
                act("loop c --on-finish keep", KEPT),
                act("finish --abandon", MOVED),
            ],
            tasks: TASKS,
            in_sessions: false,
        }
    }

    /// A sandbox in which it can happen.
    fn sandbox(&self) -> Sandbox {
        let sandbox = Sandbox::named();
        sandbox.tasks(self.tasks);
        sandbox.config(self.gates);
        if self.in_sessions {
            sandbox.write("ralphtool.toml", &in_sessions(&sandbox, self.gates));
        }
        sandbox.git("commit -qam tasks");
        if self.rich {
            sandbox.make_rich();
        } else {
            sandbox.make_dirty();
            sandbox.write("intended.txt", "only announced\n");
            sandbox.git("add -N intended.txt");
        }
        sandbox.agent(if self.in_sessions {
            AGENT_IN_SESSIONS
        } else {
            AGENT
        });
        sandbox
    }
}

/// Settings for an agent that can continue its sessions; a notification answers its questions.
fn in_sessions(sandbox: &Sandbox, gates: &str) -> String {
    let root = sandbox.root.display();
    std::fs::write(sandbox.root.join("judge.sh"), JUDGE).unwrap();
    let program = env!("CARGO_BIN_EXE_ralphtool");
    format!(
        "agent = \"mine\"\non_blocked = \"wait\"\n[agents.mine]\n\
         command = [\"sh\", \"{root}/agent.sh\", \"first\", \"{{session}}\"]\n\
         resume = [\"sh\", \"{root}/agent.sh\", \"again\", \"{{session}}\"]\n\
         [agents.judge]\ncommand = [\"false\"]\nreview = [\"sh\", \"{root}/judge.sh\"]\n\
         [[review]]\nagent = \"judge\"\n\
         [notify]\non = [\"blocked\"]\ncommand = [\"{program}\", \"answer\", \"this one\"]\n{gates}"
    )
}
