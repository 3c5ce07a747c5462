//! Performing effects: each calls one edge and turns its answer into an input.

use std::path::{Path, PathBuf};

use super::gating::Judging;
use super::housekeeping::tidy;
use super::start::{Told, outside_of_last};
use super::{End, Engine, EngineError, Running, chain};
use crate::machine::{self, Effect, Input, Save, StoryView, Ticket};
use crate::policy::{self, Consequence};
use crate::records::event::{FailureKind, FinishChoice};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_plan::boxes::StoryCheck;
use ralph_plan::source::{self, SourceError};
use ralph_plan::tasks::{Task, TaskState};
use ralph_vault::journal::steps::StoryNote;
use ralph_vault::session::{CheckpointError, FinishReport, Setback};

/// Routes one effect.
pub(super) async fn perform(engine: &mut Engine, effect: Effect) -> Result<(), EngineError> {
    match effect {
        Effect::ReadBacklog { ticket } => engine.read_backlog(ticket).await,
        Effect::Begin { ticket } => return engine.begin(ticket).await,
        Effect::StartAgent {
            ticket,
            story,
            attempt,
            choice,
            previous,
            notes,
        } => {
            let attempt = AttemptId { story, attempt };
            let told = Told { previous, notes };
            return engine.start_agent(ticket, attempt, &choice, told).await;
        }
        Effect::StopAgent { grace, .. } => {
            if let Some(Running::Agent(agent)) = &mut engine.running {
                agent.stop(grace);
            }
        }
        Effect::CheckStory { ticket, story } => return engine.check_story(ticket, &story).await,
        Effect::LookBefore {
            ticket,
            story,
            known,
        } => return engine.look_before(ticket, &story, known).await,
        Effect::RunGate {
            ticket,
            story,
            gate,
            name,
            ground,
        } => {
            let judging = Judging { gate, ground };
            return engine.run_gate(ticket, judging, (&story, &name)).await;
        }
        Effect::Reopen { ticket, reopening } => return engine.reopen(ticket, reopening).await,
        Effect::StopGate { grace, .. } => {
            if let Some(Running::Gate(gate)) = &mut engine.running {
                gate.stop(grace);
            }
        }
        Effect::TickStory { ticket, story } => return engine.tick_story(ticket, &story).await,
        Effect::Save { ticket, save } => return engine.save(ticket, save).await,
        Effect::Park {
            ticket,
            attempt,
            kind,
            reason,
        } => return engine.park(ticket, &attempt, kind, reason).await,
        Effect::Restore { ticket } => return engine.restore(ticket).await,
        Effect::SetTimer { timer, after } => engine.timers.set(timer, after),
        Effect::SetTimerAt { timer, at } => engine.timers.set_at(timer, at),
        Effect::CancelTimer { timer } => engine.timers.cancel(timer),
        // Where nobody is there to ask, keeping loses nothing; else the user's answer is a command.
        Effect::AskFinish { ticket } => {
            if engine.user.is_none() {
                let choice = FinishChoice::Keep;
                engine
                    .ready
                    .push_back(Input::FinishChosen { ticket, choice });
            }
        }
        Effect::Finish { ticket, choice } => return engine.finish(ticket, choice).await,
        Effect::Announce(event) => engine.recorder.record(*event).await?,
        Effect::End { exit_code, .. } => engine.end = Some(End { exit_code }),
    }
    Ok(())
}

impl Engine {
    async fn read_backlog(&mut self, ticket: Ticket) {
        let change = self.job.change.clone();
        let surroundings = self.job.surroundings.clone();
        let read = on_thread(move || source::read_again(&change, &surroundings)).await;
        match read {
            Ok(change) => {
                let stories = change.stories.iter().map(view).collect();
                self.job.change = change.clone();
                self.story_base = Some(change);
                self.ready.push_back(Input::Backlog { ticket, stories });
            }
            Err(error) => self.source_failed(ticket, "could not read the change again", &error),
        }
    }

    async fn begin(&mut self, ticket: Ticket) -> Result<(), EngineError> {
        let run = self.job.run.clone();
        let begun = if self.job.resumed {
            self.checkpoints.adopt()
        } else {
            let place = source::place_of(&self.job.change);
            let folder = place.as_deref().and_then(|place| {
                let folder = source::folder_of_plan(Path::new(place), &self.job.change.name);
                folder.to_str().map(str::to_owned)
            });
            self.checkpoints.set_plan(place, folder);
            self.checkpoints.begin(&run, &self.job.change.name)
        };
        match begun {
            Ok(begun) => {
                self.warn(begun.notices).await?;
                self.ready.push_back(Input::BeginDone {
                    ticket,
                    branch: begun.branch,
                    original: begun.original,
                    original_commit: begun.original_commit,
                });
            }
            Err(error) => self.failed(ticket, "could not make the checkpoint branch", &error),
        }
        Ok(())
    }

    async fn check_story(&mut self, ticket: Ticket, story: &StoryId) -> Result<(), EngineError> {
        let Some(base) = self.story_base.clone() else {
            self.unanswerable(ticket, "the change was never read");
            return Ok(());
        };
        let id = story.clone();
        let checked = on_thread(move || {
            let check = source::check_story(&base, &id)?;
            source::put_back_foreign(&check)?;
            Ok((base, check))
        })
        .await;
        let (base, check) = match checked {
            Ok(checked) => checked,
            Err(error) => {
                self.source_failed(ticket, "could not check the task file", &error);
                return Ok(());
            }
        };
        let files: Vec<PathBuf> = base
            .task_files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        let watch = self.watch(&base);
        let wants_text = |path: &str| watch.wants_text(path);
        let looked = self.checkpoints.changed(&files, wants_text);
        if self.has_story_gates() {
            self.checkpoints.mark_looked();
        }
        let changed = match looked {
            Ok(changed) => changed,
            Err(error) => {
                self.failed(ticket, "could not look at what the attempt changed", &error);
                return Ok(());
            }
        };
        let changed_files = changed.count;
        let tamper = self.findings((&base, &check), watch, changed).await;
        self.ready.push_back(Input::StoryChecked {
            ticket,
            check: machine::StoryCheck {
                missing: lost(&check),
                still_open: check.still_open.clone(),
                changed_files,
                tamper,
            },
        });
        Ok(())
    }

    async fn tick_story(&mut self, ticket: Ticket, story: &StoryId) -> Result<(), EngineError> {
        let Some(base) = self.story_base.clone() else {
            self.unanswerable(ticket, "the change was never read");
            return Ok(());
        };
        if self.has_story_gates() {
            let put_back = self.checkpoints.put_back_to_mark();
            if !self.is_put_back(ticket, put_back).await? {
                return Ok(());
            }
        }
        let id = story.clone();
        let files: Vec<PathBuf> = base.task_files.iter().map(|it| it.path.clone()).collect();
        let done = on_thread(move || source::tick_story(&base, &id)).await;
        self.checkpoints.we_wrote(&files);
        match done {
            Ok(tasks) => self.ready.push_back(Input::Ticked { ticket, tasks }),
            Err(error) => self.source_failed(ticket, "could not tick the story's boxes", &error),
        }
        Ok(())
    }

    async fn save(&mut self, ticket: Ticket, save: Save) -> Result<(), EngineError> {
        let passed = self.job.gates.iter();
        let passed = passed.filter(|gate| save.gates.contains(&gate.name));
        let passed: Vec<String> = passed.map(|gate| gate.run.clone()).collect();
        let story = StoryNote {
            id: save.story,
            title: save.title,
            attempts: save.attempts,
            gates: save.gates,
        };
        match self.checkpoints.save(&story) {
            Ok(report) => {
                self.warn(report.notices).await?;
                self.remember(&passed);
                self.ready.push_back(Input::Saved {
                    ticket,
                    commit: report.commit,
                    changed_files: report.changed_files,
                });
            }
            Err(error) => self.failed(ticket, "could not write the checkpoint commit", &error),
        }
        Ok(())
    }

    async fn park(
        &mut self,
        ticket: Ticket,
        attempt: &AttemptId,
        kind: FailureKind,
        reason: String,
    ) -> Result<(), EngineError> {
        let setback = Setback {
            attempt: attempt.clone(),
            told: policy::is_told(kind).then(|| reason.clone()),
            counts: policy::consequence(kind) == Consequence::Retry,
            kind,
            why: reason,
        };
        match self.checkpoints.park(setback) {
            Ok(report) => {
                self.warn(report.notices).await?;
                self.ready.push_back(Input::Parked {
                    ticket,
                    changed_files: report.changed_files,
                });
            }
            Err(error) => self.failed(ticket, "could not park the attempt", &error),
        }
        Ok(())
    }

    async fn restore(&mut self, ticket: Ticket) -> Result<(), EngineError> {
        // First: once the journal says that all is restored, nobody would look again.
        if let Some(kept) = outside_of_last(&self.checkpoints)
            && let Err(error) = on_thread(move || source::put_back_outside(&kept)).await
        {
            self.source_failed(ticket, "could not put the task file back", &error);
            return Ok(());
        }
        match self.checkpoints.restore() {
            Ok(notices) => {
                self.warn(notices).await?;
                self.ready.push_back(Input::Restored { ticket });
            }
            Err(error) => self.failed(ticket, "could not restore the checkpoint", &error),
        }
        Ok(())
    }

    async fn finish(&mut self, ticket: Ticket, choice: FinishChoice) -> Result<(), EngineError> {
        match self.try_finish(choice) {
            Ok(report) => {
                self.warn(report.notices).await?;
                let tidied = tidy(&mut self.checkpoints, self.job.vault_limit).await;
                self.warn(tidied).await?;
                self.ready.push_back(Input::Finished {
                    ticket,
                    head: report.head,
                    branch: report.branch,
                    changed_files: report.changed_files,
                });
            }
            Err(error) => self.ready.push_back(Input::FinishFailed {
                ticket,
                reason: format!("could not finish the run: {}", chain(&error)),
                hint: self.hint_about(&error),
                begun: self.checkpoints.unfinished_move().is_some(),
            }),
        }
        Ok(())
    }

    fn try_finish(&mut self, choice: FinishChoice) -> Result<FinishReport, CheckpointError> {
        if let Some(report) = self.half_finished.clone()
            && self.checkpoints.unfinished_move().is_some()
        {
            self.checkpoints.recover()?;
            if self.checkpoints.open_run().is_none() {
                return Ok(report);
            }
        }
        let prepared = self.checkpoints.prepare_finish(choice)?;
        self.half_finished = Some(prepared.report().clone());
        self.checkpoints.carry_out_finish(prepared)
    }

    pub fn source_failed(&mut self, ticket: Ticket, what: &str, error: &SourceError) {
        self.ready.push_back(Input::StepFailed {
            ticket,
            what: what.to_owned(),
            reason: chain(error),
            hint: error
                .hint()
                .unwrap_or_else(|| "mend the file and start ralphtool again".to_owned()),
        });
    }
}

/// Reads and writes task files on a thread of their own.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, SourceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Tasks the attempt removed, or set aside by itself: neither is doing them.
pub(super) fn lost(check: &StoryCheck) -> Vec<String> {
    let set_aside = check
        .set_aside
        .iter()
        .map(|task| format!("{task} (set aside)"));
    let elsewhere = check
        .foreign_missing
        .iter()
        .map(|task| format!("{task} (of another story)"));
    check
        .missing
        .iter()
        .cloned()
        .chain(set_aside)
        .chain(elsewhere)
        .collect()
}

fn view(story: &ralph_plan::change::Story) -> StoryView {
    let deferred = |task: &&Task| task.is_required() && task.state == TaskState::Deferred;
    let done = |task: &&Task| task.state == TaskState::Done;
    StoryView {
        id: story.id.clone(),
        title: story.title.clone(),
        state: story.state,
        open_tasks: story.open_tasks().count(),
        deferred_tasks: story.tasks.iter().filter(deferred).count(),
        tasks_done: story.tasks.iter().filter(done).count(),
        tasks_total: story.tasks.len(),
    }
}
