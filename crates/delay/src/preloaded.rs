//! The library inside the program.

mod backtrace;
mod child;
mod connection;
mod event;
mod exchanges;
mod holds;
mod interposed;
mod module;
mod sampling;
mod system;
mod thread_words;
mod virtual_clock;
mod waits;
