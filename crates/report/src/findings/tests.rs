//! Findings of drawn runs, and laws of the selections.

mod changes;
mod classes;
mod laws;
mod turns;
