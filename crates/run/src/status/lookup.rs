//! The status of a repository's run, read without the lock, once or repeatedly.

use std::path::PathBuf;

use jiff::{Timestamp, Zoned};

use crate::answers::{Answer, Answers};
use crate::engine::REPAIR_TIMEOUT;
use crate::engine::follow::Follower;
use crate::failure::{Failure, chain};
use crate::history::lookup::look_at_own_vault;
use crate::records::event::{Event, QuestionAsked, Record};
use crate::records::progress::Progress;
use crate::status::{Status, Whereabouts};
use ralph_base::ids::StoryId;
use ralph_vault::Look;
use ralph_vault::git::repository::{Refs, Repository};
use ralph_vault::store::holder;

/// Watches the run of a repository.
pub struct Watch {
    repository: Repository,
    vault: PathBuf,
    owner: Option<String>,
    found: Option<Found>,
}

/// The run that is watched.
struct Found {
    place: Whereabouts,
    follower: Follower,
    progress: Progress,
}

impl Watch {
    /// Finds the run: the open one, else the newest.
    pub fn open(repository: Repository, vault: PathBuf) -> Result<Self, Failure> {
        let mut watch = Self {
            repository,
            vault,
            owner: None,
            found: None,
        };
        watch.find_run()?;
        Ok(watch)
    }

    /// Reads on; returns the records that are new.
    pub fn refresh(&mut self, now: Timestamp) -> Result<Vec<Record>, Failure> {
        let owner = self.holder()?;
        let mut records = self.read_on(now)?;
        let is_turn = |record: &Record| {
            matches!(
                record.event,
                Event::RunStarted { .. } | Event::RunEnded { .. } | Event::Finished { .. }
            )
        };
        if owner != self.owner || self.found.is_none() || records.iter().any(is_turn) {
            self.find_run()?;
            records.extend(self.read_on(now)?);
        }
        Ok(records)
    }

    /// Where the run stands.
    pub fn status(&self, now: &Zoned) -> Status {
        match &self.found {
            Some(found) => Status::of(&found.place, &found.progress, now),
            None => Status::nothing(self.owner.clone()),
        }
    }

    /// What agents asked in the run, without an answer so far.
    pub fn questions(&self) -> Vec<QuestionAsked> {
        let progress = self.found.iter().map(|found| &found.progress);
        let questions = progress.flat_map(|it| it.questions.values());
        questions.cloned().collect()
    }

    /// Leaves the answer to a question about a story for the run.
    pub fn leave_answer(&self, story: &StoryId, text: &str, now: Timestamp) -> Result<(), Failure> {
        let Some(found) = &self.found else {
            return Err(Failure::refused("no run took place in this repository"));
        };
        let run = self.vault.join("runs").join(&found.place.run.0);
        let answer = Answer {
            story: story.clone(),
            text: text.to_owned(),
        };
        Answers::of(&run).leave(&answer, now).map_err(|error| {
            Failure::system("could not save the answer")
                .because(error)
                .hint("nothing was changed: fix that, then answer again")
        })
    }

    fn read_on(&mut self, now: Timestamp) -> Result<Vec<Record>, Failure> {
        let Some(found) = &mut self.found else {
            return Ok(Vec::new());
        };
        let records = found
            .follower
            .read_on(now)
            .map_err(|error| unreadable(&error))?;
        for record in &records {
            found.progress.apply(record);
        }
        Ok(records)
    }

    fn holder(&self) -> Result<Option<String>, Failure> {
        holder(&self.vault).map_err(|error| unreadable(&error))
    }

    /// Finds the run in the journal, the only place that says which run is open.
    fn find_run(&mut self) -> Result<(), Failure> {
        self.owner = self.holder()?;
        let journal = look_at_own_vault(&self.repository, &self.vault);
        let journal = journal.map_err(|error| unreadable(&error))?;
        let place = journal.and_then(|it| self.whereabouts(&it));
        let Some(place) = place else {
            self.found = None;
            return Ok(());
        };
        match &mut self.found {
            Some(found) if found.place.run == place.run => found.place = place,
            _ => {
                let work_tree = &self.repository.work_tree;
                self.found = Some(Found {
                    follower: Follower::of(&self.vault, &place.run, work_tree),
                    progress: Progress::default(),
                    place,
                });
            }
        }
        Ok(())
    }

    fn whereabouts(&self, journal: &Look) -> Option<Whereabouts> {
        let is_open = journal.open.is_some();
        let last = journal.last_run()?;
        Some(Whereabouts {
            run: last.run.clone(),
            change: last.change.clone(),
            is_open,
            owner: self.owner.clone(),
            half_way: journal.half_way.filter(|_| is_open),
            head: self.head(),
        })
    }

    /// Where HEAD is; git may be unable to say it in a repository that an attempt has damaged.
    fn head(&self) -> Option<String> {
        if !self.repository.has_head() {
            return None;
        }
        let git = self.repository.git(REPAIR_TIMEOUT);
        let head = Repository::ask_head(&git, &Refs::new()).ok()?;
        Some(head.shown())
    }
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::system(format!("could not look for the run: {}", chain(error)))
}
