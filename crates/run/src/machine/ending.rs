//! How a run ends: a stop, a failed step, an outcome, the finish of the branch.

use std::time::Duration;

use super::attempt::Work;
use super::io::{Effect, Step, StepFailure, StoppedBy, TimerKind};
use super::stories::Current;
use super::verdict::Ending;
use super::{Finishing, Machine, Phase, Stop};
use crate::policy::{OnFinish, STOP_GRACE};
use crate::records::event::{Event, FinishChoice, FinishFailed, Outcome, Request, RunEnded};

impl Machine {
    pub(super) fn on_stop(&mut self, phase: Phase, request: Request, by: StoppedBy) -> Phase {
        self.leaving |= by != StoppedBy::Interrupt;
        match phase {
            Phase::New | Phase::Ended | Phase::Finishing(..) => phase,
            Phase::Asking(outcome) => {
                self.announce(Event::Requested { request });
                // Keeping touches nothing; the user can still choose otherwise later.
                let choice = self.under_way.unwrap_or(FinishChoice::Keep);
                self.finish(outcome, choice, false)
            }
            phase => match self.note_stop(request, by) {
                Some(grace) => self.stop_phase(phase, grace),
                None => phase,
            },
        }
    }

    /// Takes note of a stop and says how much grace is left, or nothing if it is no news.
    fn note_stop(&mut self, request: Request, by: StoppedBy) -> Option<Duration> {
        let is_second = self.stop.is_some();
        if self.stop.is_some_and(|stop| stop.at_once) {
            return None;
        }
        let at_once = is_second || request == Request::StopNow;
        let by = self.stop.map_or(by, |stop| stop.by);
        self.stop = Some(Stop { by, at_once });
        let (request, grace) = if at_once {
            (Request::StopNow, Duration::ZERO)
        } else {
            (Request::Stop, STOP_GRACE)
        };
        self.announce(Event::Requested { request });
        Some(grace)
    }

    fn stop_phase(&mut self, phase: Phase, grace: Duration) -> Phase {
        match phase {
            Phase::Working(work) => self.stop_work(work, grace),
            Phase::Baseline(_) | Phase::Gating(_) | Phase::Whole(_) | Phase::Reviewing(_) => {
                self.emit(Effect::StopProcess { grace });
                phase
            }
            Phase::Waiting(held, _) => {
                self.cancel_timer(TimerKind::Wait);
                self.stop_held(held)
            }
            Phase::Paused(held) => self.stop_held(held),
            Phase::AwaitingAnswer(awaited) => {
                self.cancel_timer(TimerKind::Wait);
                self.stop_held(awaited.held)
            }
            // Anything else ends by itself, and the stop is seen then.
            phase => phase,
        }
    }

    fn stop_work(&mut self, mut work: Work, grace: Duration) -> Phase {
        let is_ending = matches!(
            work.ending,
            Ending::AfterFinal | Ending::Skip | Ending::Failed(_)
        );
        if !is_ending || grace.is_zero() {
            self.emit(Effect::StopProcess { grace });
        }
        if !matches!(work.ending, Ending::Failed(_)) {
            work.ending = Ending::Stop;
        }
        Phase::Working(work)
    }

    /// Stops at once and leaves everything as it is.
    pub(super) fn on_step_failed(&mut self, phase: Phase, failure: StepFailure) -> Phase {
        match phase {
            Phase::New | Phase::Ended | Phase::Asking(_) => return phase,
            Phase::Finishing(outcome, finishing) => {
                return self.on_finish_failed(outcome, finishing, failure);
            }
            Phase::Working(mut work) => {
                self.disarm_all(&mut work);
                self.tally.usage.add(&work.attempt.usage);
            }
            Phase::Reviewing(mut review) => self.settle_review(&mut review),
            _ => {}
        }
        let StepFailure { reason, hint, .. } = failure;
        self.end(Outcome::Broken { reason, hint })
    }

    /// The finish did not work: who chose it can choose again.
    fn on_finish_failed(
        &mut self,
        outcome: Outcome,
        finishing: Finishing,
        StepFailure {
            reason,
            hint,
            begun,
        }: StepFailure,
    ) -> Phase {
        self.under_way = begun.then_some(finishing.choice);
        self.announce(Event::FinishFailed(FinishFailed {
            choice: finishing.choice,
            reason: reason.clone(),
            hint: hint.clone(),
            begun,
        }));
        if finishing.asked && !self.leaving {
            return self.ask_finish(outcome);
        }
        self.close(Outcome::Broken { reason, hint })
    }

    /// The loop is over before the story at hand is done.
    pub(super) fn leave_and_end(&mut self, story: Current, outcome: Outcome) -> Phase {
        self.leave(story);
        self.end(outcome)
    }

    /// The loop is over; what is left is the branch.
    pub(super) fn end(&mut self, outcome: Outcome) -> Phase {
        let outcome = match outcome {
            Outcome::Stopped => self.stopped(),
            outcome => outcome,
        };
        self.announce_again();
        self.pause = false;
        self.skip = false;
        self.announce(Event::RunEnded(RunEnded {
            outcome: outcome.clone(),
            stories_done: self.tally.stories_done,
            stories_total: self.tally.stories_total,
            attempts: self.tally.attempts,
            duration_ms: self.ms_since(self.started),
            usage: self.tally.usage,
        }));
        // What is broken is left for the user to look at; without a branch nothing is to finish.
        if self.branch.is_none() || matches!(outcome, Outcome::Broken { .. }) {
            return self.close(outcome);
        }
        if matches!(outcome, Outcome::GateBroken { .. }) && self.is_untried() {
            return self.finish(outcome, FinishChoice::Abandon, false);
        }
        match self.policy().on_finish {
            // A user who ended the program does not answer.
            OnFinish::Ask if !self.leaving => self.ask_finish(outcome),
            OnFinish::Ask | OnFinish::Keep => self.finish(outcome, FinishChoice::Keep, false),
            OnFinish::Cleanup => self.finish(outcome, FinishChoice::Cleanup, false),
        }
    }

    /// What stopped the run.
    fn stopped(&self) -> Outcome {
        match self.stop.map(|stop| stop.by) {
            Some(StoppedBy::Terminate) => Outcome::Terminated,
            Some(StoppedBy::HangUp) => Outcome::TerminalClosed,
            Some(StoppedBy::Interrupt) | None => Outcome::Stopped,
        }
    }

    /// Whether nothing was tried on the branch, in this run or before it was resumed.
    fn is_untried(&self) -> bool {
        self.setup.resumed.is_none() && self.tally.attempts == 0
    }

    fn ask_finish(&mut self, outcome: Outcome) -> Phase {
        self.over_since.get_or_insert(self.now);
        self.announce(Event::ChoiceNeeded);
        self.request(Step::AskFinish);
        Phase::Asking(outcome)
    }

    pub(super) fn finish_as_asked(&mut self, outcome: Outcome, choice: FinishChoice) -> Phase {
        // One that failed midway must be completed, whatever is wanted now.
        let choice = self.under_way.unwrap_or(choice);
        self.finish(outcome, choice, true)
    }

    fn finish(&mut self, outcome: Outcome, choice: FinishChoice, asked: bool) -> Phase {
        self.request(Step::Finish(choice));
        Phase::Finishing(outcome, Finishing { choice, asked })
    }

    pub(super) fn close(&mut self, outcome: Outcome) -> Phase {
        self.pending = None;
        let exit_code = outcome.exit_code();
        self.emit(Effect::End { outcome, exit_code });
        Phase::Ended
    }
}
