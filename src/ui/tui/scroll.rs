//! Where a list or a text is scrolled to, and whether it follows its end.

/// What is above the first visible row, and whether new rows at the end stay in sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scroll {
    /// How many rows are above the first visible one.
    pub(crate) top: usize,
    /// Whether it sticks to the end.
    pub(crate) following: bool,
}

/// The thumb of a scrollbar, in rows of the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thumb {
    /// How many rows of the bar are above it.
    pub(crate) start: usize,
    /// How many rows it takes.
    pub(crate) length: usize,
}

impl Scroll {
    /// At the start, standing still.
    pub(crate) const fn at_start() -> Self {
        Self {
            top: 0,
            following: false,
        }
    }

    /// At the end, and staying there.
    pub(crate) const fn at_end() -> Self {
        Self {
            top: usize::MAX,
            following: true,
        }
    }

    /// Moves up by some rows; it no longer follows, unless there is nothing above.
    pub(crate) fn up(&mut self, rows: usize, total: usize, height: usize) {
        self.clamp(total, height);
        if self.top > 0 {
            self.following = false;
        }
        self.top = self.top.saturating_sub(rows);
    }

    /// Moves down by some rows.
    pub(crate) fn down(&mut self, rows: usize, total: usize, height: usize) {
        self.top = self.top.saturating_add(rows);
        self.clamp(total, height);
    }

    /// Moves up by a page, of which one row stays in sight.
    pub(crate) fn page_up(&mut self, total: usize, height: usize) {
        self.up(page(height), total, height);
    }

    /// Moves down by a page, of which one row stays in sight.
    pub(crate) fn page_down(&mut self, total: usize, height: usize) {
        self.down(page(height), total, height);
    }

    /// Goes to the start.
    pub(crate) fn home(&mut self) {
        *self = Self::at_start();
    }

    /// Goes to the end and follows it.
    pub(crate) fn end(&mut self) {
        *self = Self::at_end();
    }

    /// Keeps within what there is, and at the end where it follows that.
    pub(crate) fn clamp(&mut self, total: usize, height: usize) {
        let last = total.saturating_sub(height);
        if self.following || self.top > last {
            self.top = last;
        }
    }

    /// Moves as little as needed to have a row in sight; it no longer follows.
    pub(crate) fn reveal(&mut self, row: usize, total: usize, height: usize) {
        self.following = false;
        if row < self.top {
            self.top = row;
        } else if row >= self.top.saturating_add(height) {
            self.top = (row + 1).saturating_sub(height);
        }
        self.clamp(total, height);
    }

    /// The rows in sight.
    pub(crate) fn window(&self, total: usize, height: usize) -> std::ops::Range<usize> {
        let mut here = *self;
        here.clamp(total, height);
        here.top..here.top.saturating_add(height).min(total)
    }

    /// Where the thumb of a scrollbar of this height is; none where everything is in sight.
    pub(crate) fn thumb(&self, total: usize, height: usize) -> Option<Thumb> {
        if height == 0 || total <= height {
            return None;
        }
        let mut here = *self;
        here.clamp(total, height);
        let length = portion(height, height, total).clamp(1, height);
        let (room, last) = (height - length, total - height);
        let start = match here.top {
            0 => 0,
            top if top == last => room,
            // Touches an end only where the end is in sight.
            top => portion(top, room, last).clamp(room.min(1), room.saturating_sub(1).max(1)),
        };
        Some(Thumb {
            start: start.min(room),
            length,
        })
    }
}

fn page(height: usize) -> usize {
    height.saturating_sub(1).max(1)
}

/// `amount * part / whole` without overflow.
fn portion(amount: usize, part: usize, whole: usize) -> usize {
    let exact = amount as u128 * part as u128 / whole.max(1) as u128;
    usize::try_from(exact).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn at(top: usize, following: bool) -> Scroll {
        Scroll { top, following }
    }

    fn after(mut scroll: Scroll, act: impl FnOnce(&mut Scroll)) -> Scroll {
        act(&mut scroll);
        scroll
    }

    #[test]
    fn moves_within_what_there_is() {
        let start = Scroll::at_start();
        assert_eq!(after(start, |it| it.down(1, 100, 10)), at(1, false));
        assert_eq!(after(start, |it| it.down(500, 100, 10)), at(90, false));
        assert_eq!(after(at(5, false), |it| it.up(9, 100, 10)), at(0, false));
        assert_eq!(after(start, |it| it.page_down(100, 10)), at(9, false));
        assert_eq!(
            after(at(50, false), |it| it.page_up(100, 10)),
            at(41, false)
        );
        assert_eq!(after(start, |it| it.down(1, 5, 10)), at(0, false));
        assert_eq!(after(at(50, true), Scroll::home), at(0, false));
    }

    #[test]
    fn follows_the_end_until_moved_up_and_again_from_the_end() {
        let mut scroll = Scroll::at_end();
        scroll.clamp(100, 10);
        assert_eq!(scroll, at(90, true));
        scroll.clamp(120, 10);
        assert_eq!(scroll, at(110, true));
        scroll.up(1, 120, 10);
        assert_eq!(scroll, at(109, false));
        scroll.clamp(200, 10);
        assert_eq!(scroll, at(109, false));
        scroll.down(1000, 200, 10);
        assert_eq!(scroll, at(190, false));
        scroll.end();
        scroll.clamp(300, 10);
        assert_eq!(scroll, at(290, true));
    }

    #[test]
    fn up_from_an_end_never_shown_starts_at_the_end() {
        assert_eq!(
            after(Scroll::at_end(), |it| it.up(3, 100, 10)),
            at(87, false)
        );
    }

    #[test]
    fn nothing_above_is_no_reason_to_stop_following() {
        assert_eq!(after(Scroll::at_end(), |it| it.up(1, 5, 10)), at(0, true));
    }

    #[test]
    fn fewer_rows_than_before_move_it_back() {
        assert_eq!(after(at(90, false), |it| it.clamp(50, 10)), at(40, false));
        assert_eq!(after(at(90, false), |it| it.clamp(0, 10)), at(0, false));
    }

    #[test]
    fn reveals_a_row_with_the_least_movement() {
        assert_eq!(
            after(at(10, true), |it| it.reveal(5, 100, 10)),
            at(5, false)
        );
        assert_eq!(
            after(at(10, false), |it| it.reveal(15, 100, 10)),
            at(10, false)
        );
        assert_eq!(
            after(at(10, false), |it| it.reveal(25, 100, 10)),
            at(16, false)
        );
        assert_eq!(at(16, false).window(100, 10), 16..26);
        assert_eq!(Scroll::at_end().window(3, 10), 0..3);
    }

    #[test]
    fn the_thumb_shows_how_much_and_where() {
        #[track_caller]
        fn case(top: usize, total: usize, height: usize, want: Option<(usize, usize)>) {
            let want = want.map(|(start, length)| Thumb { start, length });
            assert_eq!(at(top, false).thumb(total, height), want);
        }
        case(0, 10, 10, None);
        case(0, 0, 0, None);
        case(0, 100, 10, Some((0, 1)));
        case(1, 100, 10, Some((1, 1)));
        case(89, 100, 10, Some((8, 1)));
        case(90, 100, 10, Some((9, 1)));
        case(5, 20, 10, Some((2, 5)));
        case(0, usize::MAX, 10, Some((0, 1)));
        case(1, 3, 2, Some((1, 1)));
        case(1, 5, 1, Some((0, 1)));
    }

    proptest! {
        #[test]
        fn the_thumb_stays_on_its_bar(top: usize, total: usize, height in 0_usize..300) {
            if let Some(thumb) = at(top, false).thumb(total, height) {
                prop_assert!(thumb.length >= 1);
                prop_assert!(thumb.start + thumb.length <= height);
            }
        }
    }
}
