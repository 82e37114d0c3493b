//! Tests of the crate from outside, in one program so that they build quickly.

mod expressions;
mod model_sets;
mod sample_files;
mod selection;
