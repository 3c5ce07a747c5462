//! `ralphtool demo`: the whole thing on a throw-away repository.

pub(super) mod agent;
mod repository;
mod result;

use std::process::ExitCode;

use clap::Args;

use super::{reporter, start};
use crate::console::context::Context;
use crate::console::output;
use crate::console::repository::no_repository;
use crate::console::runtime::on_runtime;
use crate::ui::page::Page;
use crate::ui::plain::{NextSteps, Verbosity};
use crate::ui::style::{NAME, STRONG};
use crate::ui::text::clean;
use crate::ui::words::count;
use ralph_plan::source::{self, Surroundings};
use ralph_run::agent::find_program;
use ralph_run::engine::prepare::{PreparedRun, Run};
use ralph_run::engine::repair::{OpenVault, RepairRequest};
use ralph_run::failure::Failure;
use ralph_run::settings::files::{self, Places};
use ralph_run::settings::{PartialSettings, SettingsProblem};
use ralph_vault::git::repository::Repository;
use repository::{CHANGE, DemoError, DemoFolder, EDITED, UNTRACKED};
use result::{Remains, write_cut_short};

/// Flags of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool demo                    a minute, and a folder to look around in
  ralphtool demo -v                 with what the agent says")]
pub(super) struct DemoArguments {
    /// Show what the agent says, too
    #[arg(short, long)]
    verbose: bool,
}

/// Where the demo is.
#[derive(Debug)]
struct View<'a> {
    /// The throw-away folder.
    folder: &'a str,
    /// The repository in it.
    repository: &'a str,
    /// What to type for this program.
    program: &'a str,
}

/// Makes the repository and runs the loop in it.
pub(super) fn run(arguments: &DemoArguments, context: &Context) -> Result<ExitCode, Failure> {
    on_runtime(play(arguments, context))
}

async fn play(arguments: &DemoArguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut demo = DemoFolder::create().map_err(not_created)?;
    let repository =
        Repository::discover(&demo.repository).map_err(|error| no_repository(&error))?;
    let run = run_of(&demo, context)?;
    let stories = run.change.stories.len();
    let vault = OpenVault::open(RepairRequest {
        directory: &demo.repository,
        state: &demo.state,
        change: None,
        fresh: false,
    });
    let Some(ready) = PreparedRun::new(vault.await?, run)? else {
        return Err(Failure::system("the demo has nothing to do"));
    };
    // From here on the folder is worth inspecting, whatever happens.
    demo.keep();
    let view = View {
        folder: &demo.path.to_string_lossy(),
        repository: &demo.repository.to_string_lossy(),
        program: &program(context),
    };
    output::page(context, |page| write_start(page, &view, stories))?;
    let run_folder = ready.run_folder();
    let verbosity = if arguments.verbose {
        Verbosity::Verbose
    } else {
        Verbosity::Normal
    };
    let reporter = reporter::plain(verbosity, NextSteps::Hidden, context);
    let code = start::show_run(Box::new(ready), reporter, None).await?;
    if code != 0 {
        output::page(context, |page| write_cut_short(page, &view))?;
        return Ok(code.into());
    }
    let remains = Remains::read(&demo, &repository, &run_folder)
        .map_err(|error| Failure::system("could not look at what the run left").because(error))?;
    output::page(context, |page| remains.write(page, &view))
}

/// Says what is about to happen.
fn write_start(page: &mut Page, view: &View<'_>, stories: usize) {
    let stories = count(stories, "story");
    let head = format!("a throw-away repository with a change of {stories} is ready");
    page.styled(STRONG, head);
    page.line(format!("  {}", page.paint(NAME, clean(view.repository))));
    page.line(format!(
        "  you have edited {EDITED} and added {UNTRACKED}, and committed neither"
    ));
    page.line("  the embedded agent gets story 2 wrong at first\n");
}

/// What to type for this program: its name where the shell finds it, else where it is.
fn program(context: &Context) -> String {
    const NAME: &str = "ralphtool";
    let path = context.variable("PATH");
    if find_program(NAME.as_ref(), path, &context.directory).is_some() {
        return NAME.to_owned();
    }
    std::env::current_exe().map_or_else(
        |_| NAME.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// The run of the demo's change, by the repository's own configuration and no other.
fn run_of(demo: &DemoFolder, context: &Context) -> Result<Run, Failure> {
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
        warnings: Vec::new(),
        environment: context.environment.clone(),
        surroundings,
        attended: false,
    })
}

fn not_created(error: DemoError) -> Failure {
    Failure::refused("could not make a throw-away repository")
        .because(error)
        .hint("the demo needs `git`, and room in the folder for temporary files (`TMPDIR`)")
}

fn unfit(problem: SettingsProblem) -> Failure {
    Failure::system("the demo's own configuration is not right").because(problem)
}
