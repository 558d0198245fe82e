//! A child from spawn to end. The peers are shell scripts that speak exact bytes.

mod kept_child;
mod life;
mod peer;
mod probe;
mod wire;
