//! Draws the app: the current screen, a line of keys below it, and the dialogs over it.

use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Min};
use ratatui::layout::{Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::app::{App, Screen};
use super::choice::Choice;
use super::help;
use super::keys::{self, Action, Binding, Group};
use super::message::TrustPrompt;
use super::screen::error_lines;
use super::step::Confirmation;
use super::wrap;
use crate::launch::trust;
use crate::tui::palette::{self, KEY, WARN};
use crate::ui::text::clean;
use ralph_run::records::progress::Progress;

/// The smallest terminal that the screens fit on.
const LEAST: (u16, u16) = (40, 12);

/// How wide a question is.
const QUESTION: usize = 64;

/// How wide a question is that shows commands.
const WIDE_QUESTION: usize = 100;

/// How many columns of a line to type in are not its title.
const ROOM_TO_TYPE: usize = 20;

pub(crate) fn draw(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return draw_too_small(frame, area);
    }
    let [body, footer] = Layout::vertical([Min(0), Length(1)]).areas(area);
    match (app.screen, &app.preview, &app.run) {
        (Screen::Changes, ..) => app.changes.draw(frame, body, app.now),
        (Screen::Preview, Some(preview), _) => preview.draw(frame, body),
        (Screen::Run, _, Some(run)) => run.draw(frame, body, app.now),
        (Screen::Completion, _, Some(run)) => app.completion.draw(frame, body, run),
        (Screen::Result, _, Some(run)) => app.result.draw(frame, body, run),
        _ => {}
    }
    draw_footer(app, frame, footer);
    draw_front(app, frame, body);
    if !app.terminal.colored {
        palette::remove_colors(frame.buffer_mut());
    }
}

fn draw_too_small(frame: &mut Frame<'_>, area: Rect) {
    let text = format!(
        "ralphtool needs {}x{}, this is {}x{}",
        LEAST.0, LEAST.1, area.width, area.height
    );
    let lines = wrap::wrap(&Line::from(text), usize::from(area.width).max(1), 0);
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_footer(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let width = usize::from(area.width);
    if let Some(typing) = &app.typing {
        // A long title leaves room for the input.
        let title = Line::from(clean(&typing.title));
        let title = wrap::cut(&title, width.saturating_sub(ROOM_TO_TYPE));
        let title = format!("{title}: ");
        let room = width.saturating_sub(wrap::columns(&title) + 1).max(4);
        let view = typing.edit.view(room);
        let column = wrap::columns(&title) + view.cursor;
        let line = Line::from(vec![Span::styled(title, KEY), Span::raw(view.text)]);
        frame.render_widget(Paragraph::new(line), area);
        let column = u16::try_from(column).unwrap_or(u16::MAX);
        frame.set_cursor_position((area.x.saturating_add(column), area.y));
        return;
    }
    if app.is_editing() {
        let line = key_list(&[("Enter", "set"), ("Esc", "cancel")]);
        return frame.render_widget(Paragraph::new(wrap::cut(&line, width)), area);
    }
    if let Some(notice) = app.notice() {
        let line = wrap::styled(format!(" {}", clean(notice)), WARN);
        return frame.render_widget(Paragraph::new(wrap::cut(&line, width)), area);
    }
    let (always, usual): (Vec<_>, Vec<_>) = keys::at(app.place())
        .filter(|binding| app.offers(binding.action))
        .partition(|binding| matches!(binding.action, Action::Help | Action::Quit));
    let mut usual: Vec<&Binding> = usual;
    match app.screen {
        // How to get around there is not obvious.
        Screen::Run => usual.sort_by_key(|binding| binding.group == Group::Look),
        // The choices are above, with their keys.
        Screen::Completion => usual.sort_by_key(|binding| binding.group == Group::Steer),
        // What it does is offered only where it has the focus.
        Screen::Preview => usual.sort_by_key(|binding| binding.action != Action::Enter),
        Screen::Changes | Screen::Result => {}
    }
    let always = brief(app, &always, width);
    let mut line = Line::default();
    if app.is_read_only() {
        line.spans.push(Span::styled(" read-only ", WARN));
    }
    let others = wrap::width(&always) + wrap::width(&line);
    let room = width.saturating_sub(others);
    let usual = wrap::fit(&brief(app, &usual, room), room);
    line.spans.extend(usual.spans);
    line.spans.extend(always.spans);
    frame.render_widget(Paragraph::new(wrap::cut(&line, width)), area);
}

/// Keys, each with what it does.
fn key_list(keys: &[(&'static str, &'static str)]) -> Line<'static> {
    let mut line = Line::default();
    for (key, does) in keys {
        line.spans.push(Span::raw(" "));
        line.spans.push(Span::styled(*key, KEY));
        line.spans.push(Span::raw(format!(" {does} ")));
    }
    line
}

/// As many keys, each with its short description, as there is room for.
fn brief(app: &App, bindings: &[&Binding], room: usize) -> Line<'static> {
    let mut line = Line::default();
    for binding in bindings {
        let Some(brief) = app.brief(binding) else {
            continue;
        };
        let key = binding.shown.split(' ').next().unwrap_or_default();
        if wrap::width(&line) + wrap::columns(key) + wrap::columns(brief) + 3 > room {
            break;
        }
        line.spans.push(Span::raw(" "));
        line.spans.push(Span::styled(key, KEY));
        line.spans.push(Span::raw(format!(" {brief} ")));
    }
    line
}

fn draw_front(app: &App, frame: &mut Frame<'_>, area: Rect) {
    if let Some(top) = app.help_top {
        help::draw(frame, area, app.place(), app.is_read_only(), top);
    }
    if let Some(confirmation) = app.confirmation {
        question(app, confirmation).draw(area, QUESTION, frame.buffer_mut());
    }
    if let Some(prompt) = &app.trust_prompt {
        trust_question(prompt).draw(area, WIDE_QUESTION, frame.buffer_mut());
    }
    if let Some(error) = &app.error {
        let choice = Choice {
            title: "It did not work",
            body: error_lines(error),
            keys: vec![("any key", "closes this")],
        };
        choice.draw(area, QUESTION, frame.buffer_mut());
    }
}

fn question(app: &App, confirmation: Confirmation) -> Choice {
    let progress = app.run.as_ref().map(|run| &run.progress);
    let story = progress.and_then(Progress::current_story);
    let story = story.map_or("", |story| story.id.0.as_str());
    let (title, text) = match confirmation {
        Confirmation::Stop => (
            "Stop the run?",
            "The agent is stopped, what it did is parked, and the files return to the last \
             checkpoint. You can resume the run later."
                .to_owned(),
        ),
        Confirmation::Skip => (
            "Skip the story?",
            format!(
                "What was done for story {story} is parked, the files return to the last \
                 checkpoint, and the next story begins."
            ),
        ),
        Confirmation::Fresh => (
            "Start over?",
            "There is a run of this change. A new one starts from where that one began, and takes \
             its branch. On that branch, what is not committed is saved with the old run. \
             `ralphtool undo` restores both."
                .to_owned(),
        ),
        Confirmation::Ending(choice) => {
            let begun = progress.and_then(|it| Some((it.header.as_ref()?, it)));
            return begun.map_or_else(
                || Choice::yes_or_no("Go ahead?", String::new()),
                |(header, progress)| {
                    choice.question(header, progress, &app.completion.uncommitted())
                },
            );
        }
    };
    Choice::yes_or_no(title, text)
}

/// What the repository's settings file asks for. Its first line names a command that prints all of it,
/// because the end may not fit.
fn trust_question(prompt: &TrustPrompt) -> Choice {
    let claims = &prompt.question.claims;
    let heading = trust::heading(&prompt.question.file, claims);
    let mut body: Vec<Line<'static>> = prompt
        .recovered
        .iter()
        .map(|it| Line::from(clean(it)))
        .collect();
    body.push(Line::from(format!(
        "{heading} that you have not given; `ralphtool trust --show` prints them in full."
    )));
    body.extend(trust::lines(claims).into_iter().map(Line::from));
    Choice {
        title: "Allow this?",
        body,
        keys: vec![
            ("y", "allow it until the file changes, and start"),
            ("any other key", "no"),
        ],
    }
}
