//! Tasks: work that one thread hands out and another, or the same one later, does.

use core::ffi::CStr;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::lookup::agent;

/// A task that was made: work of it is shown, and charged, under the call path at which it was made, whichever thread
/// does it.
///
/// ```
/// use longpole_runtime::Task;
///
/// let task = Task::spawn();
/// std::thread::spawn(move || task.run(c"sum", || 1 + 1)).join().unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task(u64);

impl Task {
    /// The calling thread makes a task here.
    #[inline]
    pub fn spawn() -> Task {
        // SAFETY: no preconditions.
        Task(agent().map_or(0, |agent| unsafe { (agent.task_spawn)() }))
    }

    /// Does work of the task. A task may be run in several parts.
    #[inline]
    pub fn run<R>(self, name: &'static CStr, work: impl FnOnce() -> R) -> R {
        let _part = self.begin(name);
        work()
    }

    /// Begins a part of the task, which ends when the result is dropped.
    #[inline]
    pub fn begin(self, name: &'static CStr) -> TaskPart {
        if let Some(agent) = agent() {
            // SAFETY: the name is a string that lives for ever.
            unsafe { (agent.task_begin)(self.0, name.as_ptr()) };
        }
        TaskPart(PhantomData)
    }

    /// A future that does its work as this task: each poll is a part of it.
    #[inline]
    pub fn of<F: Future>(self, name: &'static CStr, future: F) -> TaskFuture<F> {
        TaskFuture { task: self, name, future }
    }
}

/// Makes a task here, of work that is done later: calling the result does it.
///
/// ```
/// use longpole_runtime::task;
///
/// // Also for `rayon::spawn`, a scope's `spawn`, both sides of `rayon::join`, a channel of closures, ...
/// std::thread::spawn(task(c"sum", || 1 + 1)).join().unwrap();
/// ```
#[inline]
pub fn task<R>(name: &'static CStr, work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let task = Task::spawn();
    move || task.run(name, work)
}

/// A part of a task, in which the thread is until this is dropped.
#[derive(Debug)]
#[must_use = "the part of the task ends when this is dropped"]
pub struct TaskPart(PhantomData<*const ()>);

impl Drop for TaskPart {
    #[inline]
    fn drop(&mut self) {
        if let Some(agent) = agent() {
            // SAFETY: this thread began a part (this cannot be sent), and leaves what it entered inside before.
            unsafe { (agent.task_end)() };
        }
    }
}

/// A future whose polls are parts of a task; see [`Task::of`].
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct TaskFuture<F> {
    task: Task,
    name: &'static CStr,
    future: F,
}

impl<F: Future> Future for TaskFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let (task, name) = (self.task, self.name);
        // SAFETY: `future` is never moved out of the pinned structure, which has no Drop of its own.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        task.run(name, || future.poll(context))
    }
}
