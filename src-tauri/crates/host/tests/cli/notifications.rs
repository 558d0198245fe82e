//! Notices on a real bus: what stands on the screen, when it goes, and what pressing its buttons does.

mod screen;
mod stories;
