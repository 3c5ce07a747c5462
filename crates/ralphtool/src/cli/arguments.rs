//! The command line as a whole: the list of commands, each with its arguments.

use clap::{Parser, Subcommand};

use super::{
    answer, attach, attempts, check, completions, demo, doctor, finish, gc, help, init, learnings,
    list, log, loop_command, man, new, prompt, show, status, trust,
};
use crate::console::flags::{EXIT_CODES, GlobalArguments};

const EXAMPLES: &str = "\
Typical workflow:
  ralphtool demo                    try everything on a temporary repository first
  ralphtool new add-retry           write a small change, to fill in
  ralphtool init                    write `ralphtool.toml`, with your tests as gates
  ralphtool doctor                  check everything a run needs, the agent's login included
  ralphtool list                    show the changes and their progress
  ralphtool run add-retry           work through one, story by story
  ralphtool log last                show what the run did, and what it cost
  ralphtool finish --cleanup        bring the changes back to your branch, uncommitted

Examples:
  ralphtool                         choose a change and watch the run on the screen
  ralphtool status                  the progress of the run, from another terminal
  ralphtool attempts show 2.1       why an attempt failed, and what it changed
  ralphtool resume                  continue after a stop, a crash or a limit
  ralphtool undo                    undo the last finish, rewind or restore
  ralphtool run add-retry --json    a run as JSON lines, for a program

";

/// Runs a coding agent through a written change, story by story.
///
/// Each finished story becomes one commit on `ralph/CHANGE`. A failed attempt is saved, the files
/// are restored to the last checkpoint, and the story is tried again. Without a command, ralphtool
/// shows the changes on a screen; without a terminal, it lists them.
#[derive(Debug, Parser)]
#[command(
    name = "ralphtool",
    version,
    after_long_help = format!("{EXAMPLES}{EXIT_CODES}"),
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
    #[command(name = "run", visible_alias = "loop")]
    Loop(loop_command::LoopArguments),
    /// Show the progress of the current run
    ///
    /// Works from any terminal, while a run is at work and after it, and changes nothing. Shows the
    /// current story and what is being done, what the run has used, why the last attempt failed,
    /// and what to type next.
    Status(status::StatusArguments),
    /// Watch a run from another terminal (read-only)
    ///
    /// Shows the screen of the run. No key on it steers the run: q and Esc close this screen, and
    /// the run continues. When the run ends, its result is shown; when it is resumed, the screen
    /// follows it.
    Attach(attach::AttachArguments),
    /// Answer a question of an agent
    ///
    /// An agent asks with `<promise>BLOCKED: question</promise>` where only you can decide. Its question is
    /// in the log, on the screen and in `ralphtool status`.
    Answer(answer::AnswerArguments),
    /// Resume the last interrupted, stopped or kept run
    ///
    /// Leftovers of an interrupted run are cleaned up first. A run whose branch was kept is opened
    /// again if its change has stories left.
    Resume(loop_command::ResumeArguments),
    /// Finish a run: choose what to do with its branch
    ///
    /// Shows what it will do before it does it; `ralphtool undo` undoes it. On a terminal it asks
    /// if no choice is given.
    Finish(finish::FinishArguments),
    /// Undo the last finish, rewind or restored attempt
    ///
    /// Keeps what you have edited since in other files. Possible until the next agent starts.
    Undo(finish::UndoArguments),
    /// Return to the checkpoint before a story, to do it again
    ///
    /// The checkpoints of the story and of all later ones leave the branch and stay in the vault.
    /// `ralphtool resume` runs from there; `ralphtool undo` restores them.
    Rewind(finish::RewindArguments),
    /// List, show and restore failed attempts
    ///
    /// Everything a failed attempt left is parked in the vault. Works while a run is at work.
    Attempts(attempts::AttemptsArguments),
    /// List past runs, or show what happened in one
    ///
    /// Works while a run is at work. `ralphtool attempts transcript` shows what an agent said.
    Log(log::LogArguments),
    /// Write a small `OpenSpec` change from a template
    ///
    /// Makes `openspec/changes/NAME` with a proposal, a specification and two stories with tasks, for
    /// you to fill in. It goes into the `openspec` folder here or above, or else into a new one at
    /// the top of the repository. An existing change is never overwritten.
    New(new::NewArguments),
    /// List the changes and other plans with their progress
    ///
    /// Looks for `openspec/changes`, spec-kit's `specs` and `.specify/specs`, `.kiro/specs`, `fix_plan.md`,
    /// `PRD.md`, `IMPLEMENTATION_PLAN.md` and `prd.json`, here and up to the top of the repository. Any
    /// other checklist or `prd.json` runs by its path.
    List(list::ListArguments),
    /// Show the stories, tasks and scenarios of one change
    Show(show::ShowArguments),
    /// Find what is weak in a plan, without asking a model
    ///
    /// Looks for stories that are too large, tasks that nothing can check, scenarios without a task,
    /// tasks that change files which do not exist, numbers used twice, and gates that check nothing.
    /// What it finds is a hint, and keeps no run from starting. Changes nothing.
    Check(check::CheckArguments),
    /// Print the prompt an agent would get
    Prompt(prompt::PromptArguments),
    /// Print or edit the notes agents keep for a change
    ///
    /// An agent may add to them what a later one should know. They are stored outside of the
    /// repository, survive failed attempts, and go into the prompts of the same change: the newest
    /// part of them, up to the setting `learnings_limit`.
    Learnings(learnings::LearningsArguments),
    /// Try everything on a temporary repository with a built-in scripted agent
    ///
    /// Makes a repository with a change of three stories in the folder for temporary files and runs
    /// the real loop in it: on a terminal on the screen, at a speed you can follow, elsewhere as a
    /// log. The agent is part of this program: no key, no network. In that repository `log`,
    /// `attempts`, `status`, `undo` and `finish` work as in any other. Nothing is written outside of
    /// it but ralphtool's private files, in `~/.local/state/ralphtool` (or
    /// `$XDG_STATE_HOME/ralphtool`); at the end the demo prints the command that removes both.
    ///
    /// The same agent works on a change of yours with `ralphtool run CHANGE --agent demo`. There it
    /// implements nothing: it adds a line to `DEMO.md` for each story and ticks its boxes, which
    /// shows how a run behaves in your repository.
    Demo(demo::DemoArguments),
    /// Write a commented `ralphtool.toml`, with the tests of this repository as gates
    ///
    /// Looks for what shows how the repository is tested (Cargo, npm and similar, Go, Python, make,
    /// just, Gradle, Maven, .NET and more), in the top folder and in the folders right below, and
    /// makes a gate of each command. Each is run once, with a time limit, to show whether it passes.
    /// A command whose program is not installed is written as a comment, and so is every other key,
    /// with its default. An existing file is never overwritten.
    Init(init::InitArguments),
    /// Allow the commands of this repository's `ralphtool.toml`
    ///
    /// The file may have come with a clone, or an agent may have changed it. So the commands in it
    /// (gates, notifications, agents, and what starts them), the variables it sets and the folders
    /// it names are only used after you have allowed exactly this content; `run` and `resume` ask
    /// on a terminal, and refuse elsewhere. This shows all of it and asks. A file that only sets
    /// retries, budgets and the like needs no permission, nor does your own configuration.
    Trust(trust::TrustArguments),
    /// Check git, the settings, the gates, the agents, the plan and private files
    ///
    /// Shows what would keep a run from starting, what an interrupted run left behind and what the
    /// next start does about it. Changes nothing in the repository.
    ///
    /// For every agent that the settings name, it checks whether the program is there, whether its
    /// version is new enough, whether you are logged in (as far as the program can tell without
    /// asking a model), and which variables with keys it gets. It runs the programs of built-in
    /// agents for that, with `--version` and the like, each for at most 30 seconds (or
    /// `command_timeout`); for agents you configured it only looks for the program.
    Doctor(doctor::DoctorArguments),
    /// Remove old runs from the vault
    ///
    /// Everything private of a run (snapshots, failed attempts, files it took out of the tree,
    /// logs) is stored in the vault, outside of the repository. This lists what is older than the
    /// limit and what no run needs, with its size, and removes it once you agree. Nothing of an open
    /// run and of the last finished one is ever removed, nor are the notes agents keep.
    ///
    /// At the end of every run ralphtool does the same for runs older than 30 days, and for more
    /// if the vault is larger than the setting `vault_limit`.
    Gc(gc::GcArguments),
    /// Print the completion script of a shell
    Completions(completions::CompletionsArguments),
    /// Print a manual page
    Man(man::ManArguments),
    /// Explain a command, or list all of them
    Help(help::HelpArguments),
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
        let short = help::shorten(command.clone(), &["ralphtool".into(), "-h".into()]);
        let mut texts = vec![
            short.clone().render_help().to_string(),
            format!("==== --help\n{}", command.render_long_help()),
        ];
        command.build();
        for sub in command.get_subcommands_mut() {
            let help = sub.clone().term_width(100).render_long_help().to_string();
            texts.push(format!("==== {}\n{help}", sub.get_name()));
        }
        insta::assert_snapshot!(texts.join("\n"));
    }

    /// Flags that are about this one call, and no setting.
    const NO_SETTINGS: [&str; 14] = [
        "--story",
        "--no-tui",
        "--json",
        "--dry-run",
        "--trust",
        "--verbose",
        "--quiet",
        "--resume",
        "--fresh",
        "--on-top",
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
