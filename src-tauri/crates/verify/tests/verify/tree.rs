//! Our tree gives the roots and proofs of another implementation of RFC 6962.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use proptest::prelude::*;
use sha2::Sha256;
use verify::chain::Hash;
use verify::tree::{
    Frontier, LeafRange, Subtree, consistency_ranges, empty_root, fold, inclusion_ranges, is_consistent, leaf_hash,
    node_hash, root_of_inclusion,
};

fn leaf(index: u64) -> Vec<u8> {
    index.to_be_bytes().to_vec()
}

fn oracle(size: u64) -> MemoryBackedTree<Sha256, Vec<u8>> {
    let mut tree = MemoryBackedTree::new();
    (0..size).for_each(|index| tree.push(leaf(index)));
    tree
}

fn subtree_root(Subtree { level, index }: Subtree) -> Hash {
    if level == 0 {
        return leaf_hash(&leaf(index));
    }
    let half = |index| subtree_root(Subtree { level: level - 1, index });
    node_hash(&half(index * 2), &half(index * 2 + 1))
}

fn range_root(range: LeafRange) -> Hash {
    fold(&range.cover().into_iter().map(subtree_root).collect::<Vec<_>>()).expect("a range has leaves")
}

fn frontier(size: u64) -> Frontier {
    let mut frontier = Frontier::default();
    (0..size).for_each(|index| frontier.push(leaf_hash(&leaf(index)), |_, _| {}));
    frontier
}

fn proof(bytes: &[u8]) -> Vec<Hash> {
    bytes.as_chunks::<32>().0.to_vec()
}

#[test]
fn an_empty_tree_and_a_tree_of_one_row_have_the_roots_of_the_specification() {
    assert_eq!(frontier(0).root(), empty_root());
    assert_eq!(frontier(1).root(), leaf_hash(&leaf(0)));
}

#[test]
fn every_root_and_every_proof_of_small_trees_is_that_of_the_other_implementation() {
    let mut grown = Frontier::default();
    for size in 1..=70_u64 {
        let tree = oracle(size);
        grown.push(leaf_hash(&leaf(size - 1)), |subtree, hash| {
            assert_eq!(*hash, subtree_root(subtree), "a completed subtree is named with its root");
        });
        let root: Hash = (*tree.root().as_bytes()).into();
        assert_eq!(grown.root(), root, "the root of {size} leaves");
        assert_eq!(Frontier::from_bytes(&grown.to_bytes()), Some(grown.clone()), "the stored form reads back");
        for index in 0..size {
            let theirs = proof(tree.prove_inclusion(usize::try_from(index).expect("small")).as_bytes());
            let ours: Vec<Hash> = inclusion_ranges(index, size).into_iter().map(range_root).collect();
            assert_eq!(ours, theirs, "inclusion of {index} in {size}");
            assert_eq!(root_of_inclusion(index, size, leaf_hash(&leaf(index)), &theirs), Some(root));
        }
        for old in 1..size {
            let added = usize::try_from(size - old).expect("small");
            let theirs = proof(tree.prove_consistency(added).as_bytes());
            let ours: Vec<Hash> = consistency_ranges(old, size).into_iter().map(range_root).collect();
            assert_eq!(ours, theirs, "consistency of {old} and {size}");
            let before = frontier(old).root();
            assert!(is_consistent((old, before), (size, root), &theirs), "{old} is the beginning of {size}");
            let mut wrong = before;
            wrong[0] ^= 1;
            assert!(!is_consistent((old, wrong), (size, root), &theirs), "another tree of {old} is not");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_rows_of_a_range_and_its_two_edges_give_the_root(size in 1_u64..600, from in 0_u64..600, many in 0_u64..600) {
        let begin = from.min(size);
        let end = begin.saturating_add(many).min(size);
        let before = LeafRange { begin: 0, end: begin }.cover().into_iter().map(subtree_root).collect();
        let mut grown = Frontier::of(begin, before).expect("one hash for each bit");
        (begin..end).for_each(|index| grown.push(leaf_hash(&leaf(index)), |_, _| {}));
        for subtree in (LeafRange { begin: end, end: size }).cover() {
            prop_assert!(grown.push_subtree(subtree.level, subtree_root(subtree)).is_ok());
        }
        prop_assert_eq!(grown.root(), frontier(size).root());
    }

    #[test]
    fn a_proof_of_another_leaf_or_with_a_changed_hash_does_not_lead_to_the_root(
        size in 2_u64..600, index in 0_u64..600, other in 0_u64..600, at in 0_usize..10
    ) {
        let (index, other) = (index % size, other % size);
        let path: Vec<Hash> = inclusion_ranges(index, size).into_iter().map(range_root).collect();
        let root = frontier(size).root();
        let hash = leaf_hash(&leaf(index));
        if index != other {
            prop_assert_ne!(root_of_inclusion(other, size, hash, &path), Some(root));
        }
        let mut changed = path.clone();
        let at = at % changed.len();
        changed[at][5] ^= 4;
        prop_assert_ne!(root_of_inclusion(index, size, hash, &changed), Some(root));
        prop_assert_eq!(root_of_inclusion(index, size, hash, &path[1..]), None, "a short proof is none");
    }
}
