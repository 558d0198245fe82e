//! Installs what a fresh machine misses: system packages, peers of the tests, Node and what npm brings.

pub(crate) mod install;
pub(crate) mod install_lock;
pub(crate) mod node;
