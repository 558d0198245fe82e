//! Messages as peers send them, and as they should not.

use domain::policy::Policy;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;

fn limits() -> MessageLimits {
    MessageLimits::of(&Policy::default())
}

fn one(text: &str) -> Message {
    match parse(text.as_bytes(), &limits()) {
        Ok(Incoming::One(message)) => message,
        other => panic!("one message was expected in `{text}`: {other:?}"),
    }
}

fn wrong(text: &[u8]) -> MessageProblem {
    match parse(text, &limits()) {
        Err(bad) => bad.wrong,
        Ok(fine) => panic!("a refusal was expected: {fine:?}"),
    }
}

#[test]
fn the_kinds_are_told_apart_and_ids_keep_their_type() {
    for (text, kind, id) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request", Some("1")),
        (r#"{"jsonrpc":"2.0","id":"1","method":"a","params":{}}"#, "request", Some("\"1\"")),
        (r#"{"id":1.0,"method":"a","params":[]}"#, "request", Some("1")),
        (r#"{"id":-7e0,"method":"a"}"#, "request", Some("-7")),
        (r#"{"id":340282366920938463463374607431768211455,"method":"a"}"#, "bad", None),
        (r#"{"id":99999999999999999999,"method":"a"}"#, "request", Some("99999999999999999999")),
        (r#"{"jsonrpc":"2.0","method":"a","params":null}"#, "notification", None),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "notification", None),
        (r#"{"jsonrpc":"2.0","id":"x","result":null}"#, "response", Some("\"x\"")),
        (r#"{"id":3,"result":{},"error":null}"#, "response", Some("3")),
        (r#"{"id":3,"result":null,"error":{"code":1,"message":""}}"#, "response", Some("3")),
        (r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#, "response", None),
        ("\u{feff} {\"id\":1,\"result\":1} \r\n", "response", Some("1")),
    ] {
        let (seen, seen_id) = match parse(text.as_bytes(), &limits()) {
            Ok(Incoming::One(Message::Request { id, .. })) => ("request", Some(id)),
            Ok(Incoming::One(Message::Notification { .. })) => ("notification", None),
            Ok(Incoming::One(Message::Response { id, .. })) => ("response", id),
            Ok(Incoming::Batch(_)) => ("batch", None),
            Err(_) => ("bad", None),
        };
        assert_eq!((seen, seen_id.map(|id| id.json()).as_deref()), (kind, id), "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_never_quoted() {
    let deep = format!(r#"{{"id":1,"result":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
    for (text, expected) in [
        (&b"{\"id\":1,\"result\":\"\xff\"}"[..], MessageProblem::NotUtf8 { at: 18 }),
        (deep.as_bytes(), MessageProblem::TooDeep { cap: 100, at: 116 }),
        (b"{\"id\": }", MessageProblem::NotJson { line: 1, column: 8 }),
        (b"{\"id\":1,\"method\":\"a\"", MessageProblem::NotJson { line: 1, column: 20 }),
        (b"{} trailing", MessageProblem::NotJson { line: 1, column: 4 }),
        (b"", MessageProblem::NotJson { line: 1, column: 0 }),
        (b"17", MessageProblem::NotAnObject),
        (b"\"secret\"", MessageProblem::NotAnObject),
        (b"{}", MessageProblem::Neither),
        (b"{\"id\":1,\"method\":\"a\",\"result\":1}", MessageProblem::Neither),
        (b"{\"id\":1,\"id\":2,\"method\":\"a\"}", MessageProblem::NotAnObject),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}", MessageProblem::BadVersion),
        (b"{\"id\":1.5,\"method\":\"a\"}", MessageProblem::BadId),
        (b"{\"id\":{},\"method\":\"a\"}", MessageProblem::BadId),
        (b"{\"id\":true,\"method\":\"a\"}", MessageProblem::BadId),
        (b"{\"id\":1,\"method\":7}", MessageProblem::BadMethod),
        (b"{\"id\":1,\"method\":\"a\",\"params\":7}", MessageProblem::BadParams),
        (b"{\"id\":1,\"error\":\"oops\"}", MessageProblem::BadError),
        (b"{\"result\":{}}", MessageProblem::NoId),
        (b"[]", MessageProblem::EmptyBatch),
    ] {
        assert_eq!(wrong(text), expected, "{}", String::from_utf8_lossy(text));
        assert!(!expected.to_string().contains("secret"), "nothing is quoted");
    }
    let long = format!(r#"{{"id":"{}","method":"a"}}"#, "x".repeat(600));
    assert_eq!(wrong(long.as_bytes()), MessageProblem::BadId, "an id without end");
    let small = MessageLimits { bytes: 10, ..limits() };
    assert_eq!(
        parse(b"{\"id\":1,\"result\":1}", &small).map_err(|bad| bad.wrong).err(),
        Some(MessageProblem::TooLarge { cap: 10 })
    );
    assert_eq!(parse(br#"{"id":7,"method":1}"#, &limits()).map_err(|bad| bad.id).err(), Some(Some(Id::from(7))));
}

#[test]
fn a_call_of_a_client_says_its_version_and_has_no_id_of_null() {
    let read = |text: &str| parse_of_client(text.as_bytes(), &limits());
    for (text, wrong, id) in [
        (r#"{"id":7,"method":"a"}"#, MessageProblem::BadVersion, Some(Id::from(7))),
        (r#"{"method":"a"}"#, MessageProblem::BadVersion, None),
        (r#"{"jsonrpc":null,"id":7,"method":"a"}"#, MessageProblem::BadVersion, Some(Id::from(7))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, MessageProblem::BadId, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, MessageProblem::BadId, None),
    ] {
        let bad = read(text).expect_err("it is refused");
        assert_eq!(bad.code(), error_codes::INVALID_REQUEST, "{text}");
        let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
        let shared = parse_request(&bytes, &limits()).expect_err("over HTTP as well");
        assert_eq!((&bad, &bad), (&shared, &BadMessage { id, wrong }), "{text}");
    }
    for fine in [
        r#"{"jsonrpc":"2.0","id":1.0,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","method":"a"}"#,
        r#"{"id":3,"result":{}}"#,
        r#"{"id":null,"error":{"code":1,"message":""}}"#,
    ] {
        assert!(read(fine).is_ok(), "{fine}");
    }
    let Ok(Incoming::Batch(members)) = read(r#"[{"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#) else {
        panic!("a batch")
    };
    assert!(members.iter().map(Result::is_ok).eq([false, true]), "each member of a batch as well");
}

#[test]
fn a_batch_keeps_its_order_and_one_bad_member_spoils_no_other() {
    let text = r#"[{"method":"a"}, 17, {"id":"q","result":{"t":"],["}}]"#;
    let Ok(Incoming::Batch(members)) = parse(text.as_bytes(), &limits()) else { panic!("a batch") };
    let kinds: Vec<String> =
        members.iter().map(|one| one.as_ref().map_or("bad".into(), |one| format!("{one:?}"))).collect();
    assert_eq!(kinds, ["Notification(a)", "bad", "Response(Result(11 bytes))"]);
    let endless = format!("[{}1]", "1,".repeat(1_000));
    assert_eq!(wrong(endless.as_bytes()), MessageProblem::LongBatch { cap: 1_000 });
}

#[test]
fn raw_parts_go_through_untouched_and_lines_stay_lines() {
    let text = "{\"id\":1,\"result\":{\"b\":1.0,\n \"a\":12345678901234567890123,\"a\":2}}";
    let Message::Response { id: Some(id), answer } = one(text) else { panic!("a response") };
    let written = String::from_utf8(answer.write(&id).expect("JSON")).expect("UTF-8");
    assert_eq!(
        written,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"b\":1.0,  \"a\":12345678901234567890123,\"a\":2}}"
    );
    let bytes = notification::<RawValue>("notifications/initialized", None).expect("JSON");
    assert_eq!(bytes, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "no `null` params");
    let bytes = notification("notifications/tools/list_changed", Some(RawValue::NULL)).expect("JSON");
    let bare = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(bytes, bare, "what came without params goes on without them");
    let bytes = error(None, &json!({"code":-32700,"message":"x"})).expect("JSON");
    assert_eq!(bytes, br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#, "an id is owed");
}

fn skimmed(text: &[u8]) -> Option<String> {
    let mut skim = MessageSkim::default();
    skim.feed(text, 64);
    skim.id_text().and_then(|id| Id::read(id, 64)).map(|id| id.json())
}

#[test]
fn a_skim_finds_the_id_of_the_message_and_of_nothing_in_it() {
    for (text, id) in [
        (r#"{"jsonrpc":"2.0","id":12,"result":{"id":99,"t":"\"id\":5"}}"#, Some("12")),
        (r#"{"result":{"id":99,"x":[{"id":1}]},"t":"}","id": "q\"1" }"#, Some(r#""q\"1""#)),
        (r#"{"result":"id","x":"id"}"#, None),
        (r#"{"id":{"id":4},"result":1}"#, None),
        (r#"{"id":null}"#, None),
        (r#"[{"id":4}]"#, None),
        (r#"{"id":5,"result":"cut in the mid"#, Some("5")),
        ("}}}}:,\"\\", None),
    ] {
        assert_eq!(skimmed(text.as_bytes()).as_deref(), id, "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_readers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes, &limits());
        let _ = skimmed(&bytes);
    }

    #[test]
    fn an_id_reads_back_as_it_was_written(text in ".*", number in any::<i64>()) {
        for id in [Id::from(text.as_str()), Id::Number(number.into())] {
            prop_assert_eq!(Id::read(&id.json(), usize::MAX), Some(id));
        }
    }

    #[test]
    fn skimming_and_parsing_agree(id in "[0-9]{1,9}|\"[a-z\\\\\\\\]{0,6}\"", text in "[a-z\"\\\\{}:,]{0,20}", first in any::<bool>()) {
        let rest = format!(r#""result":{{"id":0,"t":{}}}"#, json!(text));
        let whole = if first { format!(r#"{{"id":{id},{rest}}}"#) } else { format!(r#"{{{rest},"id":{id}}}"#) };
        if let Ok(Incoming::One(Message::Response { id, .. })) = parse(whole.as_bytes(), &limits()) {
            prop_assert_eq!(skimmed(whole.as_bytes()), id.map(|id| id.json()));
        }
    }
}
