//! Tables: fixed columns, as wide as the terminal, plain where there is none.
//!
//! Callers make cells harmless. A row is one line: what does not fit is cut with an ellipsis or left out, with a note;
//! nothing wraps. The caller says which columns may be cut or left out.

use anstyle::AnsiColor;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::screen::Screen;

/// One cell with its tone.
pub(crate) struct TableCell {
    text: String,
    tone: Option<AnsiColor>,
}

/// A plain cell.
pub(crate) fn text(text: impl Into<String>) -> TableCell {
    TableCell { text: text.into(), tone: None }
}

/// A cell with a colour beside its word.
pub(crate) fn toned(text: impl Into<String>, tone: AnsiColor) -> TableCell {
    TableCell { text: text.into(), tone: Some(tone) }
}

/// A cut column keeps at least this many letters. Judgement: enough for the beginning of a name.
const CUT_LEAST: usize = 12;
/// Occurs in no cell, so that text is cut after a letter and a long second word is not lost entirely.
const NO_DELIMITER: char = '\0';
/// Blanks on both sides of a cell.
const PADDING: usize = 2;

/// The columns of a table, and which of them may be cut or left out on a narrow terminal. Names and states are never
/// left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableLayout<'a> {
    /// The heads of all columns.
    pub(crate) header: &'a [&'a str],
    /// Columns that may be cut with an ellipsis.
    pub(crate) cut: &'a [&'a str],
    /// Columns that may be left out where cutting is not enough, in this order; empty ones go first.
    pub(crate) spare: &'a [&'a str],
}

/// Prints rows under a header, and says which columns had no room.
pub(crate) fn print(screen: &Screen, layout: TableLayout<'_>, rows: Vec<Vec<TableCell>>) {
    let styled = screen.is_terminal() && console::colors_enabled();
    let (lines, left_out) = lay_out(layout, rows, screen.width(), styled);
    for line in lines {
        screen.line(line.trim_end());
    }
    if !left_out.is_empty() {
        screen.note(&format!("Not shown: {}. A wider terminal or `--json` shows more.", left_out.join(", ")));
    }
}

/// The lines of a table, and the heads of columns that are left out although they are not empty.
fn lay_out<'a>(
    layout: TableLayout<'a>,
    rows: Vec<Vec<TableCell>>,
    width: Option<u16>,
    styled: bool,
) -> (Vec<String>, Vec<&'a str>) {
    let needs = needs(layout, &rows);
    let left_out = width.map(|width| left_out(layout, &needs, width.into())).unwrap_or_default();
    let is_shown = |head: &str| !left_out.contains(&head);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width.unwrap_or(u16::MAX)).set_delimiter(NO_DELIMITER);
    if styled {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let heads = layout.header.iter().filter(|head| is_shown(head));
    table.set_header(heads.map(|head| Cell::new(head).add_attribute(Attribute::Bold)));
    for row in rows {
        let mut line = comfy_table::Row::new();
        line.max_height(1);
        for (column, _) in row.into_iter().zip(layout.header).filter(|(_, head)| is_shown(head)) {
            let mut cell = Cell::new(column.text).set_alignment(CellAlignment::Left);
            if let Some(tone) = column.tone.filter(|_| styled) {
                cell = cell.fg(colour(tone));
            }
            line.add_cell(cell);
        }
        table.add_row(line);
    }
    let shown = needs.iter().filter(|need| is_shown(need.head));
    for (column, need) in table.column_iter_mut().zip(shown) {
        column.set_constraint(if layout.cut.contains(&need.head) {
            ColumnConstraint::LowerBoundary(Width::Fixed(u16::try_from(need.least + PADDING).unwrap_or(u16::MAX)))
        } else {
            ColumnConstraint::ContentWidth
        });
    }
    let said = needs.iter().filter(|need| need.has_content && !is_shown(need.head)).map(|need| need.head).collect();
    (table.lines().collect(), said)
}

/// How much room a column needs.
struct ColumnNeed<'a> {
    head: &'a str,
    /// The least number of letters that can be read.
    least: usize,
    /// Whether any cell has content.
    has_content: bool,
}

fn needs<'a>(layout: TableLayout<'a>, rows: &[Vec<TableCell>]) -> Vec<ColumnNeed<'a>> {
    let need = |(index, head): (usize, &&'a str)| {
        let cells = || rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.text.as_str());
        let named = console::measure_text_width(head);
        let whole = cells().map(console::measure_text_width).fold(named, usize::max);
        let least = if layout.cut.contains(head) { whole.min(named.max(CUT_LEAST)) } else { whole };
        ColumnNeed { head, least, has_content: cells().any(|cell| !matches!(cell, "" | "-")) }
    };
    layout.header.iter().enumerate().map(need).collect()
}

/// The columns to leave out so that the rest fits.
fn left_out<'a>(layout: TableLayout<'a>, needs: &[ColumnNeed<'a>], room: usize) -> Vec<&'a str> {
    let mut needed: usize = needs.iter().map(|need| need.least + PADDING).sum();
    let spare = || layout.spare.iter().filter_map(|head| needs.iter().find(|need| need.head == *head));
    let in_order = spare().filter(|need| !need.has_content).chain(spare().filter(|need| need.has_content));
    let mut gone = Vec::new();
    for need in in_order {
        if needed <= room {
            break;
        }
        needed = needed.saturating_sub(need.least + PADDING);
        gone.push(need.head);
    }
    gone
}

const fn colour(tone: AnsiColor) -> Color {
    match tone {
        AnsiColor::Yellow => Color::Yellow,
        AnsiColor::Blue => Color::Blue,
        AnsiColor::Green => Color::Green,
        AnsiColor::Red => Color::Red,
        AnsiColor::Magenta => Color::Magenta,
        _ => Color::Reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: TableLayout<'static> = TableLayout {
        header: &["TASK", "STATE", "AGENT", "COUNT", "SAYS"],
        cut: &["AGENT", "SAYS"],
        spare: &["COUNT", "AGENT"],
    };

    fn check(agent: &str, width: u16, heads: &str, said: &[&str]) {
        let row = ["hdl_404p1xeqqm", "Working", agent, "12", "it counts the files below a folder"].map(text);
        let (lines, left_out) = lay_out(LAYOUT, vec![row.into()], Some(width), false);
        let shown: Vec<&str> = lines.first().map(|line| line.split_whitespace().collect()).unwrap_or_default();
        assert_eq!((shown.join(" "), left_out), (heads.to_owned(), said.to_vec()), "{lines:#?}");
        assert_eq!(lines.len(), 2, "a head and a row are a line each: {lines:#?}");
        for line in &lines {
            let wide = console::measure_text_width(line.trim_end());
            assert!(wide <= usize::from(width), "{wide} letters in {width}: {lines:#?}");
        }
    }

    #[test]
    fn a_narrow_table_leaves_out_what_can_be_spared_and_says_so() {
        check("claude", 200, "TASK STATE AGENT COUNT SAYS", &[]);
        check("claude", 54, "TASK STATE AGENT COUNT SAYS", &[]);
        check("claude", 52, "TASK STATE AGENT SAYS", &["COUNT"]);
        check("claude", 40, "TASK STATE SAYS", &["AGENT", "COUNT"]);
        check("-", 46, "TASK STATE COUNT SAYS", &[]);
        check("研究研究研究研究研究", 61, "TASK STATE AGENT COUNT SAYS", &[]);
    }

    #[test]
    fn a_cut_column_keeps_its_beginning_and_its_head() {
        let layout = TableLayout { header: &["FOR", "LIMITS"], cut: &["FOR"], spare: &[] };
        let row = vec![text("agent research-7"), text("result 20,000 hold, window 160,000 ask")];
        let (lines, _) = lay_out(layout, vec![row], Some(50), false);
        assert!(lines.iter().any(|line| line.contains("agent resea…")), "for what it holds can be read: {lines:#?}");
        assert!(lines.first().is_some_and(|line| line.contains("FOR")), "{lines:#?}");
    }
}
