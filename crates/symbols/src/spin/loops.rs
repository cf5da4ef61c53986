//! The loops of a graph, nested.
//!
//! A loop is a strongly connected part of the graph; without the ways back to where it is entered it may fall into
//! inner loops, and so on (the nesting forest of Steensgaard). Loops that are entered at several places are loops too.

use rustc_hash::FxHashSet;

use crate::spin::function::DecodedFunction;

/// One loop.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// Where rounds begin, ascending.
    pub headers: Vec<usize>,
    /// All instructions, those of inner loops included, ascending.
    pub members: Vec<usize>,
    /// The instructions after which a round of this loop, and not of one within it, begins anew.
    pub ends: Vec<usize>,
    /// Number of loops around it.
    pub depth: usize,
    /// Its rounds begin where those of the loop around it begin.
    pub shares_header: bool,
}

impl Loop {
    pub fn has(&self, index: usize) -> bool {
        self.members.binary_search(&index).is_ok()
    }

    /// Whether a loop is one of the loops within another.
    pub fn is_inside(&self, outer: &Loop) -> bool {
        self.depth > outer.depth && self.members.first().is_some_and(|&first| outer.has(first))
    }
}

/// The loops among some instructions of a function, outer loops before inner ones.
pub(crate) fn loops_among(function: &DecodedFunction, members: Vec<usize>) -> Vec<Loop> {
    /// Deeper nests are not followed.
    const DEEPEST: usize = 24;
    let mut found: Vec<Loop> = Vec::new();
    // Parts of the graph to look through: their instructions, and the headers that no way leads back to.
    let mut open: Vec<(Vec<usize>, FxHashSet<usize>, usize)> = vec![(members, FxHashSet::default(), 0)];
    while let Some((members, closed, depth)) = open.pop() {
        for part in components(function, &members, &closed) {
            let headers = entries(function, &part);
            if depth < DEEPEST && part.len() > 1 {
                open.push((part.clone(), headers.iter().copied().collect(), depth + 1));
            }
            let ends =
                part.iter().filter(|&&end| function.following(end).iter().any(|next| headers.contains(next)));
            let ends = ends.copied().collect();
            let mut outer = Loop { headers, ends, members: part, depth, shares_header: false };
            found.extend(inner_ways(function, &mut outer));
            found.push(outer);
        }
    }
    found.sort_by_key(|found| (found.depth, found.members.first().copied()));
    found
}

/// Takes the loops out of a loop whose rounds begin where its own begin:
///
/// ```text
///   L: mov eax, [rdi] ◄─┐ ◄─┐
///      test eax, eax    │   │
///      je L ────────────┘   │   within the way from below
///      add rdi, 4           │
///      jmp L ───────────────┘
/// ```
fn inner_ways(function: &DecodedFunction, outer: &mut Loop) -> Vec<Loop> {
    let ways = ways_of(function, outer);
    let is_part = |way: &Loop, of: &Loop| {
        way.members.len() < of.members.len() && way.members.iter().all(|&member| of.has(member))
    };
    let is_inner: Vec<bool> = ways.iter().map(|way| ways.iter().any(|other| is_part(way, other))).collect();
    let inner: Vec<Loop> =
        ways.into_iter().zip(is_inner).filter(|(_, is_inner)| *is_inner).map(|(way, _)| way).collect();
    outer.ends.retain(|end| !inner.iter().any(|way| way.ends.contains(end)));
    inner
}

/// The ways round of a loop that come back to its header from different places, each alone. A loop with one way back
/// is its own way.
pub(crate) fn ways_of(function: &DecodedFunction, found: &Loop) -> Vec<Loop> {
    let [header] = found.headers[..] else {
        return vec![Loop {
            members: found.members.clone(),
            headers: found.headers.clone(),
            ends: found.ends.clone(),
            ..*found
        }];
    };
    let way = |&end: &usize| {
        let mut members = FxHashSet::from_iter([header]);
        let mut open = vec![end];
        while let Some(index) = open.pop() {
            if members.insert(index) {
                open.extend(function.preceding(index).iter().filter(|before| found.has(**before)));
            }
        }
        let mut members = Vec::from_iter(members);
        members.sort_unstable();
        Loop { headers: vec![header], ends: vec![end], members, depth: found.depth + 1, shares_header: true }
    };
    found.ends.iter().map(way).collect()
}

/// The members of a part of the graph that are entered from elsewhere; its first one where none is.
fn entries(function: &DecodedFunction, part: &[usize]) -> Vec<usize> {
    let is_member = |index: &usize| part.binary_search(index).is_ok();
    let is_entered = |&&index: &&usize| index == 0 || !function.preceding(index).iter().all(is_member);
    let mut entries: Vec<usize> = part.iter().filter(is_entered).copied().collect();
    if entries.is_empty() {
        entries.extend(part.first());
    }
    entries
}

/// Tarjan's algorithm without recursion.
struct LoopSearch<'a> {
    function: &'a DecodedFunction,
    members: &'a [usize],
    closed: &'a FxHashSet<usize>,
    /// By position in `members`: order of discovery, 0 where not discovered; the least order reached.
    order: Vec<usize>,
    least: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

/// The parts with ways round within them, where no way leads to a closed instruction.
fn components(function: &DecodedFunction, members: &[usize], closed: &FxHashSet<usize>) -> Vec<Vec<usize>> {
    let mut search = LoopSearch {
        function,
        members,
        closed,
        order: vec![0; members.len()],
        least: vec![0; members.len()],
        on_stack: vec![false; members.len()],
        stack: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for start in 0..members.len() {
        if search.order[start] == 0 {
            search.from(start);
        }
    }
    search.found
}

impl LoopSearch<'_> {
    fn successors(&self, position: usize) -> Vec<usize> {
        let following = self.function.following(self.members[position]).iter();
        following
            .filter(|next| !self.closed.contains(next))
            .filter_map(|next| self.members.binary_search(next).ok())
            .collect()
    }

    fn discover(&mut self, position: usize) -> (usize, Vec<usize>) {
        self.count += 1;
        self.order[position] = self.count;
        self.least[position] = self.count;
        self.on_stack[position] = true;
        self.stack.push(position);
        (position, self.successors(position))
    }

    fn from(&mut self, start: usize) {
        let mut path = vec![self.discover(start)];
        while let Some((position, rest)) = path.last_mut() {
            let position = *position;
            match rest.pop() {
                Some(next) if self.order[next] == 0 => {
                    let discovered = self.discover(next);
                    path.push(discovered);
                }
                Some(next) if self.on_stack[next] => {
                    self.least[position] = self.least[position].min(self.order[next]);
                }
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((caller, _)) = path.last() {
                        self.least[*caller] = self.least[*caller].min(self.least[position]);
                    }
                    self.close(position);
                }
            }
        }
    }

    /// Takes a part off the stack when its first instruction is done.
    fn close(&mut self, position: usize) {
        if self.least[position] != self.order[position] {
            return;
        }
        let mut part = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.on_stack[member] = false;
            part.push(self.members[member]);
            if member == position {
                break;
            }
        }
        part.sort_unstable();
        let is_loop = part.len() > 1 || self.successors(position).contains(&position);
        if is_loop {
            self.found.push(part);
        }
    }
}
