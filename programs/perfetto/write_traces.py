#!/usr/bin/env python3
"""Writes Perfetto traces with known answers, by the schema that Perfetto's own Python package has.

    write_traces.py FOLDER

Needs the package perfetto of PyPI (pip install perfetto protobuf). The traces that tests use were made by it:
    write_traces.py crates/record/tests/fixtures/perfetto
"""

import sys
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

MS = 1_000_000
APP, LATE, EARLY = 100, 101, 102
SLEEPS = 1


def tree(trace):
    """The process app with its threads, and a thread of the kernel."""
    found = trace.packet.add().process_tree
    for pid, parent, words in [(APP, 1, ["/usr/bin/app", "--fast"]), (7, 2, ["kworker/0:1"])]:
        process = found.processes.add()
        process.pid, process.ppid = pid, parent
        process.cmdline.extend(words)
    for tid, name in [(APP, "app"), (LATE, "late"), (EARLY, "early")]:
        thread = found.threads.add()
        thread.tid, thread.tgid, thread.name = tid, APP, name


def switches(trace, cpu, rows, wakes):
    """A bundle of columns: (time, state of the task before, next task), (time, woken task)."""
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = 1
    packet.ftrace_events.cpu = cpu
    columns = packet.ftrace_events.compact_sched
    names = {0: "swapper", APP: "app", LATE: "late", EARLY: "early", 7: "kworker/0:1"}
    columns.intern_table.extend(names.values())
    number = {tid: place for place, tid in enumerate(names)}
    before = 0
    for time, state, following in rows:
        columns.switch_timestamp.append(time - before)
        columns.switch_prev_state.append(state)
        columns.switch_next_pid.append(following)
        columns.switch_next_prio.append(120)
        columns.switch_next_comm_index.append(number[following])
        before = time
    before = 0
    for time, woken in wakes:
        columns.waking_timestamp.append(time - before)
        columns.waking_pid.append(woken)
        columns.waking_target_cpu.append(0)
        columns.waking_prio.append(120)
        columns.waking_comm_index.append(number[woken])
        columns.waking_common_flags.append(0)
        before = time


def stacks(packet, procedures):
    """Interns a stack for each procedure: main, which calls it; stack n is that of procedure n."""
    packet.sequence_flags = 1
    data = packet.interned_data
    path = data.mapping_paths.add()
    path.iid, path.str = 1, b"usr/bin/app"
    mapping = data.mappings.add()
    mapping.iid = 1
    mapping.path_string_ids.append(1)
    for number, name in enumerate(["main", *procedures]):
        function = data.function_names.add()
        function.iid, function.str = number + 1, name.encode()
        frame = data.frames.add()
        frame.iid, frame.function_name_id, frame.mapping_id = number + 1, number + 1, 1
        frame.rel_pc = 0x1000 * (number + 1)
        if number:
            stack = data.callstacks.add()
            stack.iid = number
            stack.frame_ids.extend([1, number + 1])


def samples(trace, rows, procedures):
    """Samples by the monotonic clock: (time, thread, stack)."""
    for place, (time, tid, stack) in enumerate(sorted(rows)):
        packet = trace.packet.add()
        packet.trusted_packet_sequence_id = 2
        packet.timestamp, packet.timestamp_clock_id = time - 500 * MS, 3
        if place == 0:
            stacks(packet, procedures)
        sample = packet.perf_sample
        sample.pid, sample.tid, sample.callstack_iid, sample.cpu_mode = APP, tid, stack, 2


def clocks(trace):
    """The monotonic clock is half a second behind the one since the machine's start."""
    snapshot = trace.packet.add().clock_snapshot
    for number, time in [(6, 1000 * MS), (3, 500 * MS)]:
        clock = snapshot.clocks.add()
        clock.clock_id, clock.timestamp = number, time


def late_partner():
    """`early` computes 20 ms and sleeps until `late`, which computes 60 ms in each of 10 rounds, wakes it."""
    trace = schema.Trace()
    clocks(trace)
    begin, taken = 1000 * MS, []
    rows = {0: [(begin, 0, LATE)], 1: [(begin, 0, EARLY)]}
    wakes = []
    for number in range(10):
        at = begin + 60 * number * MS
        taken += [(at + step * MS + MS // 2, LATE, 1) for step in range(60)]
        taken += [(at + step * MS + MS // 2, EARLY, 2) for step in range(20)]
        rows[1] += [(at + 20 * MS, SLEEPS, 0), (at + 60 * MS + 1000, 0, EARLY)]
        wakes.append((at + 60 * MS, EARLY))
    end = begin + 600 * MS
    rows[0].append((end + MS, SLEEPS, 0))
    rows[1].append((end + MS, SLEEPS, 0))
    # Bundles of two CPUs, not in the order of time; names come last, as a scan of processes may be late.
    switches(trace, 1, rows[1], [])
    switches(trace, 0, rows[0], wakes)
    samples(trace, taken, ["compute_late", "compute_early"])
    tree(trace)
    return trace


def slices():
    """A thread with slices by Perfetto's own library, and no scheduling: 30 ms of load with 10 ms of parse in it, then 20 ms of draw."""
    trace = schema.Trace()
    clocks(trace)
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = 3
    packet.track_descriptor.uuid = 11
    thread = packet.track_descriptor.thread
    thread.pid, thread.tid, thread.thread_name = APP, LATE, "late"
    process = trace.packet.add()
    process.track_descriptor.uuid = 10
    process.track_descriptor.process.pid, process.track_descriptor.process.process_name = APP, "app"
    rows = [(0, "load"), (10, "parse"), (20, None), (30, None), (50, "draw"), (70, None)]
    names = {"load": 1, "parse": 2, "draw": 3}
    for place, (at, name) in enumerate(rows):
        packet = trace.packet.add()
        packet.trusted_packet_sequence_id, packet.timestamp = 3, 1000 * MS + at * MS
        if place == 0:
            packet.sequence_flags = 1
            packet.trace_packet_defaults.track_event_defaults.track_uuid = 11
            for text, number in names.items():
                entry = packet.interned_data.event_names.add()
                entry.iid, entry.name = number, text
        event = packet.track_event
        event.type = 1 if name else 2
        if name:
            event.name_iid = names[name]
    return trace


def events():
    """Whole events: main makes a thread, which computes 5 ms and ends; an interrupt wakes main, which slept for 10 ms."""
    trace = schema.Trace()
    packet = trace.packet.add()
    packet.ftrace_events.cpu = 0
    begin = 1000 * MS

    def event(at, tid):
        found = packet.ftrace_events.event.add()
        found.timestamp, found.pid = begin + at * MS, tid
        return found

    def switch(at, before, state, following):
        found = event(at, before).sched_switch
        found.prev_pid, found.prev_state, found.next_pid = before, state, following
        found.prev_comm = found.next_comm = "app"

    made = event(1, APP).task_newtask
    made.pid, made.comm, made.clone_flags = LATE, "app", 0x10000
    switch(2, APP, SLEEPS, LATE)
    renamed = event(3, LATE).task_rename
    renamed.pid, renamed.newcomm = LATE, "worker"
    exits = event(7, LATE).sched_process_exit
    exits.pid, exits.tgid = LATE, APP
    switch(7, LATE, 0x10, 0)
    event(12, 0).irq_handler_entry.irq = 3
    event(12, 0).sched_waking.pid = APP
    event(12, 0).irq_handler_exit.irq = 3
    switch(12, 0, 0, APP)
    switch(20, APP, SLEEPS, 0)
    tree(trace)
    return trace


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (late_partner, slices, events):
        (folder / f"{make.__name__}.pftrace").write_bytes(make().SerializeToString())


main()
