//! What a shell line says of itself without a shell: the programs it surely starts, without which it
//! fails or checks nothing, and a pipe that hides how a program ended. All that needs a shell to be
//! understood is unknown.

/// Programs that succeed whatever the work tree is like.
const IDLE: [&str; 7] = [":", "date", "echo", "printf", "pwd", "sleep", "true"];

/// A program that a line starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program<'a> {
    /// A bare name, which the shell knows or finds in `PATH`.
    Name(&'a str),
    /// A path.
    Path(&'a str),
}

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// A word as it is written, quotes included.
    Word(&'a str),
    /// `|` or `|&`.
    Pipe,
    And,
    /// `||`.
    Or,
    /// What ends a command otherwise: `;`, `&`, or a line end.
    End,
    /// What groups commands: `(`, `)`.
    Group,
    /// A redirection; its file is the word that follows.
    Redirection,
}

/// Whether a line has only words, which every shell reads alike.
pub(super) fn is_plain(line: &str) -> bool {
    line.split_whitespace().all(is_word)
}

/// The programs that a line surely starts, and without which it fails or checks nothing: those of its
/// first pipe. None where that is not certain.
pub(super) fn first_programs(line: &str) -> Vec<Program<'_>> {
    let tokens = tokens(line).unwrap_or_default();
    let tokens = after_options(&tokens);
    let condition = match tokens.split_first() {
        Some((Token::Word("if"), rest)) => {
            rest.split(|it| matches!(it, Token::End | Token::Or)).next()
        }
        // After these a missing program may do no harm.
        _ if tokens.iter().any(|it| matches!(it, Token::End | Token::Or)) => None,
        _ => Some(tokens),
    };
    condition.and_then(programs_of).unwrap_or_default()
}

/// The command of a line whose failure a pipe hides: the exit code of a pipe is that of its last
/// program. None where the line asks the shell for another exit code.
pub(super) fn hidden_by_pipe(line: &str) -> Option<String> {
    if line.contains("pipefail") {
        return None;
    }
    let tokens = tokens(line)?;
    // In a `case`, these stand between patterns.
    if tokens.contains(&Token::Word("case")) {
        return None;
    }
    let pipe = tokens.iter().position(|it| *it == Token::Pipe)?;
    let is_end = |it: &Token<'_>| matches!(it, Token::And | Token::Or | Token::End | Token::Group);
    let start = tokens[..pipe].iter().rposition(is_end);
    let command = &tokens[start.map_or(0, |end| end + 1)..pipe];
    let words = command.iter().map_while(|it| match it {
        Token::Word(word) => Some(*word),
        _ => None,
    });
    let words: Vec<&str> = words.skip_while(|it| is_keyword(it)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Whether a line passes whatever the work tree is like: it runs nothing that could fail, or ends with
/// such a command although one before it failed. False where that is not certain.
pub(super) fn checks_nothing(line: &str) -> bool {
    let mut tokens = tokens(line).unwrap_or_default();
    while tokens.last() == Some(&Token::End) {
        tokens.pop();
    }
    let sets_options = tokens.contains(&Token::Word("set"));
    if tokens.is_empty() || sets_options || tokens.contains(&Token::Group) {
        return false;
    }
    let is_end = |it: &Token<'_>| matches!(it, Token::And | Token::Or | Token::End | Token::Pipe);
    if tokens.split(is_end).all(never_fails) {
        return true;
    }
    let Some(last) = tokens.iter().rposition(is_end) else {
        return false;
    };
    let ends_early = |it: &Token<'_>| matches!(it, Token::Word("exit" | "exec" | "return"));
    let is_reached = matches!(tokens[last], Token::Or | Token::End);
    is_reached && !tokens[..last].iter().any(ends_early) && never_fails(&tokens[last + 1..])
}

/// Whether a command succeeds wherever it runs.
fn never_fails(command: &[Token<'_>]) -> bool {
    match command {
        [Token::Word("exit")] => false,
        [Token::Word("exit"), rest @ ..] => rest == [Token::Word("0")],
        [Token::Word(program), ..] => IDLE.contains(program),
        _ => false,
    }
}

/// What follows `set -e` and the like.
fn after_options<'a, 'b>(tokens: &'b [Token<'a>]) -> &'b [Token<'a>] {
    if tokens.first() != Some(&Token::Word("set")) {
        return tokens;
    }
    let mut parts = tokens.splitn(2, |it| matches!(it, Token::End | Token::And));
    parts.nth(1).unwrap_or_default()
}

/// The programs of the first pipe of a list of commands.
fn programs_of<'a>(list: &[Token<'a>]) -> Option<Vec<Program<'a>>> {
    if list.contains(&Token::Group) {
        return None;
    }
    let mut parts = list.splitn(2, |it| *it == Token::And);
    let first = parts.next()?;
    if let [Token::Word("cd"), rest @ ..] = first {
        let [Token::Word(folder)] = rest else {
            return None;
        };
        let programs = programs_of(parts.next().filter(|_| is_word(folder))?)?;
        // A path would be seen from that folder.
        let is_name = |it: &Program<'_>| matches!(it, Program::Name(_));
        return programs.iter().all(is_name).then_some(programs);
    }
    let commands = first.split(|it| *it == Token::Pipe);
    commands.map(program_of).collect()
}

/// The program of one command.
fn program_of<'a>(command: &[Token<'a>]) -> Option<Program<'a>> {
    let mut words = command.iter().map(|it| match it {
        Token::Word(word) => Some(*word),
        _ => None,
    });
    let word = words.find(|it| it.is_none_or(|it| !is_keyword(it) && !is_assignment(it)))??;
    let mut assignments = command.iter().filter_map(|it| match it {
        Token::Word(word) => Some(*word),
        _ => None,
    });
    if assignments.any(|it| it.starts_with("PATH=")) || !is_word(word) || word.contains('=') {
        return None;
    }
    Some(if word.contains('/') {
        Program::Path(word)
    } else {
        Program::Name(word)
    })
}

/// Words before a command that start no program.
fn is_keyword(word: &str) -> bool {
    ["!", "if", "while", "until", "then", "do", "else", "time"].contains(&word)
}

/// The parts of a line; none where it has what only a shell understands.
fn tokens(line: &str) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return Some(found);
        }
        let (token, length) = operator(rest).or_else(|| word(rest))?;
        found.push(token);
        rest = &rest[length..];
    }
}

/// The operator that a text starts with, and its length.
fn operator(text: &str) -> Option<(Token<'static>, usize)> {
    // The number of the file that is redirected belongs to it.
    let redirected = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let redirection = [">>", ">&", "<&", ">|", "&>>", "&>", ">", "<"]
        .iter()
        .find(|it| redirected.starts_with(**it));
    if let Some(operator) = redirection {
        let length = text.len() - redirected.len() + operator.len();
        return (!redirected.starts_with("<<")).then_some((Token::Redirection, length));
    }
    let operators = [
        ("||", Token::Or),
        ("|&", Token::Pipe),
        ("|", Token::Pipe),
        ("&&", Token::And),
        ("&", Token::End),
        (";", Token::End),
        ("\r\n", Token::End),
        ("\n", Token::End),
        ("(", Token::Group),
        (")", Token::Group),
    ];
    let found = operators.iter().find(|(it, _)| text.starts_with(it))?;
    Some((found.1, found.0.len()))
}

/// The word that a text starts with, quotes included, and its length.
fn word(text: &str) -> Option<(Token<'_>, usize)> {
    let mut quote = None;
    let mut characters = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), _) => {}
            // What it stands for may hold anything.
            (_, '`') => return None,
            (_, '$') if text[at..].starts_with("$(") => return None,
            (_, '\\') => drop(characters.next()?),
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') if at == 0 => return None,
            (None, ' ' | '\t' | '\r' | '\n' | '|' | '&' | ';' | '(' | ')' | '<' | '>') => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    (quote.is_none() && end > 0).then(|| (Token::Word(&text[..end]), end))
}

/// A word without anything that a shell would expand.
fn is_word(word: &str) -> bool {
    let is_safe = |c: char| c.is_alphanumeric() || "_-./+:,@%=".contains(c);
    !word.is_empty() && word.chars().all(is_safe)
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| !c.is_ascii_digit())
    };
    is_word(word) && word.split_once('=').is_some_and(|(name, _)| is_name(name))
}
