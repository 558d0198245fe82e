//! Looks at JSON bytes without parsing them: how deep they nest, and which id they carry.
//!
//! `serde_json` checks no depth in values that stay raw, and an oversized message is not worth keeping, but the
//! request that it answers must not wait for ever. Both need one pass, constant memory and no recursion. It does not
//! judge whether the text is JSON: `parse` does, afterwards.

use super::Id;

/// The byte at which nesting exceeds `cap`, if it does.
#[must_use]
pub fn too_deep_at(bytes: &[u8], cap: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => {
                // Texts are most of a large message: they are stepped over at once. One that does not end has no depth.
                at = super::text::behind_text(bytes, at + 1)?;
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
pub(super) fn members(bytes: &[u8]) -> usize {
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

/// Finds the top-level `id` of an object that arrives in pieces and is thrown away.
#[derive(Debug, Default)]
pub struct Skim {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The top-level text read last: a key, once a colon follows.
    last: Vec<u8>,
    /// The value of `id` is being read.
    reading: bool,
    value: Vec<u8>,
    found: Option<Vec<u8>>,
    /// A value that cannot be an id: text that is too long, or a list or object.
    spoilt: bool,
    has_method: bool,
}

/// A longer key is not `id` or `method`; its rest needs no memory.
const KEY_BYTES: usize = 16;

impl Skim {
    /// Looks at the next piece. `cap_bytes` bounds the id.
    pub fn feed(&mut self, piece: &[u8], cap_bytes: usize) {
        for byte in piece {
            self.step(*byte, cap_bytes);
        }
    }

    /// The id of the response or request seen so far, with all of the text fed.
    #[must_use]
    pub fn id(&self, cap_bytes: usize) -> Option<Id> {
        let text = std::str::from_utf8(self.found.as_deref()?).ok()?;
        Id::read(text, cap_bytes)
    }

    /// Whether it is a request or notification: it has a `method`.
    #[must_use]
    pub const fn has_method(&self) -> bool {
        self.has_method
    }

    /// A small object that skims to the same, for whoever did not see the message.
    #[must_use]
    pub fn stub(&self) -> Vec<u8> {
        let mut stub = b"{".to_vec();
        if self.has_method {
            stub.extend_from_slice(b"\"method\":\"\",");
        }
        stub.extend_from_slice(b"\"id\":");
        stub.extend_from_slice(self.found.as_deref().unwrap_or(b"null"));
        stub.push(b'}');
        stub
    }

    fn step(&mut self, byte: u8, cap_bytes: usize) {
        if self.in_text {
            self.in_string(byte, cap_bytes);
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                if self.depth == 1 && !self.reading {
                    self.last.clear();
                }
                self.keep(byte, cap_bytes);
            }
            b'{' | b'[' => {
                self.spoilt |= self.reading;
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_of_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && !self.reading => {
                self.reading = self.last == b"id" && self.found.is_none();
                self.has_method |= self.last == b"method";
                self.value.clear();
                self.spoilt = false;
            }
            b',' if self.depth == 1 => self.end_of_value(),
            _ => self.keep(byte, cap_bytes),
        }
    }

    fn in_string(&mut self, byte: u8, cap_bytes: usize) {
        let ends = byte == b'"' && !self.escaped;
        self.escaped = byte == b'\\' && !self.escaped;
        self.in_text = !ends;
        if self.depth == 1 && !self.reading && !ends && self.last.len() < KEY_BYTES {
            self.last.push(byte);
        }
        self.keep(byte, cap_bytes);
    }

    fn keep(&mut self, byte: u8, cap_bytes: usize) {
        if !self.reading || self.depth != 1 {
            return;
        }
        if self.value.len() < cap_bytes {
            self.value.push(byte);
        } else {
            self.spoilt = true;
        }
    }

    fn end_of_value(&mut self) {
        if self.reading && !self.spoilt {
            self.found = Some(std::mem::take(&mut self.value));
        }
        self.reading = false;
    }
}
