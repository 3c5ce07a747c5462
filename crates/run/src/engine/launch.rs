//! To a loop that can run: from settings and a change, a run that is open is gone on with, and
//! everything that would make a run impossible is refused before anything is touched. What an
//! earlier run left is mended by then.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;

use super::agents::{self, Agents};
use super::beginning::gates_where_work_began;
use super::so_far::so_far;
use super::{Audience, Engine, EngineError, Job, chain, gate_logs};
use crate::failure::Failure;
use crate::gates::gate;
use crate::machine::{Carry, Machine, Origin, Resumption, Setup, UserCommand};
use crate::policy::prices::Prices;
use crate::policy::roster::{Roster, never_asked};
use crate::policy::{Backoff, Budget, Gate, OnFinish, Policy, When, changes_nobody_checks};
use crate::records::event::Event;
use crate::records::notify::Listener;
use crate::records::progress::Progress;
use crate::settings::files::AllowedSettings;
use crate::tamper::TamperPolicy;
use ralph_base::ids::{RunId, StoryId};
use ralph_base::os;
use ralph_base::random_name::random_name;
use ralph_plan::change::{Change, StoryState};
use ralph_plan::source::{Surroundings, place_of};
use ralph_vault::git::repository::Repository;
use ralph_vault::session::{CheckpointError, Checkpoints, OpenRun};
use ralph_vault::store::{VaultLock, where_now};

/// However the pause after a limit is set, an agent is not asked in a hot loop.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// What is to be run.
pub struct Order {
    /// The repository the command was given in.
    pub repository: Repository,
    /// The user's state directory.
    pub state: PathBuf,
    /// Where changes are looked for.
    pub surroundings: Surroundings,
    /// The change.
    pub change: Change,
    /// All settings; what has to be allowed by the user is.
    pub settings: AllowedSettings,
    /// Just this story.
    pub only_story: Option<StoryId>,
    /// Go on with the kept run where none is open.
    pub reopen: bool,
    /// What the user should hear first.
    pub warnings: Vec<String>,
    /// What was found and mended before.
    pub mended: Vec<Event>,
    /// The lock of the vault, where it is held since then.
    pub lock: Option<VaultLock>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Somebody watches and can be asked.
    pub attended: bool,
}

/// What comes of an order.
pub enum Prepared {
    /// Every story is done or set aside; nothing was touched.
    NothingLeft,
    /// A loop that can run.
    Ready(Box<Ready>),
}

/// A loop that can run.
pub struct Ready {
    machine: Machine,
    checkpoints: Checkpoints,
    job: Job,
}

impl Ready {
    /// Where the run's transcripts and records are.
    pub fn run_folder(&self) -> PathBuf {
        self.checkpoints.run_folder(&self.job.run)
    }

    /// Who calls the user at the terminal, where the settings want that.
    pub fn caller(&self) -> Option<Listener> {
        let notify = &self.job.notify;
        notify.bell.then(|| Listener::new(notify))
    }

    /// Runs the loop; records go to `audience`, and what the user at a screen asks for comes from
    /// `user`. A screen that is gone stops the run like SIGTERM.
    pub async fn run(
        self,
        audience: Audience,
        user: Option<mpsc::Receiver<UserCommand>>,
    ) -> Result<super::End, EngineError> {
        let engine = Engine::new(self.machine, self.checkpoints, self.job, audience, user)?;
        Box::pin(engine.run()).await
    }
}

/// Checks everything; what an earlier run left is mended already.
pub fn prepare(order: Order) -> Result<Prepared, Failure> {
    check_story(&order.change, order.only_story.as_ref())?;
    let timeout = order.settings.command_timeout.value.or_zero();
    let nothing_left = nothing_left(&order.change);
    let repository = order.repository.clone();
    let mut checkpoints =
        Checkpoints::open_held(repository, &order.state, timeout, order.lock.clone())
            .map_err(|error| refusal(&error))?;
    if order.reopen && checkpoints.open_run().is_none() {
        let mut gates = order.settings.gates.value.iter();
        let is_judged_whole = gates.any(|gate| gate.when == When::End);
        // Where every story is done, gates at the end may still have their say.
        reopen(&mut checkpoints, nothing_left && !is_judged_whole)?;
    }
    checkpoints
        .set_limits(order.settings.limits())
        .map_err(|error| refusal(&error))?;
    if !nothing_left {
        let root = &checkpoints.repository().work_tree;
        agents::check(
            &order.settings,
            &order.change.name,
            &order.environment,
            root,
        )?;
    }
    // Without it, processes that outlive their parents could not be swept; with a warning only,
    // because the run is safe all the same: they are found by their mark.
    let _ = os::adopt_orphans();
    os::keep_freed_memory();
    let warnings = order.warnings.iter().map(|text| warning(text));
    let mut preface: Vec<Event> = order.mended.iter().cloned().chain(warnings).collect();
    let (run, origin) = match open_run_of(&checkpoints, &order.change)? {
        Some(open) => {
            let budgets = (
                Budget::of_run(&order.settings),
                Budget::of_story(&order.settings),
            );
            let so_far = so_far(&checkpoints.run_folder(&open.run), &open, budgets)?;
            preface.extend(so_far.warnings);
            (open.run.clone(), resumption(open, so_far.progress, &order))
        }
        None if nothing_left => return Ok(Prepared::NothingLeft),
        None => {
            checkpoints
                .preflight(&order.change.name)
                .map_err(|error| refusal(&error))?;
            (new_run(), Origin::Fresh)
        }
    };
    let policy = policy(&order);
    let ids: Vec<&StoryId> = order.change.stories.iter().map(|it| &it.id).collect();
    let idle = never_asked(&order.settings, &order.change.name, &ids);
    let unchecked = changes_nobody_checks(&policy.gates);
    preface.extend(idle.iter().chain(&unchecked).map(|text| warning(text)));
    preface.extend(order.change.warnings.iter().map(|it| Event::Warning {
        code: it.code.to_owned(),
        message: it.message.clone(),
    }));
    let vault = checkpoints.vault_folder();
    let began = gates_where_work_began(vault, &order.change.name, Some(&run));
    let gate_logs = gate_logs(&checkpoints, &run).to_string_lossy().into_owned();
    let job = Job {
        run,
        gates: policy.gates.clone(),
        strict_tasks: policy.strict_tasks,
        tamper: policy.tamper.clone(),
        shell: shell(&order.environment),
        vault_limit: order.settings.vault_limit.value,
        learnings_limit: order.settings.learnings_limit.value,
        resumed: origin != Origin::Fresh,
        surroundings: order.surroundings,
        agents: Agents::of(&order.settings),
        preface,
        notify: order.settings.notify.value.clone(),
        change: order.change.clone(),
    };
    let machine = Machine::new(Setup {
        roster: Roster::of(&order.settings, &order.change.name),
        change: order.change.name,
        policy,
        gate_logs,
        origin,
        began,
    });
    Ok(Prepared::Ready(Box::new(Ready {
        machine,
        checkpoints,
        job,
    })))
}

/// Opens the kept run again, if there is something left to do in it.
fn reopen(checkpoints: &mut Checkpoints, nothing_left: bool) -> Result<(), Failure> {
    if let Some(kept) = checkpoints.kept_run().filter(|_| nothing_left) {
        return Err(Failure::refused(format!(
            "there is nothing to resume: no story of `{}` is open, and `{}` is kept",
            kept.change, kept.branch
        ))
        .hint("`ralphtool finish --cleanup` brings the work to your branch")
        .hint("`ralphtool rewind STORY` goes back to before a story, to do it again"));
    }
    checkpoints.reopen().map_err(|error| refusal(&error))
}

/// The run that is to be gone on with.
fn open_run_of(checkpoints: &Checkpoints, change: &Change) -> Result<Option<OpenRun>, Failure> {
    let Some(open) = checkpoints.open_run() else {
        return Ok(None);
    };
    if open.change != change.name {
        return Err(other_run(&open.change));
    }
    // Plans in several places can have one name; a run goes on with its own.
    let place = place_of(change);
    let folder = checkpoints.vault_folder();
    let plan = open.plan.as_ref();
    let plan = plan.map(|plan| where_now(folder, checkpoints.repository(), plan));
    if let (Some(plan), Some(place)) = (plan, place)
        && plan != place
    {
        return Err(interrupted(&format!(
            "a run of `{}` was interrupted in this tree, and its plan is `{plan}`",
            open.change
        )));
    }
    checkpoints
        .check_on_branch()
        .map_err(|error| refusal(&error))?;
    checkpoints
        .refuse_full_disk()
        .map_err(|error| refusal(&error))?;
    Ok(Some(open))
}

pub fn other_run(change: &str) -> Failure {
    interrupted(&format!("a run of `{change}` was interrupted in this tree"))
}

fn interrupted(message: &str) -> Failure {
    Failure::refused(message)
        .hint("go on with it: `ralphtool resume`; or end it: `ralphtool finish`")
        .hint("or keep its branch and start this one: pass `--fresh`")
}

/// Where an open run goes on.
fn resumption(open: OpenRun, so_far: Progress, order: &Order) -> Origin {
    let max_retries = order.settings.max_retries.value;
    let reopened = so_far.reopened.clone();
    let carry = match open.last_attempt {
        Some(last) => {
            // The first attempt after a story was opened again has no failed one before it.
            let why = reopened.filter(|(story, _)| *story == last.attempt.story);
            let reason = last.reason.or(why.map(|(_, reason)| reason));
            Some(Carry::after(
                last.attempt,
                last.retries_used,
                reason,
                max_retries,
            ))
        }
        None => reopened.map(|(story, reason)| {
            let highest = open.attempts.get(&story).copied().unwrap_or(0);
            Carry::reopened(story, highest, reason)
        }),
    };
    Origin::Resumed(Box::new(Resumption {
        carry,
        used: so_far.used(),
        stories: so_far.used_by_stories(),
        attempts: open.attempts,
        notes: so_far.notes,
        red_before: so_far.red_before,
    }))
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

fn nothing_left(change: &Change) -> bool {
    change
        .stories
        .iter()
        .all(|story| story.state != StoryState::Open)
}

fn policy(order: &Order) -> Policy {
    let settings = &order.settings;
    Policy {
        max_retries: settings.max_retries.value,
        only_story: order.only_story.clone(),
        idle_timeout: settings.idle_timeout.value.0,
        total_timeout: settings.total_timeout.value.0,
        final_grace: settings.grace.value.or_zero(),
        max_wait: settings.max_wait.value.0,
        strict_tasks: settings.strict_tasks.value,
        require_changes: settings.require_changes.value,
        tamper: TamperPolicy::of(settings),
        gates: settings
            .gates
            .value
            .iter()
            .map(|gate| Gate {
                name: gate.name.clone(),
                run: gate.run.clone(),
                timeout: gate.timeout.0,
                baseline: gate.baseline,
                when: gate.when,
                keep_changes: gate.keep_changes,
            })
            .collect(),
        on_finish: match settings.on_finish.value {
            // Nobody is there to ask: keeping loses nothing.
            OnFinish::Ask if !order.attended => OnFinish::Keep,
            choice => choice,
        },
        backoff: Backoff {
            first: settings.limit_pause.value.or_zero().max(SHORTEST_PAUSE),
            ..Backoff::default()
        },
        budget: Budget::of_run(settings),
        story_budget: Budget::of_story(settings),
        prices: Prices(
            settings
                .prices
                .iter()
                .map(|(name, price)| (name.clone(), price.value))
                .collect(),
        ),
        ..Policy::default()
    }
}

fn shell(environment: &[(OsString, OsString)]) -> OsString {
    let own = environment
        .iter()
        .find(|(name, _)| name == "SHELL")
        .map(|(_, value)| value.as_os_str());
    gate::shell(own)
}

fn new_run() -> RunId {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    RunId(format!("{now}-{}", random_name(4)))
}

fn warning(text: &str) -> Event {
    Event::Warning {
        code: "settings".to_owned(),
        message: text.to_owned(),
    }
}

/// Before anything was touched, every failure is a refusal, but for faults of the system.
pub fn refusal(error: &CheckpointError) -> Failure {
    let failure = if error.is_refusal() {
        Failure::refused(chain(error))
    } else {
        Failure::system(chain(error))
    };
    with_hint(failure, error)
}

pub fn broken(error: &CheckpointError) -> Failure {
    with_hint(
        Failure::system(format!(
            "what an interrupted run left could not be mended: {}",
            chain(error)
        )),
        error,
    )
}

fn with_hint(failure: Failure, error: &CheckpointError) -> Failure {
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
