//! How sign-ins end that do not succeed, or that a newer one replaces: what is on record, and what the issuer is told.

use serde_json::json;
use tests::home::wait_for;
use tests::oauth::Fault;

use super::Stage;

#[test]
fn a_command_that_is_ended_by_any_signal_leaves_no_sign_in_that_waits() {
    let (stage, _core) = Stage::plain();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
        let begun = stage.begin(&[]).unwrap_or_else(|ran| panic!("{}", ran.err));
        assert_eq!(stage.state(), "waiting");
        begun.signalled(signal);
        assert_eq!(stage.state(), "needed", "{signal:?}");
    }
}

#[test]
fn a_sign_in_whose_browser_was_closed_ends_by_itself_and_its_task_stays_blocked_until_somebody_signs_in() {
    let (stage, core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    let task = stage.home.call("hosted", "ask", &json!({"nonce": "asked"}));
    stage.home.wait_phase(&task, "waiting");
    stage.issuer.revoke_grants();
    stage.home.wait_phase(&task, "blocked");
    core.kill();
    let core = stage.serve_until(&[("TASKWARDEN_POLICY_SIGN_IN_BROWSER_WAIT", "2s")]);
    let begun = stage.begin(&[]).unwrap_or_else(|ran| panic!("{}{}", ran.out, ran.err));
    let ran = begun.end();
    assert_eq!((ran.code, ran.err.contains("nobody signed in at")), (5, true), "{}{}", ran.out, ran.err);
    assert_eq!(stage.state(), "needed", "nothing waits any more");
    stage.home.wait_phase(&task, "blocked");
    core.kill();
    let _core = stage.serve();
    stage.signed_in();
    stage.home.wait_phase(&task, "waiting");
}

#[test]
fn a_sign_in_that_failed_is_on_record_with_its_reason_and_the_one_of_before_goes_on() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    for (fault, reason) in [(Fault::TokenHtml, "gave no token"), (Fault::PkceMissing, "PKCE")] {
        stage.issuer.set_fault(fault);
        match stage.begin(&[]) {
            Ok(begun) => {
                assert_eq!(stage.land(&stage.browse(&begun).expect("the issuer sends back")).0, 400);
                assert_eq!(begun.end().code, 5);
            }
            Err(ran) => assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err),
        }
        stage.issuer.clear_fault(fault);
        let rows = stage.home.json(["audit", "list", "--verb", "signInFailed", "--json"]);
        let notes: Vec<&str> =
            rows["rows"].as_array().into_iter().flatten().filter_map(|row| row["note"].as_str()).collect();
        assert!(notes.iter().any(|note| note.starts_with("hosted: ") && note.contains(reason)), "{reason}: {rows:#}");
    }
    assert_eq!(stage.state(), "signedIn");
    stage.assert_no_secret_is_told();
}

#[test]
fn the_tokens_of_a_sign_in_that_a_newer_one_replaced_are_given_up() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    let good = stage.issuer.good_tokens();
    stage.signed_in();
    wait_for(
        "the tokens of before are given up",
        || (stage.issuer.counts().revocations == 1).then_some(()),
        || stage.home.core_log(),
    );
    assert_eq!(stage.issuer.good_tokens(), good, "those of the newer one are good");
    stage.wait_health("up");
    assert_eq!(stage.state(), "signedIn");
    assert_eq!(stage.issuer.faults(), Vec::<String>::new());
}

#[test]
fn a_lifetime_that_the_issuer_sends_as_text_is_read_at_a_sign_in_and_at_a_renewal() {
    let (stage, _core) = Stage::plain();
    stage.issuer.set_fault(Fault::ExpiresText);
    stage.signed_in();
    stage.wait_health("up");
    assert!(stage.show()["signIn"]["until"].is_string(), "it is known when the token ends: {:#}", stage.show());
    stage.issuer.expire_access();
    wait_for(
        "the token is renewed",
        || {
            stage.home.run(["servers", "tools", "hosted"]);
            (stage.issuer.counts().refreshes > 0).then_some(())
        },
        || format!("{:#}\n{}", stage.show(), stage.home.core_log()),
    );
    stage.wait_health("up");
    assert_eq!(stage.state(), "signedIn");
    assert!(stage.show()["signIn"]["until"].is_string(), "{:#}", stage.show());
    assert_eq!(stage.issuer.faults(), Vec::<String>::new());
}

#[test]
fn what_is_wrong_with_an_issuer_is_said_of_the_issuer() {
    let (stage, _core) = Stage::plain();
    let (issuer, server) = (stage.issuer.address().to_string(), stage.server.address().to_string());
    for fault in [Fault::IssuerLies, Fault::IssuerMissing, Fault::AuthorizationEndpointPlain] {
        stage.issuer.set_fault(fault);
        let ran = stage.begin(&[]).err().expect("nobody is sent there");
        assert!(ran.err.contains(&issuer) && !ran.err.contains(&server), "{fault}: {}", ran.err);
        stage.issuer.clear_fault(fault);
    }
}
