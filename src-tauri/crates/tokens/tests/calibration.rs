//! Counts of every family against true ones, on texts that no factor was fitted to.
//!
//! The texts and their true counts are in `golden/`, with the origin of each count. Exact families must be equal,
//! estimates inside the error that they state, and the family that is not known below none. What the counts are counts
//! of is in the tests of `shown_parts`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::ports::{MessagePart, TokenCounter};
use domain::tokens::{Exactness, Family};
use serde::Deserialize;
use tokens::FamilyCounter;

#[derive(Deserialize)]
struct Golden {
    counts: BTreeMap<String, BTreeMap<String, u64>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// All golden texts, and their true counts by family or other reference.
fn golden() -> (BTreeMap<String, String>, Golden) {
    let counts: Golden = serde_json::from_str(&std::fs::read_to_string(folder().join("counts.json")).unwrap()).unwrap();
    let texts = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let texts = texts.filter(|name| name.ends_with(".txt"));
    let texts = texts.map(|name| (name.clone(), std::fs::read_to_string(folder().join(name)).unwrap())).collect();
    (texts, counts)
}

fn tokens(family: Family, text: &str) -> u64 {
    FamilyCounter::new().count_part(family, MessagePart::Text(text)).count.tokens
}

#[test]
fn every_golden_text_has_a_true_count_in_every_family() {
    let (texts, golden) = golden();
    assert!(texts.len() >= 35, "the texts are there");
    for family in Family::ALL.into_iter().filter(|family| *family != Family::Unknown) {
        let counted: Vec<_> = golden.counts[family.word()].keys().collect();
        assert_eq!(counted, texts.keys().collect::<Vec<_>>(), "{family:?}");
    }
}

#[test]
fn exact_families_are_counted_exactly() {
    let (texts, golden) = golden();
    for family in [Family::O200k, Family::Cl100k] {
        for (name, text) in &texts {
            let count = FamilyCounter::new().count_part(family, MessagePart::Text(text)).count;
            assert_eq!(count.tokens, golden.counts[family.word()][name], "{family:?} of `{name}`");
            assert_eq!(count.exactness, Exactness::Exact);
        }
        assert_eq!(FamilyCounter::new().error_percent(family), 0);
    }
}

#[test]
fn estimates_are_inside_the_error_that_they_state() {
    let (texts, golden) = golden();
    for family in [Family::Claude3, Family::Claude47, Family::Gemini, Family::Llama] {
        let stated = f64::from(FamilyCounter::new().error_percent(family));
        assert!((1.0..=20.0).contains(&stated), "an estimate has an error, and one that is of use: {stated}");
        let mut errors = Vec::new();
        for (name, text) in &texts {
            let truth = golden.counts[family.word()][name] as f64;
            let error = 100.0 * (tokens(family, text) as f64 - truth) / truth;
            assert!(error.abs() <= stated, "{family:?} of `{name}` is off by {error:.1} %, stated {stated} %");
            errors.push(error.abs());
        }
        errors.sort_by(f64::total_cmp);
        println!("{}: median {:.1} %, stated {stated} %", family.label(), errors[errors.len() / 2]);
    }
}

#[test]
fn the_family_that_is_not_known_is_below_none_in_truth_or_by_estimate() {
    let (texts, golden) = golden();
    for (name, text) in &texts {
        let most = tokens(Family::Unknown, text);
        for (reference, counts) in &golden.counts {
            assert!(most >= counts[name], "`{name}`: {most} is below {} by {reference}", counts[name]);
        }
        for family in Family::ALL {
            assert!(most >= tokens(family, text), "`{name}`: unknown is below the estimate of {family:?}");
        }
        assert!(most <= tokens(Family::O200k, text) * 4, "`{name}`: a bound that says nothing");
    }
}

#[test]
fn llama_4_is_never_above_what_llama_says_with_its_error() {
    let (texts, golden) = golden();
    let stated = f64::from(FamilyCounter::new().error_percent(Family::Llama)) / 100.0;
    for (name, text) in &texts {
        let estimate = tokens(Family::Llama, text) as f64;
        assert!(golden.counts["llama4"][name] as f64 * (1.0 - stated) <= estimate, "`{name}`");
    }
}
