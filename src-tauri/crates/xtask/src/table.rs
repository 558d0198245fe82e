//! A plain table for the terminal: columns as wide as their widest cell, numbers to the right.
//!
//! No colour and no borders, so that it can be pasted into a commit message.

/// Lays the rows out below the heading. Rows may be shorter than the heading.
pub(crate) fn lay_out(heading: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = heading.iter().map(|&cell| cell.to_owned()).collect();
    let mut widths: Vec<usize> = heading.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut lines = vec![line(&heading, &widths)];
    lines.push(widths.iter().map(|&width| "-".repeat(width)).collect::<Vec<_>>().join("  "));
    lines.extend(rows.iter().map(|row| line(row, &widths)));
    lines.join("\n")
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, &width)| {
        if cell.starts_with(|first: char| first.is_ascii_digit()) {
            format!("{cell:>width$}")
        } else {
            format!("{cell:<width$}")
        }
    });
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_numbers_stand_right() {
        let rows = vec![vec!["fmt".to_owned(), "1.5 s".to_owned()], vec!["clippy".to_owned(), "120.0 s".to_owned()]];
        let expected = "step    time\n------  -------\nfmt       1.5 s\nclippy  120.0 s";
        assert_eq!(lay_out(&["step", "time"], &rows), expected, "the layout is what people paste");
    }
}
