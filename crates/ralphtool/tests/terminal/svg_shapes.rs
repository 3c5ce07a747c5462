//! Lines, corners and blocks as shapes: as characters they would not meet in every font.

/// Makes what touches meet without a seam; lines would lose their thickness.
pub(crate) const CRISP: &str = " shape-rendering=\"crispEdges\"";
/// Half the thickness of a light and of a heavy line.
const HALF: [f64; 3] = [0.0, 0.6, 1.2];

/// Where a character is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Whether a text is one character that is drawn as a shape.
pub(crate) fn is_shape(text: &str) -> bool {
    let mut chars = text.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else {
        return false;
    };
    arms(c).is_some() || corner(c).is_some() || block(c).is_some() || shade(c).is_some()
}

/// Whether one shape can stand for a row of the same.
pub(crate) fn can_be_stretched(text: &str) -> bool {
    let c = text.chars().next().filter(|_| is_shape(text));
    c.is_some_and(|c| {
        let flat = arms(c).is_some_and(|[up, right, down, left]| {
            up == 0 && down == 0 && right > 0 && right == left
        });
        flat || shade(c).is_some() || matches!(c, '▀' | '▁'..='█' | '▔')
    })
}

/// The shape of a character, if it has one.
pub(crate) fn shape(text: &str, cell: Cell) -> Option<String> {
    if !is_shape(text) {
        return None;
    }
    let c = text.chars().next()?;
    if let Some(arms) = arms(c) {
        return Some(lines(arms, cell));
    }
    if let Some(corner) = corner(c) {
        return Some(arc(corner, cell));
    }
    if let Some((x, y, width, height)) = block(c) {
        let (left, top) = (cell.x + x * cell.width, cell.y + y * cell.height);
        let (width, height) = (width * cell.width, height * cell.height);
        return Some(rectangle(left, top, width, height, CRISP));
    }
    let opacity = shade(c)?;
    let attributes = format!(" opacity=\"{opacity}\"{CRISP}");
    Some(rectangle(
        cell.x,
        cell.y,
        cell.width,
        cell.height,
        &attributes,
    ))
}

/// The weights of the lines that go up, right, down and left from the middle.
fn arms(c: char) -> Option<[usize; 4]> {
    Some(match c {
        '─' | '╌' | '┄' | '┈' => [0, 1, 0, 1],
        '│' | '╎' | '┆' | '┊' => [1, 0, 1, 0],
        '━' => [0, 2, 0, 2],
        '┃' => [2, 0, 2, 0],
        '┌' => [0, 1, 1, 0],
        '┐' => [0, 0, 1, 1],
        '└' => [1, 1, 0, 0],
        '┘' => [1, 0, 0, 1],
        '├' => [1, 1, 1, 0],
        '┤' => [1, 0, 1, 1],
        '┬' => [0, 1, 1, 1],
        '┴' => [1, 1, 0, 1],
        '┼' => [1, 1, 1, 1],
        '┏' => [0, 2, 2, 0],
        '┓' => [0, 0, 2, 2],
        '┗' => [2, 2, 0, 0],
        '┛' => [2, 0, 0, 2],
        '┣' => [2, 2, 2, 0],
        '┫' => [2, 0, 2, 2],
        '┳' => [0, 2, 2, 2],
        '┻' => [2, 2, 0, 2],
        '╋' => [2, 2, 2, 2],
        '╴' => [0, 0, 0, 1],
        '╵' => [1, 0, 0, 0],
        '╶' => [0, 1, 0, 0],
        '╷' => [0, 0, 1, 0],
        '╸' => [0, 0, 0, 2],
        '╺' => [0, 2, 0, 0],
        _ => return None,
    })
}

/// The side and the end of the cell that a round corner joins: right or left, down or up.
fn corner(c: char) -> Option<(f64, f64)> {
    Some(match c {
        '╭' => (1.0, 1.0),
        '╮' => (0.0, 1.0),
        '╰' => (1.0, 0.0),
        '╯' => (0.0, 0.0),
        _ => return None,
    })
}

/// The part of the cell that a block fills: from the left, from the top, width and height.
fn block(c: char) -> Option<(f64, f64, f64, f64)> {
    let number = u32::from(c);
    Some(match c {
        '▀' => (0.0, 0.0, 1.0, 0.5),
        '▁'..='█' => {
            let height = f64::from(number - 0x2580) / 8.0;
            (0.0, 1.0 - height, 1.0, height)
        }
        '▉'..='▏' => (0.0, 0.0, f64::from(0x2590 - number) / 8.0, 1.0),
        '▐' => (0.5, 0.0, 0.5, 1.0),
        '▔' => (0.0, 0.0, 1.0, 0.125),
        '▕' => (0.875, 0.0, 0.125, 1.0),
        _ => return None,
    })
}

fn shade(c: char) -> Option<f64> {
    Some(match c {
        '░' => 0.25,
        '▒' => 0.5,
        '▓' => 0.75,
        _ => return None,
    })
}

fn lines(arms: [usize; 4], cell: Cell) -> String {
    let [up, right, down, left] = arms.map(|weight| HALF[weight]);
    let (x, y) = (cell.x + cell.width / 2.0, cell.y + cell.height / 2.0);
    // The lines meet in a joint as thick as the thickest.
    let (flat, tall) = (right.max(left), up.max(down));
    let mut shapes = String::new();
    if right > 0.0 || left > 0.0 {
        let from = if left > 0.0 { cell.x } else { x - tall };
        let to = if right > 0.0 {
            cell.x + cell.width
        } else {
            x + tall
        };
        shapes.push_str(&rectangle(from, y - flat, to - from, 2.0 * flat, ""));
    }
    if up > 0.0 || down > 0.0 {
        let from = if up > 0.0 { cell.y } else { y - flat };
        let to = if down > 0.0 {
            cell.y + cell.height
        } else {
            y + flat
        };
        shapes.push_str(&rectangle(x - tall, from, 2.0 * tall, to - from, ""));
    }
    shapes
}

fn arc((side, end): (f64, f64), cell: Cell) -> String {
    let (x, y) = (cell.x + cell.width / 2.0, cell.y + cell.height / 2.0);
    let (edge, far) = (cell.x + side * cell.width, cell.y + end * cell.height);
    // As round as half of the cell's width allows; straight from there on.
    let straight = if end > 0.5 {
        y + cell.width / 2.0
    } else {
        y - cell.width / 2.0
    };
    let thickness = 2.0 * HALF[1];
    format!(
        "<path d=\"M{x:.1} {far:.1} V{straight:.1} Q{x:.1} {y:.1} {edge:.1} {y:.1}\" fill=\"none\" \
         stroke=\"currentColor\" stroke-width=\"{thickness}\"/>"
    )
}

/// A rectangle with attributes of its own, each after a space.
fn rectangle(x: f64, y: f64, width: f64, height: f64, attributes: &str) -> String {
    format!(
        "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"{attributes}/>"
    )
}
