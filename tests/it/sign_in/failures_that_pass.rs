//! An issuer that does not answer, or has a problem of its own: it is named, and nobody is sent to who runs it.

use tests::home::wait_for;
use tests::oauth::{AuthorizationOptions, Fault, ProtectedOptions};

use super::Stage;

impl Stage {
    /// What is said of a server that is down for a reason that has this in it, with the hint.
    fn down_because(&self, reason: &str) -> String {
        wait_for(
            &format!("the server is down: {reason}"),
            || {
                self.home.run(["servers", "tools", "hosted"]);
                let health = self.show()["health"].clone();
                let is_there =
                    health["kind"] == "down" && health["why"].as_str().is_some_and(|why| why.contains(reason));
                is_there.then(|| health.to_string())
            },
            || format!("{:#}\n{}", self.show(), self.home.core_log()),
        )
    }
}

#[test]
fn a_renewal_that_does_not_end_is_the_reason_that_is_given_and_is_tried_again() {
    let (stage, _core) = Stage::with_limit(AuthorizationOptions::default(), ProtectedOptions::default(), "3s");
    stage.signed_in();
    stage.wait_health("up");
    stage.issuer.set_fault(Fault::TokenHangs);
    stage.issuer.expire_access();
    let issuer = stage.issuer.address().to_string();
    let health = stage.down_because(&format!("`{issuer}` did not renew it within 3 s"));
    assert!(health.contains("does not accept the token any more") && health.contains("tries again"), "{health}");
    assert_eq!(stage.state(), "signedIn", "nobody has to sign in");
    stage.issuer.clear_fault(Fault::TokenHangs);
    stage.wait_health("up");
    stage.assert_no_secret_is_told();
}

#[test]
fn a_renewal_that_goes_on_for_longer_than_a_request_may_take_is_the_reason_of_the_request() {
    let (stage, core) = Stage::plain();
    stage.signed_in();
    core.kill();
    let _core = stage.serve_until(&[("TASKWARDEN_POLICY_REPLY_LIMIT", "6s")]);
    stage.wait_health("up");
    stage.issuer.set_fault(Fault::TokenHangs);
    stage.issuer.expire_access();
    stage.down_because("its renewal did not end within 3 s");
    stage.issuer.clear_fault(Fault::TokenHangs);
    stage.wait_health("up");
    assert_eq!(stage.state(), "signedIn");
}

#[test]
fn an_issuer_that_fails_by_itself_at_a_renewal_is_asked_again() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    stage.issuer.set_fault(Fault::RefreshUnavailable);
    stage.issuer.expire_access();
    let health = stage.down_because("has a problem of its own");
    assert!(health.contains("tries again") && !health.contains("runs it"), "{health}");
    stage.issuer.clear_fault(Fault::RefreshUnavailable);
    stage.wait_health("up");
    assert_eq!(stage.issuer.faults(), Vec::<String>::new());
}

#[test]
fn an_issuer_that_fails_by_itself_at_a_sign_in_is_worth_another_try() {
    let (stage, _core) = Stage::plain();
    stage.issuer.set_fault(Fault::TokenBreaks);
    let begun = stage.begin(&[]).unwrap_or_else(|ran| panic!("{}{}", ran.out, ran.err));
    assert_eq!(stage.land(&stage.browse(&begun).expect("the issuer sends back")).0, 400);
    let ran = begun.end();
    assert_eq!(ran.code, 5, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("Sign in again") && !ran.err.contains("runs it"), "{}", ran.err);
    stage.issuer.clear_fault(Fault::TokenBreaks);
    stage.signed_in();
    assert_eq!(stage.state(), "signedIn");
}
