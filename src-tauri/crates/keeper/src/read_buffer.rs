//! The buffer that frames and lines are read into, and the search for the end of a line.

use std::io::BufRead as _;

use bytes::BytesMut;

/// One read: many small frames at once, and few reads for a large one.
const READ_BYTES: usize = 64 * 1_024;
/// A read with less room than this is not worth its system call.
const LEAST_READ_BYTES: usize = 4 * 1_024;
/// A larger buffer is given back once it is empty.
const READ_BYTES_KEPT: usize = 4 * READ_BYTES;

/// Makes room for a read: of many small messages at once, and of the rest of a large one.
pub(crate) fn make_room(read: &mut BytesMut, missing: usize) {
    if read.is_empty() && read.capacity() > READ_BYTES_KEPT {
        // A burst of one large message must not hold its memory for ever.
        *read = BytesMut::new();
    }
    if read.capacity() - read.len() < missing.clamp(LEAST_READ_BYTES, READ_BYTES) {
        // Doubled, so that a large message is not copied with each read.
        read.reserve(missing.max(READ_BYTES).max(read.len()));
    }
}

/// Where the first line in `bytes` ends: the place of its line break, searched many bytes at a time.
#[must_use]
pub fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    // Reading from memory does not fail.
    let at = rest.skip_until(b'\n').ok()?.checked_sub(1)?;
    (bytes.get(at) == Some(&b'\n')).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_line_is_its_first_line_break() {
        for (text, end) in [("", None), ("a", None), ("\n", Some(0)), ("ab\nc\n", Some(2)), ("abc\n", Some(3))] {
            assert_eq!(line_end(text.as_bytes()), end, "{text:?}");
        }
    }
}
