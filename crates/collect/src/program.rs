//! What the program and collectors say of themselves: metrics that they write into memory shared with the recorder.
//!
//! In: the memory (`longpole_runtime::interface::series`). Out: a number of each series that changed since the look
//! before, and the values with times of their own. Whatever stands in the memory, it costs no more than its size.

mod definition;
mod memory;
mod memory_socket;
mod numbers;
mod ring;

use std::ffi::OsString;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use longpole_event::Time;
use longpole_runtime::interface::series::{FREE, READY};

use crate::clock;
use crate::sink::Sink;
use crate::source::SeriesSource;
use definition::ProgramSeriesDefinition;
use memory::MappedSeriesMemory;
use numbers::{SlotNumbers, SlotValue};
use ring::{RingSample, SeriesRing};

/// The memory, and what was seen in it.
#[derive(Debug)]
pub(crate) struct ProgramSource {
    memory: MappedSeriesMemory,
    ring: SeriesRing,
    /// Of each slot, in order; `None` before it is ready, and where it is nonsense.
    slots: Vec<SlotState>,
    made: Time,
    refused_series: u64,
    refused_values: u64,
    /// Whose end was asked for last.
    asked: usize,
    is_ending: bool,
}

/// What is known of a slot.
#[derive(Debug)]
enum SlotState {
    Unknown,
    Nonsense,
    Known(ProgramSeries),
}

/// A series.
#[derive(Debug)]
struct ProgramSeries {
    definition: ProgramSeriesDefinition,
    numbers: SlotNumbers,
    /// It has values with times of their own: what was never set or added to means nothing then.
    has_samples: bool,
    /// Its process or thread has ended, and its last number was given.
    is_over: bool,
}

impl ProgramSource {
    /// Makes the memory.
    ///
    /// # Errors
    /// Where the system gives none.
    pub(crate) fn new() -> io::Result<ProgramSource> {
        let memory = MappedSeriesMemory::new()?;
        let (ring, slots) = (SeriesRing::default(), Vec::new());
        let made = clock::now();
        Ok(ProgramSource {
            memory,
            ring,
            slots,
            made,
            refused_series: 0,
            refused_values: 0,
            asked: 0,
            is_ending: false,
        })
    }

    /// The variable that programs and commands find it by.
    pub(crate) fn variable(&self) -> (OsString, OsString) {
        self.memory.variable()
    }

    /// Finds what the slots are that were made since the last look.
    fn define(&mut self, now: Time, sink: &mut Sink<'_>) {
        let slots = &self.memory.words().slots;
        for (index, slot) in slots.iter().enumerate() {
            let state = slot.state.load(Acquire);
            if state == FREE {
                break;
            }
            if index == self.slots.len() {
                self.slots.push(SlotState::Unknown);
            }
            if state != READY || !matches!(self.slots[index], SlotState::Unknown) {
                continue;
            }
            self.slots[index] = match ProgramSeriesDefinition::read(slot) {
                Ok(definition) if self.is_known(&definition) => {
                    sink.trouble("two threads made one series at once: what the second adds is missing");
                    SlotState::Nonsense
                }
                Ok(definition) => {
                    let created = Time::from_nanoseconds(slot.created.load(Relaxed)).max(self.made).min(now);
                    let numbers = SlotNumbers::new(definition.samples, created);
                    SlotState::Known(ProgramSeries {
                        definition,
                        numbers,
                        has_samples: false,
                        is_over: false,
                    })
                }
                Err(nonsense) => {
                    sink.trouble(&nonsense);
                    SlotState::Nonsense
                }
            };
        }
    }

    fn is_known(&self, new: &ProgramSeriesDefinition) -> bool {
        self.slots.iter().any(|state| match state {
            SlotState::Known(series) => series.definition.is_same_series(new),
            _ => false,
        })
    }

    /// Takes the values that have times.
    fn samples(&mut self, now: Time, sink: &mut Sink<'_>) {
        let mut samples = self.ring.take(self.memory.words(), now, self.is_ending, sink);
        samples.sort_by_key(|sample| sample.time);
        for RingSample { slot, time, value } in samples {
            let Some(SlotState::Known(ProgramSeries { definition, has_samples, .. })) =
                self.slots.get_mut(slot)
            else {
                sink.trouble("a value was of no series");
                continue;
            };
            if time > now + LATEST {
                sink.trouble(&format!("`{}` had a value in the future", definition.metric));
            } else if time < self.made {
                sink.trouble(&format!("`{}` had a value from before the recording", definition.metric));
            } else {
                *has_samples = true;
                sink.put(&definition.key(), time, value);
            }
        }
    }

    /// Looks at what every series has now.
    fn values(&mut self, now: Time, sink: &mut Sink<'_>) {
        let asked = self.asked..self.asked + ENDS_A_LOOK;
        self.asked = if asked.end < self.slots.len() { asked.end } else { 0 };
        for (index, (slot, state)) in self.memory.words().slots.iter().zip(&mut self.slots).enumerate() {
            let SlotState::Known(series) = state else { continue };
            let has_ended = asked.contains(&index) && !series.is_over && series.definition.has_ended();
            let is_last = (self.is_ending || has_ended) && !series.is_over && !series.has_samples;
            series.is_over |= has_ended;
            // After the question whether it has ended: nothing of it comes later.
            let held = SlotValue::by(slot);
            let key = series.definition.key();
            series.numbers.look(now, held, is_last, |time, value| sink.put(&key, time, value));
        }
    }

    /// Says what found no room.
    fn refusals(&mut self, sink: &mut Sink<'_>) {
        let header = &self.memory.words().header;
        let (series, values) = (header.refused_series.load(Relaxed), header.refused_values.load(Relaxed));
        let new = |found: u64, seen: &mut u64| found.saturating_sub(std::mem::replace(seen, found));
        sink.troubles("no room for a series", new(series, &mut self.refused_series));
        sink.troubles("values came faster than they were taken", new(values, &mut self.refused_values));
    }
}

/// A value can be later than the look's begin, by as much as the look takes.
const LATEST: u64 = 1_000_000_000;
/// Series of which a look asks whether their process or thread has ended: a system call each.
const ENDS_A_LOOK: usize = 16;

impl SeriesSource for ProgramSource {
    fn look(&mut self, now: Time, sink: &mut Sink<'_>) -> io::Result<()> {
        self.define(now, sink);
        self.samples(now, sink);
        self.values(now, sink);
        self.refusals(sink);
        Ok(())
    }

    fn stop(&mut self) {
        self.is_ending = true;
        self.memory.words().header.stopped.store(1, Relaxed);
    }
}
