//! Gates: started, remembered, and what they change in the tree put back.

use super::gate_run::GateRunning;
use super::perform::{lost, on_thread};
use super::start::StartError;
use super::{Engine, EngineError, Running, chain, gate_logs};
use crate::gates::gate::GateRun;
use crate::gates::verdicts::Verdicts;
use crate::machine::{Ground, Input, Ticket};
use crate::policy::When;
use crate::records::event::GateResult;
use ralph_base::files::create_private_folder;
use ralph_base::ids::StoryId;
use ralph_plan::source;
use ralph_vault::journal::reopening::Reopening;
use ralph_vault::session::{CheckpointError, Notice};

/// Which gate runs, and on what.
#[derive(Debug, Clone, Copy)]
pub struct Judging {
    /// The gate, by its place in the policy.
    pub gate: usize,
    /// What it judges.
    pub ground: Ground,
}

impl Engine {
    /// Says which gates are known to pass on the checkpoint a story starts from.
    pub async fn look_before(
        &mut self,
        ticket: Ticket,
        story: &StoryId,
        known: Option<String>,
    ) -> Result<(), EngineError> {
        let commit = self.checkpoints.checkpoint_commit();
        if let Some(commit) = known.filter(|known| Some(known) == commit.as_ref()) {
            let green = Vec::new();
            self.ready.push_back(Input::Looked {
                ticket,
                commit,
                green,
            });
            return Ok(());
        }
        // Gates judge what is in the tree: what the user changed must be part of the checkpoint.
        if let Err(error) = self.take_in_meanwhile(story).await? {
            self.not_started(ticket, error);
            return Ok(());
        }
        match self.checkpoints.checkpoint_tree() {
            Ok((commit, tree)) => {
                let verdicts = Verdicts::read(self.checkpoints.vault_folder());
                let gates = self.job.gates.iter().enumerate();
                let green = gates.filter(|(_, gate)| verdicts.has(&tree, &gate.run));
                let green = green.map(|(index, _)| index).collect();
                self.ready.push_back(Input::Looked {
                    ticket,
                    commit,
                    green,
                });
            }
            Err(error) => self.not_started(ticket, StartError::Checkpoint(error)),
        }
        Ok(())
    }

    /// Whether gates judge every attempt.
    pub fn has_story_gates(&self) -> bool {
        self.job.gates.iter().any(|gate| gate.when == When::Story)
    }

    /// Starts a gate.
    pub async fn run_gate(
        &mut self,
        ticket: Ticket,
        judging: Judging,
        (story, name): (&StoryId, &str),
    ) -> Result<(), EngineError> {
        let Some(gate) = self.job.gates.get(judging.gate).cloned() else {
            let count = self.job.gates.len();
            let reason = format!("gate {} of {count} was asked for", judging.gate + 1);
            self.unanswerable(ticket, &reason);
            return Ok(());
        };
        // What the gates before it changed is not its doing.
        if gate.keep_changes && judging.ground == Ground::Attempt {
            let put_back = self.checkpoints.put_back_to_mark();
            if !self.is_put_back(ticket, put_back).await? {
                return Ok(());
            }
        }
        if judging.ground != Ground::Attempt
            && let Err(error) = self.checkpoints.gate_begins()
        {
            self.failed(ticket, "could not write to the journal", &error);
            return Ok(());
        }
        self.checkpoints.somebody_is_here();
        let folder = gate_logs(&self.checkpoints, &self.job.run);
        let log = folder.join(format!("{name}.log"));
        let started = create_private_folder(&folder)
            .map_err(|error| Box::new(error) as Box<dyn std::error::Error>)
            .and_then(|()| {
                let run = GateRun {
                    line: &gate.run,
                    root: &self.checkpoints.repository().work_tree,
                    log: &log,
                    run: &self.job.run,
                    change: &self.job.change.name,
                    story,
                    name,
                };
                Ok(run.process(self.job.shell.clone())?)
            })
            .and_then(|process| Ok(self.start_watched(process)?));
        match started {
            Ok(process) => {
                let gate = GateRunning::new((ticket, judging), process, gate.timeout);
                self.running = Some(Running::Gate(Box::new(gate)));
            }
            Err(error) => self.ready.push_back(Input::StepFailed {
                ticket,
                what: format!("could not start the gate `{}`", gate.name),
                reason: chain(error.as_ref()),
                hint: "start ralphtool again once the cause is mended".to_owned(),
            }),
        }
        Ok(())
    }

    /// Sees to the tree after a gate, then passes on what it said.
    pub async fn gate_ended(
        &mut self,
        (ticket, judging): (Ticket, Judging),
        mut ended: Input,
    ) -> Result<(), EngineError> {
        if matches!(ended, Input::StepFailed { .. }) {
            self.ready.push_back(ended);
            return Ok(());
        }
        let gate = self.job.gates.get(judging.gate);
        let keeps = gate.is_some_and(|gate| gate.keep_changes);
        if keeps
            && judging.ground == Ground::Attempt
            && !self
                .is_plan_intact(ticket, judging.gate, &mut ended)
                .await?
        {
            return Ok(());
        }
        let put_back = match judging.ground {
            Ground::Checkpoint | Ground::Whole => self.checkpoints.put_back_to_checkpoint(),
            Ground::Attempt if keeps => self.checkpoints.mark_tree().map(|()| Vec::new()),
            // A later gate may need what this one built; it goes before the commit.
            Ground::Attempt => Ok(Vec::new()),
        };
        if !self.is_put_back(ticket, put_back).await? {
            return Ok(());
        }
        let passed = matches!(
            &ended,
            Input::GateEnded {
                result: GateResult::Passed,
                ..
            }
        );
        if passed && judging.ground != Ground::Attempt {
            let run = gate_line(self, judging.gate);
            self.remember(&run);
        }
        self.ready.push_back(ended);
        Ok(())
    }

    /// Sees to the plan after a gate whose changes are kept: it may lay the task file out anew, but
    /// says nothing of other stories, and a gate that removes tasks did not pass. A failure answers
    /// the ticket.
    async fn is_plan_intact(
        &mut self,
        ticket: Ticket,
        gate: usize,
        ended: &mut Input,
    ) -> Result<bool, EngineError> {
        let attempt = self.checkpoints.open_run().and_then(|run| run.last_attempt);
        let (Some(base), Some(attempt)) = (self.story_base.clone(), attempt) else {
            return Ok(true);
        };
        let checked = on_thread(move || {
            let check = source::check_story(&base, &attempt.attempt.story)?;
            let boxes = source::put_back_foreign(&check)?;
            Ok((check, boxes))
        });
        let (check, boxes) = match checked.await {
            Ok(checked) => checked,
            Err(error) => {
                self.source_failed(ticket, "could not check the task file", &error);
                return Ok(false);
            }
        };
        let name = self.job.gates.get(gate).map(|gate| gate.name.clone());
        let name = name.unwrap_or_default();
        if !boxes.is_empty() {
            let message = format!(
                "gate `{name}` changed boxes of other stories; they are restored: {}",
                quoted(&boxes)
            );
            self.warn(vec![Notice::new("gate_boxes", message)]).await?;
        }
        let lost = lost(&check);
        if let (false, Input::GateEnded { result, .. }) = (lost.is_empty(), ended) {
            let how = format!(
                "it took tasks out of the task file, and its changes are kept: {}",
                quoted(&lost)
            );
            let tail = String::new();
            *result = GateResult::Failed { how, tail };
        }
        Ok(true)
    }

    /// Remembers that gates passed on the checkpoint. Not to know costs a run of them, no more.
    pub fn remember(&self, runs: &[String]) {
        if runs.is_empty() {
            return;
        }
        if let Ok((_, tree)) = self.checkpoints.checkpoint_tree() {
            let mut verdicts = Verdicts::read(self.checkpoints.vault_folder());
            let _ = verdicts.remember(&tree, runs.iter().map(String::as_str));
        }
    }

    /// Opens the boxes of a story that is done again.
    pub async fn reopen(
        &mut self,
        ticket: Ticket,
        reopening: Reopening,
    ) -> Result<(), EngineError> {
        if let Err(error) = self.checkpoints.reopening_begins() {
            self.failed(ticket, "could not write to the journal", &error);
            return Ok(());
        }
        let (change, around) = (self.job.change.clone(), self.job.surroundings.clone());
        let id = reopening.story.clone();
        let opened = on_thread(move || {
            let change = source::read_again(&change, &around)?;
            source::open_story(&change, &id)
        })
        .await;
        if let Err(error) = opened {
            self.source_failed(ticket, "could not open the story's boxes again", &error);
            return Ok(());
        }
        match self.checkpoints.save_reopened(reopening) {
            Ok(report) => {
                self.warn(report.notices).await?;
                let commit = report.commit;
                self.ready.push_back(Input::Reopened { ticket, commit });
            }
            Err(error) => self.failed(ticket, "could not open the story again", &error),
        }
        Ok(())
    }

    /// Says what was put back; a failure answers the ticket.
    pub async fn is_put_back(
        &mut self,
        ticket: Ticket,
        put_back: Result<Vec<Notice>, CheckpointError>,
    ) -> Result<bool, EngineError> {
        match put_back {
            Ok(notices) => {
                self.warn(notices).await?;
                Ok(true)
            }
            Err(error) => {
                self.failed(ticket, "could not put back what a gate changed", &error);
                Ok(false)
            }
        }
    }
}

fn quoted(tasks: &[String]) -> String {
    let tasks: Vec<String> = tasks.iter().map(|task| format!("`{task}`")).collect();
    tasks.join(", ")
}

fn gate_line(engine: &Engine, gate: usize) -> Vec<String> {
    let gate = engine.job.gates.get(gate);
    gate.map(|gate| gate.run.clone()).into_iter().collect()
}
