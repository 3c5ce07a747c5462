//! The user's own program for notifications: gets the event on its stdin. The loop waits for it only
//! at the end, and never for long.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::records::event::Record;
use crate::records::notify::{Listener, Notification};
use crate::settings::NotifySettings;

/// How long a notification may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What stands for the message in the command.
const MESSAGE: &str = "{message}";

/// Starts the user's program for what is worth a notification.
#[derive(Debug)]
pub(crate) struct Notifier {
    command: Vec<String>,
    folder: PathBuf,
    listener: Listener,
    running: JoinSet<Option<String>>,
    /// What went wrong with the program is said once.
    complained: bool,
}

impl Notifier {
    /// Where the settings name a program; it runs in the given folder.
    pub(crate) fn of(settings: &NotifySettings, folder: PathBuf) -> Option<Self> {
        Some(Self {
            command: settings.command.clone()?,
            folder,
            listener: Listener::new(settings),
            running: JoinSet::new(),
            complained: false,
        })
    }

    /// Starts the program if the record is worth a notification.
    pub(crate) fn notify(&mut self, record: &Record) {
        let Some(notification) = self.listener.notification(record) else {
            return;
        };
        let Ok(json) = serde_json::to_vec(record) else {
            return;
        };
        let command = self.prepare(&notification);
        let name = self.command.first().cloned().unwrap_or_default();
        self.running.spawn(async move {
            let ended = timeout(PATIENCE, run(command, json)).await;
            let why = match ended {
                Ok(Ok(status)) if status.success() => return None,
                Ok(Ok(status)) => format!("it ended with {status}"),
                Ok(Err(error)) => error.to_string(),
                Err(_elapsed) => format!("it took longer than {} s", PATIENCE.as_secs()),
            };
            Some(format!("the notify command `{name}` failed: {why}"))
        });
    }

    fn prepare(&self, notification: &Notification) -> Command {
        let mut words = self.command.iter();
        let program = words.next().map_or("", String::as_str);
        let mut command = Command::new(program);
        command
            .args(words.map(|word| word.replace(MESSAGE, &notification.message)))
            .env("RALPHTOOL_OCCASION", notification.occasion.to_string())
            .env("RALPHTOOL_MESSAGE", &notification.message)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// What went wrong with notifications that are over, if it was not said before.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        let mut complaint = None;
        while let Some(Ok(over)) = self.running.try_join_next() {
            complaint = complaint.or(over);
        }
        self.once(complaint)
    }

    /// Waits for those under way.
    pub(crate) async fn finish(&mut self) -> Option<String> {
        let mut complaint = None;
        while let Some(Ok(over)) = self.running.join_next().await {
            complaint = complaint.or(over);
        }
        self.once(complaint)
    }

    fn once(&mut self, complaint: Option<String>) -> Option<String> {
        let is_news = complaint.is_some() && !self.complained;
        self.complained |= complaint.is_some();
        complaint.filter(|_| is_news)
    }
}

async fn run(mut command: Command, json: Vec<u8>) -> std::io::Result<std::process::ExitStatus> {
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its stdin still has the message in its environment.
        let _ = stdin.write_all(&json).await;
        let _ = stdin.write_all(b"\n").await;
    }
    child.wait().await
}
