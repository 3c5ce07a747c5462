//! All keys, as a table.

use ratatui::crossterm::event::KeyCode::{
    BackTab, Char, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp, Right, Tab, Up,
};

use super::Place::{self, Attached, Changes, Completion, Preview, Replay, Result, Run};
use super::{Action, Binding};

pub(super) const EVERYWHERE: &[Place] =
    &[Changes, Preview, Run, Attached, Replay, Completion, Result];
const SCROLLED: &[Place] = &[Changes, Preview, Run, Attached, Replay, Result];
const RUNS: &[Place] = &[Run, Attached, Replay];
const PANES: &[Place] = &[Preview, Run, Attached, Replay, Result];
const FIVE_TABS: &[Place] = &[Preview, Run, Attached, Replay];

/// Reads rows of the form
/// `Action [keys] ctrl 'letter' "keys as shown" "what they do" ("footer") at places;`.
/// Keys without a footer are left out of the last line of the screen.
macro_rules! bindings {
    (@option) => { None };
    (@option $value:literal) => { Some($value) };
    ($($action:ident $(($number:literal))? [$($key:expr),*] $(ctrl $ctrl:literal)? $shown:literal
        $does:literal $(($footer:literal))? at $places:expr;)+) => {
        &[$(Binding {
            keys: &[$($key),*],
            ctrl: bindings!(@option $($ctrl)?),
            shown: $shown,
            does: $does,
            brief: bindings!(@option $($footer)?),
            places: $places,
            action: Action::$action $(($number))?,
        }),+]
    };
}

/// All keys, in the order of the help.
pub(crate) const TABLE: &[Binding] = bindings! {
    Enter [Enter] "Enter" "look at the change" ("open") at &[Changes];
    Enter [Enter] "Enter" "change the setting, where the settings have the focus" at &[Preview];
    Enter [Enter] "Enter"
        "expand or fold what the cursor is on; in Attempts: its diff" ("expand") at RUNS;
    Enter [Enter] "Enter" "do what is selected" ("choose") at &[Completion];
    Start [Char('r')] "r" "run it; goes on with an interrupted run" ("run") at &[Preview];
    Fresh [Char('F')] "F"
        "start anew: the branch of an interrupted run is put aside, never dropped" at &[Preview];
    Settings [Char('s')] "s" "go to the settings and back" ("settings") at &[Preview];
    Cleanup [Char('c')] "c"
        "cleanup: return to the original branch with changes uncommitted" ("cleanup") at &[Completion];
    Keep [Char('k')] "k"
        "keep: stay on the checkpoint branch with its commits" ("keep") at &[Completion];
    Again [Char('r')] "r"
        "go on with the run, where something is left to do" ("go on") at &[Completion];
    Pause [Char('p')] "p" "pause after this attempt, and go on again" ("pause") at &[Run];
    Stop [Char('s')] "s"
        "stop the run (asks): the attempt is parked, nothing is lost" ("stop") at &[Run];
    Skip [Char('x')] "x" "skip the story (asks)" ("skip") at &[Run];
    Note [Char(':')] ":" "add a note for the next attempt" ("note") at &[Run];
    TryNow [Char('r')] "r" "while it waits for a limit: try now" at &[Run];
    Follow [Char('f')] "f" "follow the live story again" ("follow") at &[Run, Attached];
    PreviousAttempt [Char('['), Char(',')] "[" "the attempt before" at RUNS;
    NextAttempt [Char(']'), Char('.')] "]" "the attempt after" at RUNS;
    Up [Up, Char('k')] "↑ k" "up" at SCROLLED;
    Up [Up] "↑" "up" at &[Completion];
    Down [Down, Char('j')] "↓ j" "down" at EVERYWHERE;
    Left [Left, Char('h')] "← h" "to the stories, or the tab before" at PANES;
    Right [Right, Char('l')] "→ l" "to the pane, or the tab after" at PANES;
    NextTab [Tab] "Tab" "the next tab" ("tab") at PANES;
    PreviousTab [BackTab] "Shift-Tab" "the tab before" at PANES;
    Tab(1) [Char('1')] "1 … 5" "a tab by its number" at PANES;
    Tab(2) [Char('2')] "" "" at PANES;
    Tab(3) [Char('3')] "" "" at PANES;
    Tab(4) [Char('4')] "" "" at FIVE_TABS;
    Tab(5) [Char('5')] "" "" at FIVE_TABS;
    PageUp [PageUp] ctrl 'b' "PgUp" "a page up" at SCROLLED;
    PageDown [PageDown, Char(' ')] ctrl 'f' "PgDn Space" "a page down" at SCROLLED;
    Home [Home, Char('g')] "g Home" "to the start" at SCROLLED;
    End [End, Char('G')] "G End" "to the end; a live pane follows again" at SCROLLED;
    Search [Char('/')] "/" "filter by name" ("filter") at &[Changes];
    Search [Char('/')] "/" "search in the pane" ("search") at PANES;
    NextHit [Char('n')] "n" "the next hit" at PANES;
    PreviousHit [Char('N')] "N" "the hit before" at PANES;
    Export [Char('e')] "e" "export the pane to a file" ("export") at PANES;
    Copy [Char('y')] "y" "copy what the cursor is on to the clipboard (OSC 52)" ("copy") at PANES;
    Reload [Char('R'), F(5)] "R F5" "read again from disk" at &[Changes, Preview];
    Mouse [Char('m')] "m" "mouse wheel on or off; off, text is selected without Shift" at EVERYWHERE;
    Help [Char('?'), F(1)] "?" "this help" ("help") at EVERYWHERE;
    Back [Esc] "Esc" "back" at &[Changes, Preview, Replay, Result];
    Back [Esc] "Esc" "to the stories; when the run is over, to what becomes of it" at &[Run];
    Back [Esc] "Esc" "look at the run once more" ("look") at &[Completion];
    Quit [Char('q')] ctrl 'c' "q Ctrl-C" "leave" ("quit") at &[Changes, Preview, Replay, Result];
    Back [Esc] "Esc" "to the stories, then leave; the run goes on" at &[Attached];
    Quit [Char('q')] ctrl 'c' "q Ctrl-C"
        "leave; the run goes on in its own terminal, where it can be steered" ("leave") at &[Attached];
    Quit [Char('q')] ctrl 'c' "q Ctrl-C"
        "leave; the branch is kept, and can still be cleaned up later" ("quit") at &[Completion];
    Quit [Char('q')] ctrl 'c' "q Ctrl-C"
        "asks; again within 3 seconds stops the run, a third time forces it" ("quit") at &[Run];
    Suspend [] ctrl 'z' "Ctrl-Z" "suspend; the agent works on, `fg` comes back" at EVERYWHERE;
    Redraw [] ctrl 'l' "Ctrl-L" "draw everything again" at EVERYWHERE;
};
