//! What `ralphtool check` finds in a plan: a remark beside the settings, and a pane with all of it.

use ratatui::text::{Line, Span};

use crate::tui::message::Previewed;
use crate::tui::palette::{DIM, GOOD, STRONG, WARN};
use crate::tui::text_pane::Item;
use crate::tui::wrap;
use crate::ui::findings::{Group, ShownFinding, groups};
use crate::ui::text::clean;
use ralph_run::preview::Remark;

/// How much was found; none if there is nothing to see in the pane.
pub(super) fn remark(data: &Previewed) -> Option<Remark> {
    let checked = &data.checked;
    let has_findings = !checked.findings.is_empty();
    has_findings.then(|| Remark::tells(checked.summary()).hint("6 lists them"))
}

/// One item for each story with findings, and one for each finding.
pub(super) fn items(data: &Previewed, columns: usize) -> Vec<Item> {
    if data.checked.findings.is_empty() {
        let text = wrap::styled(data.checked.summary(), GOOD);
        return vec![wrap::wrap(&text, columns, 0)];
    }
    let groups = groups(Some(&data.change), &data.checked);
    let items = groups.iter().flat_map(|group| group_items(group, columns));
    items.collect()
}

fn group_items(group: &Group, columns: usize) -> Vec<Item> {
    let mut spans = vec![Span::styled(group.heading.clone(), STRONG)];
    if let Some(file) = &group.file {
        spans.push(Span::styled(format!("  {}", clean(file)), DIM));
    }
    let mut items = vec![wrap::wrap(&Line::from(spans), columns, 2)];
    items.extend(group.findings.iter().map(|it| finding_lines(it, columns)));
    if let Some(last) = items.last_mut() {
        last.push(Line::default());
    }
    items
}

fn finding_lines(finding: &ShownFinding, columns: usize) -> Item {
    let mut spans = vec![Span::styled("! ", WARN), Span::raw(finding.text.clone())];
    if let Some(place) = &finding.place {
        spans.push(Span::styled(format!("  {place}"), DIM));
    }
    let mut lines = wrap::wrap(&Line::from(spans), columns, 2);
    if let Some(hint) = &finding.hint {
        let hint = wrap::styled(format!("  → {hint}"), DIM);
        lines.extend(wrap::wrap(&hint, columns, 4));
    }
    lines
}
