//! Random programs that end under every schedule.
//!
//! A program is written down along one order in which it could run: a take comes after its post, a join after the end
//! of the thread, a spin after the flag. So whoever waits waits for something that comes. Each semaphore has one
//! thread that posts and one that takes, so which post lets which take go on is not a matter of time.

use super::{Script, ScriptStep, ScriptThread};

/// Procedures of random programs.
const PROCEDURES: usize = 5;

/// The random program of this number, with about so many steps.
#[must_use]
pub fn random_script(seed: u64, steps: usize) -> Script {
    let mut writer = ScriptWriter::new(seed);
    for _ in 0..steps {
        writer.step();
    }
    writer.finish()
}

/// The same with procedures that call each other.
#[must_use]
pub fn random_script_with_calls(seed: u64, steps: usize) -> Script {
    let mut dice = ScriptRandom(seed ^ 0x5ca1_ab1e);
    let mut script = random_script(seed, steps);
    script.callers = (0..PROCEDURES as u64).map(|index| dice.caller(index)).collect();
    script
}

/// The same with a mutex that is held for some of the work.
#[must_use]
pub fn random_script_with_a_mutex(seed: u64, steps: usize) -> Script {
    let mut dice = ScriptRandom(seed ^ 0x10c4_ed01);
    let mut script = random_script(seed, steps);
    script.mutexes.push("m".to_owned());
    for thread in &mut script.threads {
        let mut lock = |step: ScriptStep| match step {
            ScriptStep::Compute(..) if dice.below(2) == 0 => {
                vec![ScriptStep::Lock(0), step, ScriptStep::Unlock(0)]
            }
            _ => vec![step],
        };
        thread.steps = thread.steps.iter().flat_map(|&step| lock(step)).collect();
    }
    script
}

/// Numbers from a seed (splitmix64).
struct ScriptRandom(u64);

impl ScriptRandom {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % limit
    }

    /// A procedure before this one, or none.
    fn caller(&mut self, index: u64) -> Option<usize> {
        let caller = self.below(index + 1);
        (caller < index).then_some(caller as usize)
    }
}

/// A semaphore under construction: who posts, who takes, and what is there to take.
#[derive(Clone, Copy)]
struct ScriptSemaphore {
    from: usize,
    to: usize,
    value: u64,
}

struct ScriptWriter {
    dice: ScriptRandom,
    script: Script,
    /// Threads that have begun and not ended.
    alive: Vec<usize>,
    /// Threads that have ended, are not joined, and who created them.
    ended: Vec<(usize, usize)>,
    creators: Vec<usize>,
    lanes: Vec<ScriptSemaphore>,
    /// Flags that are set.
    set: usize,
}

impl ScriptWriter {
    fn new(seed: u64) -> ScriptWriter {
        let script = Script {
            procedures: (0..PROCEDURES).map(|index| format!("P{index}")).collect(),
            threads: vec![ScriptThread { name: "main".to_owned(), steps: Vec::new() }],
            ..Script::default()
        };
        ScriptWriter {
            dice: ScriptRandom(seed),
            script,
            alive: vec![0],
            ended: Vec::new(),
            creators: vec![0],
            lanes: Vec::new(),
            set: 0,
        }
    }

    fn add(&mut self, thread: usize, step: ScriptStep) {
        self.script.threads[thread].steps.push(step);
    }

    fn any(&mut self) -> usize {
        let index = self.dice.below(self.alive.len() as u64) as usize;
        self.alive[index]
    }

    fn compute(&mut self, thread: usize) {
        let procedure = self.dice.below(PROCEDURES as u64) as usize;
        let time = 1 + self.dice.below(60);
        self.add(thread, ScriptStep::Compute(procedure, time));
    }

    fn step(&mut self) {
        let thread = self.any();
        match self.dice.below(12) {
            0 | 1 if self.script.threads.len() < 6 => self.fork(thread),
            2 => {
                let time = 1 + self.dice.below(80);
                self.add(thread, ScriptStep::Sleep(time));
            }
            3 => self.barrier(),
            4 | 5 => self.post(thread),
            6 | 7 => self.take(),
            8 => self.end(thread),
            9 => self.join(),
            10 => self.flag(thread),
            _ => self.compute(thread),
        }
    }

    fn fork(&mut self, creator: usize) {
        let thread = self.script.threads.len();
        self.script.threads.push(ScriptThread { name: format!("T{thread}"), steps: Vec::new() });
        self.creators.push(creator);
        self.add(creator, ScriptStep::Fork(thread));
        self.alive.push(thread);
        self.compute(thread);
    }

    /// Two or more of those that are there meet.
    fn barrier(&mut self) {
        let members: Vec<usize> = self.alive.clone().into_iter().filter(|_| self.dice.below(3) > 0).collect();
        if members.len() < 2 {
            return;
        }
        let barrier = self.script.barriers.len();
        self.script.barriers.push((format!("b{barrier}"), members.len()));
        for thread in members {
            self.add(thread, ScriptStep::Barrier(barrier));
        }
    }

    fn post(&mut self, from: usize) {
        let own: Vec<usize> = (0..self.lanes.len()).filter(|&lane| self.lanes[lane].from == from).collect();
        let lane = if own.is_empty() || self.dice.below(3) == 0 {
            let to = self.any();
            if to == from {
                return;
            }
            let initial = self.dice.below(3) / 2;
            self.script.semaphores.push((format!("s{}", self.lanes.len()), initial));
            self.lanes.push(ScriptSemaphore { from, to, value: initial });
            self.lanes.len() - 1
        } else {
            own[self.dice.below(own.len() as u64) as usize]
        };
        self.lanes[lane].value += 1;
        self.add(from, ScriptStep::Post(lane));
        self.compute(from);
    }

    fn take(&mut self) {
        let full: Vec<usize> = (0..self.lanes.len())
            .filter(|&lane| self.lanes[lane].value > 0 && self.alive.contains(&self.lanes[lane].to))
            .collect();
        if full.is_empty() {
            return;
        }
        let lane = full[self.dice.below(full.len() as u64) as usize];
        self.lanes[lane].value -= 1;
        self.add(self.lanes[lane].to, ScriptStep::Take(lane));
        self.compute(self.lanes[lane].to);
    }

    fn end(&mut self, thread: usize) {
        if thread != 0 {
            self.alive.retain(|&other| other != thread);
            self.ended.push((thread, self.creators[thread]));
        }
    }

    /// Joins a thread that has ended by the one that created it, if that is there, else by the first.
    fn join(&mut self) {
        let Some((thread, creator)) = self.ended.pop() else { return };
        let joiner = if self.alive.contains(&creator) { creator } else { 0 };
        self.add(joiner, ScriptStep::Join(thread));
        self.compute(joiner);
    }

    /// One sets a flag, others wait for it later.
    fn flag(&mut self, thread: usize) {
        if self.set == 0 || self.dice.below(2) == 0 {
            self.script.flags.push(format!("f{}", self.set));
            self.add(thread, ScriptStep::Set(self.set));
            self.set += 1;
        } else {
            let flag = self.dice.below(self.set as u64) as usize;
            self.add(thread, ScriptStep::Spin(flag));
        }
        self.compute(thread);
    }

    fn finish(mut self) -> Script {
        let others: Vec<usize> = self.alive.iter().copied().filter(|&thread| thread != 0).collect();
        others.into_iter().for_each(|thread| self.end(thread));
        while !self.ended.is_empty() {
            self.join();
        }
        self.script
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Conditions;

    #[test]
    fn random_programs_end_under_every_schedule_and_hold_all_kinds_of_steps() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let script = random_script(seed, 40);
            for processors in [1, 2, 3, usize::MAX] {
                let conditions = Conditions { processors, quantum: 7, ..Conditions::unlimited() };
                let run = script.execute(&conditions);
                assert!(run.elapsed > 0);
            }
            let steps = script.threads.iter().flat_map(|thread| &thread.steps);
            seen.extend(steps.map(|step| format!("{step:?}").split('(').next().unwrap().to_owned()));
        }
        let all = ["Barrier", "Compute", "Fork", "Join", "Post", "Set", "Sleep", "Spin", "Take"];
        assert!(all.iter().all(|step| seen.contains(*step)), "{seen:?}");
    }
}
