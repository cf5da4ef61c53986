//! The events of one thread, with a look ahead: what a call is for stands behind its begin.

use std::collections::VecDeque;

use longpole_otf2::{LocationEvents, TraceEvent, TraceFiles, TraceResult};

/// Ticks of a trace's clock to nanoseconds from its begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickScale {
    pub(super) offset: u64,
    pub(super) resolution: u64,
}

impl TickScale {
    const SECOND: u64 = 1_000_000_000;

    pub(super) fn nanoseconds(self, ticks: u64) -> u64 {
        let ticks = ticks.saturating_sub(self.offset);
        if self.resolution == TickScale::SECOND {
            return ticks;
        }
        let scaled = u128::from(ticks) * u128::from(TickScale::SECOND) / u128::from(self.resolution.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// The events of a thread that are still to come.
#[derive(Debug)]
pub(super) struct EventStream {
    events: Option<LocationEvents>,
    scale: TickScale,
    ahead: VecDeque<(u64, TraceEvent)>,
}

impl EventStream {
    pub(super) fn new(events: Option<LocationEvents>, scale: TickScale) -> EventStream {
        EventStream { events, scale, ahead: VecDeque::new() }
    }

    fn read(&mut self, files: &mut impl TraceFiles) -> TraceResult<Option<(u64, TraceEvent)>> {
        let Some(events) = &mut self.events else { return Ok(None) };
        let next = events.next(files)?;
        Ok(next.map(|(ticks, event)| {
            let event = match event {
                TraceEvent::Flush(end) => TraceEvent::Flush(self.scale.nanoseconds(end)),
                event => event,
            };
            (self.scale.nanoseconds(ticks), event)
        }))
    }

    /// The time of the next event, nanoseconds.
    pub(super) fn next_time(&mut self, files: &mut impl TraceFiles) -> TraceResult<Option<u64>> {
        Ok(self.peek(files, 0)?.map(|(time, _)| time))
    }

    /// The event behind so many others.
    pub(super) fn peek(
        &mut self,
        files: &mut impl TraceFiles,
        place: usize,
    ) -> TraceResult<Option<(u64, TraceEvent)>> {
        while self.ahead.len() <= place {
            match self.read(files)? {
                Some(event) => self.ahead.push_back(event),
                None => return Ok(None),
            }
        }
        Ok(Some(self.ahead[place]))
    }

    /// Takes the next event.
    pub(super) fn next(&mut self, files: &mut impl TraceFiles) -> TraceResult<Option<(u64, TraceEvent)>> {
        match self.ahead.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.read(files),
        }
    }

    /// The reader, for what it counted.
    pub(super) fn events(&self) -> Option<&LocationEvents> {
        self.events.as_ref()
    }
}
