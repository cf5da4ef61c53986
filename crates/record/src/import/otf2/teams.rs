//! Teams of threads: they are made, work, meet at barriers, and rest until the next team.
//!
//! ```text
//!   maker      ===|Fork ============|Barrier ======|Join ======
//!   worker        |BeginTeam ==|Barrier ~~~ =======|EndTeam ~~~~~    it rests from the end of a team to the begin of the next
//! ```
//! A thread waits at a barrier up to where the last of its team comes there; the rest of its time in it is work.

use longpole_event::{EventKind, PrimitiveId, PrimitiveKind, StackId};
use longpole_otf2::TraceEvent;
use rustc_hash::FxHashMap;

use super::super::error::ImportResult;
use super::writer::TraceWriter;

/// Number of the primitive at which the threads of a process rest.
const REST: u64 = u64::MAX;

/// For what a thread is off its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TeamWait {
    /// The rest of its team, at a barrier.
    Barrier(PrimitiveId),
    /// The next team.
    Team,
    /// A lock, its so manieth owner.
    Lock(u32, u32),
    /// The end of a thread.
    End,
}

/// The teams of all processes.
#[derive(Debug, Default)]
pub(super) struct TracedTeams {
    /// Who makes teams in each process, where, innermost last.
    makers: FxHashMap<usize, Vec<(usize, Option<StackId>)>>,
    /// Who waits at the barrier of a team.
    arrived: FxHashMap<(usize, u32), Vec<usize>>,
}

impl TraceWriter<'_> {
    /// The thread makes a team.
    pub(super) fn fork(&mut self, thread: usize) -> ImportResult<()> {
        let maker = (thread, self.threads[thread].path());
        self.teams.makers.entry(self.layout.threads[thread].process).or_default().push(maker);
        Ok(())
    }

    /// The team that the thread made last has ended.
    pub(super) fn join_team(&mut self, thread: usize) -> ImportResult<()> {
        let makers = self.teams.makers.entry(self.layout.threads[thread].process).or_default();
        if let Some(place) = makers.iter().rposition(|&(maker, _)| maker == thread) {
            makers.remove(place);
        }
        Ok(())
    }

    /// The thread works in a team from now on.
    pub(super) fn begin_team(&mut self, (thread, time): (usize, u64), team: u32) -> ImportResult<()> {
        self.threads[thread].team.push(team);
        let makers = self.teams.makers.get(&self.layout.threads[thread].process);
        let maker = makers.and_then(|makers| makers.last().copied()).filter(|&(maker, _)| maker != thread);
        let Some((maker, path)) = maker.filter(|_| self.threads[thread].entered.is_empty()) else {
            return Ok(());
        };
        match self.threads[thread].waits.take() {
            Some(TeamWait::Team) => {
                self.wake(thread, time, Some((maker, path)))?;
                self.event(thread, time, EventKind::Proceed)?;
            }
            // It is seen for the first time.
            _ => {
                self.block(thread, time, None)?;
                self.wake(thread, time, Some((maker, path)))?;
            }
        }
        self.threads[thread].base = path;
        Ok(())
    }

    /// The thread has worked in its team.
    pub(super) fn end_team(&mut self, (thread, time): (usize, u64), team: u32) -> ImportResult<()> {
        let progress = &mut self.threads[thread];
        if let Some(place) = progress.team.iter().rposition(|&one| one == team) {
            progress.team.truncate(place);
        }
        // The one who made the team goes on.
        if progress.base.is_none() || !progress.team.is_empty() || !progress.entered.is_empty() {
            return Ok(());
        }
        self.observe(thread, time)?;
        let primitive = Some(self.primitive(
            thread,
            (PrimitiveKind::Condition, REST),
            "team of threads: the next one",
        )?);
        let stack = self.threads[thread].path();
        self.event(thread, time, EventKind::Await { primitive, stack })?;
        self.block(thread, time, None)?;
        self.threads[thread].waits = Some(TeamWait::Team);
        Ok(())
    }

    /// A thread that does something waits no more, though nothing said who let it go on.
    pub(super) fn go_on(&mut self, (thread, time): (usize, u64), event: TraceEvent) -> ImportResult<()> {
        if self.threads[thread].waits != Some(TeamWait::Team) || matches!(event, TraceEvent::BeginTeam(_)) {
            return Ok(());
        }
        self.threads[thread].waits = None;
        self.wake(thread, time, None)?;
        self.event(thread, time, EventKind::Proceed)
    }

    /// The thread comes to a barrier.
    pub(super) fn arrive(&mut self, (thread, time): (usize, u64), region: u32) -> ImportResult<()> {
        let Some(&team) = self.threads[thread].team.last() else { return Ok(()) };
        let size = self.communicators.size(team).unwrap_or(0);
        if size < 2 || self.threads[thread].waits.is_some() {
            return Ok(());
        }
        let name = self.definitions.regions.get(&region).map_or(u32::MAX, |region| region.name);
        let definitions = self.definitions;
        let named = (PrimitiveKind::Barrier, u64::from(region));
        let primitive = self.primitive(thread, named, definitions.text(name))?;
        self.event(thread, time, EventKind::Arrive { primitive })?;
        let key = (self.layout.threads[thread].process, team);
        let arrived = self.teams.arrived.entry(key).or_default();
        if arrived.len() + 1 < size {
            arrived.push(thread);
            let stack = self.threads[thread].path();
            self.event(thread, time, EventKind::Await { primitive: Some(primitive), stack })?;
            self.block(thread, time, None)?;
            self.threads[thread].waits = Some(TeamWait::Barrier(primitive));
            return Ok(());
        }
        let waiting = std::mem::take(arrived);
        let path = self.threads[thread].path();
        for other in waiting {
            self.pass_barrier((other, time), Some((thread, path)))?;
        }
        self.event(thread, time, EventKind::Depart { primitive })
    }

    /// A thread that waits at a barrier goes on.
    fn pass_barrier(
        &mut self,
        (thread, time): (usize, u64),
        by: Option<(usize, Option<StackId>)>,
    ) -> ImportResult<()> {
        let Some(TeamWait::Barrier(primitive)) = self.threads[thread].waits else { return Ok(()) };
        self.threads[thread].waits = None;
        self.wake(thread, time, by)?;
        self.event(thread, time, EventKind::Proceed)?;
        self.event(thread, time, EventKind::Depart { primitive })
    }

    /// The thread leaves a region: it waits no more in it, whether or not all that it waited for have come.
    pub(super) fn depart(&mut self, (thread, time): (usize, u64)) -> ImportResult<()> {
        match self.threads[thread].waits {
            Some(TeamWait::Barrier(_)) => {
                let process = self.layout.threads[thread].process;
                if let Some(&team) = self.threads[thread].team.last()
                    && let Some(arrived) = self.teams.arrived.get_mut(&(process, team))
                {
                    arrived.retain(|&other| other != thread);
                }
                self.pass_barrier((thread, time), None)
            }
            Some(TeamWait::Lock(..)) => self.stop_wanting((thread, time)),
            Some(TeamWait::End) => {
                self.threads[thread].waits = None;
                self.wake(thread, time, None)
            }
            Some(TeamWait::Team) | None => Ok(()),
        }
    }
}
