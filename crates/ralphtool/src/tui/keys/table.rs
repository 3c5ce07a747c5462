//! All keys, as a table.

use ratatui::crossterm::event::KeyCode::{
    BackTab, Char, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp, Right, Tab, Up,
};

use super::Place::{self, Attached, Changes, Completion, Preview, Replay, Result, Run};
use super::{Action, Binding, Group};

pub(super) const EVERYWHERE: &[Place] =
    &[Changes, Preview, Run, Attached, Replay, Completion, Result];
const RUNS: &[Place] = &[Run, Attached, Replay];
const PANES: &[Place] = &[Preview, Run, Attached, Replay, Result];
const TABS: &[Place] = &[Preview, Run, Attached, Replay, Result];
const OTHER_TABS: &[Place] = &[Preview, Result];
const FIVE_TABS: &[Place] = &[Preview, Run, Attached, Replay];

/// Reads groups of rows of the form
/// `Action [keys] ctrl 'letter' "keys as shown" "what they do" ("footer") at places;`.
/// Keys without a footer are left out of the last line of the screen.
macro_rules! bindings {
    (@option) => { None };
    (@option $value:literal) => { Some($value) };
    ($($group:ident {
        $($action:ident $(($number:literal))? [$($key:expr),*] $(ctrl $ctrl:literal)? $shown:literal
            $does:literal $(($footer:literal))? at $places:expr;)+
    })+) => {
        &[$($(Binding {
            group: Group::$group,
            keys: &[$($key),*],
            ctrl: bindings!(@option $($ctrl)?),
            shown: $shown,
            does: $does,
            brief: bindings!(@option $($footer)?),
            places: $places,
            action: Action::$action $(($number))?,
        }),+),+]
    };
}

/// All keys, in the order of the footers.
pub(crate) const TABLE: &[Binding] = bindings! {
    Steer {
        Enter [Enter] "Enter" "open the change" ("open") at &[Changes];
        NewChange [Char('n')] "n" "write a new change from a template" ("new") at &[Changes];
        Start [Char('r')] "r" "run the change, or resume the last run of it" ("run") at &[Preview];
        Fresh [Char('F')] "F" "start over (asks): `ralphtool undo` restores the last run"
            ("start over") at &[Preview];
        Settings [Char('S')] "S" "go to the settings and back" ("settings") at &[Preview];
        Enter [Enter] "Enter" "change the setting, where the settings have the focus" ("change")
            at &[Preview];
        Resume [Char('r')] "r" "resume the run (asks), where stories are left" ("resume")
            at &[Completion];
        Cleanup [Char('c')] "c"
            "return to the original branch with the changes uncommitted (asks)" ("uncommitted")
            at &[Completion];
        Keep [Char('b')] "b" "stay on the run's branch, one commit per story (asks)" ("branch")
            at &[Completion];
        Squash [Char('o')] "o" "stay on the run's branch, with one commit for all (asks)"
            ("one commit") at &[Completion];
        Undo [Char('u')] "u" "undo what was done with the branch" ("undo") at &[Result];
        Abandon [Char('a')] "a" "return to how everything was before the run (asks)" ("abandon")
            at &[Completion];
        Reword [Char('w')] "w" "stay on the run's branch, story titles as commit subjects (asks)"
            ("titles") at &[Completion];
        Pause [Char('p')] "p" "pause before the agent starts again, and continue" ("pause") at &[Run];
        Stop [Char('s')] "s" "stop the run (asks): the attempt is parked" ("stop") at &[Run];
        Skip [Char('x')] "x" "skip the story (asks)" ("skip") at &[Run];
        Note [Char(':')] ":" "answer the question of the agent, or add a note for the next prompt"
            ("note") at &[Run];
        TryNow [Char('r')] "r" "while it waits for a limit: try now" ("try now") at &[Run];
    }
    Look {
        Enter [Enter] "Enter"
            "expand or fold what the cursor is on; in Attempts: its diff" ("expand") at RUNS;
        Enter [Enter] "Enter" "in the changed files: show the diff of the file, or fold it" ("diff")
            at &[Result];
        Enter [Enter] "Enter" "do what is selected (asks where work moves); open the story, or the file's diff"
            ("choose") at &[Completion];
        Follow [Char('f')] "f" "follow the live story again" ("follow") at &[Run, Attached];
        PreviousAttempt [Char('['), Char(',')] "[" "previous attempt" at RUNS;
        NextAttempt [Char(']'), Char('.')] "]" "next attempt" at RUNS;
        Search [Char('/')] "/" "filter by name" ("filter") at &[Changes];
        Search [Char('/')] "/" "search in the pane" ("search") at PANES;
        NextHit [Char('n')] "n" "next match" at PANES;
        PreviousHit [Char('N')] "N" "previous match" at PANES;
        Export [Char('e')] "e" "export the pane to a file" ("export") at PANES;
        Copy [Char('y')] "y" "copy what the cursor is on to the clipboard (OSC 52)" ("copy")
            at PANES;
        Reload [Char('R'), F(5)] "R F5" "reload from disk" at &[Changes, Preview];
        Mouse [Char('m')] "m" "mouse wheel on or off; off, text is selected without Shift"
            at EVERYWHERE;
        Redraw [] ctrl 'l' "Ctrl-L" "redraw" at EVERYWHERE;
        Help [Char('?'), F(1)] "?" "this help" ("help") at EVERYWHERE;
    }
    Move {
        Up [Up, Char('k')] "↑ k" "up" at EVERYWHERE;
        Down [Down, Char('j')] "↓ j" "down" at EVERYWHERE;
        Left [Left, Char('h')] "← h" "to the stories" ("stories") at RUNS;
        Right [Right, Char('l')] "→ l" "to the pane" ("pane") at RUNS;
        Left [Left, Char('h')] "← h" "previous tab; in the settings, less" at OTHER_TABS;
        Right [Right, Char('l')] "→ l" "next tab; in the settings, more" at OTHER_TABS;
        Zoom [Char('z')] "z" "give the pane the whole width, and back" ("zoom") at RUNS;
        NextTab [Tab] "Tab" "next tab" ("next tab") at TABS;
        PreviousTab [BackTab] "Shift-Tab" "previous tab" at TABS;
        NextTab [Tab] "Tab" "to the review, to the changed files, and back to the choice"
            ("review, files") at &[Completion];
        PreviousTab [BackTab] "Shift-Tab" "the same backwards" at &[Completion];
        Tab(1) [Char('1')] "1 … 5" "a tab by its number" at TABS;
        Tab(2) [Char('2')] "" "" at TABS;
        Tab(3) [Char('3')] "" "" at TABS;
        Tab(4) [Char('4')] "" "" at FIVE_TABS;
        Tab(5) [Char('5')] "" "" at FIVE_TABS;
        Tab(6) [Char('6')] "6" "what `ralphtool check` finds in the plan" at &[Preview];
        PageUp [PageUp] ctrl 'b' "PgUp" "a page up" at EVERYWHERE;
        PageDown [PageDown, Char(' ')] ctrl 'f' "PgDn Space" "a page down" at EVERYWHERE;
        Home [Home, Char('g')] "g Home" "to the start" at EVERYWHERE;
        End [End, Char('G')] "G End" "to the end; a live pane follows again" at EVERYWHERE;
    }
    Leave {
        Back [Esc] "Esc" "back" at &[Changes, Preview, Replay, Result];
        Back [Esc] "Esc" "back to the stories; when the run has ended, review it and choose"
            at &[Run];
        Back [Esc] "Esc" "back to the run; nothing is chosen" ("back to the run") at &[Completion];
        Back [Esc] "Esc" "back to the stories, then leave; the run continues" at &[Attached];
        Quit [Char('q')] ctrl 'c' "q Ctrl-C" "leave" ("quit") at &[Changes, Preview, Replay, Result];
        Quit [Char('q')] ctrl 'c' "q Ctrl-C"
            "leave; the run continues in its own terminal, which controls it" ("leave")
            at &[Attached];
        Quit [Char('q')] ctrl 'c' "q Ctrl-C"
            "leave; the branch is kept: `ralphtool finish` or `resume` later" ("leave, keep branch")
            at &[Completion];
        Quit [Char('q')] ctrl 'c' "q Ctrl-C"
            "asks; again within 3 seconds stops the run, a third time kills the agent" ("quit")
            at &[Run];
        Suspend [] ctrl 'z' "Ctrl-Z" "suspend; the agent continues, `fg` comes back" at EVERYWHERE;
    }
};
