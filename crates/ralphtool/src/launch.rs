//! How `loop` and `resume` start a run: finds the change, reads the settings, prepares the run or
//! shows the plan of it.

pub(crate) mod dry_run;
pub(crate) mod trust;

use std::io::Write as _;
use std::path::Path;

use crate::console::context::{Context, unfit};
use crate::console::flags::RunArguments;
use crate::console::output;
use crate::ui::plain::Verbosity;
use crate::ui::style::DIM;
use ralph_base::ids::StoryId;
use ralph_plan::change::{Change, SourceKind};
use ralph_plan::source::{self, Surroundings};
use ralph_plan::summary::{ChangeState, ChangeSummary};
use ralph_run::engine::entry::{Entry, StartMode, WantedChange};
use ralph_run::engine::prepare::{PreparedRun, Run};
use ralph_run::engine::repair::{OpenVault, RepairRequest};
use ralph_run::failure::Failure;
use ralph_run::preview::forecast::all_done;
use ralph_run::records::event::Event;
use ralph_run::settings::files::{Loaded, REPOSITORY_FILE};
use ralph_run::settings::trust::TrustQuestion;
use ralph_run::settings::{PartialSettings, Settings};
use ralph_vault::OpenRun;
use ralph_vault::git::repository::Repository;

/// A run as the user asks for it.
pub(crate) struct RunRequest<'a> {
    pub(crate) change: ChangeSelector<'a>,
    pub(crate) mode: StartMode,
    pub(crate) flags: &'a RunArguments,
    /// What was chosen on the screen, over the flags.
    pub(crate) chosen: Option<&'a PartialSettings>,
    /// A user watches the screen and can be asked.
    pub(crate) attended: bool,
    /// How the user is asked whether the repository's own file may run things.
    pub(crate) consent: Consent<'a>,
}

/// How the user allows what the repository's own settings file asks for.
#[derive(Clone, Copy)]
pub(crate) enum Consent<'a> {
    /// By an answer on the terminal.
    Terminal,
    /// Not at all: there is no terminal to ask on.
    Impossible,
    /// On the screen, where this very content may have been allowed a moment ago.
    Screen(Option<&'a str>),
}

impl<'a> RunRequest<'a> {
    /// As the flags and the terminal have it.
    pub(crate) fn of(
        change: ChangeSelector<'a>,
        mode: StartMode,
        flags: &'a RunArguments,
        context: &Context,
    ) -> Self {
        let can_ask = output::can_ask() && !flags.json;
        Self {
            change,
            mode,
            flags,
            chosen: None,
            attended: flags.allow_screen() && context.has_screen(),
            consent: if can_ask {
                Consent::Terminal
            } else {
                Consent::Impossible
            },
        }
    }

    /// The run to resume, where one is asked for.
    fn last_run(
        &self,
        find: impl FnOnce() -> Result<Option<OpenRun>, Failure>,
    ) -> Result<Option<OpenRun>, Failure> {
        if !matches!(self.change, ChangeSelector::LastRun) {
            return Ok(None);
        }
        let nothing = || {
            Failure::refused("there is no run to resume here")
                .hint("start one with `ralphtool run CHANGE`")
                .hint("`ralphtool undo` restores one that was cleaned up or abandoned")
        };
        find()?.ok_or_else(nothing).map(Some)
    }

    /// The change that is asked for, as far as it can be told before a switch to another branch.
    fn wanted(&self, surroundings: &Surroundings) -> Option<(String, Option<String>)> {
        let (name, change) = match self.change {
            ChangeSelector::Named(target) => (
                Some(source::name_of(target, surroundings)),
                source::read_target(target, surroundings).ok(),
            ),
            ChangeSelector::OnlyOpen => (None, only_change(surroundings).ok()),
            ChangeSelector::LastRun => (None, None),
        };
        let place = change.as_ref().and_then(source::place_of);
        let name = change.map(|change| change.name).or(name)?;
        Some((name, place))
    }
}

/// What comes of a request.
pub(crate) enum LaunchOutcome {
    Ready(Box<PreparedRun>),
    /// There is nothing left to do in the change. The lines say what was repaired before.
    NothingLeft(Box<Change>, Vec<String>),
    /// All stories are done, on a branch where HEAD is not. The text says which.
    DoneElsewhere(String, Vec<String>),
    /// The screen has to ask first. The lines say what was repaired before.
    Asks(Box<TrustQuestion>, Vec<String>),
}

/// The change a run is asked for.
#[derive(Clone, Copy)]
pub(crate) enum ChangeSelector<'a> {
    Named(&'a str),
    /// The only one with work left.
    OnlyOpen,
    /// That of the open run, else of the kept one.
    LastRun,
}

/// Prepares a run, or says why there is none. What an interrupted run left is repaired before
/// settings and plan are read from the tree.
pub(crate) async fn prepare(
    request: &RunRequest<'_>,
    context: &Context,
) -> Result<LaunchOutcome, Failure> {
    let vault = open_vault(request, context).await?;
    let mut repaired: Vec<String> = vault.repaired.iter().filter_map(recovered).collect();
    // A run reports what was repaired. If there is none, its failure must.
    let prepared = enter(vault, &mut repaired, request, context);
    prepared.map_err(|failure| repaired.into_iter().fold(failure, Failure::hint))
}

/// Decides whether the last run is resumed, and prepares what is to run.
fn enter(
    vault: OpenVault,
    repaired: &mut Vec<String>,
    request: &RunRequest<'_>,
    context: &Context,
) -> Result<LaunchOutcome, Failure> {
    request.last_run(|| Ok(vault.last_run()))?;
    let wanted = request.wanted(&context.surroundings()?);
    let change = wanted.as_ref().map(|(name, place)| WantedChange {
        name,
        place: place.as_deref(),
    });
    let nothing_asked = change.is_none() && !matches!(request.change, ChangeSelector::LastRun);
    if nothing_asked {
        // Says what there is instead.
        return prepare_in(vault, repaired, request, context, false);
    }
    let (vault, entry) = vault.enter(change, request.mode)?;
    *repaired = vault.repaired.iter().filter_map(recovered).collect();
    match entry {
        Entry::New => prepare_in(vault, repaired, request, context, false),
        Entry::Resume => prepare_in(vault, repaired, request, context, true),
        Entry::DoneOnBranch {
            change,
            branch,
            stories,
        } if matches!(request.change, ChangeSelector::LastRun) => {
            let done = all_done(&change, &branch, stories);
            Err(
                Failure::refused(format!("there is nothing to resume: {done}"))
                    .hint("`ralphtool finish` ends the run")
                    .hint(format!(
                        "`git switch {branch}` first, to run its gates again"
                    )),
            )
        }
        Entry::DoneOnBranch {
            change,
            branch,
            stories,
        } => Ok(LaunchOutcome::DoneElsewhere(
            all_done(&change, &branch, stories),
            std::mem::take(repaired),
        )),
    }
}

async fn open_vault(request: &RunRequest<'_>, context: &Context) -> Result<OpenVault, Failure> {
    let surroundings = context.surroundings()?;
    let change = match request.change {
        ChangeSelector::Named(target) => Some(source::name_of(target, &surroundings)),
        ChangeSelector::OnlyOpen | ChangeSelector::LastRun => None,
    };
    let repair = RepairRequest {
        directory: &context.folder()?,
        state: &context.state()?,
        change: change.as_deref(),
        fresh: request.mode.fresh,
    };
    OpenVault::open(repair).await
}

/// What was repaired, as a line of text.
fn recovered(event: &Event) -> Option<String> {
    match event {
        Event::Recovered { found, done } => Some(format!("recovered: {found}: {done}")),
        _ => None,
    }
}

/// The settings and the change of a request.
struct Inputs {
    loaded: Loaded,
    /// What flags and screen say, over all files.
    layer: PartialSettings,
    settings: Settings,
    surroundings: Surroundings,
    change: Change,
}

impl Inputs {
    /// `last` is the run to resume, where one is asked for.
    fn read(
        request: &RunRequest<'_>,
        context: &Context,
        work_tree: &Path,
        last: Option<&OpenRun>,
    ) -> Result<Self, Failure> {
        let flags = request.flags;
        let layer = match request.chosen {
            Some(chosen) => flags.settings().overlaid_by(chosen.clone()),
            None => flags.settings(),
        };
        let loaded = context.load(work_tree, flags.trust)?;
        let settings = loaded.shown(layer.clone()).map_err(unfit)?;
        let surroundings = context.surroundings()?;
        let change = match (request.change, last) {
            (ChangeSelector::Named(target), _) => context.change(target)?,
            (_, Some(last)) => change_of(last, context, &surroundings)?,
            (_, None) => only_change(&surroundings)?,
        };
        if change.task_tally().total == 0 {
            return Err(Failure::refused(format!("`{}` has no tasks", change.name))
                .hint(change.source.example()));
        }
        Ok(Self {
            loaded,
            layer,
            settings,
            surroundings,
            change,
        })
    }
}

fn prepare_in(
    vault: OpenVault,
    repaired: &[String],
    request: &RunRequest<'_>,
    context: &Context,
    resumes: bool,
) -> Result<LaunchOutcome, Failure> {
    let last = request.last_run(|| Ok(vault.last_run()))?;
    let repository = vault.repository();
    let mut inputs = Inputs::read(request, context, &repository.work_tree, last.as_ref())?;
    if !request.attended {
        hint_at_gates(&inputs.settings, context, repository, request.flags);
    }
    if let Some(question) = allow(&mut inputs.loaded, request, context)? {
        return Ok(LaunchOutcome::Asks(Box::new(question), repaired.to_vec()));
    }
    let run = Run {
        change: inputs.change.clone(),
        surroundings: inputs.surroundings,
        settings: inputs.loaded.allowed(inputs.layer).map_err(unfit)?,
        only_story: request.flags.story.clone().map(StoryId),
        // A kept run with nothing left is resumed only if that is asked for.
        reopen: resumes && (last.is_some() || inputs.change.next_open().is_some()),
        mode: request.mode,
        warnings: inputs.loaded.warnings,
        environment: context.environment.clone(),
        attended: request.attended,
    };
    Ok(match PreparedRun::new(vault, run)? {
        Some(prepared) => LaunchOutcome::Ready(Box::new(prepared)),
        None => LaunchOutcome::NothingLeft(Box::new(inputs.change), repaired.to_vec()),
    })
}

/// Asks the user to allow what the repository's own file asks for. Returns the question if the screen
/// has to ask it. Without consent, or without a terminal to ask on, the run is refused.
fn allow(
    loaded: &mut Loaded,
    request: &RunRequest<'_>,
    context: &Context,
) -> Result<Option<TrustQuestion>, Failure> {
    let Some(file) = loaded.unallowed() else {
        return Ok(None);
    };
    match request.consent {
        Consent::Impossible => return Err(trust::refusal(file, context)),
        Consent::Terminal => trust::ask_for(file, context)?,
        Consent::Screen(Some(token)) if token == file.allowance.token() => {
            trust::give(file, context)?;
        }
        Consent::Screen(_) => return Ok(Some(file.question())),
    }
    loaded.accept();
    Ok(None)
}

/// One dim line if nothing is configured: without gates, the agent's word is the only check.
fn hint_at_gates(
    settings: &Settings,
    context: &Context,
    repository: &Repository,
    flags: &RunArguments,
) {
    let file = repository.work_tree.join(REPOSITORY_FILE);
    let is_configured = context.config.is_some() || file.exists();
    let is_unwanted = flags.json || flags.verbosity() == Verbosity::Quiet;
    if is_configured || is_unwanted || !settings.gates.value.is_empty() {
        return;
    }
    let text = "no gates are set; `ralphtool init` finds the tests of this repository";
    let line = context.paint_for(&std::io::stderr()).apply(DIM, text);
    // There is nowhere else to report a failure.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The change of a run, from where the run read it.
fn change_of(run: &OpenRun, context: &Context, around: &Surroundings) -> Result<Change, Failure> {
    match &run.plan {
        Some(place) => Ok(source::read_from(Path::new(place), &run.change, around)?),
        None => context.change(&run.change),
    }
}

/// The only change with work left, or of several the feature spec-kit is at.
pub(crate) fn only_change(around: &Surroundings) -> Result<Change, Failure> {
    let mut ready = source::survey(around)?.changes;
    if ready.is_empty() {
        // Says that there is no plan at all, and the ways to one.
        source::find_root(around)?;
    }
    // One that is still a template is refused with what to edit, unless another can be run.
    let has_open = ready.iter().any(|row| row.state == ChangeState::Open);
    ready.retain(|row| match row.state {
        ChangeState::Open => true,
        ChangeState::Template => !has_open,
        _ => false,
    });
    let current = source::current_feature(around)?;
    let is_current = |row: &&ChangeSummary| {
        row.kind == SourceKind::SpecKit && current.as_ref() == Some(&row.name)
    };
    if let Some(row) = ready.iter().find(is_current) {
        return Ok(source::read_target(&row.target, around)?);
    }
    let targets: Vec<&str> = ready.iter().map(|row| row.target.as_str()).collect();
    match targets.as_slice() {
        [only] => Ok(source::read_target(only, around)?),
        [] => {
            Err(Failure::refused("no change has work left")
                .hint("`ralphtool list` shows all changes"))
        }
        several => Err(
            Failure::refused("several changes have work left: say which one")
                .hint(format!("they are: {}", several.join(", "))),
        ),
    }
}
