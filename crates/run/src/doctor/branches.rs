//! The branches that runs of the open changes would make: whether something is in their way.

use super::{Finding, Place, Scope, TIMEOUT};
use crate::engine::entry::StartMode;
use crate::failure::chain;
use crate::preview::forecast::{AskedFor, Forecast, Question};
use ralph_plan::source::read_target;
use ralph_plan::summary::ChangeSummary;
use ralph_vault::CheckpointError;

/// Names the changes whose branch cannot be made. A run can start as long as there is another one.
pub(super) fn check(scope: &Scope, place: &Place<'_>, open: &[ChangeSummary]) -> Vec<Finding> {
    let obstacle = |change: &&ChangeSummary| {
        let error = obstacle(scope, place, change)?;
        Some((change.name.clone(), error))
    };
    let found: Vec<(String, CheckpointError)> =
        open.iter().filter_map(|it| obstacle(&it)).collect();
    let is_every_one = found.len() == open.len();
    let finding = |(name, error): (String, CheckpointError)| {
        let message = format!("a run of `{name}` cannot start: {}", chain(&error));
        let finding = if is_every_one {
            Finding::refusal("plan", message)
        } else {
            Finding::warning("plan", message)
        };
        Finding {
            hint: error.hint(),
            ..finding
        }
    };
    found.into_iter().map(finding).collect()
}

/// Why a new run could not have its branch. A change that cannot be read is reported by itself.
fn obstacle(scope: &Scope, place: &Place<'_>, change: &ChangeSummary) -> Option<CheckpointError> {
    let change = read_target(&change.target, &scope.surroundings).ok()?;
    let question = Question {
        repository: place.repository,
        git: &place.repository.git(TIMEOUT),
        state: place.state,
        change: &change,
        asked: AskedFor::Change,
        mode: StartMode::default(),
    };
    match Forecast::of(question) {
        Ok(forecast) => forecast.obstacle(question),
        Err(error) => Some(error),
    }
}
