//! A log in memory and exports of it, made straight from the description of the format.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ed25519_dalek::SigningKey;
use verify::anchor::{Anchor, parse_anchors};
use verify::chain::{Hash, START, commitment};
use verify::export::{
    EarlierTree, ExportLine, FORMAT, GapKind, Manifest, ReceiptLine, ReceiptsLine, RowLine, Trailer, Trust,
    check_export, texts_of,
};
use verify::filter::{RowFilter, RowMatch};
use verify::hex;
use verify::note::{NoteKey, SignedNote, TreeHead};
use verify::receipt::{BatchClaim, CALLED, batch_root};
use verify::tree::{LeafRange, Subtree, consistency_ranges, fold, inclusion_ranges, leaf_hash, node_hash};
use verify::verdict::Verdict;

const ORIGIN: &str = "taskwarden/test";

/// The first rows have layout 1, as in a registry that was upgraded.
const UPGRADED: u64 = 6;

pub(crate) struct Log {
    origin: String,
    rows: Vec<RowLine<'static>>,
    hashes: Vec<Hash>,
    /// The receipts that a row vouches for, by its number.
    batches: BTreeMap<u64, Vec<ReceiptLine<'static>>>,
}

/// Calls of two agents in turns, every third one with a task, one a second.
fn calls(first: u64, count: u64) -> Vec<ReceiptLine<'static>> {
    let call = |number: u64| ReceiptLine {
        at: i64::try_from(number).expect("small") * 1000,
        agent: Cow::Borrowed(if number.is_multiple_of(2) { "agt_2" } else { "agt_1" }),
        server: Cow::Borrowed("srv_1"),
        tool: Cow::Borrowed("search"),
        args_mark: Cow::Borrowed("0a0b"),
        verdict: Cow::Borrowed("allowed"),
        outcome: Cow::Borrowed("result"),
        took_ms: number,
        handle: Cow::Borrowed(if number.is_multiple_of(3) { "hdl_1" } else { "" }),
        ..ReceiptLine::default()
    };
    (first..first + count).map(call).collect()
}

fn leaves(first: u64, calls: &[ReceiptLine<'_>]) -> Vec<Hash> {
    (first..).zip(calls).map(|(number, call)| call.leaf(number).expect("a mark")).collect()
}

fn verb_of(number: u64) -> &'static str {
    match number {
        7 => "verbOfTomorrow",
        _ if number.is_multiple_of(10) => "stopBegun",
        _ => "ended",
    }
}

fn row(number: u64, verb: &'static str, note: String) -> RowLine<'static> {
    let mut row = RowLine {
        number,
        layout: 1,
        at: i64::try_from(number).expect("small") * 1000,
        actor: Cow::Borrowed("person:ada"),
        verb: Cow::Borrowed(verb),
        subject: Cow::Borrowed("handle:hdl_1"),
        note: Some(note.into()),
        ..RowLine::default()
    };
    if number <= UPGRADED {
        row.origin = Some(Cow::Borrowed("terminal 7@99 /opt/x"));
        return row;
    }
    let salt = [number.to_le_bytes()[0]; 16];
    let mark = commitment(&salt, row.note.as_deref().expect("a note"), "{\"door\":\"window\"}");
    RowLine {
        layout: 2,
        server: Cow::Borrowed(if verb == CALLED { "" } else { "srv_1" }),
        agent: Cow::Borrowed(if verb == CALLED { "" } else { "agt_1" }),
        detail: Some(Cow::Borrowed("{\"door\":\"window\"}")),
        salt: Some(hex::encode(&salt).into()),
        commitment: Some(hex::encode(&mark).into()),
        ..row
    }
}

impl Log {
    pub(crate) fn of(size: u64) -> Self {
        Self::rewritten(size, 0)
    }

    /// A log in which each of these rows vouches for so many calls.
    pub(crate) fn with_calls(size: u64, batches: &[(u64, u64)]) -> Self {
        Self::made(size, 0, batches)
    }

    /// The same log with another text from this row on; 0 for none.
    pub(crate) fn rewritten(size: u64, from: u64) -> Self {
        Self::made(size, from, &[])
    }

    fn made(size: u64, from: u64, vouching: &[(u64, u64)]) -> Self {
        let (mut rows, mut hashes, mut previous) = (Vec::new(), Vec::new(), START);
        let (mut batches, mut next) = (BTreeMap::new(), 1);
        for number in 1..=size {
            let word = if from > 0 && number >= from { "forged" } else { "note" };
            let mut row = match vouching.iter().find(|(row, _)| *row == number) {
                Some((_, count)) => {
                    let calls = calls(next, *count);
                    let root = batch_root(leaves(next, &calls));
                    let claim = BatchClaim { first: next, last: next + count - 1, root };
                    batches.insert(number, calls);
                    next += count;
                    row(number, CALLED, claim.note())
                }
                None => row(number, verb_of(number), format!("{word} {number}")),
            };
            let mut salt = Vec::new();
            previous = row.chain_row(&mut salt).expect("fields").hash(&previous).expect("hashes");
            row.hash = hex::encode(&previous).into();
            rows.push(row);
            hashes.push(previous);
        }
        Self { origin: ORIGIN.into(), rows, hashes, batches }
    }

    /// The same log in a later epoch.
    pub(crate) fn in_epoch(self, epoch: u32) -> Self {
        Self { origin: format!("{ORIGIN}/{epoch}"), ..self }
    }

    fn size(&self) -> u64 {
        self.rows.len() as u64
    }

    fn subtree(&self, Subtree { level, index }: Subtree) -> Hash {
        if level == 0 {
            return leaf_hash(&self.hashes[usize::try_from(index).expect("small")]);
        }
        let half = |index| self.subtree(Subtree { level: level - 1, index });
        node_hash(&half(index * 2), &half(index * 2 + 1))
    }

    fn roots(&self, range: LeafRange) -> Vec<Hash> {
        range.cover().into_iter().map(|subtree| self.subtree(subtree)).collect()
    }

    fn ranges(&self, ranges: Vec<LeafRange>) -> Vec<String> {
        let roots = ranges.into_iter().map(|range| fold(&self.roots(range)).expect("leaves"));
        texts_of(&roots.collect::<Vec<_>>())
    }

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[3; 32])
    }

    pub(crate) fn public(&self) -> NoteKey {
        NoteKey::of(&self.origin, &Self::key())
    }

    fn checkpoint(&self, size: u64) -> String {
        let root = fold(&self.roots(LeafRange { begin: 0, end: size })).expect("rows");
        let head = TreeHead { origin: self.origin.clone(), size, root };
        SignedNote::sign(&head.to_string(), &self.origin, &Self::key()).to_string()
    }

    pub(crate) fn stub(&self, number: usize) -> String {
        let RowLine { note, origin, detail, salt, .. } = RowLine::default();
        let row = self.rows[number - 1].clone();
        let stub =
            if row.layout == 1 || row.verb == CALLED { row } else { RowLine { note, origin, detail, salt, ..row } };
        line(&ExportLine::Stub(Box::new(stub)))
    }

    pub(crate) fn export(&self, filter: &RowFilter, gaps: GapKind, range: RangeInclusive<u64>) -> String {
        let (first, last) = range.into_inner();
        let is_stubs = gaps == GapKind::Stubs;
        let roots = |range| if is_stubs { texts_of(&self.roots(range)) } else { Vec::new() };
        let size = self.size();
        let previous = if first == 1 { START } else { self.hashes[usize::try_from(first - 2).expect("small")] };
        let earlier = [40, 60].into_iter().filter(|earlier| *earlier < size);
        let manifest = Manifest {
            format: FORMAT.into(),
            origin: self.origin.clone(),
            keys: vec![self.public().to_string()],
            checkpoint: self.checkpoint(size),
            filter: filter.clone(),
            gaps,
            first,
            last,
            previous: hex::encode(&previous),
            before: roots(LeafRange { begin: 0, end: first - 1 }),
            after: roots(LeafRange { begin: last, end: size }),
            earlier: earlier
                .map(|size| EarlierTree { size, proof: self.ranges(consistency_ranges(size, self.size())) })
                .collect(),
        };
        let mut text = line(&ExportLine::Manifest(Box::new(manifest)));
        let (mut rows, mut stubs, mut receipts) = (0, 0, 0);
        for number in first..=last {
            let at = usize::try_from(number).expect("small");
            let mut row = self.rows[at - 1].clone();
            let mut salt = Vec::new();
            let is_row = filter.matches(&row.chain_row(&mut salt).expect("fields")) == RowMatch::Yes;
            let calls = self.calls_behind(number, filter, gaps);
            if !is_stubs {
                let before = if number == 1 { START } else { self.hashes[at - 2] };
                row.previous = Some(hex::encode(&before).into());
                row.path = Some(self.ranges(inclusion_ranges(number - 1, size)));
            }
            if is_row {
                rows += 1;
                text.push_str(&line(&ExportLine::Row(Box::new(row))));
            } else if is_stubs {
                stubs += 1;
                text.push_str(&self.stub(at));
            } else if !calls.is_empty() {
                stubs += 1;
                text.push_str(&line(&ExportLine::Stub(Box::new(row))));
            }
            if !calls.is_empty() {
                receipts += calls.len() as u64;
                text.push_str(&line(&ExportLine::Receipts(Box::new(ReceiptsLine { row: number, calls }))));
            }
        }
        text.push_str(&line(&ExportLine::Trailer(Trailer { rows, stubs, receipts })));
        text
    }

    /// The receipts that stand behind a row: its batch, or with hashes those that the filter wants, with their proofs.
    fn calls_behind(&self, row: u64, filter: &RowFilter, gaps: GapKind) -> Vec<ReceiptLine<'static>> {
        let Some(batch) = self.batches.get(&row) else { return Vec::new() };
        let first = 1 + self.batches.range(..row).map(|(_, calls)| calls.len() as u64).sum::<u64>();
        let wanted = |call: &ReceiptLine<'_>| gaps == GapKind::Stubs || filter.matches_receipt(&call.fields(0, &[]));
        if batch.iter().all(wanted) {
            return batch.clone();
        }
        let leaves = leaves(first, batch);
        let placed = (first..).zip(batch).enumerate().filter(|(_, (_, call))| wanted(call));
        let placed = placed.map(|(place, (number, call))| {
            let path =
                inclusion_ranges(place as u64, leaves.len() as u64).into_iter().map(|LeafRange { begin, end }| {
                    let of = |number: u64| usize::try_from(number).expect("small");
                    batch_root(leaves[of(begin)..of(end)].iter().copied())
                });
            let path = texts_of(&path.collect::<Vec<_>>());
            ReceiptLine { number: Some(number), path: Some(path), ..call.clone() }
        });
        placed.collect()
    }
}

fn line(line: &ExportLine<'_>) -> String {
    format!("{}\n", serde_json::to_string(line).expect("encodes"))
}

pub(crate) fn anchor_at(log: &Log, size: u64) -> Anchor {
    parse_anchors("outside.notes", &log.checkpoint(size)).expect("reads").remove(0)
}

pub(crate) fn filter_cancels() -> RowFilter {
    RowFilter { verbs: vec!["stopBegun".into()], ..RowFilter::default() }
}

pub(crate) fn verdict(text: &str, trust: &Trust) -> Verdict {
    check_export(text.as_bytes(), trust).expect("an export")
}

pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| format!("{line}\n")).collect()
}

pub(crate) fn without_line(text: &str, index: usize) -> String {
    let mut all = lines(text);
    all.remove(index);
    all.concat()
}
