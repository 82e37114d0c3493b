//! The `specc` program.
fn main() {}
