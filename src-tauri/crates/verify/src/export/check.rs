//! The check of a whole export: every row, the filter, the tree, its checkpoint and the anchors.
//!
//! It holds one line and one hash for each level of the tree, however long the file is, and stops at the first row that
//! does not hold. It believes nothing of the file but what leads to the checkpoint. The lines are in `lines.rs`.

use std::fmt;
use std::io::{BufRead, Error, Read as _};

use crate::anchor::Anchor;
use crate::chain::{ChainRow, Hash};
use crate::export::lines::{
    ExportLine, FORMAT, GapKind, LINE_BYTES_MAX, Manifest, ReceiptsLine, RowLine, Trailer, hashes_of,
};
use crate::export::receipts::ReceiptsCheck;
use crate::filter::RowMatch;
use crate::hex;
use crate::note::{NoteKey, SignedNote, TreeHead, epoch_of};
use crate::receipt::CALLED;
use crate::tree::{Frontier, LeafRange, is_consistent, leaf_hash, root_of_inclusion};
use crate::verdict::{BrokenRow, HeadFinding, HeadState, Verdict};

/// Rows of a call have the time at which it came, and are written when it lasts or ends: others come between. Judgement:
/// much longer than a row waits to be written.
const CLOCK_SLACK_MS: i64 = 10_000;

/// What a person brings beside the file.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    pub anchors: Vec<Anchor>,
    /// Keys that the person knows to be those of the log; empty to take those of the file.
    pub keys: Vec<NoteKey>,
    /// An epoch of the log that the person knows to have begun; anchors of earlier ones may fork from it.
    pub epoch: Option<u32>,
}

/// Why a file was not checked at all.
#[derive(Debug)]
pub enum ExportProblem {
    /// The file could not be read.
    Read(Error),
    /// The file is no export of the audit log.
    NoExport(String),
}

impl fmt::Display for ExportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "the file cannot be read: {error}"),
            Self::NoExport(why) => write!(f, "this is no export of an audit log: {why}"),
        }
    }
}

/// Lines of a file, one at a time in one buffer.
struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its end; `None` at the end of the file or where a line is too long.
    fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        self.buffer.clear();
        let read = (&mut self.reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        Ok(self.buffer.strip_suffix(b"\n"))
    }
}

/// Checks a whole export.
///
/// # Errors
/// When the file cannot be read or does not begin with a manifest.
pub fn check_export(reader: impl BufRead, trust: &Trust) -> Result<Verdict, ExportProblem> {
    let mut lines = Lines { reader, buffer: Vec::new() };
    let begins = lines.next().map_err(ExportProblem::Read)?;
    let Some(begins) = begins else { return Err(ExportProblem::NoExport("it has no line".into())) };
    let manifest = match serde_json::from_slice(begins) {
        Ok(ExportLine::Manifest(manifest)) if manifest.format == FORMAT => *manifest,
        Ok(ExportLine::Manifest(manifest)) => {
            return Err(ExportProblem::NoExport(format!("its format is `{}`, not `{FORMAT}`", manifest.format)));
        }
        Ok(_) => return Err(ExportProblem::NoExport("line 1 is no manifest".into())),
        Err(error) => return Err(ExportProblem::NoExport(format!("line 1 is no manifest: {error}"))),
    };
    let mut check = match ExportCheck::begin(manifest, trust) {
        Ok(check) => check,
        Err(broken) => {
            return Ok(Verdict { broken: Some(broken), ..Verdict::default() });
        }
    };
    let mut trailer = None;
    let mut line = 1_u64;
    while let Some(text) = lines.next().map_err(ExportProblem::Read)? {
        line += 1;
        let taken = match serde_json::from_slice(text) {
            Ok(_) if trailer.is_some() => Err(BrokenRow::file(format!("line {line} stands behind the trailer"))),
            Ok(ExportLine::Row(row)) => check.take_row(&row, true),
            Ok(ExportLine::Stub(row)) => check.take_row(&row, false),
            Ok(ExportLine::Receipts(receipts)) => check.take_receipts(&receipts),
            Ok(ExportLine::Trailer(found)) => {
                trailer = Some(found);
                Ok(())
            }
            Ok(ExportLine::Manifest(_)) => Err(BrokenRow::file(format!("line {line} is a second manifest"))),
            Err(error) => Err(BrokenRow::file(format!("line {line} does not read: {error}"))),
        };
        if let Err(broken) = taken {
            check.verdict.fail(broken);
            return Ok(check.verdict);
        }
    }
    Ok(check.end(trailer, trust))
}

/// What is known between two rows.
struct ExportCheck {
    manifest: Manifest,
    head: TreeHead,
    keys: Vec<NoteKey>,
    /// The hash of the row before.
    previous: Hash,
    /// The row that must come next, or after which the next one comes.
    next: u64,
    frontier: Frontier,
    /// Anchors about trees that the rows lead through, with the root and time there.
    passed: Vec<(u64, Hash, i64)>,
    wanted: Vec<u64>,
    last_at: Option<i64>,
    went_back: u64,
    undecided: u64,
    receipts: ReceiptsCheck,
    verdict: Verdict,
}

impl ExportCheck {
    fn begin(manifest: Manifest, trust: &Trust) -> Result<Self, BrokenRow> {
        let fault = |what: &str| BrokenRow::file(format!("the manifest is wrong: {what}"));
        let own: Vec<NoteKey> = manifest
            .keys
            .iter()
            .map(|key| NoteKey::parse(key).map_err(|why| fault(&why.to_string())))
            .collect::<Result<_, _>>()?;
        let keys = if trust.keys.is_empty() { own } else { trust.keys.clone() };
        let note = SignedNote::parse(&manifest.checkpoint).map_err(|why| fault(&why.to_string()))?;
        let head = TreeHead::parse(note.text()).map_err(|why| fault(&why.to_string()))?;
        let signer =
            note.signer(&keys).map_err(|why| BrokenRow::file(format!("the checkpoint of the export: {why}")))?;
        if head.origin != manifest.origin || epoch_of(signer.name()).0 != epoch_of(&manifest.origin).0 {
            return Err(fault("its checkpoint is about another log"));
        }
        if manifest.first == 0 || manifest.last < manifest.first || manifest.last > head.size {
            return Err(fault("its range of rows does not lie in its tree"));
        }
        let previous = hex::decode_hash(&manifest.previous).ok_or_else(|| fault("`previous` is no hash"))?;
        let before = hashes_of(&manifest.before).ok_or_else(|| fault("`before` has something that is no hash"))?;
        let frontier = match manifest.gaps {
            GapKind::Stubs => Frontier::of(manifest.first - 1, before),
            GapKind::Hashes => Some(Frontier::default()),
        };
        let frontier = frontier.ok_or_else(|| fault("`before` does not cover the rows before the first"))?;
        let signed = format!("row {} of {}, signed by key {}", head.size, head.origin, signer.id());
        let mut verdict = Verdict { range: Some((manifest.first, manifest.last)), ..Verdict::default() };
        verdict.checkpoints.push(signed);
        if trust.keys.is_empty() {
            verdict.unproven.push(format!(
                "that the key is the log's own: the file brought it along. Compare `{signer}` with one that you got \
                 another way, or give it with --key"
            ));
        }
        let wanted = trust.anchors.iter().map(|anchor| anchor.head.size).collect();
        let next = manifest.first;
        Ok(Self {
            manifest,
            head,
            keys,
            previous,
            next,
            frontier,
            passed: Vec::new(),
            wanted,
            last_at: None,
            went_back: 0,
            undecided: 0,
            receipts: ReceiptsCheck::default(),
            verdict,
        })
    }

    fn take_row(&mut self, line: &RowLine<'_>, is_whole: bool) -> Result<(), BrokenRow> {
        let number = line.number;
        let unreadable = || BrokenRow::row(number, "its fields do not read or do not belong together");
        let mut salt = Vec::new();
        let row = line.chain_row(&mut salt).ok_or_else(unreadable)?;
        let found = hex::decode_hash(&line.hash).ok_or_else(unreadable)?;
        if self.manifest.gaps == GapKind::Stubs && number != self.next {
            return Err(BrokenRow::row(self.next, format!("the row is missing, and row {number} stands in its place")));
        }
        if number < self.next {
            return Err(BrokenRow::row(number, "it stands here a second time, or out of order"));
        }
        if number > self.manifest.last {
            return Err(BrokenRow::row(number, "it lies behind the range of the file"));
        }
        let previous = match self.manifest.gaps {
            GapKind::Stubs => self.previous,
            GapKind::Hashes => line.previous.as_deref().and_then(hex::decode_hash).ok_or_else(unreadable)?,
        };
        let expected = row.hash(&previous).map_err(|why| BrokenRow::row(number, why.to_string()))?;
        if expected != found {
            let why = "its content is not what its hash says";
            return Err(BrokenRow::row(number, why).with_hashes(expected, found));
        }
        self.filter(&row, is_whole, line.note.as_deref())?;
        self.receipts.row(number, row.verb, line.note.as_deref());
        match self.manifest.gaps {
            GapKind::Stubs => self.grow(number, found, row.at),
            GapKind::Hashes => self.include(line, found)?,
        }
        if self.last_at.is_some_and(|last| row.at < last.saturating_sub(CLOCK_SLACK_MS)) {
            self.went_back += 1;
            if self.went_back == 1 {
                self.verdict.warnings.push(format!("the clock of the machine went back before row {number}"));
            }
        }
        self.last_at = Some(row.at);
        (self.previous, self.next) = (found, number + 1);
        match (is_whole, self.manifest.gaps) {
            (true, _) => {
                self.verdict.rows += 1;
                self.verdict.erased += u64::from(line.note.is_none());
            }
            (false, GapKind::Stubs) => self.verdict.stubs += 1,
            (false, GapKind::Hashes) if row.verb == CALLED => self.verdict.vouching += 1,
            (false, GapKind::Hashes) => {
                return Err(BrokenRow::row(
                    number,
                    "it does not match the filter of the file, and vouches for no calls",
                ));
            }
        }
        Ok(())
    }

    fn take_receipts(&mut self, line: &ReceiptsLine<'_>) -> Result<(), BrokenRow> {
        let filter = Some(&self.manifest.filter).filter(|_| self.manifest.gaps == GapKind::Hashes);
        self.receipts.take(line, filter)
    }

    /// Whether the row is whole because the filter wants it, and a stub because it does not.
    fn filter(&mut self, row: &ChainRow<'_>, is_whole: bool, note: Option<&str>) -> Result<(), BrokenRow> {
        let filter = &self.manifest.filter;
        let has_words =
            |note: &str| filter.text.as_ref().is_none_or(|text| note.to_lowercase().contains(&text.to_lowercase()));
        match (filter.matches(row), is_whole) {
            (RowMatch::Yes, true) if note.is_none_or(has_words) => Ok(()),
            (RowMatch::No, false) => Ok(()),
            (RowMatch::Yes, false) if filter.has_text() => Ok(()),
            (RowMatch::Undecided, _) => {
                self.undecided += 1;
                Ok(())
            }
            (RowMatch::Yes | RowMatch::No, true) => {
                Err(BrokenRow::row(row.number, "it does not match the filter of the file"))
            }
            (RowMatch::Yes, false) => {
                Err(BrokenRow::row(row.number, "it matches the filter of the file, and its text was left out"))
            }
        }
    }

    fn grow(&mut self, number: u64, hash: Hash, at: i64) {
        self.frontier.push(leaf_hash(&hash), |_, _| {});
        if self.wanted.contains(&number) {
            self.passed.push((number, self.frontier.root(), at));
        }
    }

    fn include(&self, line: &RowLine<'_>, hash: Hash) -> Result<(), BrokenRow> {
        let proof = line.path.as_deref().and_then(hashes_of);
        let root = proof.and_then(|proof| root_of_inclusion(line.number - 1, self.head.size, leaf_hash(&hash), &proof));
        match root {
            Some(root) if root == self.head.root => Ok(()),
            Some(root) => Err(BrokenRow::row(line.number, "its proof does not lead to the root of the checkpoint")
                .with_hashes(self.head.root, root)),
            None => Err(BrokenRow::row(line.number, "it has no proof of its place, or one of a wrong length")),
        }
    }

    /// Everything that is known only behind the last row.
    fn end(mut self, trailer: Option<Trailer>, trust: &Trust) -> Verdict {
        if let Err(broken) = self.close(trailer) {
            self.verdict.fail(broken);
            return self.verdict;
        }
        let epoch = epoch_of(&self.head.origin).1;
        if let Some(known) = trust.epoch.filter(|known| *known > epoch) {
            self.verdict.warnings.push(format!(
                "the file is from before the log went on from an older copy: its epoch is {epoch}, and you know of {known}"
            ));
        }
        for anchor in &trust.anchors {
            let found = self.compare(anchor, trust.epoch);
            self.verdict.add_anchor(found);
        }
        self.say_what_is_proven();
        self.verdict
    }

    fn close(&mut self, trailer: Option<Trailer>) -> Result<(), BrokenRow> {
        let cut = || BrokenRow::file("the file was cut off: it has no trailer");
        let Trailer { rows, stubs, receipts } = trailer.ok_or_else(cut)?;
        if self.manifest.gaps == GapKind::Stubs && self.next <= self.manifest.last {
            return Err(BrokenRow::row(self.next, "the row is missing"));
        }
        let found = (self.verdict.rows, self.verdict.stubs + self.verdict.vouching);
        if (rows, stubs) != found {
            return Err(BrokenRow::file(format!(
                "the trailer counts {rows} rows and {stubs} stubs, and the file has {} and {}",
                found.0, found.1
            )));
        }
        self.verdict.receipts = self.receipts.checked();
        if receipts != self.verdict.receipts {
            return Err(BrokenRow::file(format!(
                "the trailer counts {receipts} receipts, and the file has {}",
                self.verdict.receipts
            )));
        }
        if self.manifest.gaps == GapKind::Hashes {
            return Ok(());
        }
        let after = LeafRange { begin: self.manifest.last, end: self.head.size }.cover();
        let roots = hashes_of(&self.manifest.after).filter(|roots| roots.len() == after.len());
        let wrong = || BrokenRow::file("the manifest is wrong: `after` does not cover the rows behind the last");
        for (subtree, root) in after.iter().zip(roots.ok_or_else(wrong)?) {
            self.frontier.push_subtree(subtree.level, root).map_err(|_| wrong())?;
        }
        let root = self.frontier.root();
        if root != self.head.root {
            let why = "the rows do not lead to the root of the checkpoint";
            return Err(BrokenRow::file(why).with_hashes(self.head.root, root));
        }
        Ok(())
    }

    fn compare(&self, anchor: &Anchor, known: Option<u32>) -> HeadFinding {
        let Anchor { place, head, .. } = anchor;
        let unsigned = anchor.check_signature(&self.keys).err().map(|why| why.to_string());
        let proof = || {
            let earlier = self.manifest.earlier.iter().find(|earlier| earlier.size == head.size)?;
            hashes_of(&earlier.proof)
        };
        let ((log, epoch), (own_log, own_epoch)) = (epoch_of(&head.origin), epoch_of(&self.head.origin));
        let otherwise = match (epoch < own_epoch, known.is_some_and(|known| epoch < known)) {
            (false, _) => HeadState::Contradicts,
            (true, false) => HeadState::Forked,
            (true, true) => HeadState::KnownFork,
        };
        let is_same = |is_same: bool| if is_same { HeadState::Agrees } else { otherwise };
        let state = if log != own_log {
            HeadState::OtherLog
        } else if epoch > own_epoch {
            // The file was made before that epoch began, or of a copy in which it did not begin.
            HeadState::NotCompared
        } else if epoch < own_epoch && head.size > self.head.size {
            otherwise
        } else if head.size == self.head.size {
            is_same(head.root == self.head.root)
        } else if let Some((_, root, _)) = self.passed.iter().find(|(size, _, _)| *size == head.size) {
            is_same(head.root == *root)
        } else if let Some(proof) = proof() {
            is_same(is_consistent((head.size, head.root), (self.head.size, self.head.root), &proof))
        } else {
            HeadState::NotCompared
        };
        HeadFinding { place: place.clone(), size: head.size, state, unsigned }
    }

    fn say_what_is_proven(&mut self) {
        let Manifest { first, last, gaps, ref filter, .. } = self.manifest;
        let each = "each row is genuine and in its place";
        self.verdict.proves = Some(match gaps {
            GapKind::Stubs if filter.has_text() => {
                format!("{each}. Completeness is not proven, because the filter asks for words of a note")
            }
            GapKind::Stubs if self.undecided > 0 => format!(
                "{each}, and no row of {first} to {last} that matches the filter was left out, except that {} rows of \
                 layout 1 have no provable server or agent and are undecided",
                self.undecided
            ),
            GapKind::Stubs => {
                format!("{each}, and no row of {first} to {last} that matches the filter was left out")
            }
            GapKind::Hashes => {
                let calls = if self.verdict.receipts > 0 { ", and each receipt of a call is genuine" } else { "" };
                format!("{each}{calls}. Completeness is not proven: rows between them and calls may have been left out")
            }
        });
        let anchored = self.verdict.anchors.iter().filter(|found| found.state == HeadState::Agrees);
        let newest = anchored.map(|found| found.size).max();
        self.verdict.unproven.push(match newest {
            None => "that the log was not rewritten by whoever holds it and its key: no anchor was given that agrees".into(),
            Some(size) if size >= self.head.size => {
                format!("anything about rows after {}; they may have been cut off", self.head.size)
            }
            Some(size) => {
                let at = self.passed.iter().find(|(passed, _, _)| *passed == size).map(|(_, _, at)| *at);
                let seconds = at.zip(self.last_at).map(|(from, to)| to.saturating_sub(from).max(0) / 1000);
                let within = seconds.map_or(String::new(), |seconds| format!(", written within {seconds} s"));
                let (rows, were) = match self.head.size - size {
                    1 => ("row".to_owned(), "was"),
                    more => (format!("{more} rows"), "were"),
                };
                format!(
                    "that the {rows} after {size}, the newest anchor, {were} not rewritten{within}; rows after {} may have \
                     been cut off",
                    self.head.size
                )
            }
        });
        self.verdict.unproven.extend(self.receipts.unproven().filter(|_| gaps == GapKind::Stubs));
        self.verdict.unproven.push("that what a server said of itself is true; it is recorded as its statement".into());
    }
}
