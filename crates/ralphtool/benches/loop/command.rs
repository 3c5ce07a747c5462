//! Commands that must work.

use std::process::Command;

use crate::Result;

/// Runs a command that must work.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    answer(command).map(drop)
}

/// What a command that must work says.
pub(crate) fn answer(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {said}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
