//! Every call that the window, the command line and the headless host can make.
//!
//! Plain data in the user's words goes in and out; what is true is decided in `domain`, what happens in `engine`.
//! Nothing here opens a connection, a file or a socket, and nothing here prints. Read `api.rs` for the two ways to
//! have one, `calls/` for the nouns, `dispatch.rs` for the list of names, `error.rs` for the closed list of codes.

mod api;
pub mod bindings;
mod budgets;
pub mod caller;
pub mod calls;
mod dispatch;
pub mod dto;
pub mod error;
pub mod figures;
pub mod form;
pub mod frame;
mod kin;
mod listing;
mod lookup;
pub mod near;
pub mod news;
mod parts;
pub mod ready;
mod settle;
pub mod shell;
mod subscription;
mod url_host;
mod watching;
pub mod when;

pub use api::{Api, Live, Locate, Place};
pub use caller::{Ability, Caller};
pub use calls::sessions::{BrowserSession, BrowserSessions};
pub use dispatch::CALLS;
pub use error::{ApiError, Code};
