//! Gates: started, remembered, and what they change in the tree undone.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;

use super::gate_run::{GateEnd, GateRunning, GateTarget};
use super::step::{Answer, NOT_UNDONE, StepError};
use super::tampering::lost_tasks;
use super::{Engine, EngineError, Running, chain, gate_logs};
use crate::gates::gate::{self, GateRun};
use crate::gates::verdicts::Verdicts;
use crate::machine::{Ground, Input, Ticket};
use crate::policy::{Gate, When};
use crate::records::event::GateResult;
use ralph_base::files::create_private_folder;
use ralph_base::ids::StoryId;
use ralph_plan::source;
use ralph_process::RunningProcess;
use ralph_vault::error::Notice;
use ralph_vault::journal::reopening::Reopening;
use ralph_vault::{self as vault, AtCheckpoint, Attempt, GateOnCheckpoint};

impl Engine {
    /// Says which gates are known to pass on the checkpoint a story starts from.
    pub(super) async fn recall_gates(
        &mut self,
        ticket: Ticket,
        story: &StoryId,
        known: Option<String>,
    ) -> Answer {
        let commit = self.vault()?.checkpoint_commit();
        if let Some(commit) = known.filter(|known| Some(known) == commit.as_ref()) {
            return Ok(Input::GatesRecalled {
                ticket,
                commit,
                green: Vec::new(),
            });
        }
        // Gates judge what is in the tree: what the user changed must be part of the checkpoint.
        self.include_user_changes(story).await?;
        let (commit, tree) = self
            .vault()?
            .checkpoint_tree()
            .map_err(|error| self.failed("could not start an attempt", &error))?;
        let passed = Verdicts::of(self.vault()?.vault_folder()).passed_on(&tree);
        let gates = self.policy().gates.iter().enumerate();
        let green = gates.filter(|(_, gate)| passed.contains(&gate.run));
        Ok(Input::GatesRecalled {
            ticket,
            commit,
            green: green.map(|(index, _)| index).collect(),
        })
    }

    /// Whether gates judge every attempt.
    pub(super) fn has_story_gates(&self) -> bool {
        self.policy()
            .gates
            .iter()
            .any(|gate| gate.when == When::Story)
    }

    fn gate(&self, target: GateTarget) -> Result<Gate, StepError> {
        let gate = self.policy().gates.get(target.gate).cloned();
        gate.ok_or_else(|| {
            let count = self.policy().gates.len();
            StepError::internal(format!("gate {} of {count} was asked for", target.gate + 1))
        })
    }

    /// Starts a gate; its end is the answer.
    pub(super) async fn run_gate(
        &mut self,
        ticket: Ticket,
        target: GateTarget,
        story: &StoryId,
        name: &str,
    ) -> Result<(), StepError> {
        let gate = self.gate(target)?;
        if target.ground != Ground::Attempt {
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
        let started = self.start_gate(&gate, story, name, &folder).await;
        let process = started.map_err(|error| {
            StepError::new(
                format!("could not start the gate `{}`", gate.name),
                chain(error.as_ref()),
                "fix the cause, then run `ralphtool resume`",
            )
        })?;
        let gate = GateRunning::new(ticket, target, process, gate.timeout.0);
        self.running = Some(Running::Gate(Box::new(gate)));
        Ok(())
    }

    async fn start_gate(
        &mut self,
        gate: &Gate,
        story: &StoryId,
        name: &str,
        folder: &Path,
    ) -> Result<RunningProcess, Box<dyn Error>> {
        create_private_folder(folder)?;
        let run = GateRun {
            line: &gate.run,
            root: &self.repository.work_tree,
            log: &folder.join(format!("{name}.log")),
            run: &self.id,
            change: &self.run.change.name,
            story,
            name,
        };
        let process = run.process(shell(&self.run.environment));
        Ok(self.supervisors.start(process).await?)
    }

    /// Answers with the verdict of a gate, once the tree is as it should be after it.
    pub(super) async fn gate_ended(&mut self, end: GateEnd) -> Result<(), EngineError> {
        let ticket = end.ticket;
        let answer = self.verdict_of(end).await;
        self.answer(ticket, answer)
    }

    async fn verdict_of(&mut self, end: GateEnd) -> Answer {
        let mut result = end.result?;
        let gate = self.gate(end.target)?;
        match end.target.ground {
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
                    result = GateResult::Failed { how, tail };
                }
                let accepted = self.session::<Attempt>()?.accept_gate_changes();
                self.report_restore(accepted.map(|()| Vec::new())).await?;
            }
            // A later gate may need what this one built; it goes before the commit.
            Ground::Attempt => {}
        }
        Ok(Input::GateEnded {
            ticket: end.ticket,
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
        let removed = lost_tasks(&check);
        Ok((!removed.is_empty()).then(|| {
            format!(
                "it took tasks out of the task file, and its changes are kept: {}",
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
            let _ = Verdicts::of(vault.vault_folder()).remember(&tree, runs);
        }
    }

    /// Opens the boxes of a story that is done again.
    pub(super) async fn reopen(&mut self, ticket: Ticket, reopening: Reopening) -> Answer {
        let started = self.take_session::<AtCheckpoint>()?.start_reopening();
        let started = started.map(|session| (session, ()));
        self.put_session("could not write to the journal", started)?;
        source::read_again(&self.run.change, &self.run.surroundings)
            .and_then(|change| source::open_story(&change, &reopening.story))
            .map_err(|error| StepError::source("could not open the story's boxes again", &error))?;
        let saved = self.take_session::<vault::Reopening>()?.save(reopening);
        let report = self.put_session("could not open the story again", saved)?;
        self.warn(report.notices).await?;
        Ok(Input::Reopened {
            ticket,
            commit: report.commit,
        })
    }
}

fn quoted(tasks: &[String]) -> String {
    let tasks: Vec<String> = tasks.iter().map(|task| format!("`{task}`")).collect();
    tasks.join(", ")
}

fn shell(environment: &[(OsString, OsString)]) -> OsString {
    let own = environment
        .iter()
        .find(|(name, _)| name == "SHELL")
        .map(|(_, value)| value.as_os_str());
    gate::shell(own)
}
