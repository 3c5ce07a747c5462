//! Pictures of the real screens, for the README: the real program in a real terminal, running in a
//! throw-away repository with an agent that follows a script.
//!
//! `cargo build --release && cargo run --release --example pictures`

mod project;
mod script;
#[path = "../../tests/terminal/mod.rs"]
#[allow(
    clippy::unwrap_used,
    reason = "it is made for tests, which end where they cannot go on"
)]
mod terminal;

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use project::Project;
use terminal::{Key, Terminal, svg};

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// The size of the terminal: lines and columns.
const SIZE: (u16, u16) = (30, 100);

/// What the program writes when a screen is drawn.
const END_OF_UPDATE: &[u8] = b"\x1b[?2026l";

/// How long a screen may take to be drawn.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match args.split_first() {
        Some((word, rest)) if word == script::AGENT => script::work(rest),
        Some((word, _)) if word == script::TESTS => return script::test(),
        Some(_) => Err("it takes no arguments".into()),
        None => take(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn take() -> Result<()> {
    let program = program()?;
    let album = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/pictures");
    fs::create_dir_all(&album)?;
    let project = Project::make()?;
    let mut terminal = Terminal::start(&project.command(&program), SIZE.0, SIZE.1);
    walk(&mut terminal, &project, &album)
}

/// The program that was built with this one.
fn program() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.parent().and_then(Path::parent);
    let program = folder.map(|folder| folder.join("ralphtool"));
    program.filter(|it| it.is_file()).ok_or_else(|| {
        "there is no `ralphtool` beside this program: run `cargo build --release` first, and \
         `cargo run --release --example pictures` again"
            .into()
    })
}

fn walk(terminal: &mut Terminal, project: &Project, album: &Path) -> Result<()> {
    // The last line of what is shown of the selected change.
    terminal.waits_for("3 Documentation");
    save(terminal, album, "changes")?;

    terminal.key(Key::Enter);
    terminal.waits_for("Run: ready");
    save(terminal, album, "preview")?;

    terminal.keys("r");
    // While a retry runs, the screen says why the attempt before failed.
    terminal.waits_until(|screen| {
        screen.contains(script::AT_WORK) && screen.contains("attempt 1 failed")
    });
    save(terminal, album, "run")?;

    terminal.keys("2");
    terminal.waits_for("with_retry");
    save(terminal, album, "diff")?;

    terminal.keys("3");
    terminal.waits_for("gate");

    project.go_on()?;
    terminal.waits_until(|screen| screen.contains("c  Cleanup") && screen.contains("M src"));
    save(terminal, album, "completion")?;

    // Keys choose after a second without keys.
    sleep(Duration::from_millis(1_200));
    terminal.keys("c");
    terminal.waits_for("any other key");
    terminal.keys("y");
    terminal.waits_for("Receipt");
    terminal.keys("3");
    terminal.waits_for("Total:");
    save(terminal, album, "result")?;

    terminal.keys("q");
    match terminal.end() {
        0 => Ok(()),
        code => Err(format!("the program ended with {code}:\n{}", terminal.screen()).into()),
    }
}

fn save(terminal: &Terminal, album: &Path, name: &str) -> Result<()> {
    // Not while half of it is drawn.
    let start = Instant::now();
    while !terminal.bytes().ends_with(END_OF_UPDATE) {
        if start.elapsed() > PATIENCE {
            return Err(format!("`{name}` is never drawn whole").into());
        }
        sleep(Duration::from_millis(5));
    }
    let path = album.join(format!("{name}.svg"));
    let title = format!("ralphtool in ~/projects/{}", project::NAME);
    fs::write(&path, svg::picture(&terminal.cells(), &title))?;
    writeln!(io::stdout(), "docs/pictures/{name}.svg")?;
    Ok(())
}
