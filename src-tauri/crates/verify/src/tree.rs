//! The tree of RFC 6962 over the rows: its right edge, its roots, and proofs of inclusion and consistency.
//!
//! The leaf of row `n` is leaf `n - 1`: the leaf hash of the row's hash. Holds no tree in memory: a frontier of at most 64
//! hashes takes leaves one after the other, and a proof says which complete subtrees it needs. Who stores them is not
//! decided here.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::chain::Hash;

/// Levels that a tree of `u64` leaves can have.
const LEVELS: u32 = 64;

/// The hash of a leaf.
#[must_use]
pub fn leaf_hash(data: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(data).finalize().into()
}

/// The hash of an inner node.
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// The root of a tree without leaves.
#[must_use]
pub fn empty_root() -> Hash {
    Sha256::digest([]).into()
}

/// The root over hashes that stand side by side, each of a subtree no larger than the one before; `None` without any.
#[must_use]
pub fn fold(parts: &[Hash]) -> Option<Hash> {
    parts.iter().rev().copied().reduce(|right, left| node_hash(&left, &right))
}

/// A complete subtree: the leaves `index << level` to `(index + 1) << level`, without the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subtree {
    pub level: u32,
    pub index: u64,
}

/// Leaves from `begin` to `end`, without `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafRange {
    pub begin: u64,
    pub end: u64,
}

impl LeafRange {
    /// The largest complete subtrees that cover these leaves, from left to right.
    #[must_use]
    pub fn cover(self) -> Vec<Subtree> {
        let mut found = Vec::new();
        let mut at = self.begin;
        while at < self.end {
            let aligned = if at == 0 { LEVELS - 1 } else { at.trailing_zeros() };
            let level = aligned.min((self.end - at).ilog2());
            found.push(Subtree { level, index: at >> level });
            at += 1 << level;
        }
        found
    }
}

/// Where the tree over `size` leaves is split: the largest power of two below it.
fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// The ranges whose roots are the inclusion proof of a leaf, in the order of the proof; empty beyond the tree.
#[must_use]
pub fn inclusion_ranges(leaf: u64, size: u64) -> Vec<LeafRange> {
    let mut path = Vec::new();
    let (mut begin, mut end) = (0, size);
    while leaf < size && end - begin > 1 {
        let middle = begin + split(end - begin);
        if leaf < middle {
            path.push(LeafRange { begin: middle, end });
            end = middle;
        } else {
            path.push(LeafRange { begin, end: middle });
            begin = middle;
        }
    }
    path.reverse();
    path
}

/// The ranges whose roots prove that the tree of `old` leaves is the beginning of that of `new` leaves.
#[must_use]
pub fn consistency_ranges(old: u64, new: u64) -> Vec<LeafRange> {
    let mut path = Vec::new();
    if old == 0 || old >= new {
        return path;
    }
    let (mut begin, mut end) = (0, new);
    while old < end {
        let middle = begin + split(end - begin);
        if old <= middle {
            path.push(LeafRange { begin: middle, end });
            end = middle;
        } else {
            path.push(LeafRange { begin, end: middle });
            begin = middle;
        }
    }
    if begin > 0 {
        path.push(LeafRange { begin, end });
    }
    path.reverse();
    path
}

/// The root that an inclusion proof leads to; `None` when the proof has not the length it must have.
#[must_use]
pub fn root_of_inclusion(leaf: u64, size: u64, hash: Hash, proof: &[Hash]) -> Option<Hash> {
    let ranges = inclusion_ranges(leaf, size);
    if leaf >= size || ranges.len() != proof.len() {
        return None;
    }
    let join = |root: Hash, (range, other): (&LeafRange, &Hash)| {
        if range.begin > leaf { node_hash(&root, other) } else { node_hash(other, &root) }
    };
    Some(ranges.iter().zip(proof).fold(hash, join))
}

/// Whether a proof shows that the tree with the first root is the beginning of that with the second (RFC 9162, 2.1.4.2).
#[must_use]
pub fn is_consistent(old: (u64, Hash), new: (u64, Hash), proof: &[Hash]) -> bool {
    let ((old, old_root), (new, new_root)) = (old, new);
    if old == new {
        return proof.is_empty() && old_root == new_root;
    }
    if old == 0 || old > new {
        return false;
    }
    let mut rest = proof.iter();
    let Some(first) = (if old.is_power_of_two() { Some(&old_root) } else { rest.next() }) else { return false };
    let (mut node, mut last) = (old - 1, new - 1);
    while node & 1 == 1 {
        (node, last) = (node >> 1, last >> 1);
    }
    let (mut smaller, mut larger) = (*first, *first);
    for other in rest {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            (smaller, larger) = (node_hash(other, &smaller), node_hash(other, &larger));
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            larger = node_hash(&larger, other);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && smaller == old_root && larger == new_root
}

/// The right edge of a tree: all that is needed to add leaves and to know the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// Roots of the complete subtrees, the largest first; one for each bit of the size.
    peaks: Vec<Hash>,
}

/// A subtree cannot stand at the end of this tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misplaced;

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a subtree does not stand where the tree ends")
    }
}

impl Frontier {
    /// A tree of `size` leaves from the roots of its complete subtrees; `None` when their number does not fit.
    #[must_use]
    pub fn of(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (u32::try_from(peaks.len()).ok() == Some(size.count_ones())).then_some(Self { size, peaks })
    }

    /// How many leaves it has.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The roots of its complete subtrees, the largest first.
    #[must_use]
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Adds a leaf and names every subtree that it completes, from level 1 on.
    pub fn push(&mut self, leaf: Hash, mut completed: impl FnMut(Subtree, &Hash)) {
        let mut hash = leaf;
        let mut level = 0;
        while self.size >> level & 1 == 1 {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(&left, &hash);
            level += 1;
            completed(Subtree { level, index: self.size >> level }, &hash);
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// Adds a complete subtree, which must begin where this tree ends.
    ///
    /// # Errors
    /// When a subtree of this level cannot begin there.
    pub fn push_subtree(&mut self, level: u32, root: Hash) -> Result<(), Misplaced> {
        let leaves = 1_u64.checked_shl(level).ok_or(Misplaced)?;
        let size = self.size.checked_add(leaves).ok_or(Misplaced)?;
        if self.size & (leaves - 1) != 0 {
            return Err(Misplaced);
        }
        let mut hash = root;
        let mut height = level;
        while height < LEVELS && self.size >> height & 1 == 1 {
            let left = self.peaks.pop().ok_or(Misplaced)?;
            hash = node_hash(&left, &hash);
            height += 1;
        }
        self.peaks.push(hash);
        self.size = size;
        Ok(())
    }

    /// The root over all leaves.
    #[must_use]
    pub fn root(&self) -> Hash {
        fold(&self.peaks).unwrap_or_else(empty_root)
    }

    /// The stored form: the size as eight big-endian bytes, then the roots.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.size.to_be_bytes().into_iter().chain(self.peaks.iter().flatten().copied()).collect()
    }

    /// Reads the stored form; `None` when it is none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (size, peaks) = bytes.split_first_chunk::<8>()?;
        let (peaks, rest) = peaks.as_chunks::<32>();
        if !rest.is_empty() {
            return None;
        }
        Self::of(u64::from_be_bytes(*size), peaks.to_vec())
    }
}
