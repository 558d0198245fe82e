//! Hands a start over to the window of the same data folder that is open already.
//!
//! It asks before the desktop's libraries begin. The plugin for single instances asks as well, which decides between
//! two programs that start in the same moment; but it ends the second one while threads of GTK run, and that can crash.

use std::time::Duration;

use domain::policy::HostPolicy;
use tokio::time::timeout;
use zbus::Connection;

/// The interface of the plugin for single instances.
const INTERFACE: &str = "org.SingleInstance.DBus";

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// The window that is open has what this program was started with, and shows itself.
    Taken,
    /// No window is open, or none can be asked for.
    NobodyThere,
    /// A window is open and did not answer in time.
    Silent,
}

/// Gives this program's arguments to the window that has `bus_id` in this session.
#[must_use]
pub fn hand_over(bus_id: &str) -> HandOver {
    let answer_limit = HostPolicy::default().attach_limit;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_or(HandOver::NobodyThere, |runtime| runtime.block_on(ask(bus_id, answer_limit)))
}

async fn ask(bus_id: &str, answer_limit: Duration) -> HandOver {
    let name = format!("{bus_id}.SingleInstance");
    let path = format!("/{}", name.replace('.', "/").replace('-', "_"));
    let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let folder = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(Ok(bus)) = timeout(answer_limit, Connection::session()).await else { return HandOver::NobodyThere };
    let call = (arguments, folder);
    let asked = bus.call_method(Some(name.as_str()), path.as_str(), Some(INTERFACE), "ExecuteCallback", &call);
    match timeout(answer_limit, asked).await {
        Ok(Ok(_)) => HandOver::Taken,
        // Nobody has the name, or its owner ended: this start becomes the window.
        Ok(Err(_)) => HandOver::NobodyThere,
        Err(_) => HandOver::Silent,
    }
}
