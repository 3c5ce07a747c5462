//! What the watchman does: listens, looks around, and ends what a program that died left alive.
//!
//! Called as `ralphtool __watchman PARENT` with a pipe as standard input; not for people.

use std::ffi::OsString;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Told, WORD};
use crate::sweep::{Attempt, Leader, Patience};

/// How often it looks around while something is alive.
const ROUND: Duration = Duration::from_secs(1);

/// What is alive, as far as was told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Alive {
    marker: String,
    leader: Option<Leader>,
}

impl Alive {
    /// What is alive after something more was told.
    fn after(alive: Option<Self>, told: Told) -> Option<Self> {
        match told {
            Told::Begins(marker) => Some(Self {
                marker,
                leader: None,
            }),
            Told::Runs(leader) => alive.map(|alive| Self {
                leader: Some(leader),
                ..alive
            }),
            Told::Over | Told::Goodbye => None,
        }
    }
}

/// Acts as the watchman if the arguments, the program's name first, ask for it.
pub fn dispatch(args: &[OsString]) -> Option<ExitCode> {
    let (word, rest) = args.get(1..)?.split_first()?;
    if word != WORD {
        return None;
    }
    let parent = rest.first().and_then(|it| it.to_str()?.parse().ok());
    Some(parent.map_or(ExitCode::FAILURE, stand_watch))
}

fn stand_watch(parent: i32) -> ExitCode {
    // Away from the terminal: what is typed there is meant for the program. Fails only for a process
    // that already leads its group.
    let _ = rustix::process::setsid();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    let context = runtime.enter();
    let _deaf = turn_deaf();
    drop(context);
    if let Some(attempt) = watch(&lines_told(), parent) {
        runtime.block_on(end(attempt));
    }
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

/// What is told through the pipe, until it closes.
fn lines_told() -> Receiver<Told> {
    let (hear, heard) = sync_channel(1);
    // Ends with the process.
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        // Only this very program speaks here; a line that its death cut off says nothing.
        for told in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
            if hear.send(told).is_err() {
                return;
            }
        }
    });
    heard
}

/// Watches until nobody speaks any more; what is alive then.
fn watch(heard: &Receiver<Told>, parent: i32) -> Option<Attempt> {
    let mut alive = None;
    let mut attempt: Option<Attempt> = None;
    loop {
        let told = match attempt {
            Some(_) => heard.recv_timeout(ROUND),
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match told {
            Ok(told) => {
                alive = Alive::after(alive, told);
                attempt = alive
                    .as_ref()
                    .map(|alive| Attempt::left_behind(alive.leader, &alive.marker));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(attempt) = &mut attempt {
                    attempt.look_around(parent);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return attempt,
        }
    }
}

/// Ends all that belongs to one attempt or gate; what it starts meanwhile, too.
async fn end(mut attempt: Attempt) {
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

    /// What is alive after all that was told.
    #[track_caller]
    fn case(told: &[Told], want: Option<(&str, Option<Leader>)>) {
        let want = want.map(|(marker, leader)| Alive {
            marker: marker.to_owned(),
            leader,
        });
        assert_eq!(told.iter().cloned().fold(None, Alive::after), want);
    }

    #[test]
    fn knows_what_is_alive() {
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
}
