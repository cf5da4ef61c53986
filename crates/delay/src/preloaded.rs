//! The library inside the program.

mod backtrace;
mod child;
mod sampling;
mod thread_words;
