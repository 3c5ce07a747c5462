//! How `loop` and `resume` start a run: finds the change, reads the settings, prepares the run or
//! shows the plan of it.

pub(crate) mod dry_run;
pub(crate) mod nothing_to_run;
pub(crate) mod trust;

use std::io::Write as _;
use std::path::Path;

use self::nothing_to_run::NothingToRun;
use crate::console::context::{Context, unfit};
use crate::console::flags::RunArguments;
use crate::console::output;
use crate::ui::plain::Verbosity;
use crate::ui::style::DIM;
use crate::ui::words;
use ralph_base::ids::StoryId;
use ralph_plan::change::{Change, SourceKind};
use ralph_plan::source::{self, Surroundings};
use ralph_plan::summary::{ChangeState, ChangeSummary};
use ralph_run::engine::entry::{DoneRun, Entry, StartMode, WantedChange};
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
    fn wanted(&self, surroundings: &Surroundings) -> Option<Wanted> {
        let (name, change) = match self.change {
            ChangeSelector::Named(target) => (
                Some(source::name_of(target, surroundings)),
                source::read_target(target, surroundings).ok(),
            ),
            ChangeSelector::OnlyOpen => (None, only_change(surroundings).ok()),
            ChangeSelector::LastRun => (None, None),
        };
        let Some(change) = change else {
            return Some(Wanted {
                name: name?,
                place: None,
                change: None,
            });
        };
        Some(Wanted::of(change))
    }

    /// What to type to ask for a change again.
    fn target(&self, change: &str) -> String {
        let typed = match self.change {
            ChangeSelector::Named(target) => target,
            ChangeSelector::OnlyOpen | ChangeSelector::LastRun => change,
        };
        words::shell(typed)
    }
}

/// A change that is asked for, before its run is found.
struct Wanted {
    name: String,
    place: Option<String>,
    change: Option<Change>,
}

impl Wanted {
    fn of(change: Change) -> Self {
        Self {
            place: source::place_of(&change),
            name: change.name.clone(),
            change: Some(change),
        }
    }

    fn as_change(&self) -> WantedChange<'_> {
        WantedChange {
            name: &self.name,
            place: self.place.as_deref(),
            change: self.change.as_ref(),
        }
    }
}

/// What comes of a request.
pub(crate) enum LaunchOutcome {
    Ready(Box<PreparedRun>),
    /// There is nothing left to do in the change. The lines say what was repaired before.
    Nothing(Box<NothingToRun>, Vec<String>),
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
    let repaired: Vec<String> = vault.repaired.iter().filter_map(recovered).collect();
    let launch = Launch { request, context };
    match launch.enter(vault) {
        Ok(Started::Run(prepared)) => Ok(LaunchOutcome::Ready(prepared)),
        // A run reports what was repaired. If there is none, the answer must.
        Ok(Started::Nothing(nothing)) => Ok(LaunchOutcome::Nothing(nothing, repaired)),
        Ok(Started::Asks(question)) => Ok(LaunchOutcome::Asks(question, repaired)),
        Err(failure) => Err(repaired.into_iter().fold(failure, Failure::hint)),
    }
}

/// What a start comes to.
enum Started {
    Run(Box<PreparedRun>),
    Nothing(Box<NothingToRun>),
    Asks(Box<TrustQuestion>),
}

/// How a run begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    New,
    Resumed,
}

/// A request, and where it was made.
#[derive(Clone, Copy)]
struct Launch<'a> {
    request: &'a RunRequest<'a>,
    context: &'a Context,
}

impl Launch<'_> {
    /// Decides whether the last run is resumed, and prepares what is to run.
    fn enter(self, vault: OpenVault) -> Result<Started, Failure> {
        let request = self.request;
        request.last_run(|| Ok(vault.last_run()))?;
        let wanted = request.wanted(&self.context.surroundings()?);
        let change = wanted.as_ref().map(Wanted::as_change);
        let nothing_asked = change.is_none() && !matches!(request.change, ChangeSelector::LastRun);
        if nothing_asked {
            // Says what there is instead.
            return self.start(vault, Beginning::New);
        }
        let (vault, entry) = vault.enter(change, request.mode)?;
        match entry {
            Entry::New => self.start(vault, Beginning::New),
            Entry::Resume => self.start(vault, Beginning::Resumed),
            Entry::DoneOnBranch(done) if matches!(request.change, ChangeSelector::LastRun) => {
                Err(nothing_to_resume(&done))
            }
            Entry::DoneOnBranch(done) => Ok(self.elsewhere(*done)),
        }
    }

    /// Prepares a run, where settings and plan are those it begins with. Without one, everything goes
    /// back to where it was before the start.
    fn start(self, vault: OpenVault, beginning: Beginning) -> Result<Started, Failure> {
        let (run, done) = match self.read(&vault, beginning) {
            Ok(Asked::Run(run, done)) => (run, done),
            Ok(Asked::Trust(question)) => {
                vault.take_back()?;
                return Ok(Started::Asks(question));
            }
            Err(failure) => return Err(vault.refuse(failure)),
        };
        let switched_to = vault.switched_to().map(str::to_owned);
        let change = run.change.clone();
        if let Some(prepared) = PreparedRun::new(vault, *run)? {
            return Ok(Started::Run(Box::new(prepared)));
        }
        Ok(match (done, switched_to) {
            (Some(done), Some(_)) => self.elsewhere(*done),
            (done, branch) => {
                let done = done.map(|done| *done);
                let nothing = NothingToRun::here(&change, done).on_branch(branch);
                Started::Nothing(Box::new(nothing))
            }
        })
    }

    fn elsewhere(self, done: DoneRun) -> Started {
        let target = self.request.target(&done.change);
        Started::Nothing(Box::new(NothingToRun::elsewhere(done, &target)))
    }

    /// Reads what is to run, and asks whether the repository's own settings may be used.
    fn read(self, vault: &OpenVault, beginning: Beginning) -> Result<Asked, Failure> {
        let Self { request, context } = self;
        let last = request.last_run(|| Ok(vault.last_run()))?;
        let repository = vault.repository();
        let mut inputs = Inputs::read(request, context, &repository.work_tree, last.as_ref())?;
        if !request.attended {
            hint_at_gates(&inputs.settings, context, repository, request.flags);
        }
        if let Some(question) = allow(&mut inputs.loaded, request, context)? {
            return Ok(Asked::Trust(Box::new(question)));
        }
        // A kept run with nothing left is resumed only if that is asked for.
        let has_work = last.is_some() || inputs.change.next_open().is_some();
        let run = Run {
            change: inputs.change.clone(),
            surroundings: inputs.surroundings,
            settings: inputs.loaded.allowed(inputs.layer).map_err(unfit)?,
            only_story: request.flags.story.clone().map(StoryId),
            reopen: beginning == Beginning::Resumed && has_work,
            mode: request.mode,
            warnings: inputs.loaded.warnings,
            environment: context.environment.clone(),
            attended: request.attended,
        };
        let done = match inputs.change.next_open() {
            Some(_) => None,
            None => vault.done_here(Wanted::of(inputs.change).as_change())?,
        };
        Ok(Asked::Run(Box::new(run), done.map(Box::new)))
    }
}

/// What was read for a start.
enum Asked {
    /// A run, and the kept one that has done all of its stories.
    Run(Box<Run>, Option<Box<DoneRun>>),
    /// The screen has to ask first.
    Trust(Box<TrustQuestion>),
}

fn nothing_to_resume(done: &DoneRun) -> Failure {
    Failure::refused(format!("there is nothing to resume: {}", all_done(done))).hint(format!(
        "`git switch {}` first, to finish it with `ralphtool finish` or to run the gates at the end \
         again with `ralphtool resume`",
        words::shell(&done.branch)
    ))
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
        let mut change = match (request.change, last) {
            (ChangeSelector::Named(target), _) => context.change(target)?,
            (_, Some(last)) => change_of(last, context, &surroundings)?,
            (_, None) => only_change(&surroundings)?,
        };
        settings.add_dependencies(&mut change);
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
