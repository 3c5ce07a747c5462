//! The independent check: whether what is on the branch works for inputs that neither the agent nor
//! any gate has seen, and whether its tests still notice a wrong function.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::Result;
use super::catalogue::Function;
use super::project::{ASSERTIONS, Project, RUNNER, write};

/// A story that does not hold, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The story, 0 for what was there before.
    pub(crate) story: usize,
    /// What is wrong.
    pub(crate) what: What,
}

/// What is wrong with a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Its function gives wrong answers.
    DoesNotWork,
    /// Its tests are red, or pass whatever the function does.
    IsNotTested,
}

impl What {
    /// In words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::DoesNotWork => "does not work",
            Self::IsNotTested => "is not tested any more",
        }
    }
}

/// What was committed, and its judge.
pub(crate) struct Judge<'a> {
    project: &'a Project,
    copy: PathBuf,
}

impl<'a> Judge<'a> {
    /// Takes a copy of what was committed, with the runner as it was at the start.
    pub(crate) fn new(project: &'a Project) -> Result<Self> {
        let copy = project.committed()?;
        write(&copy.join("tests/run.sh"), RUNNER)?;
        write(&copy.join("tests/assert.sh"), ASSERTIONS)?;
        Ok(Self { project, copy })
    }

    /// What is wrong with any of these stories.
    pub(crate) fn flaws(&self, stories: &[usize]) -> Result<Vec<Flaw>> {
        let mut flaws = Vec::new();
        for story in stories {
            let function = self.project.functions[*story];
            let what = if !self.works(function)? {
                What::DoesNotWork
            } else if !self.is_tested(function)? {
                What::IsNotTested
            } else {
                continue;
            };
            let story = *story;
            flaws.push(Flaw { story, what });
        }
        Ok(flaws)
    }

    fn works(&self, function: &Function) -> Result<bool> {
        let name = function.name;
        let source = self.copy.join(format!("src/{name}.sh"));
        if !source.is_file() {
            return Ok(false);
        }
        let mut script = format!(". ./src/{name}.sh\n");
        let mut wanted = String::new();
        for (arguments, right, _) in function.hidden {
            let _ = writeln!(script, "({name} {arguments})");
            let _ = writeln!(wanted, "{right}");
        }
        let mut shell = self.project.command(Path::new("sh"), &self.copy);
        let output = shell.args(["-c", &script]).output()?;
        Ok(output.stdout == wanted.as_bytes())
    }

    /// Whether its tests pass, and do not where the function is wrong or empty.
    fn is_tested(&self, function: &Function) -> Result<bool> {
        if !self.passes(function)? {
            return Ok(false);
        }
        let source = self.copy.join(format!("src/{}.sh", function.name));
        let kept = fs::read(&source)?;
        for spoiled in [function.broken(), function.stub()] {
            fs::write(&source, spoiled)?;
            if self.passes(function)? {
                fs::write(&source, kept)?;
                return Ok(false);
            }
        }
        fs::write(&source, kept)?;
        Ok(true)
    }

    fn passes(&self, function: &Function) -> Result<bool> {
        let tests = format!("tests/test_{}.sh", function.name);
        let mut shell = self.project.command(Path::new("sh"), &self.copy);
        let output = shell.args(["tests/run.sh", &tests]).output()?;
        Ok(output.status.success())
    }
}
