//! The checks of an installation, as the window runs them.

use api::Code;
use serde_json::json;

use crate::world::{World, descendant};

#[tokio::test(start_paused = true)]
async fn the_window_gets_every_finding_with_its_cure_and_what_a_keeper_holds() {
    let world = World::new().await;
    let report = world.call("doctor.run", json!({})).await;
    assert_eq!(report["broken"], 1, "{report:#}");
    let broken = &report["findings"][1];
    assert_eq!(
        (&broken["area"], &broken["grade"], &broken["cure"]),
        (&json!("disk"), &json!("broken"), &json!("Free some space."))
    );
    let message = report["findings"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains(env!("CARGO_PKG_VERSION")), "the checks have the core's own facts: {message}");
    assert_eq!(report["kept"], json!([{"process": 12, "keeper": 11, "command": "npx"}]));
    assert_eq!(report["keptMs"], 600_000);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn only_a_person_runs_the_checks() {
    let world = World::new().await;
    let refused = world.api.dispatch(&descendant(), "doctor.run", "{}").await;
    assert_eq!(refused.map_err(|error| error.code), Err(Code::Refused));
    world.stop().await;
}
