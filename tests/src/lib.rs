//! Shared setup of the integration tests.
