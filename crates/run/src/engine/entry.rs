//! How a start treats the last run of the work tree: it resumes the run on its branch, leaves it, or
//! starts over from where it began. Work that is done is never done again without being asked.

use std::ffi::OsString;
use std::path::Path;

use super::departure::{Departure, LeftRun, WayBack, complete_record, keep};
use super::repair::{OpenVault, other_plan, other_run};
use super::{REPAIR_TIMEOUT, chain, outside};
use crate::failure::Failure;
use crate::records::event::{Event, Outcome, Record};
use crate::records::file;
use crate::records::progress::Progress;
use crate::words::uncommitted;
use ralph_base::ids::{RunId, StoryId};
use ralph_base::shell::quoted;
use ralph_plan::change::{Change, Story, StoryState};
use ralph_vault::git::process::Git;
use ralph_vault::git::repository::Repository;
use ralph_vault::git::status::tree_state;
use ralph_vault::{
    CheckpointError, Failed, HeadPlace, Leaving, OpenRun, RunPlace, Session, Settled, Standing,
};

/// How an earlier run is treated. By default a run of the same change is resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StartMode {
    /// Start over where a run could be resumed.
    pub fresh: bool,
    /// Build on the branch of another run, where HEAD is on it.
    pub on_top: bool,
}

/// A change that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct WantedChange<'a> {
    pub name: &'a str,
    /// Where it is read from, where that is known.
    pub place: Option<&'a str>,
    /// Its plan where HEAD is, if it is there.
    pub change: Option<&'a Change>,
}

impl WantedChange<'_> {
    /// Whether a run was one of this change. Plans in several places can have one name.
    pub(crate) fn is_of(&self, run: &OpenRun) -> bool {
        let places = self.place.zip(run.plan.as_deref());
        self.name == run.change && places.is_none_or(|(place, plan)| place == plan)
    }
}

/// What a start begins with.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A new run.
    New,
    /// The last run, whose branch HEAD is on.
    Resume,
    /// Nothing: all stories are done, on a branch where HEAD is not.
    DoneOnBranch(Box<DoneRun>),
}

/// A kept run without open stories.
#[derive(Debug, Clone, PartialEq)]
pub struct DoneRun {
    pub change: String,
    pub branch: String,
    /// Where HEAD was when it began, as people say it.
    pub original: String,
    pub progress: Progress,
    /// Why it ended.
    pub outcome: Outcome,
    /// The record that says so.
    pub record: Record,
}

impl DoneRun {
    /// Reads it from the records of the run; none where a story is open.
    fn read(standing: &Standing, vault: &Path) -> Option<Self> {
        let folder = vault.join("runs").join(&standing.run.run.0);
        let records = file::read(&folder).ok().flatten()?.records;
        let progress = Progress::of(&records);
        let ended = progress.ended.clone()?;
        // Old records do not list the stories.
        let is_complete = if progress.stories.is_empty() {
            ended.stories_total > 0 && ended.stories_done >= ended.stories_total
        } else {
            !progress.has_open_stories()
        };
        // A rewind takes stories away, and old records do not say so.
        let mut done = progress.stories.iter().filter(|it| !it.commits.is_empty());
        let all_there = done.all(|it| standing.left.stories.contains(&it.id));
        if !is_complete || !all_there {
            return None;
        }
        let mut ends = records.into_iter().rev();
        let record = ends.find(|it| matches!(it.event, Event::RunEnded(_)))?;
        Some(Self {
            change: standing.run.change.clone(),
            branch: standing.run.branch.clone(),
            original: standing.left.original.clone(),
            progress,
            outcome: ended.outcome,
            record,
        })
    }

    /// The first open story of a plan that the run did not have, or not with all of its tasks.
    fn lacks<'a>(&self, stories: &'a [Story]) -> Option<&'a StoryId> {
        let known = &self.progress.stories;
        // Old records list neither stories nor their tasks.
        let is_known = |story: &Story| {
            let mut same = known.iter().filter(|it| it.id == story.id);
            let has_all = |total: usize| total == 0 || story.tasks.len() <= total;
            known.is_empty() || same.any(|it| has_all(it.tasks_total))
        };
        let mut open = stories.iter().filter(|it| it.state == StoryState::Open);
        open.find(|it| !is_known(it)).map(|it| &it.id)
    }

    /// A plan has more to do where HEAD is: the branch does not have that, and HEAD not the work.
    fn refuse_without(&self, story: &StoryId, head: &str) -> Failure {
        let Self { change, branch, .. } = self;
        let word = |name: &str| quoted(Path::new(name));
        Failure::refused(format!(
            "story {story} of `{change}` has tasks on `{head}` that its run did not have, and the work \
             of the run is on `{branch}`"
        ))
        .hint(format!(
            "`git switch {}` and add them to the plan there; then `ralphtool resume` does them",
            word(branch)
        ))
        .hint(format!(
            "or `git merge {}` here, with the boxes of both plans; then `ralphtool run {}` does them in \
             a new run",
            word(branch),
            word(change)
        ))
    }
}

impl OpenVault {
    /// Decides how to start, and moves HEAD where the run needs it.
    /// Without a change, that of the last run is meant.
    pub fn enter(
        mut self,
        change: Option<WantedChange<'_>>,
        mode: StartMode,
    ) -> Result<(Self, Entry), Failure> {
        if mode.fresh {
            return Ok((self.leave_last(change, mode.on_top)?, Entry::New));
        }
        let (entry, run) = self.entry(change)?;
        if let (Entry::Resume, Some(run)) = (&entry, run) {
            self.session.recall(&run);
        }
        if matches!(entry, Entry::Resume)
            && let Some(switched) = self.session.switch_back()?
        {
            self.departure = Some(Departure {
                event: Event::Recovered {
                    found: format!("HEAD was on `{}`", switched.from.shown()),
                    done: format!("switched to `{}`, where the run is", switched.to),
                },
                way_back: WayBack::Switch(switched),
            });
        }
        Ok((self, entry))
    }

    /// The branch of the last run, where the start has switched to it.
    pub fn switched_to(&self) -> Option<&str> {
        match self.departure.as_ref().map(|it| &it.way_back) {
            Some(WayBack::Switch(switched)) => Some(&switched.to),
            _ => None,
        }
    }

    /// Goes back to where everything was before [`Self::enter`]: no run comes of the start.
    pub fn take_back(mut self) -> Result<(), Failure> {
        match self.departure.take() {
            Some(departure) => departure.take_back(self.session),
            None => Ok(()),
        }
    }

    /// A refusal touches nothing.
    pub fn refuse(self, failure: Failure) -> Failure {
        match self.take_back() {
            Ok(()) => failure,
            Err(stuck) => stuck
                .hints()
                .iter()
                .fold(failure.hint(chain(&stuck)), Failure::hint),
        }
    }

    /// How to start, and the run that this is about.
    fn entry(&self, change: Option<WantedChange<'_>>) -> Result<(Entry, Option<RunId>), Failure> {
        let is_wanted = |run: &OpenRun| change.is_some_and(|change| change.is_of(run));
        let standing = self.standing(is_wanted)?;
        let vault = self.session.vault().vault_folder();
        let entry = entry_by(standing.as_ref(), change, vault)?;
        Ok((entry, standing.map(|it| it.run.run)))
    }

    /// The kept run of a change whose branch HEAD is on, if no story is open in it.
    pub fn done_here(&self, change: WantedChange<'_>) -> Result<Option<DoneRun>, Failure> {
        let is_here = |it: &Standing| {
            it.place == RunPlace::Kept(HeadPlace::OnBranch) && change.is_of(&it.run)
        };
        let standing = self.standing(|run| change.is_of(run))?.filter(is_here);
        let vault = self.session.vault().vault_folder();
        Ok(standing.and_then(|it| DoneRun::read(&it, vault)))
    }

    /// The open run; else the kept one that is wanted, else the last kept one.
    fn standing(&self, is_wanted: impl Fn(&OpenRun) -> bool) -> Result<Option<Standing>, Failure> {
        let vault = self.session.vault();
        let mut standing = vault.standing(|run| is_wanted(&self.here(run.clone())))?;
        if let Some(standing) = &mut standing {
            standing.run = self.here(standing.run.clone());
        }
        Ok(standing)
    }

    /// Ends the last run with its branch kept; where HEAD is on it, goes back to where it began,
    /// unless the next run is to be built on top of it.
    fn leave_last(
        mut self,
        wanted: Option<WantedChange<'_>>,
        on_top: bool,
    ) -> Result<Self, Failure> {
        let Some(standing) = self.standing(|_| false)? else {
            return Ok(self);
        };
        let (last, place) = (&standing.run, standing.place);
        let left = if place.is_open() {
            LeftRun::Open
        } else {
            LeftRun::Kept
        };
        let branch = &last.branch;
        let repository = self.repository();
        let fresh = FreshStart {
            repository,
            git: &repository.git(REPAIR_TIMEOUT),
            wanted,
            on_top,
        };
        let leaving = fresh.leaving(&standing)?;
        let tree = tree_state(fresh.git, &repository.work_tree).map_err(CheckpointError::from)?;
        let done = match leaving {
            Leaving::Over => return Ok(self),
            Leaving::Keep => {
                self.session = keep(self.session)?;
                format!("kept its branch `{branch}`")
            }
            Leaving::GoBack(_) => {
                if !place.is_open() {
                    self.session.reopen_kept()?;
                }
                let saved = uncommitted(&tree)
                    .map(|files| format!(" and restores what was not committed: {files}"));
                self.session = start_over(self.session, last)?;
                format!(
                    "returned to where it began; its branch `{branch}` is kept, and `ralphtool undo` \
                     returns to it{}",
                    saved.unwrap_or_default()
                )
            }
        };
        complete_record(&self.session)?;
        let found = if place.is_on_branch() {
            format!("HEAD was on the branch of a run of `{}`", last.change)
        } else {
            format!("a run of `{}` was not finished", last.change)
        };
        self.departure = Some(Departure {
            event: Event::Recovered { found, done },
            way_back: WayBack::Undo(left),
        });
        Ok(self)
    }
}

/// A start that does not resume the last run.
#[derive(Clone, Copy)]
pub(crate) struct FreshStart<'a> {
    pub repository: &'a Repository,
    pub git: &'a Git,
    pub wanted: Option<WantedChange<'a>>,
    /// The next run may be built on top of the last one.
    pub on_top: bool,
}

impl FreshStart<'_> {
    /// How the last run is left; refused where the next one could not have its branch, or would take
    /// stories for done whose work is elsewhere.
    pub(crate) fn leaving(self, standing: &Standing) -> Result<Leaving, Failure> {
        let leaving = standing.leaving(self.on_top)?;
        if self
            .wanted
            .is_some_and(|change| !change.is_of(&standing.run))
        {
            return Ok(leaving);
        }
        match leaving {
            Leaving::GoBack(_) => standing.refuse_commits()?,
            Leaving::Keep | Leaving::Over => self.refuse_ticked(standing)?,
        }
        Ok(leaving)
    }

    /// Boxes that the last run ticked in a file that belongs to no branch are ticked on every branch.
    fn refuse_ticked(self, standing: &Standing) -> Result<(), Failure> {
        let change = self.wanted.and_then(|wanted| wanted.change);
        let Some(change) = change.filter(|_| !standing.is_work_at_head()) else {
            return Ok(());
        };
        let is_ticked = |story: &&Story| {
            story.state != StoryState::Open && standing.left.stories.contains(&story.id)
        };
        let Some(story) = change.stories.iter().find(is_ticked) else {
            return Ok(());
        };
        let mut files = change.task_files.iter();
        let Some(file) = files.find(|file| self.is_in_no_branch(&file.path)) else {
            return Ok(());
        };
        let (branch, id) = (&standing.run.branch, &story.id);
        let switch = format!(
            "`git switch {}` first: from there `--fresh` opens the boxes as well",
            quoted(Path::new(branch))
        );
        let work = if standing.has_branch() {
            format!("its work is on `{branch}` only")
        } else {
            format!("its work was on `{branch}`, which is gone")
        };
        Err(Failure::refused(format!(
            "story {id} is ticked in `{}`, which is in no branch, and {work}",
            file.label
        ))
        .maybe_hint(standing.has_branch().then_some(switch))
        .hint("or open the boxes of the stories that are to be done again by hand"))
    }

    /// Whether git has nothing to do with a file: it is outside of the work tree, or ignored.
    fn is_in_no_branch(self, file: &Path) -> bool {
        let Ok(path) = file.strip_prefix(&self.repository.work_tree) else {
            return true;
        };
        let mut args: Vec<OsString> = ["check-ignore", "--quiet", "--"].map(Into::into).to_vec();
        args.push(path.into());
        let asked = self.git.output(&args, &[]);
        asked.is_ok_and(|answer| answer.status.success())
    }
}

/// How a start without `--fresh` treats the last run.
pub(crate) fn entry_by(
    standing: Option<&Standing>,
    wanted: Option<WantedChange<'_>>,
    vault: &Path,
) -> Result<Entry, Failure> {
    let Some(standing) = standing else {
        return Ok(Entry::New);
    };
    let run = &standing.run;
    if let Some(change) = wanted
        && !change.is_of(run)
    {
        return match (standing.place.is_open(), &run.plan) {
            (false, _) => Ok(Entry::New),
            (true, Some(plan)) if change.name == run.change => Err(other_plan(change.name, plan)),
            (true, _) => Err(other_run(&run.change)),
        };
    }
    // The last run is resumed if its branch is there, wherever its work is as well.
    if standing.place == RunPlace::TakenOver && wanted.is_some() {
        return Ok(Entry::New);
    }
    let is_away = matches!(
        standing.place,
        RunPlace::Kept(HeadPlace::Elsewhere) | RunPlace::TakenOver
    );
    let done = is_away.then(|| DoneRun::read(standing, vault)).flatten();
    let Some(done) = done else {
        return Ok(Entry::Resume);
    };
    let plan = wanted.and_then(|wanted| wanted.change);
    match plan.and_then(|change| done.lacks(&change.stories)) {
        Some(story) => Err(done.refuse_without(story, &standing.head)),
        None => Ok(Entry::DoneOnBranch(Box::new(done))),
    }
}

/// Files, index and HEAD go back to before the run; task files that no checkpoint reaches go along.
fn start_over(mut session: Session<Settled>, last: &OpenRun) -> Result<Session<Settled>, Failure> {
    let prepared = session.prepare_start_over()?;
    let folder = session.vault().run_folder(&last.run);
    let lines = session.vault().journal_lines();
    let lines =
        lines.map_err(|error| Failure::system("could not read the journal").because(error))?;
    let id = prepared.id().to_owned();
    if let Some(wanted) = outside::at_start(session.vault(), &lines, &last.run, None) {
        outside::keep(&folder, &id, &wanted)?;
    }
    let moved = session.start_over(prepared).map_err(Failed::into_error);
    let (session, _) = moved.map_err(|error| {
        let error = chain(&error);
        Failure::system(format!(
            "could not restore the state before the last run: {error}"
        ))
        .hint("no work was lost: any ralphtool command here continues it")
    })?;
    outside::put(&folder, &id)?;
    Ok(session)
}
