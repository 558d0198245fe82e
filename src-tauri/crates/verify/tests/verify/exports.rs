//! Exports are verified whole, and what somebody changes in them is found at its row.

use verify::export::{ExportProblem, GapKind, Trust, check_export};
use verify::filter::RowFilter;
use verify::note::NoteKey;
use verify::verdict::{BROKEN, HeadFinding, HeadState, NOTHING, VERIFIED, Verdict};

use crate::log::{Log, anchor_at, filter_cancels, lines, verdict, without_line};

#[test]
fn an_export_with_stubs_proves_that_nothing_was_left_out() {
    let log = Log::of(100);
    for (first, last) in [(1, 100), (1, 64), (33, 100), (40, 71), (100, 100)] {
        let text = log.export(&filter_cancels(), GapKind::Stubs, first..=last);
        let found = verdict(&text, &Trust::default());
        assert_eq!(found.exit_code(), VERIFIED, "{first}..{last}: {found}");
        assert!(found.to_string().contains("no row of"), "{found}");
    }
}

#[test]
fn an_export_with_hashes_says_that_completeness_is_not_proven() {
    let log = Log::of(100);
    let text = log.export(&filter_cancels(), GapKind::Hashes, 1..=100);
    assert_eq!(verdict(&text, &Trust::default()).exit_code(), VERIFIED);
    let fewer = without_line(&text, 2);
    let fewer = fewer.replace(r#""rows":10"#, r#""rows":9"#);
    let found = verdict(&fewer, &Trust::default());
    assert_eq!(found.exit_code(), VERIFIED, "{found}");
    assert!(found.to_string().contains("Completeness is not proven"), "{found}");
}

#[test]
fn a_row_without_its_text_is_counted_as_erased_and_a_file_without_rows_verifies_nothing() {
    let log = Log::of(12);
    let text = log.export(&RowFilter::default(), GapKind::Stubs, 1..=12);
    let mut all = lines(&text);
    let mut line: serde_json::Value = serde_json::from_str(&all[8]).expect("a row");
    let row = line["row"].as_object_mut().expect("its members");
    for member in ["note", "detail", "salt"] {
        assert!(row.remove(member).is_some(), "`{member}` was there");
    }
    all[8] = format!("{line}\n");
    let found = verdict(&all.concat(), &Trust::default());
    assert_eq!(found.exit_code(), VERIFIED, "the hash covers it all the same: {found}");
    assert!(found.to_string().contains("11 whole, 1 whose text was erased"), "{found}");

    let text = log.export(&RowFilter::default(), GapKind::Hashes, 1..=1);
    let none = without_line(&text, 1).replace(r#""rows":1"#, r#""rows":0"#);
    let found = verdict(&none, &Trust::default());
    assert_eq!(found.exit_code(), NOTHING, "{found}");
    assert!(found.to_string().contains("no row is in the file"), "{found}");
}

#[test]
fn a_row_that_was_removed_swapped_doubled_or_turned_into_a_stub_is_named() {
    let log = Log::of(60);
    let text = log.export(&filter_cancels(), GapKind::Stubs, 1..=60);
    let all = lines(&text);
    // Line 0 is the manifest, so line n is row n.
    let removed = without_line(&text, 20);
    let mut swapped = all.clone();
    swapped.swap(20, 21);
    let mut doubled = all.clone();
    doubled.insert(20, all[20].clone());
    let mut stub = all.clone();
    stub[20] = log.stub(20);
    for (changed, row) in [(removed, 20), (swapped.concat(), 20), (doubled.concat(), 21), (stub.concat(), 20)] {
        let found = verdict(&changed, &Trust::default());
        assert_eq!(found.exit_code(), BROKEN);
        assert_eq!(found.broken.expect("broken").number, Some(row));
    }
}

#[test]
fn each_byte_that_is_changed_in_a_row_is_found_at_that_row() {
    let log = Log::of(12);
    let text = log.export(&RowFilter::default(), GapKind::Stubs, 1..=12);
    let all = lines(&text);
    for row in [5_usize, 8] {
        let line = all[row].as_bytes();
        for at in 0..line.len() - 1 {
            let mut changed = line.to_vec();
            changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
            let Ok(changed) = String::from_utf8(changed) else { continue };
            let mut file = all.clone();
            file[row] = changed.clone();
            let found = verdict(&file.concat(), &Trust::default());
            assert_eq!(found.exit_code(), BROKEN, "{changed}");
            let broken = found.broken.expect("broken");
            let is_named = broken.number == Some(row as u64) || broken.why.contains(&format!("line {}", row + 1));
            assert!(is_named, "{broken} in {changed}");
        }
    }
}

#[test]
fn a_cut_file_has_no_trailer_and_is_broken() {
    let log = Log::of(30);
    let text = log.export(&filter_cancels(), GapKind::Stubs, 1..=30);
    let all = lines(&text);
    let cut = all[..all.len() - 1].concat();
    let said = verdict(&cut, &Trust::default()).to_string();
    assert!(said.starts_with("BROKEN: the file was cut off: it has no trailer"), "not at a row: {said}");
    let half = &text[..text.len() - 5];
    assert_eq!(verdict(half, &Trust::default()).exit_code(), BROKEN);
    let longer = format!("{text}{}", all[3]);
    assert!(verdict(&longer, &Trust::default()).to_string().contains("behind the trailer"));
}

#[test]
fn an_anchor_agrees_with_the_log_and_finds_a_log_that_was_rewritten_with_its_key() {
    let (log, forged) = (Log::of(80), Log::rewritten(80, 10));
    let all = RowFilter::default();
    for size in [40, 80] {
        let trust = Trust { anchors: vec![anchor_at(&log, size)], ..Trust::default() };
        let honest = verdict(&log.export(&all, GapKind::Stubs, 1..=80), &trust);
        assert_eq!(honest.exit_code(), VERIFIED, "{honest}");
        assert_eq!(honest.anchors[0].state, HeadState::Agrees);
        let found = verdict(&forged.export(&all, GapKind::Stubs, 1..=80), &trust);
        assert_eq!(found.exit_code(), BROKEN, "{found}");
        assert_eq!(found.anchors[0].state, HeadState::Contradicts);
        let found = verdict(&forged.export(&all, GapKind::Hashes, 1..=80), &trust);
        assert_eq!(found.exit_code(), BROKEN, "a proof of consistency shows it, too: {found}");
    }
    let alone = verdict(&forged.export(&all, GapKind::Stubs, 1..=80), &Trust::default());
    assert_eq!(alone.exit_code(), VERIFIED, "without an anchor nobody can know");
    assert!(alone.to_string().contains("no anchor was given"), "and the verdict says so: {alone}");
}

#[test]
fn a_log_that_goes_on_from_an_older_copy_names_the_fork_and_is_verified_by_who_knows_of_it() {
    let (lost, log) = (Log::of(100), Log::rewritten(80, 50).in_epoch(2));
    let text = log.export(&RowFilter::default(), GapKind::Stubs, 1..=80);
    let with = |size, epoch| verdict(&text, &Trust { anchors: vec![anchor_at(&lost, size)], epoch, keys: Vec::new() });
    let before = with(40, None);
    assert_eq!((before.exit_code(), before.anchors[0].state), (VERIFIED, HeadState::Agrees), "both have it: {before}");
    for size in [60, 80, 100] {
        let found = with(size, None);
        assert_eq!((found.exit_code(), found.anchors[0].state), (BROKEN, HeadState::Forked), "{size}: {found}");
        assert!(found.to_string().contains("the log forked"), "{found}");
        let known = with(size, Some(2));
        assert_eq!((known.exit_code(), known.anchors[0].state), (NOTHING, HeadState::KnownFork), "alone: {known}");
    }
    let anchors = vec![anchor_at(&lost, 40), anchor_at(&lost, 100), anchor_at(&log, 80)];
    let known = verdict(&text, &Trust { anchors, epoch: Some(2), keys: vec![lost.public()] });
    assert_eq!(known.exit_code(), VERIFIED, "the key is that of the log in each of its epochs: {known}");
    assert!(known.anchors.iter().all(|found| found.unsigned.is_none()), "{known}");

    // Knowing of a fork forgives nothing behind it, and none that came later.
    let changed = Log::rewritten(80, 70).in_epoch(2);
    let trust = Trust { anchors: vec![anchor_at(&changed, 80)], epoch: Some(2), keys: Vec::new() };
    assert_eq!(verdict(&text, &trust).anchors[0].state, HeadState::Contradicts);
    let later = Log::rewritten(80, 60).in_epoch(3).export(&RowFilter::default(), GapKind::Stubs, 1..=80);
    let trust = Trust { anchors: vec![anchor_at(&log, 80)], ..trust };
    assert_eq!(verdict(&later, &trust).anchors[0].state, HeadState::Forked, "nobody said to know of epoch 3");
    let unknown = with(40, Some(7)).to_string();
    assert!(
        unknown.contains("the file is from before the log went on from an older copy: its epoch is 2"),
        "{unknown}"
    );
}

#[test]
fn a_file_that_is_compared_with_none_of_the_anchors_is_not_called_verified() {
    let found = |state| HeadFinding { place: "anchors".into(), size: 1, state, unsigned: None };
    for state in [HeadState::NotCompared, HeadState::OtherLog, HeadState::KnownFork] {
        let mut verdict = Verdict { rows: 2, range: Some((1, 2)), ..Verdict::default() };
        verdict.add_anchor(found(state));
        assert_eq!(verdict.exit_code(), NOTHING, "a forger leaves out the proof that would show it");
        assert!(verdict.to_string().starts_with("NOT COMPARED"), "{verdict}");
        verdict.add_anchor(found(HeadState::Agrees));
        assert_eq!(verdict.exit_code(), VERIFIED, "one that agrees is enough: {verdict}");
    }
}

#[test]
fn the_window_behind_the_newest_anchor_is_told_in_rows_and_seconds() {
    let log = Log::of(80);
    let trust = Trust { anchors: vec![anchor_at(&log, 60)], ..Trust::default() };
    let found = verdict(&log.export(&RowFilter::default(), GapKind::Stubs, 1..=80), &trust).to_string();
    assert!(found.contains("the 20 rows after 60"), "{found}");
    assert!(found.contains("within 20 s"), "one row a second: {found}");
}

#[test]
fn a_key_that_the_reader_knows_is_trusted_in_place_of_that_of_the_file() {
    let log = Log::of(10);
    let text = log.export(&RowFilter::default(), GapKind::Stubs, 1..=10);
    let with = |key: NoteKey| verdict(&text, &Trust { keys: vec![key], ..Trust::default() });
    assert_eq!(with(log.public()).exit_code(), VERIFIED);
    let other = NoteKey::of(log.public().name(), &ed25519_dalek::SigningKey::from_bytes(&[77; 32]));
    assert_eq!(with(other).exit_code(), BROKEN);
}

#[test]
fn an_unknown_verb_is_verified_and_kept_as_it_is() {
    let log = Log::of(10);
    let filter = RowFilter { verbs: vec!["verbOfTomorrow".into()], ..RowFilter::default() };
    let text = log.export(&filter, GapKind::Stubs, 1..=10);
    assert!(text.contains("verbOfTomorrow"));
    assert_eq!(verdict(&text, &Trust::default()).exit_code(), VERIFIED);
}

#[test]
fn rows_of_layout_1_are_undecided_for_servers_and_agents() {
    let log = Log::of(30);
    let filter = RowFilter { server: Some("srv_1".into()), ..RowFilter::default() };
    let found = verdict(&log.export(&filter, GapKind::Stubs, 1..=30), &Trust::default());
    assert_eq!(found.exit_code(), VERIFIED, "{found}");
    assert!(found.to_string().contains("are undecided"), "{found}");
}

#[test]
fn what_is_no_export_is_not_called_broken() {
    for text in ["", "{}\n", "hello\n", "{\"trailer\":{\"rows\":0,\"stubs\":0}}\n"] {
        assert!(
            matches!(check_export(text.as_bytes(), &Trust::default()), Err(ExportProblem::NoExport(_))),
            "{text:?}"
        );
    }
    assert_eq!(Verdict::default().exit_code(), NOTHING);
}
