//! The demo server as its clients see it: raw messages over pipes and HTTP, in every era.

mod http;
mod legacy;
mod modern;
mod peer;
mod tools;
