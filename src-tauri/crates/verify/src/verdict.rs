//! What a check found: in words for a person, and as an exit code for a script.
//!
//! It says what is proven and, each time, what is not. Numbers of rows come first, because a reader looks for them.

use std::fmt;

use crate::chain::Hash;
use crate::hex;

/// Everything that was checked holds.
pub const VERIFIED: u8 = 0;
/// Something does not hold.
pub const BROKEN: u8 = 1;
/// The command was not understood, or a file could not be read.
pub const USAGE: u8 = 2;
/// There was nothing to verify, or nothing to compare it with: none of the anchors that were given covers it.
pub const NOTHING: u8 = 4;

/// The first thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRow {
    /// The row, where it is one.
    pub number: Option<u64>,
    pub why: String,
    /// What was expected and what was found, where both are hashes.
    pub hashes: Option<(Hash, Hash)>,
}

impl BrokenRow {
    /// Something that is not about one row.
    #[must_use]
    pub fn file(why: impl Into<String>) -> Self {
        Self { number: None, why: why.into(), hashes: None }
    }

    /// A row, with why it does not hold.
    #[must_use]
    pub fn row(number: u64, why: impl Into<String>) -> Self {
        Self { number: Some(number), why: why.into(), hashes: None }
    }

    /// The same with the hash that was expected and the one that was found.
    #[must_use]
    pub fn with_hashes(self, expected: Hash, found: Hash) -> Self {
        Self { hashes: Some((expected, found)), ..self }
    }
}

impl fmt::Display for BrokenRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "row {number}: {}", self.why)?,
            None => f.write_str(&self.why)?,
        }
        match &self.hashes {
            Some((expected, found)) => {
                write!(f, "\n  expected {}\n  found    {}", hex::encode(expected), hex::encode(found))
            }
            None => Ok(()),
        }
    }
}

/// How one anchor or checkpoint compares with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadState {
    /// The rows give the same root.
    Agrees,
    /// The rows give another root.
    Contradicts,
    /// It covers rows that are not there.
    Beyond,
    /// The file has no proof for a tree of this size.
    NotCompared,
    /// It is about another log.
    OtherLog,
    /// It is of an earlier epoch of the log, and its rows are not those of this one.
    Forked,
    /// The same, and whoever verifies knows of it.
    KnownFork,
}

/// An anchor or checkpoint with what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFinding {
    /// Where it was read.
    pub place: String,
    pub size: u64,
    pub state: HeadState,
    /// Why its signature does not count, if it does not.
    pub unsigned: Option<String>,
}

impl fmt::Display for HeadFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, size, state, unsigned } = self;
        let said = match state {
            HeadState::Agrees => "agrees with the rows",
            HeadState::Contradicts => {
                "contradicts the rows: the log was rewritten, or this is a copy of another state of it"
            }
            HeadState::Beyond => "covers rows that are missing here",
            HeadState::NotCompared => "cannot be compared with this file",
            HeadState::OtherLog => "is about another log",
            HeadState::Forked | HeadState::KnownFork => {
                "is from before the log went on from an older copy, and its rows are not those of this log"
            }
        };
        write!(f, "{place}: the checkpoint of row {size} {said}")?;
        unsigned.as_ref().map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}

/// What a whole check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Rows that are there with all their fields.
    pub rows: u64,
    /// Of these, rows whose text was erased: in the log, or in the file. Nobody can tell which.
    pub erased: u64,
    /// Rows of which only the fields without text are there.
    pub stubs: u64,
    /// Rows that are there only because they vouch for receipts that the filter wants.
    pub vouching: u64,
    /// Receipts of calls, each the one that a row vouches for.
    pub receipts: u64,
    /// First and last row of the range.
    pub range: Option<(u64, u64)>,
    pub broken: Option<BrokenRow>,
    /// Keys that signed, as `checkpoint of row 5 signed by KEY`.
    pub checkpoints: Vec<String>,
    pub anchors: Vec<HeadFinding>,
    /// What the rows that are there prove, in one sentence.
    pub proves: Option<String>,
    /// What is odd and breaks nothing.
    pub warnings: Vec<String>,
    /// What nobody can know from what was given.
    pub unproven: Vec<String>,
}

impl Verdict {
    /// Keeps the first thing that does not hold.
    pub fn fail(&mut self, broken: BrokenRow) {
        self.broken.get_or_insert(broken);
    }

    /// Takes in how an anchor compares.
    pub fn add_anchor(&mut self, found: HeadFinding) {
        match found.state {
            HeadState::Contradicts => self.fail(BrokenRow::row(
                found.size,
                format!("up to here the rows are not those of the checkpoint in {}", found.place),
            )),
            HeadState::Beyond => self.fail(BrokenRow::row(
                self.range.map_or(1, |(_, last)| last + 1),
                format!("rows up to {} are missing; the checkpoint in {} covers them", found.size, found.place),
            )),
            HeadState::Forked => self.fail(BrokenRow::row(
                found.size,
                format!(
                    "the log forked: the checkpoint of row {} in {} is from before the log went on from an older copy, and \
                     has other rows. A row `epochBegun` says who let it go on; if you know of it, give its number with \
                     --epoch",
                    found.size, found.place
                ),
            )),
            HeadState::Agrees | HeadState::NotCompared | HeadState::OtherLog | HeadState::KnownFork => {}
        }
        self.anchors.push(found);
    }

    /// Whether anchors were given and none could be compared. Whoever forges a log chooses what its file has proofs for, so
    /// this is no success.
    fn is_unanchored(&self) -> bool {
        !self.anchors.is_empty() && !self.anchors.iter().any(|found| found.state == HeadState::Agrees)
    }

    fn is_empty(&self) -> bool {
        self.rows == 0 && self.stubs == 0 && self.receipts == 0
    }

    /// The exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (&self.broken, self.range) {
            (Some(_), _) => BROKEN,
            (None, Some(_)) if !self.is_unanchored() && !self.is_empty() => VERIFIED,
            (None, _) => NOTHING,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.broken, self.range) {
            (Some(broken), _) if broken.number.is_some() => writeln!(f, "BROKEN at {broken}")?,
            (Some(broken), _) => writeln!(f, "BROKEN: {broken}")?,
            (None, Some(_)) if self.is_empty() => f.write_str("NOTHING TO VERIFY: no row is in the file\n")?,
            (None, Some(_)) if self.is_unanchored() => f.write_str("NOT COMPARED with any of the anchors\n")?,
            (None, Some(_)) => f.write_str("VERIFIED\n")?,
            (None, None) => f.write_str("NOTHING TO VERIFY\n")?,
        }
        if let Some((first, last)) = self.range {
            write!(f, "Rows {first} to {last}: {} whole", self.rows.saturating_sub(self.erased))?;
            if self.erased > 0 {
                write!(f, ", {} whose text was erased", self.erased)?;
            }
            if self.stubs > 0 {
                write!(f, ", {} without their text", self.stubs)?;
            }
            match self.vouching {
                0 => {}
                1 => f.write_str(", 1 that vouches for calls")?,
                many => write!(f, ", {many} that vouch for calls")?,
            }
            match self.receipts {
                0 => {}
                1 => f.write_str("; 1 receipt of a call")?,
                many => write!(f, "; {many} receipts of calls")?,
            }
            f.write_str("\n")?;
        }
        let lines = self.checkpoints.iter().map(|line| ("Checkpoint", line.clone()));
        let lines = lines.chain(self.anchors.iter().map(|found| ("Anchor", found.to_string())));
        let proves = self.proves.iter().filter(|_| self.broken.is_none());
        let lines = lines.chain(proves.map(|line| ("Proven", line.clone())));
        let lines = lines.chain(self.warnings.iter().map(|line| ("Warning", line.clone())));
        let mut lines = lines.chain(self.unproven.iter().map(|line| ("Not proven", line.clone())));
        lines.try_for_each(|(kind, line)| writeln!(f, "{kind}: {line}"))
    }
}
