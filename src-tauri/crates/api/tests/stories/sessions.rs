//! Browser sessions: who sees and ends them, and that it is on record.

use api::{Caller, Code};
use domain::audit::Subject;
use serde_json::json;
use testkit::build::person;

use crate::world::{World, descendant};

#[tokio::test(start_paused = true)]
async fn a_person_ends_sessions_and_each_end_is_on_record() {
    let mut world = World::new().await;
    world.sessions.0.lock().extend(["aa".to_owned(), "bb".into(), "cc".into()]);
    world.caller = Caller::here(person("ada")).in_session("bb".into());
    let list = world.call("sessions.list", json!({})).await;
    let rows: Vec<_> =
        list["sessions"].as_array().expect("rows").iter().map(|row| (&row["id"], &row["current"])).collect();
    assert_eq!(rows, [(&json!("aa"), &json!(false)), (&json!("bb"), &json!(true)), (&json!("cc"), &json!(false))]);
    world.call("sessions.revoke", json!({"which": "one", "id": "cc"})).await;
    assert_eq!(*world.sessions.0.lock(), ["aa", "bb"], "one ends, the others stay");
    world.call("sessions.revoke", json!({"which": "others"})).await;
    assert_eq!(*world.sessions.0.lock(), ["bb"], "the browser that asks stays signed in");
    let gone = world.try_call("sessions.revoke", json!({"which": "one", "id": "cc"})).await;
    assert_eq!(gone.map_err(|error| error.code), Err(Code::NotFound));
    let rows = world.registry.audit_page(None, 0, 1_000).await.expect("the audit log").rows;
    let ended: Vec<_> =
        rows.iter().map(|row| &row.event).filter(|event| event.verb.word() == "sessionRevoked").collect();
    let notes: Vec<&str> = ended.iter().map(|event| event.note.as_str()).collect();
    assert_eq!(notes, ["browser session cc", "browser session aa"], "one row for each session");
    assert!(ended.iter().all(|event| event.subject == Subject::Store && event.actor.to_string() == "person:ada"));
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_also_when_the_disk_records_nothing_and_only_for_people() {
    let world = World::new().await;
    world.sessions.0.lock().push("aa".into());
    for (call, input) in [("sessions.list", json!({})), ("sessions.revoke", json!({"which": "others"}))] {
        let refused = world.api.dispatch(&descendant(), call, &input.to_string()).await;
        assert_eq!(refused.map_err(|error| error.code), Err(Code::Refused), "{call} is for people");
    }
    assert_eq!(world.sessions.0.lock().len(), 1, "nothing ended");
    let unclear = world.try_call("sessions.revoke", json!({})).await;
    assert_eq!(unclear.map_err(|error| error.code), Err(Code::Usage), "which ones must be said");
    world.disk.fill_disk(true);
    let failed = world.try_call("sessions.revoke", json!({"which": "one", "id": "aa"})).await.expect_err("no record");
    assert!(failed.message.contains("the sessions ended, but"), "it is said plainly: {}", failed.message);
    assert!(world.sessions.0.lock().is_empty(), "the browser is out");
}
