//! What a terminal sends for keys and the mouse.

/// A key that is no plain character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Char(char),
    Ctrl(char),
    Alt(char),
    F(u8),
}

impl Key {
    /// The bytes that xterm sends.
    pub(crate) fn sequence(self) -> String {
        let text = match self {
            Self::Enter => "\r",
            Self::Esc => "\u{1b}",
            Self::Tab => "\t",
            Self::BackTab => "\u{1b}[Z",
            Self::Backspace => "\u{7f}",
            Self::Delete => "\u{1b}[3~",
            Self::Up => "\u{1b}[A",
            Self::Down => "\u{1b}[B",
            Self::Right => "\u{1b}[C",
            Self::Left => "\u{1b}[D",
            Self::Home => "\u{1b}[H",
            Self::End => "\u{1b}[F",
            Self::PageUp => "\u{1b}[5~",
            Self::PageDown => "\u{1b}[6~",
            Self::Char(c) => return c.to_string(),
            Self::Ctrl(c) => return control(c).to_string(),
            Self::Alt(c) => return format!("\u{1b}{c}"),
            Self::F(number @ 1..=4) => return format!("\u{1b}O{}", char::from(b'O' + number)),
            Self::F(number) => {
                let code = [15, 17, 18, 19, 20, 21, 23, 24][usize::from(number) - 5];
                return format!("\u{1b}[{code}~");
            }
        };
        text.to_owned()
    }
}

fn control(c: char) -> char {
    char::from(u8::try_from(c.to_ascii_uppercase()).unwrap() & 0x1f)
}

/// A turn of the mouse's wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wheel {
    Up,
    Down,
}

impl Wheel {
    /// What a terminal sends for a turn over a cell.
    pub(crate) fn sequence(self, row: u16, col: u16) -> String {
        let button = match self {
            Self::Up => 64,
            Self::Down => 65,
        };
        format!("\u{1b}[<{button};{};{}M", col + 1, row + 1)
    }
}

/// What a terminal sends for a click of the left button on a cell.
pub(crate) fn click(row: u16, col: u16) -> String {
    let (row, col) = (row + 1, col + 1);
    format!("\u{1b}[<0;{col};{row}M\u{1b}[<0;{col};{row}m")
}
