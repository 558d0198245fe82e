//! What agents can list, and what they are told at the beginning: servers' lists merged, with the gateway's additions.
//!
//! Reading and caching a server's own list is `servers/listing.rs`.

pub(crate) mod discovery;
pub(crate) mod listing_page;
pub(crate) mod merged;
pub(crate) mod offered_pages;
pub(crate) mod own_listings;
