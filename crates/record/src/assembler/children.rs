//! Which child a wait for children is given: of those that have ended the one that was created first, as the kernel looks.
//!
//! A wait that finds none waits for the next end, or goes on without one: a later wait of the process is given that child
//! then, though another may have got it before. That it had ended by then is true in any case.

use longpole_event::ThreadId;
use rustc_hash::FxHashMap;

/// Children of one process that nobody was seen to wait for.
const MOST_CHILDREN: usize = 4096;

/// A child process.
#[derive(Clone, Copy, Debug)]
struct ChildProcess {
    pid: u32,
    first: ThreadId,
    has_ended: bool,
}

/// The children of every recorded process, in the order of their creation.
#[derive(Debug, Default)]
pub(super) struct Children {
    of: FxHashMap<u32, Vec<ChildProcess>>,
    parents: FxHashMap<u32, u32>,
}

impl Children {
    /// A process was created by another; `first` is its thread.
    pub(super) fn begin(&mut self, parent: u32, pid: u32, first: ThreadId) {
        let children = self.of.entry(parent).or_default();
        if children.len() >= MOST_CHILDREN {
            children.remove(0);
        }
        children.push(ChildProcess { pid, first, has_ended: false });
        self.parents.insert(pid, parent);
    }

    /// A process has ended, with all its threads; its children are nobody's that is recorded.
    pub(super) fn end(&mut self, pid: u32) {
        self.of.remove(&pid);
        let Some(parent) = self.parents.remove(&pid) else { return };
        let children = self.of.get_mut(&parent).into_iter().flatten();
        children.filter(|child| child.pid == pid).for_each(|child| child.has_ended = true);
    }

    /// A process waits for this child, or for any where it has no such child: the first thread of the one that it is
    /// given, if one has ended.
    pub(super) fn wait(&mut self, parent: u32, pid: u32) -> Option<ThreadId> {
        let children = self.of.get_mut(&parent)?;
        let is_one = children.iter().any(|child| child.pid == pid);
        let given = children.iter().position(|child| child.has_ended && (!is_one || child.pid == pid))?;
        Some(children.remove(given).first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_children_that_have_ended_the_eldest_is_given() {
        let mut children = Children::default();
        for pid in [11, 12, 13] {
            children.begin(10, pid, ThreadId(pid));
        }
        assert_eq!(children.wait(10, 0), None);
        children.end(13);
        children.end(12);
        assert_eq!(children.wait(10, 11), None, "it has not ended");
        assert_eq!([children.wait(10, 0), children.wait(10, 0)], [Some(ThreadId(12)), Some(ThreadId(13))]);
        children.end(11);
        // A process group, of which the pid is no child's.
        assert_eq!(children.wait(10, 99), Some(ThreadId(11)));
        assert_eq!(children.wait(10, 0), None);
    }
}
