//! Tidy tables: fixed columns, as wide as the terminal, plain where there is none.
//!
//! Cells are made harmless by the caller. A row is a line: what has no room is cut with an ellipsis and never wrapped.
//! Which columns may be cut is the caller's to say.

use anstyle::AnsiColor;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, presets};

use super::screen::Screen;

/// One cell with its tone.
pub(crate) struct Column {
    text: String,
    tone: Option<AnsiColor>,
}

/// A plain cell.
pub(crate) fn text(text: impl Into<String>) -> Column {
    Column { text: text.into(), tone: None }
}

/// A cell with a colour beside its word.
pub(crate) fn toned(text: impl Into<String>, tone: AnsiColor) -> Column {
    Column { text: text.into(), tone: Some(tone) }
}

/// Prints rows under a header. Only the columns whose header is in `elastic` give way when the terminal is narrow: what
/// names a thing and its state is never cut.
pub(crate) fn print(screen: &Screen, header: &[&str], elastic: &[&str], rows: Vec<Vec<Column>>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    match screen.width() {
        Some(width) => table.set_width(width),
        None => table.set_width(u16::MAX),
    };
    let styled = screen.is_terminal() && console::colors_enabled();
    if styled {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(header.iter().map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
    for row in rows {
        let mut line = comfy_table::Row::new();
        line.max_height(1);
        for column in row {
            let mut cell = Cell::new(column.text).set_alignment(CellAlignment::Left);
            if let Some(tone) = column.tone.filter(|_| styled) {
                cell = cell.fg(colour(tone));
            }
            line.add_cell(cell);
        }
        table.add_row(line);
    }
    for (column, name) in table.column_iter_mut().zip(header) {
        if !elastic.contains(name) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for line in table.lines() {
        screen.line(line.trim_end());
    }
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
