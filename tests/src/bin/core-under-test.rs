//! `taskwarden` itself. Kill points join here, outside what ships.

fn main() {}
