//! Reviews: a reviewer is started on the work it judges, and what it changes is undone.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::agent_run::{AgentConclusion, AgentRun, Resumable};
use super::start::note_process;
use super::step::StepError;
use super::{Engine, EngineError, Happened, Running, agents, chain};
use crate::agent::{Agent, PROMPT_FILE, Work};
use crate::machine::{
    AgentEnd, AgentExit, AgentStart, Answer, Input, JudgedGate, ReviewEnd, ReviewRequest, Ticket,
};
use crate::policy::reviewer::Reviewer;
use crate::prompt::review::{GateShown, ReviewInput, review_prompt};
use crate::records::event::GateResult;
use crate::review::answer;
use crate::review::diff_text::DiffText;
use crate::review::items::{ReviewItem, of_change, of_story};
use ralph_agents::adapters::{Role, SessionArg};
use ralph_agents::agent_event::first_chars;
use ralph_base::files::{create_private_folder, write_whole};
use ralph_base::random_name::random_name;
use ralph_plan::change::Change;
use ralph_process::{RunningProcess, last_lines};
use ralph_vault::diff::Diff;
use ralph_vault::{AtCheckpoint, Attempt, CheckpointError, Diffs, GateOnCheckpoint};

const NOT_STARTED: &str = "could not start a review";
const NOT_UNDONE: &str = "could not undo what a reviewer changed";

/// How many of the last lines of a gate a reviewer gets.
const GATE_LINES: usize = 20;
const LINE_CHARS: usize = 300;

/// A reviewer at work.
pub(super) struct ReviewRun {
    run: Box<AgentRun>,
    asked: Asked,
}

/// What a reviewer was asked.
struct Asked {
    /// The key that its answer must have.
    key: String,
    items: Vec<ReviewItem>,
    /// It judges the whole change.
    whole: bool,
}

impl ReviewRun {
    /// Asks the reviewer to end; without grace it is killed.
    pub(super) fn stop(&mut self, grace: Duration) {
        self.run.stop(grace);
    }

    /// Waits for what the reviewer does next. Cancel-safe.
    pub(super) async fn next(&mut self) -> Happened {
        self.run.next().await
    }
}

impl Engine {
    /// Starts a reviewer; its end is the second answer.
    pub(super) async fn start_review(
        &mut self,
        ticket: Ticket,
        request: ReviewRequest,
    ) -> Result<Answer, StepError> {
        let reviewer = self.policy().reviewers.get(request.reviewer).cloned();
        let reviewer = reviewer.ok_or_else(|| StepError::internal("a review that is not set"))?;
        let agent = agents::agent(&self.run.settings, &reviewer.choice);
        let folder = self.review_folder(&request, &reviewer)?;
        // What gates changed in the tree is not part of the work.
        if !request.whole {
            let restored = self.session::<Attempt>()?.undo_gate_changes();
            self.report_restore(restored).await?;
        }
        self.guard_review(&request, &folder)?;
        let asked = self.asked(&request)?;
        let text = self.review_prompt(&request, &agent, &asked)?;
        match self.start_reviewer(&request, &agent, &folder, &text).await {
            Ok(process) => {
                let mut reader = self.reader_of(&agent);
                reader.keep_words();
                let run = Box::new(self.follow(ticket, process, reader, Resumable::No));
                self.running = Some(Running::Review(Box::new(ReviewRun { run, asked })));
                Ok(Answer::AgentStarted(AgentStart {
                    transcript: folder.to_string_lossy().into_owned(),
                    base: None,
                    output: agent.output(),
                }))
            }
            // The work is not at fault, and neither is it reviewed.
            Err(error) => {
                self.undo_review(request.whole).await?;
                Ok(not_started(&chain(&error)))
            }
        }
    }

    /// A new folder for the prompt and the output of a reviewer.
    fn review_folder(
        &self,
        request: &ReviewRequest,
        reviewer: &Reviewer,
    ) -> Result<PathBuf, StepError> {
        let vault = self.vault()?;
        let above = if request.whole {
            vault.run_folder(&self.id).join("reviews")
        } else {
            vault.attempt_folder(&self.id, &request.attempt)
        };
        let name = format!("review-{}", file_name(&reviewer.name));
        let mut folder = above.join(&name);
        let mut number = 1;
        while folder.exists() {
            number += 1;
            folder = above.join(format!("{name}.{number}"));
        }
        create_private_folder(&folder).map_err(|error| could_not(&error))?;
        Ok(folder)
    }

    /// From here on all that is changed is the reviewer's, and is undone.
    fn guard_review(&mut self, request: &ReviewRequest, folder: &Path) -> Result<(), StepError> {
        if request.whole {
            let traces = folder.join("git");
            create_private_folder(&traces).map_err(|error| could_not(&error))?;
            let started = self.take_session::<AtCheckpoint>()?.start_review(&traces);
            let started = started.map(|session| (session, ()));
            self.put_session(NOT_STARTED, started)?;
        } else {
            let started = self.session::<Attempt>()?.start_review();
            started.map_err(|error| StepError::vault(NOT_STARTED, &error))?;
        }
        if let Some(state) = &mut self.vault_state {
            state.invalidate_scan();
        }
        Ok(())
    }

    fn asked(&self, request: &ReviewRequest) -> Result<Asked, StepError> {
        let change = self.reviewed_change()?;
        let story = change.story(&request.attempt.story);
        let items = match story.filter(|_| !request.whole) {
            Some(story) => of_story(change, story),
            None => of_change(change),
        };
        Ok(Asked {
            key: format!("review-{}", random_name(8)),
            items,
            whole: request.whole,
        })
    }

    /// The plan as it was when the story began: what is asked for, whatever the attempt wrote there.
    fn reviewed_change(&self) -> Result<&Change, StepError> {
        let base = self.story_base.as_ref();
        base.ok_or_else(|| StepError::internal("the change was never read"))
    }

    fn review_prompt(
        &self,
        request: &ReviewRequest,
        agent: &Agent,
        asked: &Asked,
    ) -> Result<String, StepError> {
        let change = self.reviewed_change()?;
        let story = change.story(&request.attempt.story);
        let vault = self.vault()?;
        let base = if request.whole {
            vault.first_commit()
        } else {
            vault.checkpoint_commit()
        };
        let diff = match self.review_diff(request, base.as_deref()) {
            Ok(diff) => DiffText::of(&diff),
            // The reviewer can read the files.
            Err(error) => DiffText::missing(&chain(&error)),
        };
        let show_diff = base.map(|base| format!("git diff {base}"));
        let gates: Vec<GateShown> = request.gates.iter().map(gate_shown).collect();
        Ok(review_prompt(&ReviewInput {
            change,
            story: story.filter(|_| !request.whole),
            items: &asked.items,
            gates: &gates,
            diff: &diff,
            show_diff: show_diff
                .as_deref()
                .filter(|_| agent.has_shell(Role::Reviewer)),
            key: &asked.key,
            again: request.again.as_deref(),
        }))
    }

    /// The work: of an attempt what is in the tree, of the whole change what is committed.
    fn review_diff(
        &self,
        request: &ReviewRequest,
        base: Option<&str>,
    ) -> Result<Diff, CheckpointError> {
        let (Some(base), Ok(vault)) = (base, self.vault()) else {
            return Ok(Diff::default());
        };
        let diffs = Diffs::new(self.repository.clone(), vault.vault_folder());
        match vault.checkpoint_commit().filter(|_| request.whole) {
            Some(tip) => diffs.between(base, &tip),
            None => diffs.live(base),
        }
    }

    async fn start_reviewer(
        &mut self,
        request: &ReviewRequest,
        agent: &Agent,
        folder: &Path,
        text: &str,
    ) -> Result<RunningProcess, io::Error> {
        let attempt_folder = self
            .vault()
            .map(|vault| vault.attempt_folder(&self.id, &request.attempt));
        let attempt_folder = attempt_folder.map_err(|_| io::Error::other("the vault is gone"))?;
        let change = &self.run.change.name;
        let vault = self
            .vault()
            .map_err(|_| io::Error::other("the vault is gone"))?;
        let learnings = crate::learnings::file::path(vault.vault_folder(), change);
        // The record of the whole attempt tells what is to be undone with it.
        let git_trace = if request.whole {
            folder.join("git")
        } else {
            attempt_folder.join("git")
        };
        let prompt_file = folder.join(PROMPT_FILE);
        write_whole(&prompt_file, text.as_bytes(), 0o600).map_err(io::Error::other)?;
        let session = agent.new_session_id();
        let process = agent.process(Work {
            run: &self.id,
            attempt: &request.attempt,
            change,
            root: &self.repository.work_tree,
            learnings: &learnings,
            transcript: folder,
            prompt_file: &prompt_file,
            git_trace: &git_trace,
            prompt: text,
            session: SessionArg::New {
                id: session.as_deref(),
            },
            role: Role::Reviewer,
        })?;
        let process = self
            .supervisors
            .start(process)
            .await
            .map_err(io::Error::other)?;
        if !request.whole && note_process(&attempt_folder, &process).is_err() {
            self.end_started(process).await;
            return Err(io::Error::other("could not note which process it is"));
        }
        Ok(process)
    }

    /// Undoes what a reviewer changed, and reports it.
    async fn undo_review(&mut self, whole: bool) -> Result<(), StepError> {
        if let Some(state) = &mut self.vault_state {
            state.invalidate_scan();
        }
        let notices = if whole {
            let restored = self.take_session::<GateOnCheckpoint>()?.restore();
            self.put_session(NOT_UNDONE, restored)?
        } else {
            let restored = self.session::<Attempt>()?.undo_review();
            restored.map_err(|error| StepError::vault(NOT_UNDONE, &error))?
        };
        Ok(self.warn(notices).await?)
    }

    /// Answers with what came of a review, once everything is as it was before it.
    pub(super) async fn review_ended(&mut self, review: Box<ReviewRun>) -> Result<(), EngineError> {
        let ReviewRun { run, asked } = *review;
        let ticket = run.ticket();
        let AgentConclusion { last, end, words } = run.conclude().await;
        let last = last.into_iter().map(Answer::AgentSaid);
        self.ready
            .extend(last.map(|answer| Input::Answer(ticket, answer)));
        let answer = self.result_of(&asked, end, &words).await;
        self.answer(ticket, answer.map(Some))
    }

    async fn result_of(
        &mut self,
        asked: &Asked,
        agent: AgentEnd,
        words: &str,
    ) -> Result<Answer, StepError> {
        // What is still alive could write into the tree while it is restored.
        if agent.still_running.is_empty() {
            self.undo_review(asked.whole).await?;
        }
        let verdicts = answer::read(words, &asked.key, &asked.items);
        Ok(Answer::ReviewEnded(Box::new(ReviewEnd {
            agent,
            verdicts: verdicts.map_err(|error| error.to_string()),
        })))
    }
}

fn could_not(error: &(dyn std::error::Error + 'static)) -> StepError {
    StepError::new(
        NOT_STARTED,
        chain(error),
        "no work was lost: fix the cause and run `ralphtool resume`",
    )
}

/// The answer where the reviewer's process could not be started.
fn not_started(reason: &str) -> Answer {
    Answer::ReviewEnded(Box::new(ReviewEnd {
        agent: AgentEnd {
            exit: AgentExit::Code(0),
            final_seen: false,
            is_error: false,
            promise: None,
            trouble: None,
            last_words: String::new(),
            last_line: None,
            swept: Vec::new(),
            still_running: Vec::new(),
            usage: None,
            session: None,
            began: false,
        },
        verdicts: Err(format!("it could not be started: {reason}")),
    }))
}

/// A gate with its last lines; those of its file, which a gate that passed has as well.
fn gate_shown(gate: &JudgedGate) -> GateShown {
    let (how, tail) = match &gate.result {
        GateResult::Passed => ("passed".to_owned(), String::new()),
        GateResult::Failed { how, tail, .. } => {
            (format!("failed ({how}), as it did before"), tail.clone())
        }
    };
    let tail = match tail.as_str() {
        "" => last_lines(Path::new(&gate.log), GATE_LINES),
        _ => tail,
    };
    let lines: Vec<&str> = tail.lines().collect();
    let last = &lines[lines.len().saturating_sub(GATE_LINES)..];
    let last: Vec<&str> = last
        .iter()
        .map(|line| first_chars(line, LINE_CHARS))
        .collect();
    GateShown {
        name: gate.name.clone(),
        run: gate.run.clone(),
        how,
        tail: last.join("\n"),
    }
}

/// The name of a review as one of a file.
fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '-' })
        .collect();
    name.chars().take(40).collect()
}
