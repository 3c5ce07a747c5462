//! Performing effects: each calls one edge and turns its answer into an input.

use std::path::{Path, PathBuf};

use super::gate_run::GateTarget;
use super::housekeeping::tidy;
use super::start::{Briefing, outside_of_last};
use super::step::{Answer, StepError};
use super::tampering::lost_tasks;
use super::vault_state::{VaultState, wrong_state};
use super::{End, Engine, EngineError, Running, chain};
use crate::machine::{self, Branch, Effect, Input, StoryView, Ticket};
use crate::policy::{self, Consequence};
use crate::records::event::{FailureKind, FinishChoice};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_plan::change::Change;
use ralph_plan::source;
use ralph_plan::tasks::{Task, TaskState};
use ralph_vault::journal::steps::StoryNote;
use ralph_vault::{
    AfterRecovery, Attempt, BeginRequest, CheckpointError, Failed, FinishFailed, FinishReport,
    Parked, Setback, Settled,
};

/// Routes one effect; those with a ticket are answered here, but for a process that was started: its
/// end is the answer.
pub(super) async fn perform(engine: &mut Engine, effect: Effect) -> Result<(), EngineError> {
    let (ticket, answer) = match effect {
        Effect::ReadBacklog { ticket } => (ticket, engine.read_backlog(ticket)),
        Effect::Begin { ticket } => (ticket, engine.begin(ticket).await),
        Effect::StartAgent {
            ticket,
            story,
            attempt,
            choice,
            previous,
            notes,
        } => {
            let attempt = AttemptId { story, attempt };
            let briefing = Briefing { previous, notes };
            let started = engine.start_agent(ticket, attempt, &choice, briefing);
            (ticket, started.await)
        }
        Effect::CheckStory { ticket, story } => (ticket, engine.check_story(ticket, &story)),
        Effect::RecallGates {
            ticket,
            story,
            known,
        } => (ticket, engine.recall_gates(ticket, &story, known).await),
        Effect::RunGate {
            ticket,
            story,
            gate,
            name,
            ground,
        } => {
            let target = GateTarget { gate, ground };
            match engine.run_gate(ticket, target, &story, &name).await {
                Ok(()) => return Ok(()),
                Err(error) => (ticket, Err(error)),
            }
        }
        Effect::Reopen { ticket, reopening } => (ticket, engine.reopen(ticket, reopening).await),
        Effect::TickStory { ticket, story } => (ticket, engine.tick_story(ticket, &story).await),
        Effect::Save { ticket, story } => (ticket, engine.save(ticket, story).await),
        Effect::Park {
            ticket,
            attempt,
            kind,
            reason,
        } => (ticket, engine.park(ticket, attempt, kind, reason).await),
        Effect::Restore { ticket } => (ticket, engine.restore(ticket).await),
        Effect::Finish { ticket, choice } => (ticket, engine.finish(ticket, choice).await),
        // Without a user to ask, keeping loses nothing; else the user's command is the answer.
        Effect::AskFinish { ticket } if engine.user.is_none() => {
            let choice = FinishChoice::Keep;
            (ticket, Ok(Input::FinishChosen { ticket, choice }))
        }
        Effect::AskFinish { .. } => return Ok(()),
        Effect::StopAgent { grace, .. } => {
            if let Some(Running::Agent(agent)) = &mut engine.running {
                agent.stop(grace);
            }
            return Ok(());
        }
        Effect::StopGate { grace, .. } => {
            if let Some(Running::Gate(gate)) = &mut engine.running {
                gate.stop(grace);
            }
            return Ok(());
        }
        Effect::SetTimer { timer, after } => {
            engine.timers.set(timer, after);
            return Ok(());
        }
        Effect::SetTimerAt { timer, at } => {
            engine.timers.set_at(timer, at);
            return Ok(());
        }
        Effect::CancelTimer { timer } => {
            engine.timers.cancel(timer);
            return Ok(());
        }
        Effect::Announce(event) => return Ok(engine.recorder.record(*event).await?),
        Effect::End { exit_code, .. } => {
            engine.end = Some(End { exit_code });
            return Ok(());
        }
    };
    engine.answer(ticket, answer)
}

impl Engine {
    fn read_backlog(&mut self, ticket: Ticket) -> Answer {
        self.read_plan_again()?;
        let stories = self.run.change.stories.iter().map(view).collect();
        Ok(Input::Backlog { ticket, stories })
    }

    /// Reads the change as it is now; the story at hand is compared with that.
    pub(super) fn read_plan_again(&mut self) -> Result<(), StepError> {
        let change = source::read_again(&self.run.change, &self.run.surroundings)
            .map_err(|error| StepError::source("could not read the change again", &error))?;
        self.run.change = change.clone();
        self.story_base = Some(change);
        Ok(())
    }

    async fn begin(&mut self, ticket: Ticket) -> Answer {
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
                plan: plan.as_deref(),
                plan_folder: folder.as_deref().and_then(Path::to_str),
            })
        };
        let begun = self.put_session("could not make the checkpoint branch", begun)?;
        self.warn(begun.notices).await?;
        let branch = Branch {
            name: begun.branch,
            original: begun.original,
            original_commit: begun.original_commit,
        };
        Ok(Input::BeginDone { ticket, branch })
    }

    /// The change as it was when the story at hand began.
    fn story_base(&self) -> Result<Change, StepError> {
        let base = self.story_base.clone();
        base.ok_or_else(|| StepError::internal("the change was never read"))
    }

    fn check_story(&mut self, ticket: Ticket, story: &StoryId) -> Answer {
        let base = self.story_base()?;
        let check = source::check_story(&base, story)
            .and_then(|check| source::restore_foreign(&check).map(|_| check))
            .map_err(|error| StepError::source("could not check the task file", &error))?;
        let watch = self.watch(&base);
        let gates_follow = self.has_story_gates();
        let attempt = self.session::<Attempt>()?;
        let changed = attempt.changed(&task_files(&base), |path| watch.wants_text(path));
        if gates_follow {
            attempt.start_gates();
        }
        let changed = changed
            .map_err(|error| self.failed("could not look at what the attempt changed", &error))?;
        let changed_files = changed.count;
        let tamper = self.findings(&base, &check, watch, changed);
        Ok(Input::StoryChecked {
            ticket,
            check: machine::StoryCheck {
                missing: lost_tasks(&check),
                still_open: check.still_open,
                changed_files,
                tamper,
            },
        })
    }

    async fn tick_story(&mut self, ticket: Ticket, story: &StoryId) -> Answer {
        let base = self.story_base()?;
        if self.has_story_gates() {
            let restored = self.session::<Attempt>()?.undo_gate_changes();
            self.report_restore(restored).await?;
        }
        let done = source::tick_story(&base, story);
        self.session::<Attempt>()?
            .note_own_writes(&task_files(&base));
        let tasks =
            done.map_err(|error| StepError::source("could not tick the story's boxes", &error))?;
        Ok(Input::Ticked { ticket, tasks })
    }

    async fn save(&mut self, ticket: Ticket, story: StoryNote) -> Answer {
        let passed = self.policy().gates.iter();
        let passed = passed.filter(|gate| story.gates.contains(&gate.name));
        let passed: Vec<String> = passed.map(|gate| gate.run.clone()).collect();
        let saved = self.take_session::<Attempt>()?.save(&story);
        let report = self.put_session("could not write the checkpoint commit", saved)?;
        self.warn(report.notices).await?;
        self.remember(&passed);
        Ok(Input::Saved {
            ticket,
            commit: report.commit,
            changed_files: report.changed_files,
        })
    }

    async fn park(
        &mut self,
        ticket: Ticket,
        attempt: AttemptId,
        kind: FailureKind,
        reason: String,
    ) -> Answer {
        let setback = Setback {
            attempt,
            reason: policy::is_told(kind).then(|| reason.clone()),
            counts: policy::consequence(kind) == Consequence::Retry,
            kind,
            why: reason,
        };
        let parked = self.take_session::<Attempt>()?.park(setback);
        let report = self.put_session("could not park the attempt", parked)?;
        self.warn(report.notices).await?;
        Ok(Input::Parked {
            ticket,
            changed_files: report.changed_files,
        })
    }

    async fn restore(&mut self, ticket: Ticket) -> Answer {
        // First: once the journal says that all is restored, nothing would look again.
        if let Some(kept) = outside_of_last(self.vault()?) {
            source::restore_outside(&kept)
                .map_err(|error| StepError::source("could not restore the task file", &error))?;
        }
        let restored = self.take_session::<Parked>()?.restore();
        let notices = self.put_session("could not restore the checkpoint", restored)?;
        self.warn(notices).await?;
        Ok(Input::Restored { ticket })
    }

    async fn finish(&mut self, ticket: Ticket, choice: FinishChoice) -> Answer {
        let report = match self.try_finish(choice)? {
            Ok(report) => report,
            Err(error) => {
                return Ok(Input::FinishFailed {
                    ticket,
                    reason: format!("could not finish the run: {}", chain(&error)),
                    hint: self.hint_about(&error),
                    begun: self.vault()?.unfinished_move().is_some(),
                });
            }
        };
        self.warn(report.notices).await?;
        let limit = self.run.settings.vault_limit.value;
        let tidied = tidy(self.session::<Settled>()?.vault_mut(), limit);
        self.warn(tidied).await?;
        Ok(Input::Finished {
            ticket,
            head: report.head,
            branch: report.branch,
            changed_files: report.changed_files,
        })
    }

    fn try_finish(
        &mut self,
        choice: FinishChoice,
    ) -> Result<Result<FinishReport, CheckpointError>, StepError> {
        let mut session = match self.vault_state.take() {
            Some(VaultState::AtCheckpoint(session)) => session,
            // The last finish is half done.
            Some(VaultState::Opened(opened)) => match opened.recover(AfterRecovery::Continue) {
                Ok((settled, _)) => match settled.at_checkpoint() {
                    Ok(session) => session,
                    Err(settled) => {
                        self.vault_state = Some(VaultState::Settled(settled));
                        let report = self.half_finished.clone();
                        return report.map(Ok).ok_or_else(wrong_state);
                    }
                },
                Err(failed) => return Ok(Err(self.put_failed(*failed))),
            },
            other => {
                self.vault_state = other;
                return Err(wrong_state());
            }
        };
        let prepared = match session.prepare_finish(choice) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(self.put_failed(Failed { session, error }))),
        };
        self.half_finished = Some(prepared.report().clone());
        Ok(match session.finish(prepared) {
            Ok((settled, report)) => {
                self.vault_state = Some(VaultState::Settled(settled));
                Ok(report)
            }
            Err(failed) => Err(match *failed {
                FinishFailed::NotBegun(failed) => self.put_failed(failed),
                FinishFailed::HalfDone(failed) => self.put_failed(failed),
            }),
        })
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
    }
}
