//! Which step of which script comes next: scripts are chosen by a word of the prompt, attempts
//! are sessions of the agent, and rounds are the processes that continue one.

use super::request::Request;
use super::script::{Step, Turn, say};

/// Stands in an answer for the key that the prompt of a review asks for.
pub(crate) const KEY: &str = "KEY-OF-THE-REVIEW";

/// What ralphtool says in every prompt that continues a session, and in no other.
const CONTINUES: &str = "Nothing was undone: the files are as you left them";

/// What the model does for prompts with a word.
#[derive(Debug)]
pub(crate) struct Script {
    /// The word, or words, the prompt must have.
    word: String,
    /// The steps of each round of each attempt. A further attempt does what the last one did, and
    /// so does a further round.
    attempts: Vec<Vec<Vec<Step>>>,
}

impl Script {
    /// A script for prompts with this text in them.
    pub(crate) fn on(word: &str) -> Self {
        Self {
            word: word.to_owned(),
            attempts: Vec::new(),
        }
    }

    /// Adds the steps of one more attempt. An agent that asks on after its last step gets that
    /// one again.
    pub(crate) fn attempt(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.attempts.push(vec![steps.into_iter().collect()]);
        self
    }

    /// Adds the steps of one more round of the last attempt, in which its session is continued.
    pub(crate) fn round(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        let rounds = self.attempts.last_mut().unwrap();
        rounds.push(steps.into_iter().collect());
        self
    }
}

/// One request that was answered, or was not, from a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    /// The word of the script; empty for what is none of its business.
    pub(crate) word: String,
    /// The attempt, from 1.
    pub(crate) attempt: usize,
    /// The round of the attempt, from 1.
    pub(crate) round: usize,
    /// The step of the round, from 1.
    pub(crate) step: usize,
    /// What users said in the conversation.
    pub(crate) said: String,
    /// The whole request.
    pub(crate) body: String,
    /// Whether it was answered.
    pub(crate) is_answered: bool,
}

/// How far the process that was seen last has come with its script.
#[derive(Debug)]
struct Progress {
    script: usize,
    attempt: usize,
    /// What distinguishes the process from others.
    session: Option<String>,
    opening: String,
    /// The round it is in, from 1.
    round: usize,
    /// How many steps of the round it got.
    steps: usize,
}

/// The scripts of a server and how far they have come.
#[derive(Debug)]
pub(crate) struct Play {
    scripts: Vec<Script>,
    processes: Vec<Progress>,
}

impl Play {
    /// Nothing was played yet.
    pub(crate) fn new(scripts: Vec<Script>) -> Self {
        Self {
            scripts,
            processes: Vec::new(),
        }
    }

    /// The next step for a request.
    pub(crate) fn next(&mut self, request: &Request) -> (Served, Step) {
        if request.is_aside() {
            return aside(request, "Canned words.");
        }
        let Some(script) = self.script(request) else {
            return aside(request, "The bench has no script for this prompt.");
        };
        let place = self.process(script, request);
        let said = request.opening.clone() + &request.later;
        let process = &mut self.processes[place];
        let round = said.matches(CONTINUES).count() + 1;
        if round > process.round {
            (process.round, process.steps) = (round, 0);
        }
        process.steps += 1;
        let process = &self.processes[place];
        let all = self.steps(process);
        let step = process.steps.min(all.len());
        let served = Served {
            word: self.scripts[script].word.clone(),
            attempt: process.attempt,
            round: process.round,
            step,
            said,
            body: request.body.clone(),
            is_answered: all[step - 1].is_answer(),
        };
        (served, with_key(&all[step - 1], request))
    }

    /// The script of a request: that of its session, whose prompt may be gone when the agent has made
    /// the conversation shorter, or else the one whose word it has.
    fn script(&self, request: &Request) -> Option<usize> {
        let is_same = |process: &&Progress| process.session == request.session;
        let of_session = request.session.as_ref().and_then(|_| {
            let process = self.processes.iter().find(is_same)?;
            Some(process.script)
        });
        let has = |script: &Script| request.opening.contains(&script.word);
        of_session.or_else(|| self.scripts.iter().position(has))
    }

    /// The process that asks: one that is known, or the next attempt.
    fn process(&mut self, script: usize, request: &Request) -> usize {
        let known = self.processes.iter().rposition(|process| {
            process.script == script
                && process.session == request.session
                && (request.session.is_some() || process.opening == request.opening)
        });
        if let Some(known) = known
            && (request.session.is_some() || self.goes_on(&self.processes[known], request))
        {
            return known;
        }
        let earlier = |process: &&Progress| process.script == script;
        let earlier = self.processes.iter().filter(earlier).count();
        self.processes.push(Progress {
            script,
            attempt: earlier + 1,
            session: request.session.clone(),
            opening: request.opening.clone(),
            round: 1,
            steps: 0,
        });
        self.processes.len() - 1
    }

    /// Whether a process without a name of its own goes on. A conversation that begins is a new
    /// process, unless an error is tried again and the script foresees that.
    fn goes_on(&self, known: &Progress, request: &Request) -> bool {
        let (all, steps) = (self.steps(known), known.steps);
        let answered = steps.checked_sub(1).and_then(|last| all.get(last));
        request.answers > 0 || (steps < all.len() && !answered.is_some_and(Step::is_answer))
    }

    /// The steps of the round a process is in.
    fn steps(&self, process: &Progress) -> &[Step] {
        let attempts = &self.scripts[process.script].attempts;
        let rounds = &attempts[process.attempt.min(attempts.len()) - 1];
        &rounds[process.round.min(rounds.len()) - 1]
    }
}

/// The step with the key of the review that the prompt asks for, where it has one.
fn with_key(step: &Step, request: &Request) -> Step {
    let Step::Say(turn) = step else {
        return step.clone();
    };
    let asked = request.opening.split_once("\"review\": \"");
    let key = asked.and_then(|(_, rest)| rest.split('"').next());
    Step::Say(Turn {
        text: turn.text.replace(KEY, key.unwrap_or(KEY)),
        ..turn.clone()
    })
}

/// An answer that is in no script.
fn aside(request: &Request, text: &str) -> (Served, Step) {
    let served = Served {
        word: String::new(),
        attempt: 0,
        round: 0,
        step: 0,
        said: request.opening.clone(),
        body: request.body.clone(),
        is_answered: true,
    };
    (served, say(text))
}
