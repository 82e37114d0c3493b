//! The library half of specc.
