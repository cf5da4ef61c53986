//! How often nodes were released in an execution, and which threads wait for more.
//!
//! ```text
//!   node n, released 2 times      first ─► T4 wants 3 ─► T7 wants 3 ─► T1 wants 5 ◄─ last
//!   released once more            T4 and T7 go on, in the order in which they came
//! ```
//! A thread waits for one node at a time, so each thread has one place in one chain, and nothing is allocated while the plan is executed.
//!
//! Time: constant for a release and for each thread that it lets go; also for a wait, unless threads that came earlier want more releases.
//! Memory: 12 bytes a node, 8 bytes a thread.

use super::plan::NodeId;

/// No thread.
const NOBODY: u32 = u32::MAX;

/// Releases of all nodes.
#[derive(Clone, Debug)]
pub(super) struct NodeReleases {
    nodes: Vec<ReleasedNode>,
    /// By thread.
    waiting: Vec<NodeWait>,
}

#[derive(Clone, Copy, Debug)]
struct ReleasedNode {
    releases: u32,
    /// The chain of threads that wait, those that want fewest releases first.
    first: u32,
    last: u32,
}

/// What a thread that waits wants, and who comes after it.
#[derive(Clone, Copy, Debug)]
struct NodeWait {
    wanted: u32,
    next: u32,
}

impl NodeReleases {
    /// No releases yet.
    pub fn new(nodes: usize, threads: usize) -> Self {
        let node = ReleasedNode { releases: 0, first: NOBODY, last: NOBODY };
        NodeReleases {
            nodes: vec![node; nodes],
            waiting: vec![NodeWait { wanted: 0, next: NOBODY }; threads],
        }
    }

    /// Whether the node was released so often.
    pub fn has(&self, node: NodeId, releases: u32) -> bool {
        self.nodes[node.0 as usize].releases >= releases
    }

    /// The thread waits for so many releases, and for one more at least.
    pub fn wait(&mut self, thread: u32, node: NodeId, releases: u32) {
        let node = &mut self.nodes[node.0 as usize];
        let wanted = releases.max(node.releases + 1);
        let (mut before, mut after) = (node.last, NOBODY);
        if before != NOBODY && self.waiting[before as usize].wanted > wanted {
            (before, after) = (NOBODY, node.first);
            while self.waiting[after as usize].wanted <= wanted {
                (before, after) = (after, self.waiting[after as usize].next);
            }
        }
        self.waiting[thread as usize] = NodeWait { wanted, next: after };
        match before {
            NOBODY => node.first = thread,
            before => self.waiting[before as usize].next = thread,
        }
        if after == NOBODY {
            node.last = thread;
        }
    }

    /// The node is released: adds those that waited for that, in the order in which they came.
    pub fn release(&mut self, node: NodeId, let_go: &mut Vec<u32>) {
        let node = &mut self.nodes[node.0 as usize];
        node.releases += 1;
        while node.first != NOBODY {
            let NodeWait { wanted, next } = self.waiting[node.first as usize];
            if wanted > node.releases {
                return;
            }
            let_go.push(node.first);
            node.first = next;
        }
        node.last = NOBODY;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same with a list for each node, looked through at each release.
    #[derive(Default)]
    struct Lists {
        releases: [u32; 3],
        waiting: [Vec<(u32, u32)>; 3],
    }

    impl Lists {
        fn release(&mut self, node: usize) -> Vec<u32> {
            self.releases[node] += 1;
            let releases = self.releases[node];
            self.waiting[node].extract_if(.., |waiting| waiting.1 <= releases).map(|it| it.0).collect()
        }
    }

    proptest! {
        /// Threads go on at the releases that they want, in the order in which they came.
        #[test]
        fn those_that_waited_go_on_in_order(
            acts in proptest::collection::vec((0..3_u32, 0..12_u32, 0..5_u32), 1..120)
        ) {
            let (mut found, mut lists) = (NodeReleases::new(3, 8), Lists::default());
            let mut is_waiting = [false; 8];
            for (node, thread, more) in acts {
                let (id, wanted) = (NodeId(node), lists.releases[node as usize] + more);
                if thread < 8 && !is_waiting[thread as usize] {
                    prop_assert_eq!(found.has(id, wanted), more == 0);
                    found.wait(thread, id, wanted);
                    lists.waiting[node as usize].push((thread, wanted));
                    is_waiting[thread as usize] = true;
                } else {
                    let mut let_go = Vec::new();
                    found.release(id, &mut let_go);
                    prop_assert_eq!(&let_go, &lists.release(node as usize));
                    let_go.iter().for_each(|&thread| is_waiting[thread as usize] = false);
                }
            }
        }
    }
}
