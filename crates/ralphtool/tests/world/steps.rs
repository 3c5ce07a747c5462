//! The steps of a random history: what users do, what agents do wrong, and the commands, each of
//! which may be killed, and killed again during the repair.

use proptest::prelude::*;
use proptest::sample::select;

/// One step.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The user does something in the repository.
    User(UserAct),
    /// A command is given.
    Command(Command, Option<Kill>),
}

/// Files a user works on.
pub(crate) const FILES: [&str; 4] = ["a.txt", "dir/b.txt", "new/c.txt", "d e.txt"];

/// What a user does; files by their place in [`FILES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserAct {
    /// Writes a file.
    Write(usize),
    /// Adds a line to a file.
    Append(usize),
    /// Deletes a file.
    Delete(usize),
    /// Stages a file.
    Stage(usize),
    /// Stages a file, then edits it again.
    StageAndEdit(usize),
    /// Writes a new file and announces it with `add -N`.
    Announce,
    /// Stages a new file, then deletes it from the tree.
    StageAndDelete,
    /// Commits what is staged.
    Commit,
    /// Commits everything.
    CommitAll,
    /// Stashes.
    Stash,
    /// Writes an ignored file.
    WriteIgnored,
    /// Makes a branch with a commit of its own.
    Branch,
    /// Commits on the original branch, from another work tree.
    CommitElsewhere,
    /// Switches to the original branch.
    SwitchHome,
    /// Switches to the run's branch.
    SwitchToRun,
    /// Opens all tasks again.
    OpenTasks,
}

/// How an attempt goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deed {
    /// What the agent does first.
    pub(crate) misdeed: Misdeed,
    /// How it ends.
    pub(crate) ending: Ending,
}

/// What an agent does besides its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misdeed {
    None,
    Commits,
    Junk,
    Amends,
    ResetsHard,
    ChecksOutMain,
    Detaches,
    RemovesGit,
    CollectsGarbage,
    ClearsStash,
    Cleans,
    DeletesIgnored,
    ChangesConfig,
    LeavesMerge,
    LeavesLock,
    NestedRepository,
    DeletesBranches,
    OverwritesAll,
}

impl Misdeed {
    /// Removes the work of earlier stories if the attempt succeeds.
    pub(crate) fn is_destructive(self) -> bool {
        use Misdeed::{Amends, ChecksOutMain, Cleans, LeavesMerge, OverwritesAll, ResetsHard};
        matches!(
            self,
            Amends | ChecksOutMain | Cleans | LeavesMerge | OverwritesAll | ResetsHard
        )
    }
}

/// The agent's last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    Failed,
    Silent,
    KillsItself,
}

/// A command of the program.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// `loop c`, with how its attempts go; all further ones are good.
    Loop {
        deeds: Vec<Deed>,
        keep: bool,
        fresh: bool,
    },
    /// `resume`
    Resume { deeds: Vec<Deed>, keep: bool },
    /// `finish`
    Finish(Choice),
    /// `undo`
    Undo,
    /// `gc`
    Gc,
    /// `rewind`
    Rewind(u8),
    /// `attempts restore`
    Restore {
        story: u8,
        attempt: u8,
        only: Option<usize>,
    },
}

/// How to finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Cleanup,
    Keep,
    Abandon,
}

/// When a command is killed, in thousandths of its length, and when the command that repairs it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kill {
    pub(crate) at: u16,
    pub(crate) again_at: Option<u16>,
}

/// Any step; before the first run just those that make sense.
pub(crate) fn step(has_run: bool) -> BoxedStrategy<Step> {
    let user = user_act().prop_map(Step::User);
    let first = (run(), kill()).prop_map(|(command, kill)| Step::Command(command, kill));
    if !has_run {
        return prop_oneof![3 => user, 2 => first].boxed();
    }
    let later = (later(), kill()).prop_map(|(command, kill)| Step::Command(command, kill));
    prop_oneof![3 => user, 1 => first, 4 => later].boxed()
}

/// The same, with collections of garbage, which take their time.
pub(crate) fn soak_step(has_run: bool) -> BoxedStrategy<Step> {
    if !has_run {
        return step(false);
    }
    let collect = kill().prop_map(|kill| Step::Command(Command::Gc, kill));
    prop_oneof![13 => step(true), 1 => collect].boxed()
}

fn user_act() -> impl Strategy<Value = UserAct> {
    use UserAct::{
        Announce, Append, Branch, Commit, CommitAll, CommitElsewhere, Delete, OpenTasks, Stage,
        StageAndDelete, StageAndEdit, Stash, SwitchHome, SwitchToRun, Write, WriteIgnored,
    };
    let file = 0..FILES.len();
    let on_file = select(vec![Write, Append, Delete, Stage, StageAndEdit]);
    let other = select(vec![
        Announce,
        StageAndDelete,
        Commit,
        CommitAll,
        Stash,
        WriteIgnored,
        Branch,
        CommitElsewhere,
        SwitchHome,
        SwitchToRun,
        OpenTasks,
        OpenTasks,
    ]);
    let on_file = (on_file, file).prop_map(|(act, file)| act(file));
    prop_oneof![on_file, other]
}

fn deed() -> impl Strategy<Value = Deed> {
    use Misdeed::{
        Amends, ChangesConfig, ChecksOutMain, Cleans, ClearsStash, CollectsGarbage, Commits,
        DeletesBranches, DeletesIgnored, Detaches, Junk, LeavesLock, LeavesMerge, NestedRepository,
        None, OverwritesAll, RemovesGit, ResetsHard,
    };
    let misdeed = select(vec![
        None,
        Commits,
        Commits,
        Junk,
        Amends,
        ResetsHard,
        ChecksOutMain,
        Detaches,
        RemovesGit,
        CollectsGarbage,
        ClearsStash,
        Cleans,
        DeletesIgnored,
        ChangesConfig,
        LeavesMerge,
        LeavesLock,
        NestedRepository,
        DeletesBranches,
        OverwritesAll,
    ]);
    let ending = prop_oneof![
        3 => Just(Ending::Complete),
        3 => Just(Ending::Failed),
        1 => Just(Ending::Silent),
        1 => Just(Ending::KillsItself),
    ];
    (misdeed, ending).prop_map(|(misdeed, ending)| Deed { misdeed, ending })
}

fn run() -> impl Strategy<Value = Command> {
    let deeds = proptest::collection::vec(deed(), 0..4);
    let fresh = prop::bool::weighted(0.15);
    (deeds, any::<bool>(), fresh).prop_map(|(deeds, keep, fresh)| Command::Loop {
        deeds,
        keep,
        fresh,
    })
}

fn later() -> impl Strategy<Value = Command> {
    let deeds = proptest::collection::vec(deed(), 0..3);
    let only = prop::option::weighted(0.3, 0..FILES.len());
    prop_oneof![
        2 => (deeds, any::<bool>()).prop_map(|(deeds, keep)| Command::Resume { deeds, keep }),
        2 => Just(Command::Finish(Choice::Cleanup)),
        1 => Just(Command::Finish(Choice::Keep)),
        3 => Just(Command::Finish(Choice::Abandon)),
        4 => Just(Command::Undo),
        2 => (1..3_u8).prop_map(Command::Rewind),
        2 => (1..3_u8, 1..4_u8, only).prop_map(|(story, attempt, only)| Command::Restore {
            story,
            attempt,
            only,
        }),
    ]
}

fn kill() -> impl Strategy<Value = Option<Kill>> {
    let at = 0..1000_u16;
    let again = prop::option::weighted(0.4, 0..1000_u16);
    let kill = (at, again).prop_map(|(at, again_at)| Kill { at, again_at });
    prop::option::weighted(0.65, kill)
}
