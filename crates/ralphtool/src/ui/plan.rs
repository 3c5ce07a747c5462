//! What a run would do: the answer to `--dry-run`.

use std::io::{self, Write};

use super::style::{DIM, NAME, Paint, STRONG};
use super::text::{clean, columns, pad};
use super::words::{Count, Noun};
use ralph_run::settings::Settings;

/// What a run would do.
#[derive(Debug)]
pub(crate) struct PlanView<'a> {
    /// The change.
    pub(crate) change: &'a str,
    /// The checkpoint branch.
    pub(crate) branch: &'a str,
    /// Where HEAD is: a branch name or a commit.
    pub(crate) original: &'a str,
    /// The interrupted run that would be resumed.
    pub(crate) resumes: Option<&'a str>,
    /// The stories that would be worked on, in order.
    pub(crate) stories: Vec<PlannedStory<'a>>,
    /// All that was configured.
    pub(crate) settings: &'a Settings,
}

/// A story that would be worked on.
#[derive(Debug)]
pub(crate) struct PlannedStory<'a> {
    /// What people call it.
    pub(crate) id: &'a str,
    /// Its title.
    pub(crate) title: &'a str,
    /// How many of its tasks are open.
    pub(crate) open_tasks: usize,
}

/// Writes the plan for people.
pub(crate) fn write(out: &mut dyn Write, paint: Paint, plan: &PlanView<'_>) -> io::Result<()> {
    let retries = u64::from(plan.settings.max_retries.value);
    let head = format!("`{}` would be run; nothing is touched", clean(plan.change));
    writeln!(out, "{}", paint.apply(STRONG, head))?;
    let mut facts = vec![
        ("branch", format!("{} from {}", plan.branch, plan.original)),
        ("agent", plan.settings.agent.value.names().join(", else ")),
        ("attempts", format!("at most {} a story", retries + 1)),
    ];
    if let Some(run) = plan.resumes {
        facts.push(("resumes", format!("the interrupted run {run}")));
    }
    for (name, value) in facts {
        let name = paint.apply(DIM, pad(name, 10));
        writeln!(out, "  {name} {}", clean(&value))?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "{}",
        paint.apply(STRONG, Count(plan.stories.len(), Noun::Story))
    )?;
    for story in &plan.stories {
        writeln!(
            out,
            "  {} {}  {}",
            paint.apply(NAME, clean(story.id)),
            clean(story.title),
            paint.apply(DIM, format!("{} open", Count(story.open_tasks, Noun::Task))),
        )?;
    }
    write_settings(out, paint, plan.settings)
}

fn write_settings(out: &mut dyn Write, paint: Paint, settings: &Settings) -> io::Result<()> {
    let lines = settings.lines();
    let widest = |pick: fn(&(&str, String, String)) -> usize| lines.iter().map(pick).max();
    let name_width = widest(|(name, _, _)| columns(name)).unwrap_or(0);
    let value_width = widest(|(_, value, _)| columns(value)).unwrap_or(0).min(40);
    writeln!(out)?;
    writeln!(out, "{}", paint.apply(STRONG, "settings"))?;
    for (name, value, origin) in &lines {
        writeln!(
            out,
            "  {}  {}  {}",
            pad(name, name_width),
            pad(&clean(value), value_width),
            paint.apply(DIM, clean(origin)),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_run::settings::file;

    #[test]
    fn the_plan_names_stories_and_the_origin_of_every_setting() {
        let text = "max_retries = 1\n[[gate]]\nname = \"tests\"\nrun = \"cargo test\"\n";
        let layer = file::parse("ralphtool.toml", text).unwrap();
        let settings = Settings::resolve([layer]).unwrap();
        let plan = PlanView {
            change: "add-retry",
            branch: "ralph/add-retry",
            original: "main",
            resumes: Some("20261115-215900-x7k2"),
            stories: vec![PlannedStory {
                id: "2",
                title: "Retry the upload",
                open_tasks: 1,
            }],
            settings: &settings,
        };
        let mut out = Vec::new();
        write(&mut out, Paint::Plain, &plan).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
