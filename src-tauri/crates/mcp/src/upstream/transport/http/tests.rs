//! An HTTP server from probe to end. The peers are scripts over raw sockets, so that every byte can be wrong.

mod hostile;
mod legacy;
mod modern;
mod peer;
mod plain;
mod sse2024;
