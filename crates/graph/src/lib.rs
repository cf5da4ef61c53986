//! The program activity graph as time-ordered sweeps over the timelines.
