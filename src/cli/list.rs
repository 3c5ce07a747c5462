//! `ralphtool list`: the changes of this repository.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::context::Context;
use super::output;
use crate::edge::source;
use crate::failure::Failure;
use crate::ui::list::{self, ChangeRow};

/// Flags of `list`.
#[derive(Debug, Default, Args)]
pub(super) struct ListArguments {
    /// Write a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Lists the changes.
pub(super) fn run(arguments: &ListArguments, context: &Context) -> Result<ExitCode, Failure> {
    let around = context.surroundings()?;
    let root = source::find_root(&around)?;
    output::warn(context, root.warnings.iter().map(|it| it.message.as_str()));
    let found = source::list_changes(&root, &around)?;
    let rows: Vec<ChangeRow> = found.into_iter().map(ChangeRow::from).collect();
    if arguments.json {
        return output::json(&rows);
    }
    let paint = context.paint_for(&std::io::stdout());
    output::present(|out| {
        if rows.is_empty() {
            return list::write_empty(out, paint, &root.changes().display().to_string());
        }
        list::write(out, paint, &rows, Timestamp::now())
    })
}
