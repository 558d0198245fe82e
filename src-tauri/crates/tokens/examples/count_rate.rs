//! Tokens a second of the whole way from a result to its count, against the tokenizer alone on the same text.
//!
//! The results are of the shapes that tools give: one text, many blocks, JSON in a text, structured content; sources and
//! a lock file of this repository stand for code and JSON in which little is said twice. The tokenizer gets the texts
//! that are in them, taken out before. Both on one core, in turns, so that what else the machine does meets both; with an
//! argument only shapes whose name holds it. Then the error of each estimate on the golden texts. Prints one JSON object a line.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot go on has nothing to say")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use bpe_openai::Tokenizer;
use domain::ports::{MessagePart, TokenCounter};
use domain::tokens::Family;
use serde::Deserialize;
use serde_json::{Value, json};
use tokens::FamilyCounter;

/// Measured pairs; the median counts.
const ROUNDS: usize = 15;
/// Bytes of text that each measured half goes over at least.
const BYTES: usize = 4_000_000;

/// A result as a server sends it, and the texts that a model sees of it.
struct Sample {
    shape: &'static str,
    result: String,
    texts: Vec<String>,
}

/// The files of a folder of this crate and below, in the order of their names.
fn files(folder: &Path, found: &mut Vec<String>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(std::fs::read_to_string(path).expect("a source"));
        }
    }
}

/// Code as it is: nothing is repeated for the measurement's sake.
fn sources() -> Vec<String> {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found
}

fn lock_file() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/package-lock.json");
    std::fs::read_to_string(path).expect("the lock file of the page")
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn samples(golden: &BTreeMap<String, String>) -> Vec<Sample> {
    let of = |name: &str| golden.get(&format!("{name}.txt")).expect("a golden text").clone();
    let one = |shape, texts: Vec<String>| {
        let blocks: Vec<Value> = texts.iter().map(|of| text(of)).collect();
        Sample { shape, result: json!({ "content": blocks, "isError": false }).to_string(), texts }
    };
    let prose = vec![of("prose-english").repeat(25)];
    let code = vec![of("code-python").repeat(6), of("code-rust").repeat(6), of("code-typescript").repeat(6)];
    let logs: Vec<String> = of("logs").lines().map(str::to_owned).collect();
    let rows = vec![of("json-pretty").repeat(10)];
    let languages =
        ["prose-chinese", "prose-japanese", "prose-russian", "prose-german"].map(|name| of(name).repeat(10));
    let structured = of("json-compact").trim().to_owned();
    let whole = format!(r#"{{"content":[],"structuredContent":{structured}}}"#);
    vec![
        one("one text of prose", prose),
        one("three files of code", code),
        one("a block for each line of a log", logs),
        one("JSON in a text", rows),
        one("texts in four languages", languages.to_vec()),
        Sample { shape: "structured content", result: whole, texts: vec![structured] },
        one("code: every source of the tokens crate", sources()),
        one("JSON: a lock file of npm", vec![lock_file()]),
        // Nothing repeated for the measurement's sake: what was counted before helps least here.
        one("35 texts of all kinds", golden.values().cloned().collect()),
    ]
}

/// How long one time takes, from a run over enough of them.
fn each(times: usize, mut work: impl FnMut()) -> Duration {
    let began = Instant::now();
    for _ in 0..times {
        work();
    }
    began.elapsed() / u32::try_from(times).expect("a few")
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().expect("a round")
}

fn compare(sample: &Sample, family: Family, tokenizer: &Tokenizer) {
    let counter = FamilyCounter::new();
    let tokens: usize = sample.texts.iter().map(|text| tokenizer.count(text)).sum();
    let times = (BYTES / sample.result.len()).max(1);
    let rate = |took: Duration| tokens as f64 / took.as_secs_f64() / 1e6;
    let (mut alone, mut ours, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let reference = rate(each(times, || {
            black_box(sample.texts.iter().map(|text| tokenizer.count(black_box(text.as_str()))).sum::<usize>());
        }));
        let whole = rate(each(times, || {
            black_box(counter.count_part(family, MessagePart::Result(black_box(&sample.result))));
        }));
        alone.push(reference);
        ours.push(whole);
        // Of one pair: what the machine does meanwhile meets both halves.
        shares.push(whole / reference);
    }
    let (alone, ours, share) = (median(alone), median(ours), median(shares));
    println!(
        "{{\"metric\": \"counting {} as {}, a core\", \"reference\": {alone:.2}, \"ours\": {ours:.2}, \"unit\": \
         \"million tokens a second\", \"aim\": \">= 0.9 of the tokenizer alone\", \"ratio\": {:.3}}}",
        sample.shape,
        family.label(),
        share
    );
}

#[derive(Deserialize)]
struct Golden {
    counts: BTreeMap<String, BTreeMap<String, u64>>,
}

fn errors(golden: &BTreeMap<String, String>, counts: &Golden) {
    let counter = FamilyCounter::new();
    for family in Family::ALL {
        let Some(truth) = counts.counts.get(family.word()) else { continue };
        let mut errors: Vec<f64> = truth
            .iter()
            .filter_map(|(name, truth)| {
                let tokens = counter.count_part(family, MessagePart::Text(golden.get(name)?)).count.tokens;
                Some(100.0 * (tokens as f64 - *truth as f64).abs() / *truth as f64)
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        let (middle, most) = (errors.get(errors.len() / 2).expect("texts"), errors.last().expect("texts"));
        println!(
            "{{\"metric\": \"largest error of {} on {} texts\", \"reference\": {}, \"ours\": {most:.1}, \"unit\": \"%\", \
             \"aim\": \"inside what is stated\", \"note\": \"half of the texts are inside {middle:.1} %\"}}",
            family.label(),
            errors.len(),
            counter.error_percent(family)
        );
    }
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a golden file");
    let counts: Golden = serde_json::from_str(&read("counts.json")).expect("counts");
    let names = counts.counts.values().flat_map(BTreeMap::keys);
    let golden: BTreeMap<String, String> = names.map(|name| (name.clone(), read(name))).collect();
    let part = std::env::args().nth(1).unwrap_or_default();
    for sample in samples(&golden).into_iter().filter(|sample| sample.shape.contains(&part)) {
        compare(&sample, Family::O200k, bpe_openai::o200k_base());
        compare(&sample, Family::Cl100k, bpe_openai::cl100k_base());
        compare(&sample, Family::Claude47, bpe_openai::o200k_base());
        compare(&sample, Family::Unknown, bpe_openai::o200k_base());
    }
    errors(&golden, &counts);
}
