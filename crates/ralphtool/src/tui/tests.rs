//! How every screen looks, as text: each state at several sizes, and where its styles are.
//!
//! A scene is a function that brings an app to a state. The same scenes are drawn for the
//! snapshots, searched for colours, and drawn at any size.

#[cfg(test)]
pub(super) mod found;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod properties;
#[cfg(test)]
pub(super) mod stage;
#[cfg(test)]
pub(super) mod story;

#[cfg(test)]
mod changes;
#[cfg(test)]
mod completion;
#[cfg(test)]
mod preview;
#[cfg(test)]
mod result;
#[cfg(test)]
mod run;
#[cfg(test)]
mod steps;

use stage::Stage;

/// The sizes every scene is drawn at.
const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (120, 40)];

/// The size whose styles are written down.
const STYLED: (u16, u16) = (80, 24);

/// Brings an app to a state.
type Scene = fn(&mut Stage);

/// Compares a scene at all sizes with what is known of it.
fn snapshot(name: &str, scene: Scene, more: &[(u16, u16)]) {
    let mut text = String::new();
    for size in SIZES.iter().chain(more) {
        let mut stage = Stage::new(*size);
        scene(&mut stage);
        text.push_str(&stage.framed());
    }
    let mut stage = Stage::new(STYLED);
    scene(&mut stage);
    let (columns, rows) = STYLED;
    text.extend([format!("styles at {columns}x{rows}\n")]);
    text.push_str(&looks::styles(&stage.draw()));
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Makes a snapshot test of each scene, and a list of all.
macro_rules! scenes {
    ($screen:literal, $more:expr, [$($scene:ident),* $(,)?]) => {
        /// All scenes of this screen.
        pub(super) const ALL: &[(&str, crate::tui::tests::Scene)] =
            &[$((concat!($screen, "_", stringify!($scene)), $scene)),*];

        mod looks {
            $(
                #[test]
                fn $scene() {
                    let name = concat!($screen, "_", stringify!($scene));
                    crate::tui::tests::snapshot(name, super::$scene, $more);
                }
            )*
        }
    };
}
use scenes;

/// Every scene there is.
fn all() -> impl Iterator<Item = &'static (&'static str, Scene)> {
    [
        changes::ALL,
        preview::ALL,
        run::ALL,
        completion::ALL,
        result::ALL,
    ]
    .into_iter()
    .flatten()
}
