//! A child from spawn to end. The peers are shell scripts that speak exact bytes.

mod kept_calls;
mod kept_child;
mod kept_lines;
mod left_behind;
mod life;
mod peer;
mod probe;
mod unclaimed_child;
mod wire;
