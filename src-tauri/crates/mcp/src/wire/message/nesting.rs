//! How deep JSON text nests and how many members it has, without parsing it.
//!
//! `serde_json` checks no depth in values that stay raw, and a batch is refused before its members are kept. One pass,
//! constant memory, no recursion. It does not check whether the text is JSON: `parse` does, afterwards.

/// The byte at which nesting exceeds `cap`, if it does.
#[must_use]
pub fn too_deep_at(bytes: &[u8], cap: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => {
                // Texts are most of a large message: they are stepped over at once. One that does not end has no depth.
                at = crate::wire::raw_json::behind_text(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > cap {
                    return Some(at);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
}

/// How many members the outermost list has at least, counted by commas: enough to refuse one that is too long
/// before anything of it is kept.
#[must_use]
pub(crate) fn members(bytes: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    let mut commas = 0_usize;
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => commas += 1,
            _ => {}
        }
    }
    commas + 1
}
