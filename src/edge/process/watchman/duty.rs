//! What the watchman does: listens, and ends what a program that died left alive.
//!
//! Called as `ralphtool __watchman` with a pipe as standard input; not for people.

use std::ffi::OsString;
use std::io::BufRead;
use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Told, WORD};
use crate::edge::process::sweep::{Attempt, Leader, Patience};

/// What was alive when the pipe closed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Alive {
    marker: String,
    leader: Option<Leader>,
}

/// Acts as the watchman if the arguments, the program's name first, ask for it.
pub(crate) fn dispatch(args: &[OsString]) -> Option<ExitCode> {
    let word = args.get(1)?;
    (word == WORD).then(keep_watch)
}

fn keep_watch() -> ExitCode {
    // Away from the terminal: what is typed there is meant for the program. Fails only for a process
    // that already leads its group.
    let _ = rustix::process::setsid();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    runtime.block_on(async {
        let _deaf = turn_deaf();
        if let Some(alive) = listen(std::io::stdin().lock()) {
            end(&alive).await;
        }
    });
    ExitCode::SUCCESS
}

/// Takes no notice of requests to end: who ends everything politely gives the program the time to
/// end its agent, and it is not over before that.
fn turn_deaf() -> Vec<Signal> {
    let polite = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::terminate(),
    ];
    polite
        .into_iter()
        .filter_map(|kind| signal(kind).ok())
        .collect()
}

/// Listens until the pipe closes; what is alive then, unless there was a goodbye.
fn listen(pipe: impl BufRead) -> Option<Alive> {
    let mut alive: Option<Alive> = None;
    for line in pipe.lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Told::Begins(marker)) => {
                alive = Some(Alive {
                    marker,
                    leader: None,
                });
            }
            Ok(Told::Runs(leader)) => {
                if let Some(alive) = &mut alive {
                    alive.leader = Some(leader);
                }
            }
            Ok(Told::Over) => alive = None,
            Ok(Told::Goodbye) => return None,
            // Only this very program speaks here.
            Err(_) => {}
        }
    }
    alive
}

/// Ends all that belongs to one attempt or gate; what it started meanwhile, too.
async fn end(alive: &Alive) {
    let mut attempt = Attempt::left_behind(alive.leader, &alive.marker);
    while !attempt.sweep(Patience::USUAL).await.ended.is_empty() {}
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const LEADER: Leader = Leader {
        pid: 7,
        started: 12345,
    };

    /// What is alive at the end of what was told.
    #[track_caller]
    fn case(told: &[Told], want: Option<(&str, Option<Leader>)>) {
        let mut text = String::new();
        for told in told {
            text.push_str(&serde_json::to_string(told).unwrap());
            text.push('\n');
        }
        let want = want.map(|(marker, leader)| Alive {
            marker: marker.to_owned(),
            leader,
        });
        assert_eq!(listen(text.as_bytes()), want);
    }

    #[test]
    fn knows_what_is_alive_when_the_pipe_closes() {
        let begins = |marker: &str| Told::Begins(marker.to_owned());
        case(&[], None);
        case(&[begins("r/1.1")], Some(("r/1.1", None)));
        case(
            &[begins("r/1.1"), Told::Runs(LEADER)],
            Some(("r/1.1", Some(LEADER))),
        );
        case(&[begins("r/1.1"), Told::Runs(LEADER), Told::Over], None);
        case(
            &[begins("r/1.1"), Told::Over, begins("r/1.2")],
            Some(("r/1.2", None)),
        );
        case(&[begins("r/1.1"), Told::Runs(LEADER), Told::Goodbye], None);
        case(&[Told::Runs(LEADER), Told::Over], None);
    }

    #[test]
    fn a_line_that_was_cut_off_changes_nothing() {
        let text = "{\"begins\":\"r/1.1\"}\n{\"ru";
        let want = Alive {
            marker: "r/1.1".to_owned(),
            leader: None,
        };
        assert_eq!(listen(text.as_bytes()), Some(want));
    }
}
