//! Every key, where it works and what it does: one table for the screens, the help and the footers.

mod table;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub(crate) use table::TABLE;

/// A screen, as far as keys are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Changes,
    Preview,
    Run,
    /// The run screen of a run that another terminal controls.
    Attached,
    /// The run screen of a past run.
    Replay,
    Completion,
    Result,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    NextTab,
    PreviousTab,
    /// A tab by its number, from 1.
    Tab(usize),
    /// Open, expand, choose.
    Enter,
    Back,
    Search,
    NextHit,
    PreviousHit,
    Follow,
    /// Give the pane the whole width, and back.
    Zoom,
    PreviousAttempt,
    NextAttempt,
    Pause,
    Stop,
    Skip,
    Note,
    TryNow,
    Start,
    Fresh,
    Settings,
    /// Write a new change.
    NewChange,
    Reload,
    Cleanup,
    Keep,
    Squash,
    Reword,
    Abandon,
    /// Revert what was done with the branch.
    Undo,
    /// Resume a run that is over.
    Resume,
    Export,
    Copy,
    Mouse,
    Help,
    Quit,
    Suspend,
    Redraw,
}

impl Action {
    /// Whether it controls the loop.
    pub(crate) const fn steers(self) -> bool {
        matches!(
            self,
            Self::Pause | Self::Stop | Self::Skip | Self::Note | Self::TryNow
        )
    }

    /// Whether it moves up or down.
    pub(crate) fn is_movement(self) -> bool {
        self.moved(0, 0, 0).is_some()
    }

    /// The row it moves to in a list with the rows 0 to `last`; none if it is not a movement.
    pub(crate) fn moved(self, from: usize, last: usize, page: usize) -> Option<usize> {
        let to = match self {
            Self::Up => from.saturating_sub(1),
            Self::Down => from.saturating_add(1),
            Self::PageUp => from.saturating_sub(page),
            Self::PageDown => from.saturating_add(page),
            Self::Home => 0,
            Self::End => last,
            _ => return None,
        };
        Some(to.min(last))
    }
}

/// What a key is for: the groups of the help, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Move,
    Look,
    Steer,
    Leave,
}

impl Group {
    pub(crate) const ALL: [Self; 4] = [Self::Move, Self::Look, Self::Steer, Self::Leave];

    /// Its heading in the help.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Move => "Move",
            Self::Look => "Look",
            Self::Steer => "Steer",
            Self::Leave => "Leave",
        }
    }
}

/// One line of the table.
pub(crate) struct Binding {
    pub(crate) group: Group,
    keys: &'static [KeyCode],
    /// A letter that does the same with Ctrl.
    ctrl: Option<char>,
    /// The keys as the help shows them; empty if another line shows them.
    pub(crate) shown: &'static str,
    pub(crate) does: &'static str,
    /// The description in footers; none if footers leave it out.
    pub(crate) brief: Option<&'static str>,
    places: &'static [Place],
    pub(crate) action: Action,
}

/// The lines of the table that apply at a place.
pub(crate) fn at(place: Place) -> impl Iterator<Item = &'static Binding> {
    TABLE
        .iter()
        .filter(move |binding| binding.places.contains(&place))
}

/// The action of a key at a place; the case of a letter with Ctrl depends on the terminal.
pub(crate) fn action(place: Place, key: KeyEvent) -> Option<Action> {
    let is_meant = |binding: &&Binding| match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            binding.ctrl == Some(c.to_ascii_lowercase())
        }
        code => {
            let modifiers = KeyModifiers::CONTROL | KeyModifiers::ALT;
            !key.modifiers.intersects(modifiers) && binding.keys.contains(&code)
        }
    };
    at(place).find(is_meant).map(|binding| binding.action)
}

#[cfg(test)]
mod tests {
    use super::table::EVERYWHERE;
    use super::*;
    use pretty_assertions::assert_eq;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn no_key_means_two_things_at_one_place() {
        for place in EVERYWHERE {
            let mut bound: Vec<(Option<char>, Option<KeyCode>)> = Vec::new();
            for binding in at(*place) {
                let plain = binding.keys.iter().map(|key| (None, Some(*key)));
                let with_control = binding.ctrl.map(|letter| (Some(letter), None));
                for pressed in plain.chain(with_control) {
                    assert!(!bound.contains(&pressed), "{pressed:?} twice at {place:?}");
                    bound.push(pressed);
                }
            }
        }
    }

    /// Keys that mean something else at another place, and why that does no harm.
    const SEVERAL_MEANINGS: &[(char, &[Action], &str)] = &[
        (
            'r',
            &[Action::Start, Action::Resume, Action::TryNow],
            "makes the run go: starts it, resumes it, or ends its wait",
        ),
        (
            'n',
            &[Action::NewChange, Action::NextHit],
            "the list of changes has no matches to go to, and a new change is harmless",
        ),
    ];

    #[test]
    fn a_key_means_the_same_on_all_screens() {
        let mut meanings: Vec<(Option<char>, Option<KeyCode>, Action)> = Vec::new();
        for binding in TABLE {
            let plain = binding.keys.iter().map(|key| (None, Some(*key)));
            let with_control = binding.ctrl.map(|letter| (Some(letter), None));
            for (ctrl, code) in plain.chain(with_control) {
                let is_allowed = |action: Action| {
                    let mut several = SEVERAL_MEANINGS.iter();
                    several.any(|(key, actions, _)| {
                        code == Some(KeyCode::Char(*key)) && actions.contains(&action)
                    })
                };
                for (other_ctrl, other_code, other) in &meanings {
                    let is_same_key = (*other_ctrl, *other_code) == (ctrl, code);
                    let is_same = *other == binding.action
                        || is_allowed(*other) && is_allowed(binding.action);
                    assert!(
                        !is_same_key || is_same,
                        "{ctrl:?} {code:?} means {other:?} and {:?}",
                        binding.action
                    );
                }
                meanings.push((ctrl, code, binding.action));
            }
        }
    }

    #[test]
    fn the_keys_that_move_do_so_on_all_screens() {
        for place in EVERYWHERE {
            for (code, want) in [
                (KeyCode::Up, Action::Up),
                (KeyCode::Char('k'), Action::Up),
                (KeyCode::Down, Action::Down),
                (KeyCode::Char('j'), Action::Down),
                (KeyCode::Esc, Action::Back),
                (KeyCode::Char('q'), Action::Quit),
            ] {
                let pressed = key(code, KeyModifiers::NONE);
                assert_eq!(action(*place, pressed), Some(want), "{code:?} at {place:?}");
            }
        }
    }

    #[test]
    fn modifiers_matter() {
        let c = KeyCode::Char('c');
        let with_control = key(c, KeyModifiers::CONTROL);
        assert_eq!(action(Place::Run, with_control), Some(Action::Quit));
        assert_eq!(action(Place::Run, key(c, KeyModifiers::NONE)), None);
        let end = key(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(Place::Run, end), Some(Action::End));
        let with_alt = key(KeyCode::Char('q'), KeyModifiers::ALT);
        assert_eq!(action(Place::Run, with_alt), None);
    }

    #[test]
    fn the_help_shows_the_keys_that_work() {
        for binding in TABLE {
            assert!(Group::ALL.contains(&binding.group));
            assert_eq!(binding.shown.is_empty(), binding.does.is_empty());
            assert!(
                !binding.places.is_empty(),
                "{} works nowhere",
                binding.shown
            );
        }
    }
}
