//! Finds the top-level `id` of a JSON-RPC message that is too large to keep.
//!
//! The message arrives in pieces and is thrown away; the request that it answers must not wait for ever. One pass,
//! constant memory, no recursion. It does not check whether the text is JSON.

/// Finds the top-level `id` of an object that arrives in pieces and is thrown away.
#[derive(Debug, Default)]
pub struct MessageSkim {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The last top-level string: a key, once a colon follows.
    last: Vec<u8>,
    /// The value of `id` is being read.
    reading: bool,
    value: Vec<u8>,
    found: Option<Vec<u8>>,
    /// The value cannot be an id: too long, or a list or object.
    spoilt: bool,
    has_method: bool,
}

/// A longer key is not `id` or `method`; its rest needs no memory.
const KEY_BYTES: usize = 16;

impl MessageSkim {
    /// Reads the next piece. `cap_bytes` bounds the id.
    pub fn feed(&mut self, piece: &[u8], cap_bytes: usize) {
        for byte in piece {
            self.step(*byte, cap_bytes);
        }
    }

    /// The JSON text of the top-level `id`, as far as the message was fed.
    #[must_use]
    pub fn id_text(&self) -> Option<&str> {
        std::str::from_utf8(self.found.as_deref()?).ok()
    }

    /// Whether it is a request or notification: it has a `method`.
    #[must_use]
    pub const fn has_method(&self) -> bool {
        self.has_method
    }

    /// A small object that skims to the same result, to send in place of the message.
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
