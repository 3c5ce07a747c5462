//! Performing effects: each calls one edge and turns its answer into an input.

use std::path::{Path, PathBuf};

use super::housekeeping::tidy;
use super::outside;
use super::start::outside_of_last;
use super::step::StepError;
use super::tampering::lost_tasks;
use super::task_watch::TaskWatch;
use super::vault_state::{VaultState, wrong_state};
use super::{End, Engine, EngineError, Running, chain};
use crate::machine::{self, Answer, Effect, SaveRequest, Step, StoryView, Ticket};
use crate::policy::Gate;
use crate::records::event::{Event, FinishChoice, TaskOutline};
use ralph_base::ids::StoryId;
use ralph_plan::change::Change;
use ralph_plan::source;
use ralph_plan::tasks::{Task, TaskState};
use ralph_vault::error::Notice;
use ralph_vault::{
    AfterRecovery, Attempt, BeginRequest, Failed, FinishFailed, FinishReport, Parked, Setback,
    Settled,
};

const NOT_FINISHED: &str = "could not finish the run";

/// Performs one effect. A step is answered here, unless it started a process or asks the user: then
/// the answer comes later.
pub(super) async fn perform(engine: &mut Engine, effect: Effect) -> Result<(), EngineError> {
    match effect {
        Effect::Step(ticket, step) => {
            let answer = engine.step(ticket, step).await;
            engine.answer(ticket, answer)?;
        }
        Effect::StopProcess { grace } => match &mut engine.running {
            Some(Running::Agent(agent)) => agent.stop(grace),
            Some(Running::Gate(gate)) => gate.stop(grace),
            Some(Running::Review(review)) => review.stop(grace),
            None => {}
        },
        Effect::SetTimer { timer, after } => engine.timers.set(timer, after),
        Effect::SetTimerAt { timer, at } => engine.timers.set_at(timer, at),
        Effect::CancelTimer { timer } => engine.timers.cancel(timer),
        Effect::Announce(event) => {
            match &*event {
                Event::StoryStarted(started) => {
                    engine.task_watch = Some(TaskWatch::of(started));
                }
                Event::StoryCompleted(_)
                | Event::StorySkipped { .. }
                | Event::StoryExhausted(_) => engine.task_watch = None,
                _ => {}
            }
            engine.recorder.record(*event).await?;
        }
        Effect::End { exit_code, .. } => engine.end = Some(End { exit_code }),
    }
    Ok(())
}

impl Engine {
    async fn step(&mut self, ticket: Ticket, step: Step) -> Result<Option<Answer>, StepError> {
        let answer = match step {
            Step::ReadBacklog => self.read_backlog()?,
            Step::Begin => self.begin().await?,
            Step::StartAgent(request) => self.start_agent(ticket, request).await?,
            Step::CheckStory(story) => self.check_story(&story)?,
            Step::RecallGates { story, known } => self.recall_gates(&story, known).await?,
            Step::RunGate(request) => {
                self.run_gate(ticket, request).await?;
                return Ok(None);
            }
            Step::UndoGates => {
                let restored = self.session::<Attempt>()?.end_gates();
                self.report_restore(restored).await?;
                Answer::GatesUndone
            }
            Step::CompareWithStart => self.compare_with_start()?,
            Step::Review(request) => self.start_review(ticket, request).await?,
            Step::Reopen(reopening) => self.reopen(reopening).await?,
            Step::TickStory(story) => self.tick_story(&story).await?,
            Step::Save(request) => self.save(request).await?,
            Step::Park(setback) => self.park(setback).await?,
            Step::Restore => self.restore().await?,
            Step::AskFinish if self.user.is_some() => return Ok(None),
            // Without a user to ask, keeping loses nothing.
            Step::AskFinish => Answer::FinishChosen(FinishChoice::Keep),
            Step::Finish(choice) => self.finish(choice).await?,
        };
        Ok(Some(answer))
    }

    fn read_backlog(&mut self) -> Result<Answer, StepError> {
        self.read_plan_again()?;
        let stories = self.run.change.stories.iter().map(view).collect();
        Ok(Answer::Backlog(stories))
    }

    /// Reads the change as it is now; the story at hand is compared with that.
    pub(super) fn read_plan_again(&mut self) -> Result<(), StepError> {
        let mut change = source::read_again(&self.run.change, &self.run.surroundings)
            .map_err(|error| StepError::source("could not read the change again", &error))?;
        self.run.settings.add_dependencies(&mut change);
        self.run.change = change.clone();
        self.story_base = Some(change);
        Ok(())
    }

    async fn begin(&mut self) -> Result<Answer, StepError> {
        let settled = self.take_session::<Settled>()?;
        let begun = if self.resumed {
            settled.resume()
        } else {
            let change = &self.run.change;
            let plan = source::place_of(change);
            let folder = plan
                .as_deref()
                .map(|plan| source::folder_of_plan(Path::new(plan), &change.name));
            settled.begin(BeginRequest {
                run: &self.id,
                change: &change.name,
                branch: &self.branch,
                plan: plan.as_deref(),
                plan_folder: folder.as_deref().and_then(Path::to_str),
            })
        };
        let begun = self.put_session("could not make the checkpoint branch", begun);
        let resumed = self.resumed;
        let mut begun = begun.map_err(|error| if resumed { error } else { error.of_begin() })?;
        self.warn(std::mem::take(&mut begun.notices)).await?;
        Ok(Answer::Begun(begun))
    }

    /// The change as it was when the story at hand began.
    fn story_base(&self) -> Result<Change, StepError> {
        let base = self.story_base.clone();
        base.ok_or_else(|| StepError::internal("the change was never read"))
    }

    fn check_story(&mut self, story: &StoryId) -> Result<Answer, StepError> {
        let base = self.story_base()?;
        let check = source::check_story(&base, story)
            .and_then(|check| source::restore_foreign(&check).map(|_| check))
            .map_err(|error| StepError::source("could not check the task file", &error))?;
        let watch = self.watch(&base);
        let gates_follow = self.has_story_judges();
        let attempt = self.session::<Attempt>()?;
        let changed = attempt.changed(&task_files(&base), |path| watch.wants_text(path));
        if gates_follow {
            attempt.start_gates();
        }
        let changed = changed.map_err(|error| {
            StepError::vault("could not find out what the attempt changed", &error)
        })?;
        let changed_files = changed.count;
        let touched = self.touched_by_attempt(&base, &changed);
        let tamper = self.findings(&base, &check, watch, changed);
        Ok(Answer::StoryChecked(machine::StoryCheck {
            lost: lost_tasks(&check),
            still_open: check.still_open,
            changed_files,
            touched,
            tamper,
        }))
    }

    async fn tick_story(&mut self, story: &StoryId) -> Result<Answer, StepError> {
        let base = self.story_base()?;
        if self.has_story_judges() {
            let restored = self.session::<Attempt>()?.undo_gate_changes();
            self.report_restore(restored).await?;
        }
        let done = source::tick_story(&base, story);
        self.session::<Attempt>()?
            .note_own_writes(&task_files(&base));
        let tasks =
            done.map_err(|error| StepError::source("could not tick the story's boxes", &error))?;
        Ok(Answer::Ticked(tasks))
    }

    async fn save(&mut self, request: SaveRequest) -> Result<Answer, StepError> {
        let gates = &self.policy().gates;
        let green = request.green.iter().filter_map(|gate| gates.get(*gate));
        let green: Vec<Gate> = green.cloned().collect();
        let saved = self.take_session::<Attempt>()?.save(&request.note);
        let report = self.put_session("could not write the checkpoint commit", saved)?;
        self.warn(report.notices).await?;
        self.remember(&green);
        Ok(Answer::Saved {
            commit: report.commit,
            changed_files: report.changed_files,
        })
    }

    async fn park(&mut self, setback: Setback) -> Result<Answer, StepError> {
        let parked = self.take_session::<Attempt>()?.park(setback);
        let report = self.put_session("could not park the attempt", parked)?;
        self.warn(report.notices).await?;
        Ok(Answer::Parked(report.changed_files))
    }

    async fn restore(&mut self) -> Result<Answer, StepError> {
        // First: once the journal says that all is restored, nothing would look again.
        if let Some(kept) = outside_of_last(self.vault()?) {
            source::restore_outside(&kept)
                .map_err(|error| StepError::source("could not restore the task file", &error))?;
        }
        let restored = self.take_session::<Parked>()?.restore();
        let notices = self.put_session("could not restore the checkpoint", restored)?;
        self.warn(notices).await?;
        self.tasks_are_as_read();
        Ok(Answer::Restored)
    }

    async fn finish(&mut self, choice: FinishChoice) -> Result<Answer, StepError> {
        let report = self.try_finish(choice)?;
        self.warn(report.notices).await?;
        let limit = self.run.settings.vault_limit.value;
        let tidied = tidy(self.session::<Settled>()?.vault_mut(), limit);
        self.warn(tidied).await?;
        Ok(Answer::Finished {
            head: report.head,
            branch: report.branch,
            changed_files: report.changed_files,
        })
    }

    fn try_finish(&mut self, choice: FinishChoice) -> Result<FinishReport, StepError> {
        let mut session = match self.vault_state.take() {
            Some(VaultState::AtCheckpoint(session)) => session,
            // The last finish is half done.
            Some(VaultState::Opened(opened)) => match opened.recover(AfterRecovery::Continue) {
                Ok((settled, _)) => match settled.at_checkpoint() {
                    Ok(session) => session,
                    Err(settled) => {
                        self.vault_state = Some(VaultState::Settled(settled));
                        return self.half_finished.clone().ok_or_else(wrong_state);
                    }
                },
                Err(failed) => return Err(self.put_failed(NOT_FINISHED, *failed)),
            },
            other => {
                self.vault_state = other;
                return Err(wrong_state());
            }
        };
        let template = &self.run.settings.commit_message.value;
        let prepared = match session.prepare_finish(choice, template) {
            Ok(prepared) => prepared,
            Err(error) => return Err(self.put_failed(NOT_FINISHED, Failed { session, error })),
        };
        let displaced = match choice {
            FinishChoice::Abandon => outside::keep_for_abandon(session.vault(), &prepared),
            FinishChoice::Cleanup
            | FinishChoice::Keep
            | FinishChoice::Squash
            | FinishChoice::Reword => Ok(None),
        };
        let displaced = match displaced {
            Ok(displaced) => displaced,
            Err(failure) => {
                self.vault_state = Some(VaultState::AtCheckpoint(session));
                return Err(StepError::failure(NOT_FINISHED, &failure));
            }
        };
        self.half_finished = Some(prepared.report().clone());
        match session.finish(prepared) {
            Ok((settled, mut report)) => {
                self.vault_state = Some(VaultState::Settled(settled));
                // The branch is finished even if a task file outside of the tree is not restored.
                let put = displaced.map_or(Ok(()), |displaced| displaced.put());
                if let Err(failure) = put {
                    let message = chain(&failure);
                    let notice = Notice::new("outside_not_restored", message);
                    report.notices.push(notice);
                }
                Ok(report)
            }
            Err(failed) => Err(match *failed {
                FinishFailed::NotBegun(failed) => self.put_failed(NOT_FINISHED, failed),
                FinishFailed::HalfDone(failed) => self.put_failed(NOT_FINISHED, failed),
            }),
        }
    }
}

fn task_files(change: &Change) -> Vec<PathBuf> {
    let files = change.task_files.iter();
    files.map(|file| file.path.clone()).collect()
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
        tasks: TaskOutline::of(&story.tasks),
        depends_on: story.depends_on.clone(),
    }
}
