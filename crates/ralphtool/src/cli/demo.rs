//! `ralphtool demo`: a whole run in a temporary repository.

pub(super) mod agent;
mod repository;
mod result;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::{reporter, start};
use crate::console::context::Context;
use crate::console::output;
use crate::console::runtime::on_runtime;
use crate::tui::session;
use crate::ui::page::Page;
use crate::ui::plain::{NextSteps, Verbosity};
use crate::ui::style::{NAME, STRONG};
use crate::ui::text::clean;
use ralph_plan::source::{self, Surroundings};
use ralph_run::agent::find_program;
use ralph_run::engine::entry::StartMode;
use ralph_run::engine::prepare::{PreparedRun, Run};
use ralph_run::engine::repair::{OpenVault, RepairRequest};
use ralph_run::failure::Failure;
use ralph_run::settings::files::{self, Places, REPOSITORY_FILE};
use ralph_run::settings::trust::Allowance;
use ralph_run::settings::{PartialSettings, SettingsProblem};
use repository::{CHANGE, DemoError, DemoFolder, EDITED, UNTRACKED};
use result::{Detail, Rescue, Work, write_commands};

/// Flags of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool demo                    on a terminal: the screen, for about 40 seconds
  ralphtool demo --no-tui           a log, in a second
  ralphtool demo -v                 a log with what the agent says")]
pub(super) struct DemoArguments {
    /// Print a plain log instead of showing the screen
    #[arg(long)]
    no_tui: bool,
    /// Print a plain log that includes what the agent says
    #[arg(short, long)]
    verbose: bool,
}

/// What users type.
const PROGRAM: &str = "ralphtool";

/// Where the demo is.
#[derive(Debug)]
struct View<'a> {
    /// The temporary folder.
    folder: &'a str,
    /// The repository in it.
    repository: &'a str,
    /// The vault of the repository.
    vault: &'a str,
    /// What to type for this program.
    program: &'a str,
}

/// Makes the repository and runs the loop in it.
pub(super) fn run(arguments: &DemoArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(play(arguments, context))
}

async fn play(arguments: &DemoArguments, context: &Context) -> Result<ExitCode, Failure> {
    let on_screen = !arguments.no_tui && !arguments.verbose && context.has_screen();
    let mut demo = DemoFolder::create().map_err(not_created)?;
    // The user's own vault: every command works in the folder afterwards.
    let state = context.state()?;
    let ready = prepare(&demo, &state, on_screen, context).await?;
    // From here on the folder is worth inspecting, whatever happens.
    demo.keep();
    let program = program(context);
    let run_folder = ready.run_folder();
    let vault = run_folder.ancestors().nth(2).unwrap_or(&run_folder);
    let view = View {
        folder: &demo.path.to_string_lossy(),
        repository: &demo.repository.to_string_lossy(),
        vault: &vault.to_string_lossy(),
        program: &program,
    };
    if on_screen {
        show_screen(ready, &demo, &state, &view, context).await
    } else {
        write_log(ready, arguments, &demo, &state, &view, context).await
    }
}

async fn prepare(
    demo: &DemoFolder,
    state: &Path,
    on_screen: bool,
    context: &Context,
) -> Result<Box<PreparedRun>, Failure> {
    let run = run_of(demo, on_screen, context)?;
    trust_own(demo, state);
    let vault = OpenVault::open(RepairRequest {
        directory: &demo.repository,
        state,
        change: None,
        fresh: false,
    });
    match PreparedRun::new(vault.await?, run)? {
        Some(ready) => Ok(Box::new(ready)),
        None => Err(Failure::system("the demo has nothing to do")),
    }
}

/// Allows what the demo has just written. If that cannot be stored, a later run asks.
fn trust_own(demo: &DemoFolder, state: &Path) {
    let file = demo.repository.join(REPOSITORY_FILE);
    if let Ok(content) = std::fs::read(&file) {
        let _ = Allowance::of(&file, &content).give(state);
    }
}

/// Shows the run on the screen, slowly enough to be followed.
async fn show_screen(
    ready: Box<PreparedRun>,
    demo: &DemoFolder,
    state: &Path,
    view: &View<'_>,
    context: &Context,
) -> Result<ExitCode, Failure> {
    demo.pace().map_err(not_created)?;
    let there = context.in_directory(demo.repository.clone());
    let run_folder = ready.run_folder();
    let code = session::run_with(ready, NextSteps::Hidden, &there).await?;
    let rescue = Rescue::read(demo, state, &run_folder).map_err(unreadable)?;
    output::page(context, |page| {
        rescue.write_in_short(page);
        write_commands(page, demo, view, &rescue.names(), Detail::Short);
    })?;
    Ok(code)
}

/// Prints the run as a log, and then what it left.
async fn write_log(
    ready: Box<PreparedRun>,
    arguments: &DemoArguments,
    demo: &DemoFolder,
    state: &Path,
    view: &View<'_>,
    context: &Context,
) -> Result<ExitCode, Failure> {
    output::page(context, |page| write_start(page, view))?;
    let run_folder = ready.run_folder();
    let verbosity = if arguments.verbose {
        Verbosity::Verbose
    } else {
        Verbosity::Normal
    };
    let reporter = reporter::plain(verbosity, NextSteps::Hidden, context);
    let code = start::show_run(ready, reporter, None).await?;
    let rescue = Rescue::read(demo, state, &run_folder).map_err(unreadable)?;
    if code == 0 {
        let work = Work::read(demo).map_err(unreadable)?;
        output::page(context, |page| {
            work.write(page);
            rescue.write(page);
        })?;
    }
    output::page(context, |page| {
        write_commands(page, demo, view, &rescue.names(), Detail::Full);
    })?;
    Ok(code.into())
}

/// Says what is about to happen.
fn write_start(page: &mut Page, view: &View<'_>) {
    page.styled(
        STRONG,
        "made a temporary repository with a change of 3 stories",
    );
    page.line(format!("  {}", page.paint(NAME, clean(view.repository))));
    page.line(format!(
        "  you have edited {EDITED} and added {UNTRACKED}, and committed neither"
    ));
    page.line("  the built-in agent gets story 2 wrong at first\n");
}

/// What to type for this program: its name where the shell finds it, else where it is.
fn program(context: &Context) -> String {
    let path = context.variable("PATH");
    if find_program(PROGRAM.as_ref(), path, &context.directory).is_some() {
        return PROGRAM.to_owned();
    }
    std::env::current_exe().map_or_else(
        |_| PROGRAM.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// The run of the demo's change, by the repository's own configuration and no other.
///
/// On the screen the user chooses at the end what to do with the branch, as in any run.
fn run_of(demo: &DemoFolder, on_screen: bool, context: &Context) -> Result<Run, Failure> {
    let directory = demo.repository.clone();
    let places = Places {
        root: &directory,
        home: None,
        config: None,
        directory: &directory,
        state: None,
        // The demo has written it itself.
        trust: true,
    };
    let loaded = files::load(&places, &[]).map_err(unfit)?;
    let surroundings = Surroundings {
        folder: directory.clone(),
        home: None,
        data_home: None,
        config_home: None,
        feature: None,
    };
    Ok(Run {
        change: source::read_target(CHANGE, &surroundings)?,
        settings: loaded.allowed(PartialSettings::default()).map_err(unfit)?,
        only_story: None,
        reopen: false,
        mode: StartMode::default(),
        warnings: Vec::new(),
        environment: context.environment.clone(),
        surroundings,
        attended: on_screen,
    })
}

fn not_created(error: DemoError) -> Failure {
    Failure::refused("could not make a temporary repository")
        .because(error)
        .hint("the demo needs `git`, and room in the folder for temporary files (`TMPDIR`)")
}

fn unreadable(error: DemoError) -> Failure {
    Failure::system("could not read what the run left").because(error)
}

fn unfit(problem: SettingsProblem) -> Failure {
    Failure::system("the demo's own configuration is not right").because(problem)
}
