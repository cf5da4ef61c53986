//! `longpole demo`: a parallel program that lies in this very binary, so that a first answer needs nothing
//! else.

mod program;

pub use program::run_program;
