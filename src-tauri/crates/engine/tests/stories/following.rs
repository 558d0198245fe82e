//! Following: polls, hints, pushes, silence, and coming back.
