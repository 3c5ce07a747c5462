//! From a [`Run`] as it was asked for to a [`PreparedRun`]: an open run is resumed, and everything
//! that would make a run impossible is refused before anything is touched.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;

use super::agents;
use super::branch_name::branch_name;
use super::entry::StartMode;
use super::repair::{OpenVault, other_plan, other_run};
use super::resumption::resumption;
use super::spent_so_far::spent_so_far;
use super::work_start::work_start;
use super::{End, Engine, EngineError, RecordSink, gate_logs};
use crate::failure::Failure;
use crate::gate::{self, GatePlace};
use crate::machine::{Machine, Resumption, Setup, UserCommand};
use crate::policy::prices::Prices;
use crate::policy::reviewer::reviewers;
use crate::policy::roster::{Roster, never_asked};
use crate::policy::{Budget, OnBlocked, OnFinish, Policy, When, unchecked_changes};
use crate::records::event::{Event, Record};
use crate::records::file;
use crate::records::notify::Listener;
use crate::settings::files::AllowedSettings;
use crate::tamper::TamperPolicy;
use crate::words::and_list;
use ralph_base::ids::{RunId, StoryId};
use ralph_base::os;
use ralph_base::random_name::random_name;
use ralph_plan::change::{Change, StoryState};
use ralph_plan::source::{Surroundings, has_template_task, place_of, template_story};
use ralph_vault::store::where_now;
use ralph_vault::{BranchRuns, NewBranch, OpenRun, Vault};
use ralph_vault::{Session, Settled};

/// However the pause after a limit is set, an agent is not asked in a hot loop.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// A run as it was asked for, with everything that had to be read and allowed for it.
pub struct Run {
    pub change: Change,
    /// Where changes are looked for.
    pub surroundings: Surroundings,
    pub settings: AllowedSettings,
    /// Just this story.
    pub only_story: Option<StoryId>,
    /// Resume the kept run where none is open.
    pub reopen: bool,
    pub mode: StartMode,
    /// What the user should be told first.
    pub warnings: Vec<String>,
    pub environment: Vec<(OsString, OsString)>,
    /// A user watches and can be asked.
    pub attended: bool,
}

/// A run that was checked and can start. Until it does, nothing was touched.
pub struct PreparedRun {
    pub(super) id: RunId,
    pub(super) run: Run,
    pub(super) machine: Machine,
    pub(super) session: Session<Settled>,
    pub(super) resumed: bool,
    /// Short name of its branch.
    pub(super) branch: String,
    /// What is announced before the machine starts: warnings, recoveries.
    pub(super) preface: Vec<Event>,
}

impl PreparedRun {
    /// Where the run's transcripts and records are.
    pub fn run_folder(&self) -> PathBuf {
        self.session.vault().run_folder(&self.id)
    }

    /// What the parts of the run before this one recorded; nothing unless it is resumed.
    pub fn earlier(&self) -> Vec<Record> {
        if !self.resumed {
            return Vec::new();
        }
        // Damage is a warning of its own, and a record that cannot be read was refused.
        let found = file::read(&self.run_folder()).ok().flatten();
        found.map(|found| found.records).unwrap_or_default()
    }

    /// Calls the user at the terminal, where the settings want that.
    pub fn caller(&self) -> Option<Listener> {
        let notify = &self.run.settings.notify.value;
        notify.bell.then(|| Listener::new(notify))
    }

    /// Runs the loop; records go to `sink`, and what the user at a screen asks for comes from
    /// `user`. A screen that is gone stops the run like SIGTERM.
    pub async fn run(
        self,
        sink: RecordSink,
        user: Option<mpsc::Receiver<UserCommand>>,
    ) -> Result<End, EngineError> {
        Box::pin(Engine::new(self, sink, user)?.run()).await
    }

    /// Checks everything that could make the run impossible. None where no story is open and no run
    /// either: there is nothing to do. Without a run, what the start has moved is taken back.
    pub fn new(mut vault: OpenVault, run: Run) -> Result<Option<Self>, Failure> {
        let checked = match Checked::of(&mut vault, &run) {
            Ok(Some(checked)) => checked,
            Ok(None) => {
                vault.take_back()?;
                return Ok(None);
            }
            Err(failure) => return Err(vault.refuse(failure)),
        };
        let Checked {
            id,
            branch,
            machine,
            resumed,
            preface,
        } = checked;
        Ok(Some(Self {
            id,
            run,
            machine,
            session: vault.session,
            resumed,
            branch,
            preface,
        }))
    }
}

/// What a run begins with, once nothing makes it impossible.
struct Checked {
    id: RunId,
    branch: String,
    machine: Machine,
    resumed: bool,
    preface: Vec<Event>,
}

impl Checked {
    /// None where there is nothing to do.
    fn of(vault: &mut OpenVault, run: &Run) -> Result<Option<Self>, Failure> {
        check_story(&run.change, run.only_story.as_ref())?;
        refuse_template(&run.change, run.only_story.as_ref())?;
        let nothing_left = nothing_left(&run.change);
        vault.adapt_to(&run.settings);
        let mut preface = vault.repaired.clone();
        preface.extend(vault.departure.iter().map(|it| it.event.clone()));
        let session = &mut vault.session;
        if run.reopen && session.vault().open_run().is_none() {
            let mut gates = run.settings.gates.value.iter();
            let mut reviews = run.settings.reviews.value.iter();
            let is_judged_whole = gates.any(|gate| gate.when == When::End)
                || reviews.any(|review| review.when == When::End);
            // Where every story is done, gates and reviews at the end may still have their say.
            reopen(session, nothing_left && !is_judged_whole)?;
        }
        session.set_limits(run.settings.limits())?;
        let checkpoints = session.vault();
        if !nothing_left {
            let root = &checkpoints.repository().work_tree;
            agents::check(&run.settings, &run.change.name, &run.environment, root)?;
            let environment = &run.environment;
            GatePlace { root, environment }.refuse_broken(&run.settings.gates.value)?;
        }
        os::keep_freed_memory();
        let said = run.warnings.iter();
        preface.extend(said.map(|text| Event::warning("settings", text)));
        let Some(beginning) = Beginning::of(checkpoints, run, nothing_left)? else {
            return Ok(None);
        };
        let Beginning {
            id,
            branch,
            resumption,
            said,
        } = beginning;
        preface.extend(said);
        let policy = policy(run);
        preface.extend(warnings(run, &policy));
        let resumed = resumption.is_some();
        let start = work_start(checkpoints, &run.change.name, &id);
        let machine = Machine::new(Setup {
            roster: Roster::of(&run.settings, &run.change.name),
            change: run.change.name.clone(),
            policy,
            gate_logs: gate_logs(checkpoints, &id).to_string_lossy().into_owned(),
            resumed: resumption,
            began: start.gates,
            continues_work: start.has_earlier_work,
        });
        Ok(Some(Self {
            id,
            branch,
            machine,
            resumed,
            preface,
        }))
    }
}

/// The open run that is resumed, or a new one with its branch.
struct Beginning {
    id: RunId,
    branch: String,
    resumption: Option<Resumption>,
    /// What the user should know about it.
    said: Vec<Event>,
}

impl Beginning {
    /// None where no run is open and nothing is left to do.
    fn of(checkpoints: &Vault, run: &Run, nothing_left: bool) -> Result<Option<Self>, Failure> {
        match open_run_of(checkpoints, &run.change)? {
            Some(open) => Ok(Some(Self::resumed(checkpoints, run, open)?)),
            None if nothing_left => Ok(None),
            None => Ok(Some(Self::new(checkpoints, run)?)),
        }
    }

    fn resumed(checkpoints: &Vault, run: &Run, open: OpenRun) -> Result<Self, Failure> {
        let folder = checkpoints.run_folder(&open.run);
        let so_far = spent_so_far(&folder, &open, &run.settings)?;
        let max_retries = run.settings.max_retries.value;
        Ok(Self {
            id: open.run.clone(),
            branch: open.branch.clone(),
            resumption: Some(resumption(open, so_far.progress, max_retries)),
            said: so_far.warnings,
        })
    }

    fn new(checkpoints: &Vault, run: &Run) -> Result<Self, Failure> {
        let runs = checkpoints.branch_runs()?;
        let folder = checkpoints.vault_folder();
        let branch = branch_name(&run.change, &runs, folder, checkpoints.repository());
        checkpoints.preflight(&NewBranch {
            name: &branch,
            change: &run.change.name,
            replaces: run.mode.fresh,
            on_top: run.mode.on_top,
        })?;
        Ok(Self {
            id: new_run(),
            said: replaced(checkpoints, &branch, &runs)?.into_iter().collect(),
            branch,
            resumption: None,
        })
    }
}

/// Says which branch of an earlier run the new one replaces.
fn replaced(
    checkpoints: &Vault,
    branch: &str,
    runs: &BranchRuns,
) -> Result<Option<Event>, Failure> {
    let Some(earlier) = runs.on(branch) else {
        return Ok(None);
    };
    let replaced = checkpoints.tip_to_replace(branch)?;
    Ok(replaced.map(|tip| {
        let message = format!(
            "the run {} of `{}` is started over: `{branch}` was at {tip} with {}; \
             `ralphtool undo` restores both",
            earlier.run,
            earlier.change,
            earlier.stories_done()
        );
        Event::warning("branch_replaced", message)
    }))
}

/// What is worth a warning in the settings and in the plan.
fn warnings(run: &Run, policy: &Policy) -> Vec<Event> {
    let change = &run.change;
    let ids: Vec<&StoryId> = change.stories.iter().map(|it| &it.id).collect();
    let idle = never_asked(&run.settings, &change.name, &ids);
    let unchecked = unchecked_changes(&policy.gates);
    let piped = gate::warnings(&policy.gates);
    let settings = idle
        .iter()
        .chain(&unchecked)
        .chain(&piped)
        .map(|text| Event::warning("settings", text));
    let plan = change.warnings.iter();
    let plan = plan.map(|it| Event::warning(it.code, it.message.as_str()));
    let early = open_dependencies(change, run.only_story.as_ref());
    let early = early.map(|text| Event::warning("dependency_open", text));
    settings.chain(plan).chain(early).collect()
}

/// A warning about a story that is asked for before those that it depends on are done.
pub fn open_dependencies(change: &Change, only: Option<&StoryId>) -> Option<String> {
    let story = change.story(only?)?;
    let is_open = |id: &StoryId| {
        let story = change.story(id);
        story.is_some_and(|story| story.state == StoryState::Open)
    };
    let open = change.all_dependencies(story).into_iter();
    let open: Vec<String> = open
        .filter(|id| is_open(id))
        .map(ToString::to_string)
        .collect();
    let (noun, are) = match open.len() {
        0 => return None,
        1 => ("story", "is"),
        _ => ("stories", "are"),
    };
    let open = and_list(&open);
    Some(format!(
        "story {} depends on {noun} {open}, which {are} open",
        story.id
    ))
}

/// Opens the kept run again, if there is something left to do in it.
fn reopen(session: &mut Session<Settled>, nothing_left: bool) -> Result<(), Failure> {
    if let Some(kept) = session.vault().kept_run().filter(|_| nothing_left) {
        return Err(Failure::refused(format!(
            "there is nothing to resume: no story of `{}` is open, and `{}` is kept",
            kept.change, kept.branch
        ))
        .hint("`ralphtool finish --cleanup` brings the work to your branch")
        .hint("`ralphtool rewind STORY` goes back to before a story, to do it again"));
    }
    Ok(session.reopen_kept()?)
}

/// The run to resume, if one is open.
fn open_run_of(checkpoints: &Vault, change: &Change) -> Result<Option<OpenRun>, Failure> {
    let Some(open) = checkpoints.open_run() else {
        return Ok(None);
    };
    if open.change != change.name {
        return Err(other_run(&open.change));
    }
    // Plans in several places can have one name; a run is resumed with its own.
    let place = place_of(change);
    let folder = checkpoints.vault_folder();
    let plan = open.plan.as_ref();
    let plan = plan.map(|plan| where_now(folder, checkpoints.repository(), plan));
    if let (Some(plan), Some(place)) = (plan, place)
        && plan != place
    {
        return Err(other_plan(&open.change, &plan));
    }
    checkpoints.check_on_branch()?;
    checkpoints.refuse_full_disk()?;
    Ok(Some(open))
}

/// A story that was asked for must be there.
fn check_story(change: &Change, only: Option<&StoryId>) -> Result<(), Failure> {
    let Some(only) = only else {
        return Ok(());
    };
    if change.story(only).is_some() {
        return Ok(());
    }
    let ids: Vec<&str> = change
        .stories
        .iter()
        .map(|story| story.id.0.as_str())
        .collect();
    Err(
        Failure::refused(format!("`{}` has no story `{only}`", change.name))
            .hint(format!("its stories are: {}", ids.join(", "))),
    )
}

/// Refuses stories that are to be run and whose tasks are still those that `ralphtool new` wrote: an
/// agent would be paid for work that is not described.
pub fn refuse_template(change: &Change, only: Option<&StoryId>) -> Result<(), Failure> {
    let asked = only.and_then(|only| change.story(only));
    let unwritten = match asked {
        Some(story) => Some(story).filter(|story| has_template_task(story)),
        None => template_story(change),
    };
    let Some(story) = unwritten else {
        return Ok(());
    };
    let path = change.task_files.get(story.file).map(|file| &file.path);
    let path = path.map(|path| path.strip_prefix(&change.root).unwrap_or(path));
    let path = path.map_or_else(|| "the plan".to_owned(), |it| format!("`{}`", it.display()));
    let name = &change.name;
    Err(Failure::refused(format!(
        "story {} of `{name}` is still from the template: its tasks say TODO",
        story.id
    ))
    .hint(format!(
        "edit {path}: replace each TODO with what to build, or delete the story"
    )))
}

fn nothing_left(change: &Change) -> bool {
    change
        .stories
        .iter()
        .all(|story| story.state != StoryState::Open)
}

fn policy(run: &Run) -> Policy {
    let settings = &run.settings;
    Policy {
        max_retries: settings.max_retries.value,
        repairs: settings.repairs.value,
        only_story: run.only_story.clone(),
        idle_timeout: settings.idle_timeout.value.0,
        total_timeout: settings.total_timeout.value.0,
        final_grace: settings.grace.value.or_zero(),
        max_wait: settings.max_wait.value.0,
        strict_tasks: settings.strict_tasks.value,
        require_changes: settings.require_changes.value,
        tamper: TamperPolicy::of(settings),
        gates: settings.gates.value.clone(),
        reviewers: reviewers(settings),
        on_exhausted: settings.on_exhausted.as_ref().map(|it| it.value),
        on_blocked: match &settings.on_blocked {
            Some(choice) => Some(choice.value),
            None => run.attended.then_some(OnBlocked::Wait),
        },
        on_finish: match settings.on_finish.value {
            // Without a user to ask, keeping loses nothing.
            OnFinish::Ask if !run.attended => OnFinish::Keep,
            choice => choice,
        },
        limit_pause: settings.limit_pause.value.or_zero().max(SHORTEST_PAUSE),
        budget: Budget::of_run(settings),
        story_budget: Budget::of_story(settings),
        prices: Prices(
            settings
                .prices
                .iter()
                .map(|(name, price)| (name.clone(), price.value))
                .collect(),
        ),
    }
}

fn new_run() -> RunId {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    RunId(format!("{now}-{}", random_name(4)))
}
