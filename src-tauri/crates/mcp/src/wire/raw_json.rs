//! Reads and edits JSON text in place, without building values.
//!
//! What is forwarded must keep its order, spelling and unknown members, so places are found by walking and replaced by
//! splicing. [`JsonCursor`] is the one walker: a single pass that borrows the text, and an error where the text is no
//! JSON, so that nobody takes a part for the whole. Which places matter is decided by `rewrite.rs` and by the params of
//! each side.

mod unique_names;

use std::borrow::Cow;
use std::ops::Range;

/// Text that is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text is not JSON at byte {at}")]
pub(crate) struct MalformedJson {
    /// The byte that does not fit.
    pub(crate) at: usize,
}

/// A place in JSON text, which only moves on.
///
/// Brackets are counted and scalars are stepped over: that text is JSON was checked when it came.
#[derive(Debug, Clone)]
pub(crate) struct JsonCursor<'a> {
    text: &'a str,
    at: usize,
}

/// An object or list that a cursor has entered.
#[derive(Debug, Clone)]
pub(crate) struct JsonNest {
    is_object: bool,
    has_begun: bool,
    /// Where the name of the current member begins, or the value of the current element.
    begin: usize,
}

impl<'a> JsonCursor<'a> {
    pub(crate) const fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Enters the object or list that begins here; `None`, without a move, where anything else does.
    pub(crate) fn enter(&mut self) -> Option<JsonNest> {
        let at = blank(self.text.as_bytes(), self.at);
        let is_object = match self.text.as_bytes().get(at)? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        self.at = at + 1;
        Some(JsonNest { is_object, has_begun: false, begin: self.at })
    }

    /// Moves to the next value inside and returns its name, which is empty in a list; `None` behind the closing bracket.
    /// The value before has been stepped over or walked.
    ///
    /// A name that has no meaning (it holds half of a surrogate pair) is returned as it is spelled. It contains a
    /// backslash then, and is none that we know.
    pub(crate) fn next_in(&mut self, nest: &mut JsonNest) -> Result<Option<Cow<'a, str>>, MalformedJson> {
        let bytes = self.text.as_bytes();
        self.at = blank(bytes, self.at);
        let closing = if nest.is_object { b'}' } else { b']' };
        match bytes.get(self.at) {
            Some(byte) if *byte == closing => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if nest.has_begun => self.at = blank(bytes, self.at + 1),
            Some(_) if !nest.has_begun => {}
            Some(_) | None => return Err(self.malformed()),
        }
        nest.has_begun = true;
        nest.begin = self.at;
        if !nest.is_object {
            return Ok(Some(Cow::Borrowed("")));
        }
        if bytes.get(self.at) != Some(&b'"') {
            return Err(self.malformed());
        }
        let end = behind_text(bytes, self.at + 1).ok_or_else(|| self.malformed())?;
        let json = self.text.get(self.at..end).unwrap_or_default();
        let spelled = || Cow::Borrowed(json.get(1..json.len().saturating_sub(1)).unwrap_or_default());
        let name = meaning(json).unwrap_or_else(spelled);
        self.at = blank(bytes, end);
        if bytes.get(self.at) != Some(&b':') {
            return Err(self.malformed());
        }
        self.at = blank(bytes, self.at + 1);
        Ok(Some(name))
    }

    /// Steps over the value that begins here and returns its place.
    pub(crate) fn skip(&mut self) -> Result<Range<usize>, MalformedJson> {
        let bytes = self.text.as_bytes();
        let begin = blank(bytes, self.at);
        let end = behind_value(bytes, begin).ok_or_else(|| self.malformed())?;
        self.at = end;
        Ok(begin..end)
    }

    /// The text of a place.
    pub(crate) fn text(&self, place: Range<usize>) -> &'a str {
        self.text.get(place).unwrap_or_default()
    }

    /// The text behind what was read.
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    const fn malformed(&self) -> MalformedJson {
        MalformedJson { at: self.at }
    }
}

impl JsonNest {
    /// Whether it is an object.
    pub(crate) const fn is_object(&self) -> bool {
        self.is_object
    }

    /// Where the name of the current member begins, or the value of the current element.
    pub(crate) const fn begin(&self) -> usize {
        self.begin
    }
}

/// Iterates over the members of an object or the elements of a list, as far as every reader agrees on them: it ends where
/// the text is no JSON, and at a name without meaning. [`Self::next_part`] tells the two apart from the end.
#[derive(Debug, Clone)]
pub(crate) struct JsonMembers<'a> {
    cursor: JsonCursor<'a>,
    nest: JsonNest,
    is_over: bool,
}

/// One member or element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPart<'a> {
    /// The unescaped name of a member; empty for an element.
    pub(crate) name: Cow<'a, str>,
    /// Where its name begins, or the value of an element.
    pub(crate) begin: usize,
    /// Where its value is.
    pub(crate) value: Range<usize>,
}

impl<'a> JsonMembers<'a> {
    /// Opens the object or list that `text` is; `None` for anything else.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let mut cursor = JsonCursor::of(text);
        let nest = cursor.enter()?;
        Some(Self { cursor, nest, is_over: false })
    }

    /// Opens it if it is an object.
    pub(crate) fn object(text: &'a str) -> Option<Self> {
        Self::of(text).filter(|inside| inside.nest.is_object)
    }

    /// Just behind the opening bracket, before anything was read.
    const fn start(&self) -> usize {
        self.cursor.at
    }

    /// The next one, or an error where the text is no JSON.
    pub(crate) fn next_part(&mut self) -> Result<Option<JsonPart<'a>>, MalformedJson> {
        let Some(name) = self.cursor.next_in(&mut self.nest)? else { return Ok(None) };
        let begin = self.nest.begin;
        Ok(Some(JsonPart { name, begin, value: self.cursor.skip()? }))
    }
}

impl<'a> Iterator for JsonMembers<'a> {
    type Item = JsonPart<'a>;

    fn next(&mut self) -> Option<JsonPart<'a>> {
        if self.is_over {
            return None;
        }
        let has_meaning = |part: &JsonPart<'_>| !matches!(part.name, Cow::Borrowed(name) if name.contains('\\'));
        let part = self.next_part().ok().flatten().filter(has_meaning);
        self.is_over = part.is_none();
        part
    }
}

/// The text of a member of an object; of several with one name the last, as readers take it.
/// `None` where the text is no JSON object.
pub(crate) fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut inside = JsonMembers::object(text)?;
    let mut last = None;
    while let Some(part) = inside.next_part().ok()? {
        if part.name == name {
            last = Some(part.value);
        }
    }
    text.get(last?)
}

/// The value of a member that is a string.
pub(crate) fn text_member<'a>(text: &'a str, name: &str) -> Option<Cow<'a, str>> {
    meaning(member(text, name)?)
}

/// The value of a JSON string; `None` for anything else.
pub(crate) fn meaning(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(json).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

/// A range of the text and its replacement.
pub(crate) type JsonEdit<'a> = (Range<usize>, Cow<'a, str>);

/// Applies all edits. They must be in order and must not overlap; one that does is left out.
pub(crate) fn splice(text: &str, changes: &[JsonEdit<'_>]) -> String {
    let more: usize = changes.iter().map(|(_, new)| new.len()).sum();
    let mut spliced = String::with_capacity(text.len() + more);
    let mut done = 0;
    for (place, new) in changes {
        let Some(kept) = text.get(done..place.start) else { continue };
        spliced.push_str(kept);
        spliced.push_str(new);
        done = place.end;
    }
    spliced.push_str(text.get(done..).unwrap_or_default());
    spliced
}

/// The object with members set and others left out. What is set stands where it stood, or at the end; everything else
/// stays byte for byte. Of a name that is there twice only one place is left. What is no object counts as `{}`.
pub(crate) fn with_members(object: &str, set: &[(&str, Cow<'_, str>)], drop: &[&str]) -> String {
    member_edits(object, set, drop).map_or_else(|| with_members("{}", set, drop), |edits| splice(object, &edits))
}

/// What [`with_members`] changes; `None` when the text is no object.
fn member_edits<'e>(object: &str, set: &'e [(&str, Cow<'_, str>)], drop: &[&str]) -> Option<Vec<JsonEdit<'e>>> {
    let mut inside = JsonMembers::object(object)?;
    let start = inside.start();
    let mut changes: Vec<JsonEdit<'e>> = Vec::new();
    let mut placed = vec![false; set.len()];
    // Where the last member that stays ends, and where what is left out in front of all others begins.
    let mut kept_end: Option<usize> = None;
    let mut cut_from: Option<usize> = None;
    while let Some(part) = inside.next_part().ok()? {
        let new = set.iter().zip(placed.iter_mut()).find(|((name, _), _)| part.name == *name);
        let stays = match &new {
            Some((_, placed)) => !**placed,
            None => !drop.iter().any(|name| part.name == *name),
        };
        if !stays {
            match kept_end {
                Some(end) => changes.push((end..part.value.end, Cow::Borrowed(""))),
                None => {
                    cut_from.get_or_insert(part.begin);
                }
            }
            kept_end = kept_end.map(|_| part.value.end);
            continue;
        }
        if let Some(from) = cut_from.take() {
            changes.push((from..part.begin, Cow::Borrowed("")));
        }
        kept_end = Some(part.value.end);
        if let Some(((_, value), placed)) = new {
            *placed = true;
            changes.push((part.value, Cow::Borrowed(value)));
        }
    }
    let mut tail = String::new();
    let mut first = kept_end.is_none();
    for ((name, value), placed) in set.iter().zip(&placed) {
        if *placed {
            continue;
        }
        if !std::mem::take(&mut first) {
            tail.push(',');
        }
        tail.push_str(&serde_json::Value::from(*name).to_string());
        tail.push(':');
        tail.push_str(value);
    }
    match (kept_end, cut_from) {
        (Some(end), _) => changes.push((end..end, tail.into())),
        // Nothing stays: all of the inside gives way.
        (None, Some(_)) => {
            let end = object.rfind('}').unwrap_or(start);
            changes.push((start..end.max(start), tail.into()));
        }
        (None, None) => changes.push((start..start, tail.into())),
    }
    Some(changes)
}

/// The first byte at or behind `at` that is no blank.
fn blank(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Behind the closing quote of the text whose inside begins at `at`.
pub(crate) fn behind_text(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Behind the value that begins at `at`.
fn behind_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => behind_text(bytes, at + 1),
        b'{' | b'[' => behind_nest(bytes, at),
        b',' | b'}' | b']' | b':' => None,
        _ => {
            let rest = bytes.get(at..)?;
            let length = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'));
            Some(at + length.unwrap_or(rest.len()))
        }
    }
}

fn behind_nest(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = behind_text(bytes, at + 1)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests;
