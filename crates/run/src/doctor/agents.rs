//! The agents: whether they are there, which version, whether they are logged in, and whose keys
//! they find. All programs are asked at the same time.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::agent_health::{AgentHealth, CHECK, others};
use super::{Finding, Scope, TIMEOUT};
use crate::agent::question::{Answer, NoAnswer, Question};
use crate::agent::{Agent, Program};
use crate::engine::agents::{agent, find};
use crate::failure::{Failure, chain};
use crate::policy::reviewer::reviewers;
use crate::policy::roster::{Choice, Roster};
use crate::settings::agents::{CommandSettings, PromptBy};
use crate::settings::files::AllowedSettings;
use ralph_agents::adapters::{
    ADAPTERS, Adapter, Login, Role, VERSION_ARGUMENTS, Version, version_in,
};
use ralph_process::{EnvChange, Environment, Exit};

/// How much of an unexpected answer is shown.
const SHOWN: usize = 80;
/// How variables end that hold a key which is billed by use.
const KEY: &str = "_API_KEY";

/// What was found about one agent.
type Report = (Vec<Finding>, AgentHealth);

/// Checks every agent the settings may ask for, and briefly the others that are built in.
pub(super) async fn check(
    settings: &AllowedSettings,
    scope: &Scope,
    root: &Path,
) -> (Vec<Finding>, Vec<AgentHealth>) {
    let limit = settings.command_timeout.value.0.unwrap_or(TIMEOUT);
    let examiner = Arc::new(Examiner {
        settings: settings.clone(),
        asked: Roster::of_any_change(settings).all(),
        reviewers: reviewers(settings)
            .into_iter()
            .map(|it| it.choice)
            .collect(),
        environment: scope.environment.clone(),
        home: scope.home.clone(),
        root: root.to_owned(),
        limit: limit.min(TIMEOUT),
    });
    let mut names = BTreeSet::new();
    let asked = examiner.asked.iter().chain(&examiner.reviewers);
    let asked = asked.filter(|choice| names.insert(&choice.agent)).cloned();
    // All are started before the first is waited for.
    let mut reports: Vec<JoinHandle<Option<Report>>> = asked
        .map(|choice| {
            let examiner = Arc::clone(&examiner);
            tokio::spawn(async move { Some(examiner.examine(&choice).await) })
        })
        .collect();
    reports.extend(ADAPTERS.into_iter().map(|adapter| {
        let examiner = Arc::clone(&examiner);
        tokio::spawn(async move { examiner.examine_unused(adapter.name).await })
    }));
    let (mut findings, mut healths) = (Vec::new(), Vec::new());
    for report in reports {
        match report.await {
            Ok(report) => {
                let (found, health) = report.unzip();
                findings.extend(found.into_iter().flatten());
                healths.extend(health);
            }
            Err(error) => findings.push(Finding::fault(CHECK, error.to_string())),
        }
    }
    findings.extend(others(&healths));
    (findings, healths)
}

/// Where agents are examined, and how.
struct Examiner {
    settings: AllowedSettings,
    /// Every agent with every model that a run may ask it for.
    asked: Vec<Choice>,
    /// Every agent that reviews.
    reviewers: Vec<Choice>,
    environment: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    root: PathBuf,
    limit: Duration,
}

impl Examiner {
    /// The program of an agent, which must be fit for every model that it is asked for.
    fn find_all(&self, name: &str) -> Result<Option<PathBuf>, Failure> {
        let mut program = None;
        for choice in self.asked.iter().filter(|it| it.agent == name) {
            program = program.or(self.find(choice, Role::Worker)?);
        }
        for choice in self.reviewers.iter().filter(|it| it.agent == name) {
            program = program.or(self.find(choice, Role::Reviewer)?);
        }
        Ok(program)
    }

    fn find(&self, choice: &Choice, role: Role) -> Result<Option<PathBuf>, Failure> {
        let agent = agent(&self.settings, choice);
        find(choice, &agent, role, &self.environment, &self.root)
    }

    /// Examines a built-in agent that no run uses; none if a run uses it.
    async fn examine_unused(&self, name: &str) -> Option<Report> {
        let mut asked = self.asked.iter().chain(&self.reviewers);
        let adapter_of = |it: &Choice| agent(&self.settings, it).adapter();
        if asked.any(|it| adapter_of(it).is_some_and(|it| it.name == name)) {
            return None;
        }
        let choice = Choice {
            agent: name.to_owned(),
            model: None,
        };
        let agent = agent(&self.settings, &choice);
        // A command of the user's may have the name of a built-in agent, or run it.
        let adapter = agent.adapter()?;
        if agent.program(Role::Worker) != Some(adapter.name) {
            return None;
        }
        let mut health = AgentHealth::new(name, false);
        if let Ok(Some(program)) = self.find(&choice, Role::Worker) {
            health.program = Some(program.display().to_string());
            let version = self.question(&program, &agent, VERSION_ARGUMENTS);
            health.set_version(version.ask().await, adapter.oldest);
        }
        Some((Vec::new(), health))
    }

    async fn examine(&self, choice: &Choice) -> Report {
        let name = &choice.agent;
        let agent = agent(&self.settings, choice);
        let mut health = AgentHealth::new(name, true);
        let program = match self.find_all(name) {
            Ok(Some(program)) => program,
            Ok(None) => {
                let message = format!("`{name}`, which is built in");
                return (vec![Finding::good(CHECK, message)], health);
            }
            Err(failure) => {
                let finding = Finding {
                    hint: failure.hints().first().cloned(),
                    ..Finding::refusal(CHECK, failure.message())
                };
                return (vec![finding], health);
            }
        };
        let shown = program.display();
        health.program = Some(shown.to_string());
        self.find_keys(&agent, &mut health);
        let findings = match &agent.program {
            Program::BuiltIn { adapter, wrap } if wrap.is_empty() => {
                self.ask(adapter, &program, &agent, &mut health).await;
                health.findings(adapter)
            }
            Program::BuiltIn { adapter, .. } => {
                let title = adapter.title;
                let message =
                    format!("`{name}`: {title} inside of `{shown}`, where it cannot be checked");
                let mut findings = vec![Finding::good(CHECK, message)];
                findings.extend(health.about_keys());
                findings
            }
            Program::Command(command) => {
                let message = format!("`{name}`: {}", described(command, &program));
                vec![Finding::good(CHECK, message)]
            }
            Program::Demo => Vec::new(),
        };
        (findings, health)
    }

    /// Asks a program for its version and its login.
    async fn ask(
        &self,
        adapter: &Adapter,
        program: &Path,
        agent: &Agent,
        health: &mut AgentHealth,
    ) {
        let login = async {
            let probe = adapter.login.probe.as_ref()?;
            let question = self.question(program, agent, probe.arguments);
            let answer = question.ask().await.ok()?;
            let Exit::Code(code) = answer.exit else {
                return None;
            };
            (probe.reads)(code, &answer.said)
        };
        let version = self.question(program, agent, VERSION_ARGUMENTS).ask();
        let (version, login) = tokio::join!(version, login);
        health.set_version(version, adapter.oldest);
        // A key in a variable is as good as a login, and no program reports it.
        let traces = self.login_traces(&adapter.login, agent);
        health.logged_in = login.filter(|yes| *yes).or(traces).or(login);
    }

    fn question(
        &self,
        program: &Path,
        agent: &Agent,
        arguments: &'static [&'static str],
    ) -> Question {
        Question {
            program: program.to_owned(),
            arguments,
            environment: agent.environment(&self.root),
            limit: self.limit,
        }
    }

    fn environment(&self, agent: &Agent) -> Environment {
        EnvChange::applied(&agent.environment(&self.root), &self.environment)
    }

    fn find_keys(&self, agent: &Agent, health: &mut AgentHealth) {
        let Some(adapter) = agent.adapter() else {
            return;
        };
        let inherited = EnvChange::applied(&[], &self.environment);
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

    /// Whether there is a sign of a login: a file or a variable; none if no sign is defined.
    fn login_traces(&self, login: &Login, agent: &Agent) -> Option<bool> {
        if login.files.is_empty() && login.variables.is_empty() {
            return None;
        }
        let environment = self.environment(agent);
        let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
        let home = home.or_else(|| self.home.clone());
        let is_there = |file: &str| home.as_ref().is_some_and(|home| home.join(file).is_file());
        let mut variables = login.variables.iter();
        let has_variable = variables.any(|name| is_set(&environment, name));
        Some(has_variable || login.files.iter().any(|file| is_there(file)))
    }
}

impl AgentHealth {
    fn set_version(&mut self, answer: Result<Answer, NoAnswer>, oldest: Version) {
        let answer = answer.map_err(|error| chain(&error));
        match answer.and_then(|answer| version_of(&answer)) {
            Ok(version) => {
                self.version = Some(version);
                self.supported = Some(version >= oldest);
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }
}

/// The version in an answer, or what is there instead.
fn version_of(answer: &Answer) -> Result<Version, String> {
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
