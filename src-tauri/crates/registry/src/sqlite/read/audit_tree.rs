//! Subtrees of the tree over the audit log: stored ones, and those that follow from stored ones or from rows.
//!
//! The hashes of rows are read as they are stored; whether they fit the rows is the chain's (`audit_check.rs`).

use std::collections::HashMap;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use verify::chain::Hash;
use verify::tree::{Frontier, LeafRange, Subtree, fold, leaf_hash, node_hash};

use crate::sqlite::tables::audit::checkpoints::NODE_LEVELS;
use crate::sqlite::{unsigned, whole};

/// Nodes of one block: what a stored node of the next stored level stands for.
const BLOCK: u64 = 1 << NODE_LEVELS;
/// Blocks kept in memory while one question is answered; some megabytes. Beyond it they are read again.
const BLOCKS_MAX: usize = 512;
/// Roots of subtrees kept in the same way, so that the proofs of rows that follow each other share them; some megabytes.
const ROOTS_MAX: usize = 65_536;

/// A block of neighbours on one stored level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BlockPlace {
    level: u32,
    number: u64,
}

/// Reads subtrees within one snapshot.
pub(crate) struct TreeReader<'c> {
    connection: &'c mut SqliteConnection,
    blocks: HashMap<BlockPlace, HashMap<u64, Hash>>,
    /// Roots that were computed from the nodes of a block.
    roots: HashMap<Subtree, Hash>,
}

impl<'c> TreeReader<'c> {
    pub(crate) fn new(connection: &'c mut SqliteConnection) -> Self {
        Self { connection, blocks: HashMap::new(), roots: HashMap::new() }
    }

    async fn read_block(&mut self, place: BlockPlace) -> Result<(), sqlx::Error> {
        if self.blocks.contains_key(&place) {
            return Ok(());
        }
        if self.blocks.len() >= BLOCKS_MAX {
            self.blocks.clear();
        }
        let BlockPlace { level, number } = place;
        let first = number.saturating_mul(BLOCK);
        let found = if level == 0 {
            // Row n is leaf n - 1.
            sqlx::query("SELECT number - 1, hash FROM audit WHERE number BETWEEN ? AND ?")
                .bind(whole(first + 1))
                .bind(whole(first + BLOCK))
                .fetch_all(&mut *self.connection)
                .await?
        } else {
            sqlx::query("SELECT number, hash FROM audit_nodes WHERE level = ? AND number BETWEEN ? AND ?")
                .bind(level)
                .bind(whole(first))
                .bind(whole(first + BLOCK - 1))
                .fetch_all(&mut *self.connection)
                .await?
        };
        let mut nodes = HashMap::with_capacity(found.len());
        for row in &found {
            let hash: &[u8] = row.try_get(1)?;
            let hash = if level == 0 { Some(leaf_hash(hash)) } else { hash.try_into().ok() };
            nodes.extend(hash.map(|hash| (unsigned(row.try_get(0).unwrap_or_default()), hash)));
        }
        self.blocks.insert(place, nodes);
        Ok(())
    }

    /// The root of a complete subtree; `None` where its rows are not there any more and it is not stored.
    pub(crate) async fn subtree(&mut self, subtree: Subtree) -> Result<Option<Hash>, sqlx::Error> {
        if let Some(root) = self.roots.get(&subtree) {
            return Ok(Some(*root));
        }
        let Subtree { level, index } = subtree;
        let height = level % NODE_LEVELS;
        let base = level - height;
        let first = index << height;
        let place = BlockPlace { level: base, number: first / BLOCK };
        self.read_block(place).await?;
        let Some(nodes) = self.blocks.get(&place) else { return Ok(None) };
        let span = first..first + (1 << height);
        let Some(mut row) = span.map(|number| nodes.get(&number).copied()).collect::<Option<Vec<Hash>>>() else {
            return Ok(None);
        };
        while row.len() > 1 {
            let (pairs, _) = row.as_chunks::<2>();
            row = pairs.iter().map(|[left, right]| node_hash(left, right)).collect();
        }
        let root = row.pop();
        if let Some(root) = root.filter(|_| height > 0) {
            if self.roots.len() >= ROOTS_MAX {
                self.roots.clear();
            }
            self.roots.insert(subtree, root);
        }
        Ok(root)
    }

    async fn cover(&mut self, range: LeafRange) -> Result<Option<Vec<Hash>>, sqlx::Error> {
        let mut all = Vec::new();
        for subtree in range.cover() {
            match self.subtree(subtree).await? {
                Some(hash) => all.push(hash),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// The root over these leaves; `None` for no leaves, or where one is not known.
    pub(crate) async fn root(&mut self, range: LeafRange) -> Result<Option<Hash>, sqlx::Error> {
        Ok(self.cover(range).await?.and_then(|parts| fold(&parts)))
    }

    /// The right edge of the tree over the first rows.
    pub(crate) async fn frontier(&mut self, size: u64) -> Result<Option<Frontier>, sqlx::Error> {
        let peaks = self.cover(LeafRange { begin: 0, end: size }).await?;
        Ok(peaks.and_then(|peaks| Frontier::of(size, peaks)))
    }
}
