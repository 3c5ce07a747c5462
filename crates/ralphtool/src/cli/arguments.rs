//! The command line as a whole: the list of commands, each with its arguments.

use clap::{Parser, Subcommand};

use super::{
    attach, attempts, completions, demo, doctor, finish, gc, init, learnings, list, log,
    loop_command, man, new, prompt, show, status, trust,
};
use crate::console::flags::{EXIT_CODES, GlobalArguments};

const EXAMPLES: &str = "\
The way:
  ralphtool demo                    see the whole thing on a throw-away repository first
  ralphtool init                    write `ralphtool.toml`, with your tests as gates
  ralphtool trust                   allow the commands of a `ralphtool.toml` you did not write
  ralphtool doctor                  is everything there, and is the agent logged in
  ralphtool list                    the changes, and how far they are
  ralphtool loop add-retry          work through one, story by story
  ralphtool log last                what it did, and what it took
  ralphtool finish --cleanup        take the work home; `ralphtool undo` takes that back

Examples:
  ralphtool                         pick a change and watch it being built
  ralphtool status                  how far is it, from another terminal
  ralphtool attempts show 2.1       what a failed attempt had done
  ralphtool resume                  go on after a stop, a crash or a limit
  ralphtool loop add-retry --json   a run as JSON lines for a program

";

/// Runs a coding agent through a written change, story by story.
///
/// Each finished story becomes one commit on `ralph/CHANGE`; each failed attempt is put aside
/// whole, the tree goes back to the last checkpoint, and the story is tried again. Without a
/// command, a terminal shows the changes to pick one; elsewhere they are listed.
#[derive(Debug, Parser)]
#[command(
    name = "ralphtool",
    version,
    after_help = format!("{EXAMPLES}{EXIT_CODES}"),
    disable_help_subcommand = true,
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) global: GlobalArguments,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Work through a change, story by story
    Loop(loop_command::LoopArguments),
    /// Say where the run of this repository stands, from any terminal
    ///
    /// Takes no lock and changes nothing: it works while a run is at work in another terminal, and
    /// after it. Says which story is at hand, what is done right now, what it took so far, how the
    /// last attempt failed, and what to type next.
    Status(status::StatusArguments),
    /// Show the screen of a run in another terminal, to look at
    ///
    /// Nothing on it steers the run: leaving it, with q or Esc, does not touch the run, and nobody
    /// there notices. When the run ends, its result is shown; when it goes on, so does the screen.
    Attach(attach::AttachArguments),
    /// Go on with the run that was interrupted, stopped or kept last
    ///
    /// What an interrupted run left is mended first. A run whose branch was kept is opened again
    /// where its change has stories left.
    Resume(loop_command::ResumeArguments),
    /// End a run, or change your mind about a kept one
    ///
    /// Says what it will do before it does it; `ralphtool undo` takes it back. On a terminal you
    /// are asked where no choice is given.
    Finish(finish::FinishArguments),
    /// Take back the last finish, rewind or restored attempt
    ///
    /// What you edited since, in files it had not touched, stays. It can be undone until the next
    /// agent starts.
    Undo(finish::UndoArguments),
    /// Go back to the checkpoint before a story, to do it again
    ///
    /// The checkpoints of the story and of all after it leave the branch, and stay in the vault.
    /// `ralphtool resume` runs from there; `ralphtool undo` brings them back.
    Rewind(finish::RewindArguments),
    /// List, show and restore the attempts that failed
    ///
    /// The whole state a failed attempt left is parked in the vault. Listing and showing works
    /// while a run is at work.
    Attempts(attempts::AttemptsArguments),
    /// List past runs, or show what happened in one
    ///
    /// Works while a run is at work. What the agents said is in the transcripts of their attempts.
    Log(log::LogArguments),
    /// Write a small `OpenSpec` change from a template
    ///
    /// Makes `openspec/changes/NAME` with a proposal, a specification and two stories with tasks, for
    /// you to fill in. It goes into the project found from here, or else into a new `openspec` folder
    /// at the top of the repository. An existing change is never overwritten.
    New(new::NewArguments),
    /// List the changes and other plans with their progress
    ///
    /// Looks for `openspec/changes`, spec-kit's `specs` and `.specify/specs`, `.kiro/specs`, `fix_plan.md`,
    /// `PRD.md`, `IMPLEMENTATION_PLAN.md` and `prd.json`, here and up to the top of the repository. Any
    /// other checklist or `prd.json` runs by its path.
    List(list::ListArguments),
    /// Show the stories, tasks and scenarios of one change
    Show(show::ShowArguments),
    /// Print the prompt an agent would get
    Prompt(prompt::PromptArguments),
    /// Print or edit the notes agents keep for a change
    ///
    /// An agent may add to them what a later one should know. They are kept outside of the
    /// repository, survive failed attempts, and go into the prompts of the same change: the newest
    /// part of them, as much as the setting `learnings_limit` allows.
    Learnings(learnings::LearningsArguments),
    /// See it all on a throw-away repository, with an embedded agent
    ///
    /// Makes a repository with a change of three stories in the folder for temporary files, and
    /// runs the real loop in it. The agent is part of this program: no key, no network, and
    /// nothing is written outside that folder, which stays for you to look around in.
    ///
    /// The same agent can be tried on a change of yours with `ralphtool loop CHANGE --agent demo`.
    /// There it implements nothing: it leaves a line in `DEMO.md` for each story and ticks its
    /// boxes, which shows how the loop behaves in your repository.
    Demo(demo::DemoArguments),
    /// Write a commented `ralphtool.toml`, with the checks this repository has
    ///
    /// Looks for what tells how the repository is tested (Cargo, npm and its kin, Go, Python, make,
    /// just, Gradle, Maven, .NET and more), in the top folder and in the folders right below, and
    /// makes a gate of each command. Nothing is run. A command whose program is not installed is
    /// written as a comment, and so is every other key, with its default. A file that is there is
    /// never overwritten.
    Init(init::InitArguments),
    /// Allow what this repository's `ralphtool.toml` asks for
    ///
    /// The file may have come with a clone, or an agent may have changed it. So the commands it runs
    /// (gates, notifications, agents, what they are started by), the variables it sets and the
    /// folders it names count only after you have allowed this very content; `loop` and `resume` ask
    /// on a terminal, and refuse elsewhere. This shows all of it and asks. A file that only sets
    /// retries, budgets and the like needs no permission, nor does your own configuration.
    Trust(trust::TrustArguments),
    /// Check git, the repository, the vault, the configuration, the agents and the changes
    ///
    /// Says what would keep a run from starting, what an interrupted run left behind and what the
    /// next start does about it. Changes nothing in the repository.
    ///
    /// Every agent that the settings may ask is looked at: whether it is there, whether its version
    /// is new enough, whether somebody is logged in (as far as it can tell without asking a model),
    /// and which variables with keys it gets. The programs of built-in agents are run for that, with
    /// `--version` and the like, each for 30 seconds (or `command_timeout`) at the most; commands of
    /// your own are only looked for.
    Doctor(doctor::DoctorArguments),
    /// Remove old runs from the vault
    ///
    /// Everything private of a run (snapshots, failed attempts, files it took out of the tree,
    /// logs) is kept in the vault, outside of the repository. This lists what is older than the
    /// limit and what no run needs, how much room it takes, and removes it once you agree. Nothing
    /// of an open run and of the last finished one is ever removed, nor are the notes agents keep.
    ///
    /// At the end of every run the same is done by itself for runs older than 30 days, and for more
    /// where the vault is larger than the setting `vault_limit`.
    Gc(gc::GcArguments),
    /// Print the completion script of a shell
    Completions(completions::CompletionsArguments),
    /// Print a manual page
    Man(man::ManArguments),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;
    use clap::CommandFactory as _;
    use pretty_assertions::assert_eq;
    use ralph_run::settings::keys::TABLES;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_of_every_command_is_complete() {
        let mut command = Arguments::command().term_width(100);
        let mut texts = vec![command.render_help().to_string()];
        command.build();
        for sub in command.get_subcommands_mut() {
            let help = sub.clone().term_width(100).render_help().to_string();
            texts.push(format!("==== {}\n{help}", sub.get_name()));
        }
        insta::assert_snapshot!(texts.join("\n"));
    }

    /// Flags that are about this one call, and no setting.
    const NO_SETTINGS: [&str; 13] = [
        "--story",
        "--no-tui",
        "--json",
        "--dry-run",
        "--trust",
        "--verbose",
        "--quiet",
        "--resume",
        "--fresh",
        "--config",
        "--color",
        "--help",
        "--version",
    ];

    #[test]
    fn each_flag_that_is_a_setting_belongs_to_a_key() {
        let whole = Arguments::command();
        let command = whole.find_subcommand("loop").unwrap();
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
        let flags: BTreeSet<String> = flags.map(|long| format!("--{long}")).collect();
        let settings = flags.iter().map(String::as_str);
        let settings: BTreeSet<&str> = settings.filter(|it| !NO_SETTINGS.contains(it)).collect();
        let keys = TABLES.iter().flat_map(|table| table.keys);
        let of_keys: BTreeSet<&str> = keys.filter_map(|key| key.flag).collect();
        assert_eq!(settings, of_keys);
    }

    /// The words of a command line, up to a shell operator or a comment.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '#' | '|' | '>' | ';' | '&' | ')') => break,
                (None, ' ') => words.push(String::new()),
                (_, c) => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    /// The command lines of a page: those of blocks for a shell, and those within a sentence.
    fn command_lines(page: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut is_shell = None;
        for line in page.lines().map(str::trim_start) {
            match (line.strip_prefix("```"), is_shell) {
                (Some(info), None) => is_shell = Some(["console", "sh"].contains(&info)),
                (Some(_), Some(_)) => is_shell = None,
                (None, Some(true)) => lines.extend(line.split(" # ").next().map(str::to_owned)),
                (None, Some(false)) => {}
                (None, None) => lines.extend(line.split('`').skip(1).step_by(2).map(str::to_owned)),
            }
        }
        let starts = lines.iter().flat_map(|line| {
            let ours = line.match_indices("ralphtool ").map(|(at, _)| &line[at..]);
            let calls = ours.filter(|_| {
                line.starts_with("ralphtool ")
                    || line.starts_with("$ ralphtool ")
                    || line.contains("$(ralphtool ")
            });
            let cargo = line.split_once("cargo run --release -- ");
            let demo = cargo.map(|(_, rest)| format!("ralphtool {rest}"));
            calls.map(str::to_owned).chain(demo).collect::<Vec<_>>()
        });
        // Some are about any command.
        let patterns = ["COMMAND", "SHELL", "["];
        let is_a_pattern = |line: &String| patterns.iter().any(|it| line.contains(it));
        starts.filter(|line| !is_a_pattern(line)).collect()
    }

    #[test]
    fn each_command_line_of_the_guide_can_be_typed() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let pages = std::fs::read_dir(format!("{root}/docs")).unwrap();
        let mut pages: Vec<PathBuf> = pages.map(|page| page.unwrap().path()).collect();
        pages.retain(|page| page.extension().is_some_and(|it| it == "md"));
        pages.push(format!("{root}/README.md").into());
        let mut found = 0;
        let mut problems = Vec::new();
        for page in pages {
            for line in command_lines(&std::fs::read_to_string(&page).unwrap()) {
                found += 1;
                // `--version` and `--help` come back as an "error" that is for stdout.
                let typed = Arguments::try_parse_from(words(&line));
                if let Some(error) = typed.err().filter(clap::Error::use_stderr) {
                    problems.push(format!("{}: {line}: {}", page.display(), error.kind()));
                }
            }
        }
        assert_eq!(problems, Vec::<String>::new());
        assert!(found > 80, "{found} command lines");
    }
}
