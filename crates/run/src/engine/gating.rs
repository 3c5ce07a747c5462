//! Gates: started, remembered, and what they change in the tree undone.

use std::error::Error;
use std::path::{Path, PathBuf};

use super::gate_run::{GateEnd, GateOutput, GateRunning};
use super::passed_gates::{JudgedContent, PassedGates};
use super::step::{NOT_UNDONE, StepError};
use super::tampering::lost_tasks;
use super::{Engine, EngineError, Running, chain, gate_logs};
use crate::gate::process::{GateProcess, process_of};
use crate::machine::{self, Answer, GateRequest, Ground, Ticket};
use crate::policy::{Gate, When};
use crate::records::event::GateResult;
use crate::test_report::report_files::ReportFiles;
use crate::words::quoted;
use ralph_base::files::create_private_folder;
use ralph_base::ids::StoryId;
use ralph_plan::change::Change;
use ralph_plan::source;
use ralph_process::{EnvChange, ProcessSpec, RUN_VARIABLE, RunningProcess};
use ralph_vault::error::Notice;
use ralph_vault::journal::reopening::Reopening;
use ralph_vault::{self as vault, AtCheckpoint, Attempt, Changed, GateOnCheckpoint};

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
        let vault = self.vault()?;
        let passed = PassedGates::of(vault.vault_folder());
        let mut content = JudgedContent::of(vault, tree);
        let gates = self.policy().gates.iter().enumerate();
        let green = gates.filter(|(_, gate)| {
            let content = content.id(gate);
            content.is_some_and(|id| passed.passed_on(&id).contains(&gate.run))
        });
        Ok(Answer::GatesRecalled {
            commit,
            green: green.map(|(index, _)| index).collect(),
        })
    }

    /// The gates that have paths in which the whole change changed files.
    pub(super) fn compare_with_start(&self) -> Result<Answer, StepError> {
        let changed = self.vault()?.changed_since_begin().map_err(|error| {
            StepError::vault("could not find out what the change has changed", &error)
        })?;
        let touched = self.touched_gates(&self.run.change, &changed);
        Ok(Answer::Compared(touched))
    }

    /// The gates that have paths in which an attempt changed files.
    pub(super) fn touched_by_attempt(&self, change: &Change, changed: &Changed) -> Vec<usize> {
        let paths = changed.paths.iter().map(|it| it.path.clone());
        let modules = changed.uncommitted_modules.iter();
        let paths = paths.chain(modules.chain(&changed.new_repositories).cloned());
        self.touched_gates(change, &paths.collect::<Vec<_>>())
    }

    /// The gates that have paths of which one was changed; task files do not count, because every
    /// attempt changes them.
    fn touched_gates(&self, change: &Change, changed: &[String]) -> Vec<usize> {
        let task_files = change.task_files.iter();
        let task_files: Vec<String> = task_files.map(|it| self.shown_path(&it.path)).collect();
        let gates = self.policy().gates.iter().enumerate();
        let touched = gates.filter(|(_, gate)| {
            let Some(paths) = &gate.paths else {
                return false;
            };
            let mut changed = changed.iter();
            changed.any(|path| !task_files.contains(path) && paths.matches(path))
        });
        touched.map(|(place, _)| place).collect()
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
        if request.ground == Ground::Attempt {
            self.prepare_tree_for(&gate, &request).await?;
        } else {
            let started = self.take_session::<AtCheckpoint>()?.start_gate();
            let started = started.map(|session| (session, ()));
            self.put_session("could not write to the journal", started)?;
        }
        if let Some(state) = &mut self.vault_state {
            state.invalidate_scan();
        }
        let folder = gate_logs(self.vault()?, &self.id);
        let root = &self.repository.work_tree;
        let output = GateOutput {
            log: log_of(&request, &folder),
            reports: gate.junit.as_ref().map(|it| ReportFiles::before(root, it)),
        };
        let started = self.start_gate(&gate, &request, &folder).await;
        let process = started.map_err(|error| {
            StepError::new(
                &format!("could not start the gate `{}`", gate.name),
                chain(error.as_ref()),
                "fix the cause, then run `ralphtool resume`",
            )
        })?;
        let process = GateProcess::new(process, gate.timeout.0);
        let gate = GateRunning::new(ticket, request, process, output);
        self.running = Some(Running::Gate(Box::new(gate)));
        Ok(())
    }

    /// Makes the tree of an attempt what a try of a gate is to see.
    async fn prepare_tree_for(
        &mut self,
        gate: &Gate,
        request: &GateRequest,
    ) -> Result<(), StepError> {
        if request.try_number > 1 {
            let restored = self.session::<Attempt>()?.undo_gate_try();
            return self.report_restore(restored).await;
        }
        if gate.keep_changes {
            // What the gates before it changed is not its doing.
            let restored = self.session::<Attempt>()?.undo_gate_changes();
            self.report_restore(restored).await?;
        }
        if gate.retries > 0 {
            let started = self.session::<Attempt>()?.start_gate_tries();
            self.report_restore(started.map(|()| Vec::new())).await?;
        }
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
        let log = log_of(request, folder);
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
        let (mut tests, mut touched) = (end.tests, Vec::new());
        let gate = self.gate(&end.request)?;
        if let Some(report) = gate.junit.as_ref().filter(|_| end.lacks_report) {
            let message = format!(
                "gate `{}` is red and has not written its test report: {}",
                gate.name,
                quoted(report.texts())
            );
            self.warn(vec![Notice::new("no_report", message)]).await?;
        }
        match end.request.ground {
            Ground::Checkpoint | Ground::Whole => {
                let restored = self.take_session::<GateOnCheckpoint>()?.restore();
                let notices = self.put_session(NOT_UNDONE, restored)?;
                self.warn(notices).await?;
                // That a flaky gate passed in the end says little of the next time.
                if result == GateResult::Passed && end.request.try_number == 1 {
                    self.remember(&[gate]);
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
                    tests = None;
                }
                let changed = self.session::<Attempt>()?.accept_gate_changes();
                let changed = changed.map_err(|error| StepError::vault(NOT_UNDONE, &error))?;
                touched = self.touched_gates(&self.run.change, &changed);
            }
            // A later gate may need what this one built; it goes before the commit.
            Ground::Attempt => {}
        }
        Ok(Answer::GateEnded(machine::GateEnd {
            result,
            duration: end.duration,
            touched,
            tests,
        }))
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
    pub(super) fn remember(&self, gates: &[Gate]) {
        if gates.is_empty() {
            return;
        }
        let Ok(vault) = self.vault() else {
            return;
        };
        let Ok((_, tree)) = vault.checkpoint_tree() else {
            return;
        };
        let mut content = JudgedContent::of(vault, tree);
        let judged = gates.iter();
        let judged = judged.filter_map(|gate| Some((content.id(gate)?, gate.run.clone())));
        let _ = PassedGates::of(vault.vault_folder()).remember(judged);
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

/// The file that the output of a gate goes to.
fn log_of(request: &GateRequest, folder: &Path) -> PathBuf {
    folder.join(format!("{}.log", request.name))
}
