#!/usr/bin/env python3
"""Turns the output of perf script into a Perfetto trace, by the schema that Perfetto's own Python package has.

    perf record -a -k CLOCK_BOOTTIME ... is not needed: perf's clock stands for the machine's, as all times are of one clock.
    perf script --ns -F comm,pid,tid,cpu,time,event,trace,ip,sym,dso --show-task-events -i perf.data |
        perf_script_to_perfetto.py OUT.pftrace [--compact]

Needs the package perfetto of PyPI (pip install perfetto protobuf).
"""

import re
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

HEADER = re.compile(r"^\s*(.+?)\s+(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+(\S+):(?:\s+(.*))?$")
FRAME = re.compile(r"^\s+([0-9a-f]+)\s+(.*) \((.*)\)$")
SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)"
)
WAKING = re.compile(r"comm=(.*) pid=(\d+) prio=(-?\d+) (?:success=\d+ )?target_cpu=(\d+)")
STATES = {"R": 0, "S": 1, "D": 2, "T": 4, "t": 8, "X": 0x10, "Z": 0x20, "P": 0x40, "I": 0x80}


def events(lines):
    """Yields (comm, pid, tid, cpu, time, event, text, frames innermost first)."""
    head, frames = None, []
    for line in lines:
        found = HEADER.match(line)
        if found:
            if head:
                yield *head, frames
            comm, pid, tid, cpu, seconds, fraction, event, text = found.groups()
            time = int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))
            head, frames = (comm, int(pid), int(tid), int(cpu), time, event, text), []
        elif head and (found := FRAME.match(line)):
            frames.append(found.groups())
    if head:
        yield *head, frames


class Trace:
    """A trace that is being written: bundles for each CPU, samples with interned stacks."""

    def __init__(self, is_compact):
        self.trace, self.is_compact = schema.Trace(), is_compact
        self.bundles, self.last, self.processes, self.threads = {}, {}, {}, {}
        self.interned = {kind: {} for kind in ("functions", "paths", "mappings", "frames", "stacks")}
        self.is_first_sample = True

    def bundle(self, cpu):
        """The bundle of a CPU; one of at most 200 events."""
        found = self.bundles.get(cpu)
        if found is None or len(found.event) + len(found.compact_sched.switch_timestamp) >= 200:
            packet = self.trace.packet.add()
            packet.trusted_packet_sequence_id = 1
            found = self.bundles[cpu] = packet.ftrace_events
            found.cpu = cpu
            # Times in columns are differences, from 0 in each bundle: of switches, of wakes.
            self.last[cpu] = [0, 0]
        return found

    def comm(self, bundle, name):
        table = bundle.compact_sched.intern_table
        if name not in table:
            table.append(name)
        return list(table).index(name)

    def know(self, pid, tid, comm):
        if pid > 0:
            if tid == pid:
                self.processes[pid] = comm
            self.processes.setdefault(pid, comm)
            self.threads[tid] = (pid, comm)

    def switch(self, cpu, time, found):
        comm, previous, priority, state, next_comm, following, next_priority = found.groups()
        bits = sum(STATES.get(letter.rstrip("+"), 0) for letter in state.split("|"))
        bundle = self.bundle(cpu)
        if self.is_compact:
            columns = bundle.compact_sched
            columns.switch_timestamp.append(time - self.last[cpu][0])
            self.last[cpu][0] = time
            columns.switch_prev_state.append(bits)
            columns.switch_next_pid.append(int(following))
            columns.switch_next_prio.append(int(next_priority))
            columns.switch_next_comm_index.append(self.comm(bundle, next_comm))
            return
        event = bundle.event.add()
        event.timestamp, event.pid = time, int(previous)
        switch = event.sched_switch
        switch.prev_comm, switch.prev_pid, switch.prev_prio = comm, int(previous), int(priority)
        switch.prev_state = bits
        switch.next_comm, switch.next_pid, switch.next_prio = next_comm, int(following), int(next_priority)

    def waking(self, cpu, time, tid, found):
        comm, wakee, priority, target = found.groups()
        bundle = self.bundle(cpu)
        if self.is_compact:
            columns = bundle.compact_sched
            columns.waking_timestamp.append(time - self.last[cpu][1])
            self.last[cpu][1] = time
            columns.waking_pid.append(int(wakee))
            columns.waking_target_cpu.append(int(target))
            columns.waking_prio.append(int(priority))
            columns.waking_comm_index.append(self.comm(bundle, comm))
            columns.waking_common_flags.append(0)
            return
        event = bundle.event.add()
        event.timestamp, event.pid = time, max(tid, 0)
        waking = event.sched_waking
        waking.comm, waking.pid, waking.prio, waking.target_cpu = comm, int(wakee), int(priority), int(target)

    def intern(self, packet, kind, key, make):
        table = self.interned[kind]
        if key not in table:
            table[key] = len(table) + 1
            make(packet.interned_data, table[key])
        return table[key]

    def text(self, packet, kind, field, text):
        def make(data, number):
            entry = getattr(data, field).add()
            entry.iid, entry.str = number, text.encode()

        return self.intern(packet, kind, text, make)

    def frame(self, packet, address, symbol, file):
        function = self.text(packet, "functions", "function_names", symbol.split("+")[0])
        part = self.text(packet, "paths", "mapping_paths", file.strip("/"))

        def mapping(data, number):
            entry = data.mappings.add()
            entry.iid = number
            entry.path_string_ids.append(part)

        place = self.intern(packet, "mappings", file, mapping)

        def make(data, number):
            entry = data.frames.add()
            entry.iid, entry.function_name_id, entry.mapping_id, entry.rel_pc = number, function, place, int(address, 16)

        return self.intern(packet, "frames", (address, symbol, file), make)

    def sample(self, cpu, time, pid, tid, frames):
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id, packet.timestamp = 2, time
        if self.is_first_sample:
            packet.sequence_flags, self.is_first_sample = 1, False
        known = [self.frame(packet, *frame) for frame in reversed(frames)]

        def make(data, number):
            entry = data.callstacks.add()
            entry.iid = number
            entry.frame_ids.extend(known)

        sample = packet.perf_sample
        sample.cpu, sample.pid, sample.tid = cpu, pid, tid
        if frames:
            sample.callstack_iid = self.intern(packet, "stacks", tuple(known), make)
            is_kernel = "kernel" in frames[0][2]
            sample.cpu_mode = 1 if is_kernel else 2

    def finish(self):
        tree = self.trace.packet.add().process_tree
        for pid, comm in sorted(self.processes.items()):
            process = tree.processes.add()
            process.pid = pid
            process.cmdline.append(comm)
        for tid, (pid, comm) in sorted(self.threads.items()):
            thread = tree.threads.add()
            thread.tid, thread.tgid, thread.name = tid, pid, comm
        return self.trace.SerializeToString()


def main():
    trace = Trace("--compact" in sys.argv)
    for comm, pid, tid, cpu, time, event, text, frames in events(sys.stdin):
        trace.know(pid, tid, comm)
        if event.endswith("sched_switch") and (found := SWITCH.match(text)):
            trace.switch(cpu, time, found)
        elif event.endswith("sched_waking") and (found := WAKING.match(text)):
            trace.waking(cpu, time, tid, found)
        elif "clock" in event and tid > 0:
            trace.sample(cpu, time, pid, tid, frames)
    with open(sys.argv[1], "wb") as file:
        file.write(trace.finish())


main()
