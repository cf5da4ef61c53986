/** How to read each view, in the words of a colleague who explains it. */

/** @type {{view: string, title: string, text: string[]}[]} */
export const GUIDES = [
  { view: 'overview', title: 'Overview', text: [
    'Read the sentence at the top first: it names what the run would gain most from. The list below it merges what all metrics say: each change alone, from the most careful to the boldest estimate, errors included. A long bar that begins at zero is a hope; a short bar far from zero is a promise.',
    'If busy threads are few for most of the run, more processors do not help. “Which ranking to trust” says which of the metrics suits this program, and why; cautions say what makes the numbers less certain than they look; smaller notes on their accuracy unfold on demand. What moves with the program shows series from outside that rise or fall with it, each beside its curve: a hint where to look, not a cause.'] },
  { view: 'timeline', title: 'Timeline', text: [
    'A row is a thread, time goes to the right, the colour is the thread’s state. The line through the rows is the critical path: where it goes from one row to another, one thread waited for the other. Drag over a part of the run, and every view answers for that part alone.',
    'Above the rows any metric can be drawn over time: of the threads, from outside (the machine, the process, exporters, the program’s own), or defined by a formula while looking. Two units have an axis each; a gap is a time without any value.'] },
  { view: 'path', title: 'Critical path', text: [
    'The longest chain of work in which each piece had to wait for the one before. What is not on it does not make the run shorter. What is on it can be much and still gain little, where another path is nearly as long: the column zeroing tells.',
    'Move a slider to ask what if the time of a row were a part of what it is, or more: the path is searched anew and the elapsed time predicted. Several changes are predicted together; the address of the page keeps them.'] },
  { view: 'waits', title: 'Waiting', text: [
    'A bar is a place where threads waited. Its parts are why: uneven work (load imbalance), work that only one thread did (insufficient parallelism), or work under a lock and messages (communication and contention). The explanation of a wait sets what the waiter did beside what the one did for whom it waited; the difference is the wait.'] },
  { view: 'objects', title: 'Objects', text: [
    'Locks, conditions, barriers, pipes, with who waited for them and how long, how many stood in the queue, and who held them meanwhile. A lock with long holds is held shorter; one with short holds and many waiters is split.'] },
  { view: 'communication', title: 'Communication', text: [
    'For programs built by `longpole cc` and recorded with `--access`: which procedure, line or object makes threads fetch cache lines from each other, in a simulation of their accesses. The bar of a row says how the data is shared: false sharing needs another layout, migratory data a smaller critical section or one owner. “explain” has the call paths of the requests, of the synchronisation and of the writes behind them.',
    'The matrix says which thread fetches from which. Below it, for one object: which bytes of each unit every thread reads (r), writes (w) or both (rw), and the graph of what leads to what, from the place that wrote (W) through the synchronisation (I) to the place that asked (R). The view source can be shaded by requests.'] },
  { view: 'parallelism', title: 'Parallelism', text: [
    'How long so many threads were busy, and what ran then. For one procedure: with how much company it ran. Work that runs alone counts fully in normalised processor time, work beside three others a quarter.'] },
  { view: 'tree', title: 'Tree', text: [
    'Every metric of the program, its machines, processes, threads and their procedures. Choose the metrics that you want to compare; a column’s title sorts within each parent. Metrics from outside reach down to processes or threads; a dash is a row that has no such value.'] },
  { view: 'flame', title: 'Flame graph', text: [
    'Call paths: the width is the time of the path and all below it. Paths are logical: a thread’s path goes on in the procedure that started it. Compare the widths by CPU time with those by critical path: what becomes narrow does not matter to the run’s length.'] },
  { view: 'source', title: 'Source', text: [
    'The program’s own lines, shaded by their time, with what each line is on the critical path, suffers in waits and causes in the waits of others.'] },
];
