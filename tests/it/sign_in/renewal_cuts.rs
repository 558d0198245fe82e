//! Power cuts between the rotation of a refresh token at the issuer and its first use here.
//!
//! An issuer that rotates accepts the older token once. What is durable when the core dies is used by the next core; what
//! is not ends the sign-in, and that is said instead of tried for ever.

use tests::home::{Core, wait_for};
use tests::oauth::Fault;

use super::Stage;

/// A person who is signed in, and a core that aborts at this point of its first renewal.
fn signed_in_until(point: &str) -> (Stage, Core) {
    let (stage, core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    core.kill();
    let core = stage.serve_until(&[("CORE_UNDER_TEST_ABORT_AT", point)]);
    stage.wait_health("up");
    assert_eq!(stage.issuer.counts().refresh_requests, 0, "the token is good so far");
    (stage, core)
}

fn renews_and_dies(stage: &Stage, core: &mut Core) {
    stage.issuer.expire_access();
    stage.home.run(["servers", "tools", "hosted"]);
    wait_for("the core died", || core.ended().then_some(()), || stage.home.core_log());
    assert_eq!(stage.issuer.counts().refreshes, 1, "the issuer rotated before the core died");
}

/// The next core learns that the sign-in is over, says so, and does not ask again; a person signs in once more.
fn ended_for_good(stage: &Stage) {
    let _core = stage.serve();
    stage.wait_health("blocked");
    assert_eq!(stage.state(), "needed");
    let hint = stage.show()["health"]["hint"].as_str().unwrap_or_default().to_owned();
    assert!(hint.to_lowercase().contains("sign in"), "{hint}");
    assert_eq!(stage.issuer.counts().refresh_requests, 2, "the older token is tried once");
    stage.signed_in();
    stage.wait_health("up");
    assert_eq!(stage.issuer.counts().refresh_requests, 2);
    stage.assert_no_secret_is_told();
}

#[test]
fn a_rotated_token_that_is_durable_when_the_core_dies_is_used_by_the_next_core() {
    let (stage, mut core) = signed_in_until("secrets.put:after:1");
    renews_and_dies(&stage, &mut core);
    let _core = stage.serve();
    stage.wait_health("up");
    assert_eq!(stage.state(), "signedIn", "nobody has to sign in again");
    assert_eq!(stage.issuer.counts().refresh_requests, 1, "the new token is used as it is");
    assert_eq!(stage.issuer.faults(), Vec::<String>::new());
    stage.assert_no_secret_is_told();
}

#[test]
fn a_rotated_token_that_was_lost_with_the_core_ends_the_sign_in_with_a_word() {
    let (stage, mut core) = signed_in_until("secrets.put:before:1");
    renews_and_dies(&stage, &mut core);
    ended_for_good(&stage);
}

#[test]
fn a_token_that_the_issuer_rotated_and_never_sent_ends_the_sign_in_with_a_word() {
    let (stage, core) = signed_in_until("none");
    stage.issuer.set_fault(Fault::TokenAnswerLost);
    stage.issuer.expire_access();
    std::thread::scope(|threads| {
        let asking = threads.spawn(|| stage.home.run(["servers", "tools", "hosted"]));
        wait_for(
            "the issuer rotated",
            || (stage.issuer.counts().refreshes == 1).then_some(()),
            || stage.home.core_log(),
        );
        core.kill();
        asking.join().expect("the command ends without its core");
    });
    stage.issuer.clear_fault(Fault::TokenAnswerLost);
    ended_for_good(&stage);
}
