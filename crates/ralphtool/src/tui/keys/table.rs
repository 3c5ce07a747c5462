//! All keys, as a table.

use ratatui::crossterm::event::KeyCode;

use super::Place::{self, Attached, Changes, Completion, Preview, Replay, Result, Run};
use super::{Action, Binding, Key};

pub(super) const EVERYWHERE: &[Place] =
    &[Changes, Preview, Run, Attached, Replay, Completion, Result];
const SCROLLED: &[Place] = &[Changes, Preview, Run, Attached, Replay, Result];
const RUNS: &[Place] = &[Run, Attached, Replay];
const PANES: &[Place] = &[Preview, Run, Attached, Replay, Result];
const FIVE_TABS: &[Place] = &[Preview, Run, Attached, Replay];

const ENTER: Key = Key::Plain(KeyCode::Enter);
const UP: Key = Key::Plain(KeyCode::Up);
const DOWN: Key = Key::Plain(KeyCode::Down);
const LEFT: Key = Key::Plain(KeyCode::Left);
const RIGHT: Key = Key::Plain(KeyCode::Right);
const TAB: Key = Key::Plain(KeyCode::Tab);
const BACK_TAB: Key = Key::Plain(KeyCode::BackTab);
const PAGE_UP: Key = Key::Plain(KeyCode::PageUp);
const PAGE_DOWN: Key = Key::Plain(KeyCode::PageDown);
const HOME: Key = Key::Plain(KeyCode::Home);
const END: Key = Key::Plain(KeyCode::End);
const ESC: Key = Key::Plain(KeyCode::Esc);
const F1: Key = Key::Plain(KeyCode::F(1));
const F5: Key = Key::Plain(KeyCode::F(5));

const fn key(c: char) -> Key {
    Key::Plain(KeyCode::Char(c))
}

const fn ctrl(c: char) -> Key {
    Key::Ctrl(c)
}

/// Reads rows of the form `Action [keys] "keys as shown" "what they do" ("footer") at places;`.
/// Keys without a footer are left out of the last line of the screen.
macro_rules! bindings {
    (@footer) => { None };
    (@footer $footer:literal) => { Some($footer) };
    ($($action:ident $(($number:literal))? [$($key:expr),+] $shown:literal
        $does:literal $(($footer:literal))? at $places:expr;)+) => {
        &[$(Binding {
            keys: &[$($key),+],
            shown: $shown,
            does: $does,
            brief: bindings!(@footer $($footer)?),
            places: $places,
            action: Action::$action $(($number))?,
        }),+]
    };
}

/// All keys, in the order of the help.
pub(crate) const TABLE: &[Binding] = bindings! {
    Enter [ENTER] "Enter" "look at the change" ("open") at &[Changes];
    Enter [ENTER] "Enter" "change the setting, where the settings have the focus" at &[Preview];
    Enter [ENTER] "Enter"
        "expand or fold what the cursor is on; in Attempts: its diff" ("expand") at RUNS;
    Enter [ENTER] "Enter" "do what is selected" ("choose") at &[Completion];
    Start [key('r')] "r" "run it; goes on with an interrupted run" ("run") at &[Preview];
    Fresh [key('F')] "F"
        "start anew: the branch of an interrupted run is put aside, never dropped" at &[Preview];
    Settings [key('s')] "s" "go to the settings and back" ("settings") at &[Preview];
    Cleanup [key('c')] "c"
        "cleanup: return to the original branch with changes uncommitted" ("cleanup") at &[Completion];
    Keep [key('k')] "k"
        "keep: stay on the checkpoint branch with its commits" ("keep") at &[Completion];
    Again [key('r')] "r"
        "go on with the run, where something is left to do" ("go on") at &[Completion];
    Pause [key('p')] "p" "pause after this attempt, and go on again" ("pause") at &[Run];
    Stop [key('s')] "s"
        "stop the run (asks): the attempt is parked, nothing is lost" ("stop") at &[Run];
    Skip [key('x')] "x" "skip the story (asks)" ("skip") at &[Run];
    Note [key(':')] ":" "add a note for the next attempt" ("note") at &[Run];
    TryNow [key('r')] "r" "while it waits for a limit: try now" at &[Run];
    Follow [key('f')] "f" "follow the live story again" ("follow") at &[Run, Attached];
    PreviousAttempt [key('['), key(',')] "[" "the attempt before" at RUNS;
    NextAttempt [key(']'), key('.')] "]" "the attempt after" at RUNS;
    Up [UP, key('k')] "↑ k" "up" at SCROLLED;
    Up [UP] "↑" "up" at &[Completion];
    Down [DOWN, key('j')] "↓ j" "down" at EVERYWHERE;
    Left [LEFT, key('h')] "← h" "to the stories, or the tab before" at PANES;
    Right [RIGHT, key('l')] "→ l" "to the pane, or the tab after" at PANES;
    NextTab [TAB] "Tab" "the next tab" ("tab") at PANES;
    PreviousTab [BACK_TAB] "Shift-Tab" "the tab before" at PANES;
    Tab(1) [key('1')] "1 … 5" "a tab by its number" at PANES;
    Tab(2) [key('2')] "" "" at PANES;
    Tab(3) [key('3')] "" "" at PANES;
    Tab(4) [key('4')] "" "" at FIVE_TABS;
    Tab(5) [key('5')] "" "" at FIVE_TABS;
    PageUp [PAGE_UP, ctrl('b')] "PgUp" "a page up" at SCROLLED;
    PageDown [PAGE_DOWN, ctrl('f'), key(' ')] "PgDn Space" "a page down" at SCROLLED;
    Home [HOME, key('g')] "g Home" "to the start" at SCROLLED;
    End [END, key('G')] "G End" "to the end; a live pane follows again" at SCROLLED;
    Search [key('/')] "/" "filter by name" ("filter") at &[Changes];
    Search [key('/')] "/" "search in the pane" ("search") at PANES;
    NextHit [key('n')] "n" "the next hit" at PANES;
    PreviousHit [key('N')] "N" "the hit before" at PANES;
    Export [key('e')] "e" "export the pane to a file" ("export") at PANES;
    Copy [key('y')] "y" "copy what the cursor is on to the clipboard (OSC 52)" ("copy") at PANES;
    Reload [key('R'), F5] "R F5" "read again from disk" at &[Changes, Preview];
    Mouse [key('m')] "m" "mouse wheel on or off; off, text is selected without Shift" at EVERYWHERE;
    Help [key('?'), F1] "?" "this help" ("help") at EVERYWHERE;
    Back [ESC] "Esc" "back" at &[Changes, Preview, Replay, Result];
    Back [ESC] "Esc" "to the stories; when the run is over, to what becomes of it" at &[Run];
    Back [ESC] "Esc" "look at the run once more" ("look") at &[Completion];
    Quit [key('q'), ctrl('c')] "q Ctrl-C" "leave" ("quit") at &[Changes, Preview, Replay, Result];
    Back [ESC] "Esc" "to the stories, then leave; the run goes on" at &[Attached];
    Quit [key('q'), ctrl('c')] "q Ctrl-C"
        "leave; the run goes on in its own terminal, where it can be steered" ("leave") at &[Attached];
    Quit [key('q'), ctrl('c')] "q Ctrl-C"
        "leave; the branch is kept, and can still be cleaned up later" ("quit") at &[Completion];
    Quit [key('q'), ctrl('c')] "q Ctrl-C"
        "asks; again within 3 seconds stops the run, a third time forces it" ("quit") at &[Run];
    Suspend [ctrl('z')] "Ctrl-Z" "suspend; the agent works on, `fg` comes back" at EVERYWHERE;
    Redraw [ctrl('l')] "Ctrl-L" "draw everything again" at EVERYWHERE;
};
