//! `ralphtool demo`: the whole thing on a throw-away repository.

use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::{launch, output, terminal};
use crate::domain::settings::{Settings, SettingsProblem};
use crate::edge::demo::{CHANGE, EDITED, Stage, StageError, UNTRACKED};
use crate::edge::settings::{self, Places};
use crate::edge::source::{self, Surroundings};
use crate::engine::launch::{Order, Prepared, prepare};
use crate::failure::Failure;
use crate::ui::demo::{self, DemoView};
use crate::ui::plain::{NextSteps, Verbosity};

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// Show what the agent says, too
    #[arg(short, long)]
    verbose: bool,
}

/// Makes the repository and runs the loop in it.
pub(super) fn run(arguments: &DemoArguments, context: &Context) -> Result<ExitCode, Failure> {
    launch::on_runtime(play(arguments, context))
}

async fn play(arguments: &DemoArguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut stage = Stage::make().await.map_err(no_stage)?;
    let order = order(&stage, context)?;
    let stories = order.change.stories.len();
    let Prepared::Ready(ready) = prepare(order).await? else {
        return Err(Failure::system("the demo has nothing to do"));
    };
    // From here on there is something to look at, whatever happens.
    stage.keep();
    let paint = context.paint_for(&std::io::stdout());
    let folder = stage.path.to_string_lossy();
    let view = DemoView {
        folder: &folder,
        repository: &stage.repository.to_string_lossy(),
        change: CHANGE,
        edited: EDITED,
        untracked: UNTRACKED,
    };
    output::present(|out| demo::write_start(out, paint, &view, stories))?;
    let run_folder = ready.run_folder();
    let verbosity = if arguments.verbose {
        Verbosity::Verbose
    } else {
        Verbosity::Normal
    };
    let face = terminal::plain(verbosity, NextSteps::Untold, context);
    let code = launch::show_run(ready, face).await?;
    if code != 0 {
        output::present(|out| demo::write_cut_short(out, paint, &view))?;
        return Ok(code.into());
    }
    let remains = stage
        .remains(&run_folder)
        .await
        .map_err(|error| Failure::system("could not look at what the run left").because(error))?;
    output::present(|out| demo::write_end(out, paint, &view, &remains))
}

/// The run of the demo's change, by the repository's own configuration and nobody else's.
fn order(stage: &Stage, context: &Context) -> Result<Order, Failure> {
    let directory = stage.repository.clone();
    let places = Places {
        root: &directory,
        home: None,
        config: None,
        directory: &directory,
    };
    let loaded = settings::load(&places, &[]).map_err(unfit)?;
    let surroundings = Surroundings {
        folder: directory.clone(),
        home: None,
        data_home: None,
        config_home: None,
    };
    Ok(Order {
        state: stage.state.clone(),
        change: source::read_target(CHANGE, &surroundings)?,
        settings: Settings::resolve(loaded.layers).map_err(unfit)?,
        only_story: None,
        fresh: false,
        warnings: Vec::new(),
        environment: context.environment.clone(),
        surroundings,
        directory,
    })
}

fn no_stage(error: StageError) -> Failure {
    Failure::refused("could not make a throw-away repository")
        .because(error)
        .hint("the demo needs `git`, and room in the folder for temporary files (`TMPDIR`)")
}

fn unfit(problem: SettingsProblem) -> Failure {
    Failure::system("the demo's own configuration is not right").because(problem)
}
