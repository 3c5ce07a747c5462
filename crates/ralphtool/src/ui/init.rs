//! What a new configuration came to: its gates, its agent, what to do next.

use std::io::{self, Write};
use std::path::Path;

use super::style::{DIM, GOOD, NAME, Paint, STRONG, WARN};
use super::text::{clean, columns, pad};
use ralph_run::init::Proposal;
use ralph_run::init::text::AgentFound;

/// What to type next, and what it does.
const NEXT: [(&str, &str); 2] = [
    ("ralphtool doctor", "checks that all is there for a run"),
    ("ralphtool loop", "works through a change, story by story"),
];

/// Says what was written, and what comes next.
pub(crate) fn write(
    out: &mut dyn Write,
    paint: Paint,
    file: &Path,
    agent: &AgentFound,
    gates: &[Proposal],
) -> io::Result<()> {
    let file = clean(&file.display().to_string());
    writeln!(out, "{} {file}", paint.apply(GOOD, "wrote"))?;
    writeln!(out)?;
    let agent = match agent {
        AgentFound::One(name) => format!("{name}, the only one that was found"),
        AgentFound::Many(names) => {
            let names = names.join(", ");
            format!("left open; found were {names}")
        }
        AgentFound::Nobody => "left open; none was found".to_owned(),
    };
    writeln!(out, "  {} {agent}", paint.apply(DIM, pad("agent", 7)))?;
    write_gates(out, paint, gates)?;
    writeln!(out)?;
    writeln!(out, "{}", paint.apply(STRONG, "next"))?;
    let widest = NEXT.iter().map(|(what, _)| columns(what)).max();
    for (what, why) in NEXT {
        let what = pad(what, widest.unwrap_or(0));
        writeln!(
            out,
            "  {}  {}",
            paint.apply(NAME, what),
            paint.apply(DIM, why)
        )?;
    }
    Ok(())
}

fn write_gates(out: &mut dyn Write, paint: Paint, gates: &[Proposal]) -> io::Result<()> {
    let (active, rest): (Vec<&Proposal>, Vec<&Proposal>) =
        gates.iter().partition(|gate| gate.inactive.is_none());
    if active.is_empty() {
        let text = "no command that checks this repository was found: add one to the file";
        writeln!(out, "  {} {text}", paint.apply(WARN, pad("gates", 7)))?;
    }
    let widest = gates.iter().map(|gate| columns(&gate.name)).max();
    let widest = widest.unwrap_or(0);
    for (place, gate) in active.iter().enumerate() {
        let label = if place == 0 { "gates" } else { "" };
        let label = paint.apply(DIM, pad(label, 7));
        let name = pad(&clean(&gate.name), widest);
        writeln!(out, "  {label} {name}  {}", clean(&gate.run))?;
    }
    for gate in rest {
        let why = gate.inactive.as_deref().unwrap_or_default();
        let name = pad(&clean(&gate.name), widest);
        let text = format!("{name}  not active: {}", clean(why));
        writeln!(out, "  {} {}", pad("", 7), paint.apply(DIM, text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_told_with_its_gates() {
        let gate = |name: &str, inactive: Option<&str>| Proposal {
            name: name.to_owned(),
            run: "cargo test".to_owned(),
            because: "Cargo.toml".to_owned(),
            inactive: inactive.map(str::to_owned),
        };
        let file = Path::new("/repo/ralphtool.toml");
        let gates = [
            gate("tests", None),
            gate("web tests", None),
            gate("api", Some("`go` was not found in PATH")),
        ];
        let mut out = Vec::new();
        write(
            &mut out,
            Paint::Plain,
            file,
            &AgentFound::One("claude"),
            &gates,
        )
        .unwrap();
        write(&mut out, Paint::Plain, file, &AgentFound::Nobody, &[]).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
