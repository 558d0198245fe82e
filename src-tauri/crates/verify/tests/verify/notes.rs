//! Signed notes and checkpoints read back, are verified, and refuse what is changed.

use ed25519_dalek::SigningKey;
use verify::anchor::parse_anchors;
use verify::note::{NoteKey, SignedNote, TreeHead};

const NAME: &str = "taskwarden/abc";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn head(size: u64) -> TreeHead {
    TreeHead { origin: NAME.into(), size, root: [9; 32] }
}

fn note(size: u64) -> String {
    SignedNote::sign(&head(size).to_string(), NAME, &key(1)).to_string()
}

#[test]
fn a_note_that_another_program_signed_is_verified_and_signed_the_same() {
    // The example of Go's `golang.org/x/mod/sumdb/note`, from which the format comes.
    let public = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    let seed = "81 0a 14 02 d5 14 6c 8d 84 f2 44 33 30 f5 40 80 eb f9 8e e1 7d 9c 74 f6 25 2f c5 d5 c7 28 31 73";
    let text = "If you think cryptography is the answer to your problem,\n\
                then you don't know what your problem is.\n";
    let note = format!(
        "{text}\n\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6R\
         yyBwJnAM=\n"
    );
    let key = NoteKey::parse(public).expect("a key");
    assert_eq!(key.to_string(), public);
    let read = SignedNote::parse(&note).expect("a note");
    assert!(read.signer(std::slice::from_ref(&key)).is_ok(), "the signature is valid");
    let seed: Vec<u8> = seed.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect();
    let signing = SigningKey::from_bytes(&seed.try_into().expect("32 bytes"));
    assert_eq!(SignedNote::sign(text, "PeterNeumann", &signing).to_string(), note, "and ours is the same");
}

#[test]
fn a_checkpoint_is_signed_read_back_and_bound_to_its_key_and_text() {
    let text = note(5);
    let read = SignedNote::parse(&text).expect("reads");
    assert_eq!(read.to_string(), text);
    assert_eq!(TreeHead::parse(read.text()), Ok(head(5)));
    let keys = [NoteKey::of(NAME, &key(1))];
    assert_eq!(NoteKey::parse(&keys[0].to_string()), Ok(keys[0].clone()));
    assert!(read.signer(&keys).is_ok());
    assert!(read.signer(&[NoteKey::of(NAME, &key(2))]).is_err(), "another key did not sign it");
    assert!(
        read.signer(&[NoteKey::of("taskwarden/other", &key(1))]).is_err(),
        "nor did the same key under another name"
    );
    let later = SignedNote::sign(&head(5).to_string(), &format!("{NAME}/2"), &key(1));
    assert!(later.signer(&keys).is_ok(), "in another epoch of the log the same key has another name");
    assert!(later.signer(&[NoteKey::of(NAME, &key(2))]).is_err(), "and another key still did not sign it");
    let changed = SignedNote::parse(&text.replacen("\n5\n", "\n6\n", 1)).expect("reads");
    assert!(changed.signer(&keys).is_err(), "another size was not signed");
}

#[test]
fn what_is_no_note_and_no_checkpoint_is_refused() {
    let whole = note(5);
    for wrong in ["", "a\n", "a\n\n", whole.trim_end(), &whole.replace('\u{2014}', "-"), &whole[..whole.len() - 9]] {
        assert!(SignedNote::parse(wrong).is_err(), "{wrong:?}");
    }
    for wrong in ["", "a\n5\n", "a\n05\nCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=\n", "a\n5\nCQk=\n", "a\nx\nCQk=\n"]
    {
        assert!(TreeHead::parse(wrong).is_err(), "{wrong:?}");
    }
    for wrong in ["", "a+b", "taskwarden/abc+00000000+AQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJ"] {
        assert!(NoteKey::parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn an_anchor_file_has_notes_one_after_the_other() {
    let text = format!("{}{}\n{}", note(5), note(6), note(7));
    let anchors = parse_anchors("a.notes", &text).expect("reads");
    assert_eq!(anchors.iter().map(|anchor| anchor.head.size).collect::<Vec<_>>(), [5, 6, 7]);
    let cut = &text[..text.len() - 40];
    let fault = parse_anchors("a.notes", cut).expect_err("a note that is cut off is no note");
    assert_eq!(fault.line, 12, "it names the line at which the note begins");
}
