//! `ralphtool check`: what is weak in a plan, found without a model.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::console::context::{Context, unfit};
use crate::console::output;
use crate::ui::findings;
use ralph_plan::change::Change;
use ralph_plan::source;
use ralph_plan::summary::{ChangeState, ChangeSummary};
use ralph_run::check::{CheckReport, CheckRequest, CheckedChange, check};
use ralph_run::failure::Failure;
use ralph_run::settings::PartialSettings;
use ralph_vault::git::repository::Repository;

/// Flags of `check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool check                   all changes with work left
  ralphtool check add-retry         one of them
  ralphtool check ./TODO.md         a checklist
  ralphtool check --json            the same, for a program

The exit code is 0 also with findings; it is 2 if there is no such change.")]
pub(super) struct CheckArguments {
    /// The change: its name in `list`, or the path of its folder or file [default: all with work left]
    #[arg(value_name = "CHANGE|PATH")]
    pub(super) change: Option<String>,
    /// Write a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(arguments: &CheckArguments, context: &Context) -> Result<ExitCode, Failure> {
    let folder = context.folder()?;
    let checker = Checker {
        repository: Repository::discover(&folder).ok(),
        folder: &folder,
        context,
    };
    let all = match &arguments.change {
        Some(target) => vec![checker.check(context.change(target)?)?],
        None => checker.check_all()?,
    };
    if arguments.json {
        let changes = all.into_iter().map(|it| it.found).collect();
        return output::json(&CheckReport::of(changes));
    }
    output::page(context, |page| {
        if all.is_empty() {
            page.line("nothing to check: no change has work left");
        }
        for (index, it) in all.iter().enumerate() {
            if index > 0 {
                page.blank();
            }
            findings::write(page, it.change.as_ref(), &it.found);
        }
    })
}

/// A change, if it could be read, and what was found in it.
struct Checked {
    change: Option<Change>,
    found: CheckedChange,
}

/// Checks changes from one folder.
struct Checker<'a> {
    repository: Option<Repository>,
    folder: &'a Path,
    context: &'a Context,
}

impl Checker<'_> {
    /// Checks every change with work left, and names those that cannot be read.
    fn check_all(&self) -> Result<Vec<Checked>, Failure> {
        let around = self.context.surroundings()?;
        let survey = source::survey(&around)?;
        if survey.changes.is_empty() {
            // Says that there is no plan at all, and the ways to one.
            source::find_root(&around)?;
        }
        output::warn(self.context, survey.warnings.iter().map(|it| &it.message));
        let left = survey.changes.iter().filter_map(|row| match &row.state {
            ChangeState::Open | ChangeState::Template => Some(self.check_row(row)),
            ChangeState::Unreadable { reason } => Some(Ok(unreadable(row, reason))),
            ChangeState::Done | ChangeState::Deferred | ChangeState::NoTasks => None,
        });
        left.collect()
    }

    fn check_row(&self, row: &ChangeSummary) -> Result<Checked, Failure> {
        self.check(self.context.change(&row.target)?)
    }

    fn check(&self, change: Change) -> Result<Checked, Failure> {
        let repository = self.repository.as_ref();
        let root = repository.map_or(&change.root, |it| &it.work_tree);
        let loaded = self.context.load(root, false)?;
        let settings = loaded.shown(PartialSettings::default()).map_err(unfit)?;
        let found = check(CheckRequest {
            change: &change,
            gates: &settings.gates.value,
            repository,
            folder: self.folder,
        });
        let change = Some(change);
        Ok(Checked { change, found })
    }
}

fn unreadable(row: &ChangeSummary, reason: &str) -> Checked {
    Checked {
        change: None,
        found: CheckedChange::unreadable(row.name.clone(), row.kind.word(), reason),
    }
}
