//! A log in memory and exports of it, made straight from the description of the format.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use ed25519_dalek::SigningKey;
use verify::anchor::{Anchor, parse_anchors};
use verify::chain::{Hash, START, commitment};
use verify::export::{
    EarlierTree, ExportLine, FORMAT, GapKind, Manifest, RowLine, Trailer, Trust, check_export, texts_of,
};
use verify::filter::{RowFilter, RowMatch};
use verify::hex;
use verify::note::{NoteKey, SignedNote, TreeHead};
use verify::tree::{LeafRange, Subtree, consistency_ranges, fold, inclusion_ranges, leaf_hash, node_hash};
use verify::verdict::Verdict;

const ORIGIN: &str = "taskwarden/test";

/// The first rows have layout 1, as in a registry that was upgraded.
const UPGRADED: u64 = 6;

pub(crate) struct Log {
    origin: String,
    rows: Vec<RowLine<'static>>,
    hashes: Vec<Hash>,
}

fn row(number: u64, note: String) -> RowLine<'static> {
    let verb = if number.is_multiple_of(10) { "stopBegun" } else { "ended" };
    let verb = if number == 7 { "verbOfTomorrow" } else { verb };
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
        server: Cow::Borrowed("srv_1"),
        agent: Cow::Borrowed("agt_1"),
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

    /// The same log with another text from this row on; 0 for none.
    pub(crate) fn rewritten(size: u64, from: u64) -> Self {
        let (mut rows, mut hashes, mut previous) = (Vec::new(), Vec::new(), START);
        for number in 1..=size {
            let word = if from > 0 && number >= from { "forged" } else { "note" };
            let mut row = row(number, format!("{word} {number}"));
            let mut salt = Vec::new();
            previous = row.chain_row(&mut salt).expect("fields").hash(&previous).expect("hashes");
            row.hash = hex::encode(&previous).into();
            rows.push(row);
            hashes.push(previous);
        }
        Self { origin: ORIGIN.into(), rows, hashes }
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
        let stub = if row.layout == 1 { row } else { RowLine { note, origin, detail, salt, ..row } };
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
        let (mut rows, mut stubs) = (0, 0);
        for number in first..=last {
            let at = usize::try_from(number).expect("small");
            let mut row = self.rows[at - 1].clone();
            let mut salt = Vec::new();
            if filter.matches(&row.chain_row(&mut salt).expect("fields")) == RowMatch::Yes {
                rows += 1;
                if !is_stubs {
                    let before = if number == 1 { START } else { self.hashes[at - 2] };
                    row.previous = Some(hex::encode(&before).into());
                    row.path = Some(self.ranges(inclusion_ranges(number - 1, size)));
                }
                text.push_str(&line(&ExportLine::Row(Box::new(row))));
            } else if is_stubs {
                stubs += 1;
                text.push_str(&self.stub(at));
            }
        }
        text.push_str(&line(&ExportLine::Trailer(Trailer { rows, stubs, receipts: 0 })));
        text
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
