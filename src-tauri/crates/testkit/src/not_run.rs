//! A test that needs what a machine may not have: the right to mount, another user, a library.
//!
//! Where every test has to run (`.ci/run` says so), such a test fails; elsewhere it says why it did not run. A test
//! runner has no third outcome for a test that has begun.

/// Set where a test that cannot run is a failure.
pub const EVERY_TEST: &str = "TASKWARDEN_EVERY_TEST";

/// Says that a test is not run here, and why.
///
/// # Panics
/// Where every test has to run.
pub fn not_run(why: &str) {
    println!("not run: {why}");
    assert!(
        std::env::var_os(EVERY_TEST).is_none(),
        "every test has to run here ({EVERY_TEST}), and this one cannot: {why}"
    );
}
