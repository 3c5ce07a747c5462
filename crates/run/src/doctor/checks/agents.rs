//! The agents: whether they are there, which version, whether somebody is logged in, and whose
//! keys they find. All programs are asked at the same time.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::{Patient, TIMEOUT};
use crate::agent::Agent;
use crate::agent::question::{Answer, Question};
use crate::doctor::Finding;
use crate::doctor::agent::{AgentHealth, CHECK, others};
use crate::engine::agents::{Agents, Obstacle, find};
use crate::engine::chain;
use crate::policy::roster::{Choice, Roster};
use crate::settings::agents::{CommandSettings, PromptBy};
use crate::settings::files::AllowedSettings;
use ralph_agents::adapters::{ADAPTERS, Adapter, Login, VERSION_ARGUMENTS, version_in};
use ralph_process::{EnvChange, Environment, Exit};

/// How much of a strange answer is shown.
const SHOWN: usize = 80;
/// How variables end that hold a key which is billed by use.
const KEY: &str = "_API_KEY";

/// Looks at every agent the settings may ask for, and in passing at the others that are built in.
pub(super) async fn look(
    settings: &AllowedSettings,
    patient: &Patient,
    root: &Path,
) -> (Vec<Finding>, Vec<AgentHealth>) {
    let limit = settings.command_timeout.value.0.unwrap_or(TIMEOUT);
    let ward = Ward {
        agents: Agents::of(settings),
        patient,
        root,
        limit: limit.min(TIMEOUT),
    };
    let asked = Roster::of_any_change(settings).all();
    // All are begun before the first is waited for.
    let mut examinations = ward.asked(&asked);
    examinations.extend(ward.others(&asked));
    let (mut findings, mut healths) = (Vec::new(), Vec::new());
    for examination in examinations {
        let (words, health) = examination.end().await;
        findings.extend(words);
        healths.push(health);
    }
    findings.extend(others(&healths));
    (findings, healths)
}

/// Where agents are looked at, and how.
struct Ward<'a> {
    agents: Agents,
    patient: &'a Patient,
    root: &'a Path,
    limit: Duration,
}

/// An agent that is being looked at.
struct Examination {
    health: AgentHealth,
    findings: Vec<Finding>,
    under_way: Option<(&'static Adapter, JoinHandle<Told>)>,
}

/// What an agent's program is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Version,
    VersionAndLogin,
}

/// What an agent's program told.
struct Told {
    version: Result<Answer, String>,
    login: Option<bool>,
}

impl Ward<'_> {
    /// Begins with the agents that a run may ask, each name once.
    fn asked(&self, choices: &[Choice]) -> Vec<Examination> {
        let is_first = |place: usize, choice: &Choice| {
            let mut before = choices.iter().take(place);
            !before.any(|it| it.agent == choice.agent)
        };
        let numbered = choices.iter().enumerate();
        let first = numbered.filter(|(place, choice)| is_first(*place, choice));
        first
            .map(|(_, choice)| self.examine(choice, self.find_all(choice, choices)))
            .collect()
    }

    /// The program of an agent, which must be fit for every model that it is asked for.
    fn find_all(&self, one: &Choice, all: &[Choice]) -> Result<Option<PathBuf>, Obstacle> {
        let same = all.iter().filter(|it| it.agent == one.agent);
        let found = same.map(|choice| self.find(choice));
        let found: Vec<Option<PathBuf>> = found.collect::<Result<_, _>>()?;
        Ok(found.into_iter().flatten().next())
    }

    fn find(&self, choice: &Choice) -> Result<Option<PathBuf>, Obstacle> {
        let agent = self.agents.agent(choice);
        find(choice, &agent, &self.patient.environment, self.root)
    }

    /// Begins with the built-in agents that no run asks.
    fn others(&self, asked: &[Choice]) -> Vec<Examination> {
        let asked: Vec<Agent> = asked.iter().map(|it| self.agents.agent(it)).collect();
        let is_asked = |name: &str| {
            let mut adapters = asked.iter().filter_map(adapter_of);
            adapters.any(|adapter| adapter.name == name)
        };
        let names = ADAPTERS.into_iter().map(|it| it.name);
        names
            .filter(|name| !is_asked(name))
            .filter_map(|name| self.other(name))
            .collect()
    }

    fn other(&self, name: &str) -> Option<Examination> {
        let choice = Choice {
            agent: name.to_owned(),
            model: None,
        };
        let agent = self.agents.agent(&choice);
        // A command of the user's may go by the name of a built-in agent, or be around it.
        let adapter = adapter_of(&agent).filter(|it| agent.program() == Some(it.name))?;
        let mut examination = Examination::of(name, false);
        if let Ok(Some(program)) = self.find(&choice) {
            let told = self.ask(adapter, &program, &agent, Wanted::Version);
            examination.begin(adapter, &program, told);
        }
        Some(examination)
    }

    fn examine(&self, choice: &Choice, found: Result<Option<PathBuf>, Obstacle>) -> Examination {
        let name = &choice.agent;
        let agent = &self.agents.agent(choice);
        let mut examination = Examination::of(name, true);
        let program = match found {
            Ok(Some(program)) => program,
            Ok(None) => {
                let message = format!("`{name}`, which is built in");
                examination.findings.push(Finding::good(CHECK, message));
                return examination;
            }
            Err(obstacle) => {
                examination.findings.push(refused(obstacle));
                return examination;
            }
        };
        self.look_at_keys(agent, &mut examination.health);
        match agent {
            Agent::BuiltIn { adapter, wrap, .. } if wrap.is_empty() => {
                let told = self.ask(adapter, &program, agent, Wanted::VersionAndLogin);
                examination.begin(adapter, &program, told);
            }
            Agent::BuiltIn { adapter, .. } => {
                let (title, around) = (adapter.title, program.display());
                let text = format!("{title} inside of `{around}`, where it cannot be looked at");
                examination.note(&program, &text);
                let keys = examination.health.about_keys();
                examination.findings.extend(keys);
            }
            Agent::Command { command, .. } => {
                examination.note(&program, &described(command, &program));
            }
            Agent::Demo => {}
        }
        examination
    }

    fn environment(&self, agent: &Agent) -> Environment {
        EnvChange::applied(&agent.environment(self.root), &self.patient.environment)
    }

    fn look_at_keys(&self, agent: &Agent, health: &mut AgentHealth) {
        let Some(adapter) = adapter_of(agent) else {
            return;
        };
        let inherited = EnvChange::applied(&[], &self.patient.environment);
        let own = self.environment(agent);
        let keys = adapter.credentials.iter().copied();
        let keys = keys.filter(|name| name.ends_with(KEY) && is_set(&own, name));
        health.keys = keys.map(str::to_owned).collect();
        let all = ADAPTERS.into_iter().flat_map(|it| it.credentials);
        let foreign = all.filter(|name| !adapter.credentials.contains(name));
        let withheld = foreign.filter(|name| is_set(&inherited, name) && !is_set(&own, name));
        health.withheld = withheld.map(|name| (*name).to_owned()).collect();
        health.withheld.sort();
        health.withheld.dedup();
    }

    /// Asks a program for its version and, where that is wanted, for its login.
    fn ask(
        &self,
        adapter: &'static Adapter,
        program: &Path,
        agent: &Agent,
        wanted: Wanted,
    ) -> JoinHandle<Told> {
        let changes = agent.environment(self.root);
        let limit = self.limit;
        let question = |arguments| Question {
            program: program.to_owned(),
            arguments,
            environment: changes.clone(),
            limit,
        };
        let version = question(VERSION_ARGUMENTS);
        let with_login = wanted == Wanted::VersionAndLogin;
        let probe = adapter.login.probe.as_ref().filter(|_| with_login);
        let probe = probe.map(|probe| (probe, question(probe.arguments)));
        let traces = with_login
            .then(|| self.traces(&adapter.login, agent))
            .flatten();
        tokio::spawn(async move {
            let login = async {
                let (probe, question) = probe?;
                let answer = question.ask().await.ok()?;
                let Exit::Code(code) = answer.exit else {
                    return None;
                };
                (probe.reads)(code, &answer.said)
            };
            let (version, login) = tokio::join!(version.ask(), login);
            Told {
                version: version.map_err(|error| chain(&error)),
                // A key in a variable is as good as a login, and no program tells of it.
                login: login.filter(|yes| *yes).or(traces).or(login),
            }
        })
    }

    /// Whether there is a sign of a login: a file or a variable; nothing where no sign is known.
    fn traces(&self, login: &Login, agent: &Agent) -> Option<bool> {
        if login.files.is_empty() && login.variables.is_empty() {
            return None;
        }
        let environment = self.environment(agent);
        let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
        let home = home.or_else(|| self.patient.home.clone());
        let is_there = |file: &str| home.as_ref().is_some_and(|home| home.join(file).is_file());
        let variable = login
            .variables
            .iter()
            .any(|name| is_set(&environment, name));
        Some(variable || login.files.iter().any(|file| is_there(file)))
    }
}

impl Examination {
    fn of(name: &str, asked: bool) -> Self {
        Self {
            health: AgentHealth::new(name, asked),
            findings: Vec::new(),
            under_way: None,
        }
    }

    fn begin(&mut self, adapter: &'static Adapter, program: &Path, told: JoinHandle<Told>) {
        self.health.program = Some(program.display().to_string());
        self.under_way = Some((adapter, told));
    }

    /// All there is to say of a program that is not asked.
    fn note(&mut self, program: &Path, text: &str) {
        let message = format!("`{}`: {text}", self.health.name);
        self.health.program = Some(program.display().to_string());
        self.findings.push(Finding::good(CHECK, message));
    }

    async fn end(mut self) -> (Vec<Finding>, AgentHealth) {
        let Some((adapter, told)) = self.under_way else {
            return (self.findings, self.health);
        };
        match told.await {
            Ok(told) => {
                self.health.logged_in = told.login;
                match version_of(told.version) {
                    Ok(version) => {
                        self.health.version = Some(version);
                        self.health.supported = Some(version >= adapter.oldest);
                    }
                    Err(trouble) => self.health.trouble = Some(trouble),
                }
            }
            Err(error) => self.health.trouble = Some(error.to_string()),
        }
        if self.health.asked {
            self.findings.extend(self.health.findings(adapter));
        }
        (self.findings, self.health)
    }
}

/// The version in an answer, or what is there instead.
fn version_of(answer: Result<Answer, String>) -> Result<(u32, u32, u32), String> {
    let answer = answer?;
    let first = |text: &str| {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        line.map(|line| line.chars().take(SHOWN).collect::<String>())
    };
    let how = match answer.exit {
        Exit::Code(0) => {
            return version_in(&answer.said).ok_or_else(|| match first(&answer.said) {
                Some(line) => format!("it says `{line}`"),
                None => "it says nothing".to_owned(),
            });
        }
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Unknown => "unknown end".to_owned(),
    };
    Err(match first(&answer.complained).or(first(&answer.said)) {
        Some(line) => format!("{how}, `{line}`"),
        None => how,
    })
}

fn adapter_of(agent: &Agent) -> Option<&'static Adapter> {
    match agent {
        Agent::BuiltIn { adapter, .. } => Some(adapter),
        Agent::Command { .. } | Agent::Demo => None,
    }
}

fn is_set(environment: &Environment, name: &str) -> bool {
    let value: Option<&OsString> = environment.get(OsStr::new(name));
    value.is_some_and(|value| !value.is_empty())
}

fn described(command: &CommandSettings, program: &Path) -> String {
    let prompt = match command.prompt {
        PromptBy::Stdin => "prompt by standard input",
        PromptBy::File => "prompt by file",
    };
    let folder = command.cwd.as_ref();
    let folder = folder.map_or_else(String::new, |cwd| format!(", starts in `{cwd}`"));
    format!("`{}`, {prompt}{folder}", program.display())
}

fn refused(obstacle: Obstacle) -> Finding {
    Finding::refusal(CHECK, obstacle.message).hint(obstacle.hint)
}
