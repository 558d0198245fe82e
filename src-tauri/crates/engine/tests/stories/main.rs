//! Stories of the engine on a paused clock, against the scripted server and the memory registry.

mod calls;
mod following;
mod world;
