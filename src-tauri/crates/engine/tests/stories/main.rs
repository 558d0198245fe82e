//! Stories of the engine on a paused clock, against the scripted server and the memory registry.

mod calls;
mod deciding;
mod following;
mod restarting;
mod telling;
mod world;
