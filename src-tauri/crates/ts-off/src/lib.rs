//! Stands for `ts-rs` where no TypeScript is written: deriving `TS` adds nothing to a type.
//!
//! Only a test of the api writes the types of the window. In the program, the code that describes some 380 types would
//! be a third of what the api takes to compile (decision 0121).

use proc_macro::TokenStream;

/// Accepts what `ts-rs` accepts, and adds nothing.
#[proc_macro_derive(TS, attributes(ts))]
pub fn derive_nothing(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
