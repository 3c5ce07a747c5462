//! Gates: started, remembered, and what they change in the tree undone.

use std::error::Error;
use std::path::Path;

use super::gate_run::{GateEnd, GateRunning};
use super::passed_gates::PassedGates;
use super::step::{NOT_UNDONE, StepError};
use super::tampering::lost_tasks;
use super::{Engine, EngineError, Running, chain, gate_logs};
use crate::gate::process::{GateProcess, process_of};
use crate::machine::{Answer, GateRequest, Ground, Ticket};
use crate::policy::{Gate, When};
use crate::records::event::GateResult;
use crate::words::quoted;
use ralph_base::files::create_private_folder;
use ralph_base::ids::StoryId;
use ralph_plan::source;
use ralph_process::{EnvChange, ProcessSpec, RUN_VARIABLE, RunningProcess};
use ralph_vault::error::Notice;
use ralph_vault::journal::reopening::Reopening;
use ralph_vault::{self as vault, AtCheckpoint, Attempt, GateOnCheckpoint};

impl Engine {
    /// Says which gates are known to pass on the checkpoint a story starts from.
    pub(super) async fn recall_gates(
        &mut self,
        story: &StoryId,
        known: Option<String>,
    ) -> Result<Answer, StepError> {
        let commit = self.vault()?.checkpoint_commit();
        if let Some(commit) = known.filter(|known| Some(known) == commit.as_ref()) {
            let green = Vec::new();
            return Ok(Answer::GatesRecalled { commit, green });
        }
        // Gates judge what is in the tree: what the user changed must be part of the checkpoint.
        self.include_user_changes(story).await?;
        let (commit, tree) = self
            .vault()?
            .checkpoint_tree()
            .map_err(|error| StepError::vault("could not start an attempt", &error))?;
        let passed = PassedGates::of(self.vault()?.vault_folder()).passed_on(&tree);
        let gates = self.policy().gates.iter().enumerate();
        let green = gates.filter(|(_, gate)| passed.contains(&gate.run));
        Ok(Answer::GatesRecalled {
            commit,
            green: green.map(|(index, _)| index).collect(),
        })
    }

    /// Whether gates or reviewers judge every attempt.
    pub(super) fn has_story_judges(&self) -> bool {
        let policy = self.policy();
        let mut gates = policy.gates.iter().map(|gate| gate.when);
        let mut reviewers = policy.reviewers.iter().map(|it| it.when);
        gates.any(|when| when == When::Story) || reviewers.any(|when| when == When::Story)
    }

    fn gate(&self, request: &GateRequest) -> Result<Gate, StepError> {
        let gate = self.policy().gates.get(request.gate).cloned();
        gate.ok_or_else(|| {
            let count = self.policy().gates.len();
            StepError::internal(format!(
                "gate {} of {count} was asked for",
                request.gate + 1
            ))
        })
    }

    /// Starts a gate; its end is the answer.
    pub(super) async fn run_gate(
        &mut self,
        ticket: Ticket,
        request: GateRequest,
    ) -> Result<(), StepError> {
        let gate = self.gate(&request)?;
        if request.ground != Ground::Attempt {
            let started = self.take_session::<AtCheckpoint>()?.start_gate();
            let started = started.map(|session| (session, ()));
            self.put_session("could not write to the journal", started)?;
        } else if gate.keep_changes {
            // What the gates before it changed is not its doing.
            let restored = self.session::<Attempt>()?.undo_gate_changes();
            self.report_restore(restored).await?;
        }
        if let Some(state) = &mut self.vault_state {
            state.invalidate_scan();
        }
        let folder = gate_logs(self.vault()?, &self.id);
        let started = self.start_gate(&gate, &request, &folder).await;
        let process = started.map_err(|error| {
            StepError::new(
                &format!("could not start the gate `{}`", gate.name),
                chain(error.as_ref()),
                "fix the cause, then run `ralphtool resume`",
            )
        })?;
        let gate = GateRunning::new(ticket, request, GateProcess::new(process, gate.timeout.0));
        self.running = Some(Running::Gate(Box::new(gate)));
        Ok(())
    }

    async fn start_gate(
        &mut self,
        gate: &Gate,
        request: &GateRequest,
        folder: &Path,
    ) -> Result<RunningProcess, Box<dyn Error>> {
        create_private_folder(folder)?;
        let process = self.gate_process(gate, request, folder);
        Ok(self.supervisors.start(process).await?)
    }

    /// The process of a gate: the user's own shell line, run in the top folder of the work tree.
    pub(super) fn gate_process(
        &self,
        gate: &Gate,
        request: &GateRequest,
        folder: &Path,
    ) -> ProcessSpec {
        let (run, name) = (&self.id, &request.name);
        let (root, environment) = (&self.repository.work_tree, &self.run.environment);
        let log = folder.join(format!("{name}.log"));
        // A run that is resumed may use the same name for a gate again.
        let marker = format!("{run}/gate/{name}/{}", std::process::id());
        let mut process = process_of(gate, root, environment, log, marker);
        let env = &mut process.env;
        env.push(EnvChange::set(RUN_VARIABLE, &self.id.0));
        env.push(EnvChange::set("RALPHTOOL_CHANGE", &self.run.change.name));
        env.push(EnvChange::set("RALPHTOOL_STORY", &request.story.0));
        process
    }

    /// Answers with the verdict of a gate, once the tree is as it should be after it.
    pub(super) async fn gate_ended(&mut self, end: GateEnd) -> Result<(), EngineError> {
        let ticket = end.ticket;
        let answer = self.verdict_of(end).await;
        self.answer(ticket, answer.map(Some))
    }

    async fn verdict_of(&mut self, end: GateEnd) -> Result<Answer, StepError> {
        let mut result = end.result?;
        let gate = self.gate(&end.request)?;
        match end.request.ground {
            Ground::Checkpoint | Ground::Whole => {
                let restored = self.take_session::<GateOnCheckpoint>()?.restore();
                let notices = self.put_session(NOT_UNDONE, restored)?;
                self.warn(notices).await?;
                if result == GateResult::Passed {
                    self.remember(&[gate.run]);
                }
            }
            Ground::Attempt if gate.keep_changes => {
                if let Some(how) = self.repair_plan_after(&gate).await? {
                    let tail = String::new();
                    result = GateResult::Failed {
                        how,
                        tail,
                        cannot_run: false,
                    };
                }
                let accepted = self.session::<Attempt>()?.accept_gate_changes();
                self.report_restore(accepted.map(|()| Vec::new())).await?;
            }
            // A later gate may need what this one built; it goes before the commit.
            Ground::Attempt => {}
        }
        Ok(Answer::GateEnded {
            result,
            duration: end.duration,
        })
    }

    /// Repairs the plan after a gate whose changes are kept: it may lay the task file out again, but
    /// must not change boxes of other stories. Says why the gate failed if it removed tasks.
    async fn repair_plan_after(&mut self, gate: &Gate) -> Result<Option<String>, StepError> {
        let attempt = self.vault()?.open_run().and_then(|run| run.last_attempt);
        let (Some(base), Some(last)) = (&self.story_base, attempt) else {
            return Ok(None);
        };
        let (check, boxes) = source::check_story(base, &last.attempt.story)
            .and_then(|check| source::restore_foreign(&check).map(|boxes| (check, boxes)))
            .map_err(|error| StepError::source("could not check the task file", &error))?;
        if !boxes.is_empty() {
            let message = format!(
                "gate `{}` changed boxes of other stories; they are restored: {}",
                gate.name,
                quoted(&boxes)
            );
            self.warn(vec![Notice::new("gate_boxes", message)]).await?;
        }
        let removed = lost_tasks(&check).all();
        Ok((!removed.is_empty()).then(|| {
            format!(
                "it removed tasks from the task file, and it has `keep_changes`: {}",
                quoted(&removed)
            )
        }))
    }

    /// Remembers that gates passed on the checkpoint. Not to know costs a run of them, no more.
    pub(super) fn remember(&self, runs: &[String]) {
        if runs.is_empty() {
            return;
        }
        if let Ok(vault) = self.vault()
            && let Ok((_, tree)) = vault.checkpoint_tree()
        {
            let _ = PassedGates::of(vault.vault_folder()).remember(&tree, runs);
        }
    }

    /// Opens the boxes of a story that is done again.
    pub(super) async fn reopen(&mut self, reopening: Reopening) -> Result<Answer, StepError> {
        let started = self.take_session::<AtCheckpoint>()?.start_reopening();
        let started = started.map(|session| (session, ()));
        self.put_session("could not write to the journal", started)?;
        source::read_again(&self.run.change, &self.run.surroundings)
            .and_then(|change| source::open_story(&change, &reopening.story))
            .map_err(|error| StepError::source("could not untick the story's boxes", &error))?;
        let saved = self.take_session::<vault::Reopening>()?.save(reopening);
        let report = self.put_session("could not reopen the story", saved)?;
        self.warn(report.notices).await?;
        Ok(Answer::Reopened(report.commit))
    }
}
