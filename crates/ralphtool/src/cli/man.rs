//! `ralphtool man`: manual pages.

use std::io;
use std::process::ExitCode;

use clap::Args;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::console::output;
use ralph_run::failure::Failure;
use ralph_run::settings::keys::TABLES;
use ralph_run::settings::variables::{CONFIG, TRUST};

/// What is read and written, and why.
const FILES: [(&str, &str); 5] = [
    (
        "ralphtool.toml",
        "The settings of a repository, in its top folder.",
    ),
    (
        "$XDG_CONFIG_HOME/ralphtool/config.toml",
        "Your own settings; without the variable in ~/.config.",
    ),
    (
        "$XDG_STATE_HOME/ralphtool",
        "The vault: journal, snapshots, failed attempts, removed files and transcripts of every work \
         tree; without the variable in ~/.local/state. `ralphtool gc` removes old runs from it.",
    ),
    (
        "refs/heads/ralph/CHANGE",
        "The branch of a run: \"initial state\", then one commit for each finished story.",
    ),
    (
        "openspec/changes/CHANGE/tasks.md",
        "The stories of a change; `ralphtool list` finds plans of other kinds too.",
    ),
];

/// Flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralphtool man | man -l -
  ralphtool man loop > ralphtool-loop.1")]
pub(super) struct ManArguments {
    /// The command whose page to print, instead of the page of the whole
    pub(super) command: Option<String>,
}

/// Prints the page of a command of the `whole` program.
pub(super) fn run(arguments: &ManArguments, mut whole: clap::Command) -> Result<ExitCode, Failure> {
    whole.build();
    let command = match &arguments.command {
        None => whole,
        Some(name) => {
            let Some(found) = whole.find_subcommand(name) else {
                let known = whole.get_subcommands().map(clap::Command::get_name);
                let known: Vec<&str> = known.collect();
                let failure = Failure::refused(format!("there is no command `{name}`"));
                return Err(failure.hint(format!("the commands are {}", known.join(", "))));
            };
            found.clone()
        }
    };
    let page = page(command, arguments.command.is_none())
        .map_err(|error| Failure::system("could not make the manual page").because(error))?;
    output::print(&page)
}

fn page(command: clap::Command, is_whole: bool) -> io::Result<Vec<u8>> {
    let closing = command
        .get_after_long_help()
        .or(command.get_after_help())
        .map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let man = Man::new(command).source(concat!("ralphtool ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    for part in closing.unwrap_or_default().split("\n\n") {
        listing(&mut roff, part);
    }
    if is_whole {
        environment(&mut roff);
        configuration(&mut roff);
        files(&mut roff);
    }
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// What stands below a help text, such as examples, keeps its lines.
fn listing(roff: &mut Roff, part: &str) {
    let part = part.trim_matches('\n');
    if part.is_empty() {
        return;
    }
    let (head, lines) = part.split_once(":\n").unwrap_or(("Notes", part));
    let title = match head {
        "Exit codes" => "EXIT STATUS".to_owned(),
        head => head.to_uppercase(),
    };
    roff.control("SH", [title.as_str()]).control("nf", []);
    for line in lines.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

fn item(roff: &mut Roff, name: &str, about: &str) {
    let about = about.replace('\n', " ");
    roff.control("TP", [])
        .text([bold(name)])
        .text([roman(about)]);
}

fn environment(roff: &mut Roff) {
    roff.control("SH", ["ENVIRONMENT"]);
    let keys = TABLES.iter().flat_map(|table| table.keys);
    for key in keys {
        let Some(variable) = key.variable else {
            continue;
        };
        let flag = key.flag.map_or(String::new(), |flag| format!(" ({flag})"));
        item(roff, variable, &format!("{}{flag}", plain(key.about)));
    }
    let config = "The configuration to read instead of both files below (--config).";
    item(roff, CONFIG, config);
    let trust =
        "With 1, what the repository's own ralphtool.toml asks for is allowed this once (--trust).";
    item(roff, TRUST, trust);
    let colour = "Never and always colour the output (--color).";
    item(roff, "NO_COLOR, CLICOLOR_FORCE", colour);
}

fn configuration(roff: &mut Roff) {
    roff.control("SH", ["CONFIGURATION"]).text([roman(
        "ralphtool.toml in the top folder of the repository, then your own config.toml, then variables, \
         then flags; later wins. `ralphtool init` writes a file with every key as a comment, and \
         `ralphtool run --dry-run` shows the values in effect.",
    )]);
    for table in &TABLES {
        if !table.header.is_empty() {
            let about = table.about.replace('\n', " ");
            roff.control("SS", [table.header]).text([roman(about)]);
        }
        for key in table.keys {
            let (kind, without) = (key.kind.words(), key.without.words());
            let about = format!("{} Takes {kind}; without it: {without}.", plain(key.about));
            item(roff, key.name, &about);
        }
    }
}

/// What a key is for, without what is only true of the file that `init` writes.
fn plain(about: &str) -> String {
    about.replace("; this is an example.", ".")
}

fn files(roff: &mut Roff) {
    roff.control("SH", ["FILES"]);
    for (name, about) in FILES {
        item(roff, name, about);
    }
}
