//! Receipts of calls in exports: whole batches, and the matching ones of a batch with their proofs.

use verify::export::{GapKind, Trust};
use verify::filter::RowFilter;
use verify::verdict::{BROKEN, VERIFIED};

use crate::log::{Log, filter_cancels, lines, verdict};

type Change = fn(&mut Vec<serde_json::Value>);

fn of_agent() -> RowFilter {
    RowFilter { agent: Some("agt_2".into()), ..RowFilter::default() }
}

#[test]
fn matching_receipts_are_verified_one_by_one_whatever_the_size_of_their_batch() {
    for count in [1, 2, 3, 4, 5, 7, 8, 9, 31, 256] {
        let log = Log::with_calls(40, &[(12, count), (25, 6), (38, count)]);
        let all = 2 * count + 6;
        let calls = |agent: u64| (1..=all).filter(|number| number % 2 == agent % 2).count() as u64;
        let tasks = (1..=all).filter(|number| number % 3 == 0).count() as u64;
        for (filter, expected) in [
            (RowFilter::default(), all),
            (of_agent(), calls(2)),
            (RowFilter { agent: Some("agt_1".into()), server: Some("srv_1".into()), ..RowFilter::default() }, calls(1)),
            (RowFilter { task: Some("hdl_1".into()), ..RowFilter::default() }, tasks),
            (
                RowFilter { since: Some(3_000), until: Some(9_000), ..RowFilter::default() },
                all.min(8).saturating_sub(2),
            ),
            (RowFilter { verbs: vec!["called".into()], ..RowFilter::default() }, all),
            (filter_cancels(), 0),
            (RowFilter { actor: Some("person".into()), ..RowFilter::default() }, 0),
        ] {
            let text = log.export(&filter, GapKind::Hashes, 1..=40);
            let found = verdict(&text, &Trust::default());
            assert_eq!((found.exit_code(), found.receipts), (VERIFIED, expected), "{count} {filter:?}: {found}");
            assert!(found.to_string().contains("Completeness is not proven"), "{found}");
        }
        let whole = verdict(&log.export(&of_agent(), GapKind::Stubs, 1..=40), &Trust::default());
        assert_eq!((whole.exit_code(), whole.receipts), (VERIFIED, all), "with stubs every receipt is there: {whole}");
    }
}

#[test]
fn a_receipt_that_was_changed_moved_or_added_is_found_at_the_row_that_vouches_for_it() {
    let log = Log::with_calls(40, &[(12, 9), (25, 7)]);
    let text = log.export(&of_agent(), GapKind::Hashes, 1..=40);
    let all = lines(&text);
    let at = all.iter().position(|line| line.starts_with(r#"{"receipts":{"row":25"#)).expect("the second batch");
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut line: serde_json::Value = serde_json::from_str(&all[at]).expect("a line");
        change(&mut line["receipts"]);
        let mut file = all.clone();
        file[at] = format!("{line}\n");
        verdict(&file.concat(), &Trust::default())
    };
    let intact = changed(&|_| {});
    assert_eq!((intact.exit_code(), intact.receipts), (VERIFIED, 8), "{intact}");
    assert!(intact.to_string().contains("2 that vouch for calls"), "{intact}");

    let fields: Vec<(&str, serde_json::Value)> = vec![
        ("at", 1.into()),
        ("agent", "agt_3".into()),
        ("server", "srv_2".into()),
        ("tool", "delete".into()),
        ("argsMark", "0a0c".into()),
        ("verdict", "halted".into()),
        ("outcome", "error".into()),
        ("tookMs", 1.into()),
        ("bytesIn", 1.into()),
        ("bytesOut", 1.into()),
        ("handle", "hdl_9".into()),
        ("number", 11.into()),
        ("number", 99.into()),
        ("path", serde_json::json!([])),
    ];
    for (field, value) in fields {
        let found = changed(&|line| line["calls"][0][field] = value.clone());
        let row = found.broken.as_ref().and_then(|broken| broken.number);
        assert_eq!((found.exit_code(), row), (BROKEN, Some(25)), "`{field}` was changed: {found}");
    }
    let moves: [(&str, Change); 4] = [
        ("doubled", |calls| calls.insert(0, calls[0].clone())),
        ("swapped", |calls| calls.swap(0, 1)),
        ("without its proof", |calls| drop(calls[1].as_object_mut().expect("a call").remove("path"))),
        ("all gone", Vec::clear),
    ];
    for (what, change) in moves {
        let found = changed(&|line| change(line["calls"].as_array_mut().expect("calls")));
        assert_eq!(found.broken.as_ref().and_then(|broken| broken.number), Some(25), "{what}: {found}");
    }
    let other = all[at].replacen(r#""row":25"#, r#""row":12"#, 1);
    let mut file = all.clone();
    file[at] = other;
    assert_eq!(verdict(&file.concat(), &Trust::default()).exit_code(), BROKEN, "behind another row");

    // One that matches and is left out cannot be missed, as with rows.
    let mut fewer = all.clone();
    let mut line: serde_json::Value = serde_json::from_str(&all[at]).expect("a line");
    line["receipts"]["calls"].as_array_mut().expect("calls").remove(0);
    fewer[at] = format!("{line}\n");
    let last = fewer.len() - 1;
    fewer[last] = fewer[last].replace(r#""receipts":8"#, r#""receipts":7"#);
    let found = verdict(&fewer.concat(), &Trust::default());
    assert_eq!((found.exit_code(), found.receipts), (VERIFIED, 7), "{found}");
    assert!(found.to_string().contains("calls may have been left out"), "and it says so: {found}");
}

#[test]
fn receipts_that_the_filter_does_not_want_have_no_place_in_the_file() {
    let log = Log::with_calls(40, &[(12, 9)]);
    let filter = RowFilter { verbs: vec!["called".into()], ..RowFilter::default() };
    let text = log.export(&filter, GapKind::Hashes, 1..=40);
    let narrower = text.replacen(r#""verbs":["called"]"#, r#""verbs":["called"],"since":5000"#, 1);
    let found = verdict(&narrower, &Trust::default());
    assert_eq!(found.broken.as_ref().and_then(|broken| broken.number), Some(12), "calls before that time: {found}");
    assert!(found.to_string().contains("a receipt that does not match the filter"), "{found}");

    // With stubs a batch is whole: whoever leaves out a call does not get away with a proof for the others.
    let part = log.export(&of_agent(), GapKind::Hashes, 1..=40);
    let part = lines(&part).into_iter().find(|line| line.starts_with(r#"{"receipts""#)).expect("a part of the batch");
    let stubs = log.export(&of_agent(), GapKind::Stubs, 1..=40);
    let swapped =
        lines(&stubs).into_iter().map(|line| if line.starts_with(r#"{"receipts""#) { part.clone() } else { line });
    let found = verdict(&swapped.collect::<String>(), &Trust::default());
    assert_eq!(found.broken.as_ref().and_then(|broken| broken.number), Some(12), "{found}");
}
