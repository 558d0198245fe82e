//! Peers that share no protocol code with ours, all on rmcp 3.9 in the 2026-07-28 dialect.
//!
//! `rmcp-peer http [port]` and `rmcp-peer stdio` are a task server (`task_server.rs`), `rmcp-peer fixtures` is what the
//! conformance runner asks a tasks server for (`fixtures.rs`), and `rmcp-peer client STORY` is a client (`client.rs`).
//! They are one program, because each would be linked with the same crates.

mod client;
mod fixtures;
mod task_server;

use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["http"] => task_server::serve_http(0).await,
        ["http", port] => task_server::serve_http(port.parse()?).await,
        ["stdio"] => task_server::serve_stdio().await,
        ["fixtures"] => fixtures::serve().await,
        ["client", story] => {
            client::play(story).await;
            Ok(())
        }
        _ => Err("one of: http [port], stdio, fixtures, client STORY".into()),
    }
}
