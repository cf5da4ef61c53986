/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The kernel side of the bpf collector.
 *
 * Sees every context switch, wake, fork, exec and rename of the machine, keeps what is about the tasks in
 * `tracked`, and writes one record each into `ring`. A fork of a tracked task adds the child before it
 * runs; the last switch of a task removes it.
 *
 * A stack is sent once: its key is a hash of everything that unwinding depends on, and `sent` remembers
 * the keys of late. A record names the stack by the key. A stack goes into the ring before the record that
 * names it.
 */
#include "records.h"

#define RING_BYTES (8 << 20)
#define MOST_TASKS 65536
#define MOST_PROCESSES 16384
#define SENT_KEYS (1 << 17)
/* The reader is woken at most this often; otherwise it looks by itself. */
#define ALARM_NANOSECONDS 2000000

char program_license[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader. */
const volatile u32 stack_bytes = 1024;  /* user memory copied for a stack, a multiple of 8, ≤ MOST_MEMORY */
const volatile u32 walk_frame_pointers = 1;
const volatile u32 preempt_count_known = 0;  /* the two offsets below are right */
const volatile s64 preempt_count_from_rq = 0; /* per-CPU variables: __preempt_count − runqueues */
const volatile s64 cpu_number_from_rq = 0;    /* cpu_number − runqueues; a check of the former */
const volatile u32 accounts_known = 0; /* the kernel keeps accounts of its tasks */

struct {
	MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
	MAP_UINT(max_entries, RING_BYTES);
} ring SEC(".maps");

/* tid → pid of the recorded tasks */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_HASH);
	MAP_UINT(max_entries, MOST_TASKS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} tracked SEC(".maps");

/* Keys of stacks and numbers of files that were sent; a lossy table, a clash costs one more sending. */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, SENT_KEYS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} sent SEC(".maps");

/* Executable memory of a process, as the reader has learnt it. */
struct areas {
	u64 program; /* what lies low: the program itself */
	u64 program_size;
	u64 libraries;
	u64 libraries_size;
	u64 generated;
	u64 generated_size;
};

/* by pid; without an entry all large words are taken for addresses */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_HASH);
	MAP_UINT(max_entries, MOST_PROCESSES);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct areas);
} executable SEC(".maps");

/* Rooms to put a stack together in: a program can interrupt another one on its processor, not itself. */
enum { ROOM_SWITCH, ROOM_WAKE, ROOM_FORK, ROOM_SAMPLE, ROOMS };

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, ROOMS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct stack_record);
} rooms SEC(".maps");

enum { LOST_EVENTS, LOST_SAMPLES, LOST_STACKS, LOST_THREADS, CPU_CHECK, LAST_ALARM, CLOCK_DISTANCE, COUNTERS };
#define NOT_COUNTED COUNTERS
enum { CPU_UNCHECKED, CPU_RIGHT, CPU_WRONG };

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, COUNTERS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} counters SEC(".maps");

INLINE u64 *counter(u32 index)
{
	return bpf_map_lookup_elem(&counters, &index);
}

INLINE void count(u32 index)
{
	u64 *value = counter(index);
	if (value)
		*value += 1;
}

INLINE int is_tracked(u32 tid)
{
	return tid != 0 && bpf_map_lookup_elem(&tracked, &tid) != 0;
}

/* Writes a record; wakes the reader when an eighth of the ring is full. */
INLINE long output(void *record, u64 size, u32 lost)
{
	u64 flags = BPF_RB_NO_WAKEUP;
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > RING_BYTES / 8) {
		u64 *last = counter(LAST_ALARM), now = bpf_ktime_get_ns();
		if (last && now - *last > ALARM_NANOSECONDS) {
			*last = now;
			flags = BPF_RB_FORCE_WAKEUP;
		}
	}
	long failed = bpf_ringbuf_output(&ring, record, size, flags);
	if (failed)
		count(lost);
	return failed;
}

/* ---- stacks ------------------------------------------------------------------------------------- */

/*
 * Bytes from `sp` to the end of the stack: the C library puts a thread's own data, to which its thread
 * pointer leads, at the end of its stack; the kernel knows where that of the first thread began.
 */
INLINE u64 stack_depth(struct task_struct *task, struct mm_struct *memory, u64 sp)
{
	u64 thread = task->thread.fsbase - sp, first = memory->start_stack - sp;
	return ((thread < first ? thread : first) + 7) & ~7ull;
}

/*
 * How much memory above `sp` is worth copying where the end of the stack is out of reach. Where the chain
 * of frame pointers holds, memory is needed only up to where it begins: for the frames of libraries without
 * frame pointers.
 */
INLINE u32 memory_wanted(struct stack_record *record)
{
	u32 most = stack_bytes & ~7u;
	u64 to_frame = record->bp - record->sp;
	if (record->user_frames < 3 || to_frame > MOST_MEMORY)
		return most;
	u32 enough = ((u32)to_frame + 16 + 127) & ~127u;
	return enough < most ? enough : most;
}

/* Copies user memory from `sp` upwards; returns how much there was before the mapping's end. */
INLINE u32 copy_memory(u8 *into, u64 sp, u32 want)
{
	if (want > MOST_MEMORY)
		return 0;
	if (bpf_probe_read_user(into, want, (void *)sp) == 0)
		return want;
	/* Near the stack's end, or a page is not present: page by page as far as it goes. */
	u32 got = 0;
	for (int page = 0; page < 3; page++) {
		u32 piece = 4096 - ((sp + got) & 4095);
		if (piece > want - got)
			piece = want - got;
		if (piece == 0 || piece > 4096 || got > MOST_MEMORY - 4096)
			break;
		if (bpf_probe_read_user(into + got, piece, (void *)(sp + got)))
			break;
		got += piece;
	}
	return got & ~7u;
}

#define SHORT_STACK 4096

/* Words of a stack that one step of the hash takes. */
#define STEP_WORDS 8
#define STEPS (sizeof(((struct stack_record *)0)->data) / 8 / STEP_WORDS)

/*
 * A key covers the words that unwinding can depend on: those that lie in executable memory, which can be
 * return addresses, and those that point into the stack, which can be saved frame pointers. All other words
 * are data; they change from call to call and would make each stack a new one.
 */
struct hash {
	struct stack_record *record;
	/* Hashed side by side, so that one multiplication need not wait for the other. */
	u64 lanes[4];
	u64 stack;
	struct areas areas;
};

#define PRIME 0x9e3779b97f4a7c15ull
#define NEAR_STACK (1u << 16)

/* The sign bit says whether the address lies outside; no branch, for the verifier walks every one. */
INLINE u64 outside(u64 word, u64 start, u64 size)
{
	u64 into = word - start;
	return into | (size - 1 - into);
}

INLINE u64 mix(struct hash *hash, u64 lane, u64 word)
{
	u64 counted = 0;
	if (word >= 0x10000) {
		u64 nowhere = outside(word, hash->areas.libraries, hash->areas.libraries_size) &
			      outside(word, hash->areas.program, hash->areas.program_size) &
			      outside(word, hash->stack, NEAR_STACK) &
			      outside(word, hash->areas.generated, hash->areas.generated_size);
		counted = word & ((nowhere >> 63) - 1);
	}
	return (lane ^ counted) * PRIME;
}

static long hash_step(u32 index, struct hash *hash)
{
	if (index >= STEPS)
		return 1;
	u64 *words = (u64 *)hash->record->data + index * STEP_WORDS;
	for (int i = 0; i < 4; i++) {
		u64 lane = mix(hash, hash->lanes[i], words[i]);
		hash->lanes[i] = mix(hash, lane ^ (lane >> 32), words[i + 4]);
	}
	return 0;
}

/* The key of what stands in `record`; its data is followed by zeros up to a whole step. */
INLINE u64 hash_stack(struct stack_record *record, struct task_struct *task, u32 words)
{
	u32 pid = task->tgid;
	struct mm_struct *memory = task->mm;
	struct areas *areas = bpf_map_lookup_elem(&executable, &pid);
	struct hash hash = {
		.record = record,
		.lanes = { pid ^ (task->self_exec_id << 32), record->ip, record->sp, 0 },
		.stack = record->sp,
	};
	if (areas) {
		hash.areas = *areas;
	} else if (memory) {
		hash.areas.program = memory->start_code;
		hash.areas.program_size = memory->end_code - memory->start_code;
		hash.areas.libraries = 1ull << 32;
		hash.areas.libraries_size = (1ull << 47) - (1ull << 32);
	}
	hash.lanes[3] = mix(&hash, 0, record->bp);
	bpf_loop((words + STEP_WORDS - 1) / STEP_WORDS, hash_step, &hash, 0);
	u64 key = 0;
	for (int i = 0; i < 4; i++) {
		key = (key ^ hash.lanes[i]) * PRIME;
		key ^= key >> 29;
	}
	return key ? key : 1;
}

/*
 * Fills in registers, kernel frames, chain and memory; returns the size of the whole record.
 * `kernel` asks for the kernel frames of the interrupted code.
 */
INLINE u32 take(void *context, struct stack_record *record, struct task_struct *task, int kernel)
{
	u32 at = 0;
	record->kernel_frames = 0;
	record->user_frames = 0;
	record->memory_bytes = 0;
	record->ip = 0;
	record->sp = 0;
	record->bp = 0;
	if (kernel) {
		long bytes = bpf_get_stack(context, record->data, MOST_KERNEL_FRAMES * 8, 0);
		if (bytes > 0 && bytes <= MOST_KERNEL_FRAMES * 8) {
			at = bytes & ~7u;
			record->kernel_frames = at / 8;
		}
	}
	struct mm_struct *memory = task->mm;
	if (memory) {
		struct pt_regs *registers = bpf_task_pt_regs(task);
		record->ip = registers->ip;
		record->sp = registers->sp;
		record->bp = registers->bp;
		/* A whole stack needs no chain, and copying a short one is cheaper than following it. */
		u64 depth = stack_depth(task, memory, record->sp);
		u32 want = stack_bytes & ~7u;
		if (depth <= want || depth <= SHORT_STACK) {
			want = depth;
		} else if (walk_frame_pointers && at <= MOST_KERNEL_FRAMES * 8) {
			long bytes = bpf_get_stack(context, record->data + at, MOST_USER_FRAMES * 8,
						   BPF_F_USER_STACK);
			if (bytes > 0 && bytes <= MOST_USER_FRAMES * 8) {
				record->user_frames = (u32)bytes / 8;
				at += bytes & ~7u;
			}
			want = memory_wanted(record);
		}
		if (at <= (MOST_KERNEL_FRAMES + MOST_USER_FRAMES) * 8) {
			record->memory_bytes = copy_memory(record->data + at, record->sp, want);
			at += record->memory_bytes;
		}
	}
	return __builtin_offsetof(struct stack_record, data) + at;
}

/* The key of the stack of `task`, which is the current one; 0 if it has none or it was lost. */
INLINE u64 stack_key(void *context, struct task_struct *task, u64 time, u32 which)
{
	struct stack_record *record = bpf_map_lookup_elem(&rooms, &which);
	if (!record || !task->mm)
		return 0;
	record->head.time = time;
	record->head.kind = RECORD_STACK;
	record->head.flags = 0;
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.pid = task->tgid;
	record->tid = task->pid;
	u32 size = take(context, record, task, 0);
	if (size > sizeof(*record) - STEP_WORDS * 8)
		return 0;
	u64 *slack = (void *)record + size;
	for (int i = 0; i < STEP_WORDS; i++)
		slack[i] = 0;
	u32 words = (size - __builtin_offsetof(struct stack_record, data)) / 8;
	u64 key = hash_stack(record, task, words);
	u32 slot = (u32)(key >> 13) & (SENT_KEYS - 1);
	u64 *known = bpf_map_lookup_elem(&sent, &slot);
	if (known && *known == key)
		return key;
	record->key = key;
	if (output(record, size, LOST_STACKS))
		return 0;
	if (known)
		*known = key;
	return key;
}

/* ---- system calls ------------------------------------------------------------------------------- */

#define SCHED_YIELD 24

/* Whether the first argument of the system call is a descriptor worth looking at when it blocks. */
INLINE int is_on_descriptor(s32 number)
{
	switch (number) {
	case 0: case 1: case 3: case 16: case 17: case 18: case 19: case 20: /* read write close ioctl p… …v */
	case 40: case 42: case 43: case 44: case 45: case 46: case 47: /* sendfile connect accept send… recv… */
	case 72: case 73: case 74: case 75: case 77: /* fcntl flock fsync fdatasync ftruncate */
	case 217: case 275: case 276: case 278: case 285: /* getdents64 splice tee vmsplice fallocate */
	case 288: case 295: case 296: case 299: case 307: /* accept4 preadv pwritev recvmmsg sendmmsg */
	case 326: case 327: case 328: /* copy_file_range preadv2 pwritev2 */
		return 1;
	}
	return 0;
}

INLINE struct file *file_behind(struct task_struct *task, u32 descriptor)
{
	struct files_struct *files = task->files;
	if (!files)
		return 0;
	struct fdtable *table = files->fdt;
	if (!table || descriptor >= table->max_fds)
		return 0;
	struct file *file = 0;
	if (bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor))
		return 0;
	return file;
}

INLINE u8 file_kind(u16 mode)
{
	switch (mode & 0170000) {
	case 0010000:
		return FILE_PIPE;
	case 0140000:
		return FILE_SOCKET;
	case 0020000:
		return FILE_CHARACTER;
	case 0060000:
		return FILE_BLOCK;
	case 0100000:
	case 0040000:
		return FILE_REGULAR;
	}
	return FILE_ANONYMOUS;
}

/* Sends the name of a file, if that was not done of late; files are renamed. */
static NOINLINE int name_file(struct file *file, u64 number, u64 time)
{
	struct file_record record = {
		.head = { .time = time, .kind = RECORD_FILE, .cpu = bpf_get_smp_processor_id() },
		.number = number,
	};
	struct dentry *entry = 0;
	const unsigned char *name = 0;
	if (bpf_probe_read_kernel(&entry, sizeof(entry), &file->f_path.dentry) || !entry)
		return 0;
	if (bpf_probe_read_kernel(&name, sizeof(name), &entry->d_name.name) || !name)
		return 0;
	if (bpf_probe_read_kernel_str(record.name, sizeof(record.name), name) <= 0)
		return 0;
	u64 key = number;
	for (u32 i = 0; i < FILE_NAME_BYTES / 8; i++)
		key = (key ^ ((u64 *)record.name)[i]) * PRIME;
	u32 slot = (u32)(key >> 13) & (SENT_KEYS - 1);
	u64 *known = bpf_map_lookup_elem(&sent, &slot);
	if (known && *known != key && output(&record, sizeof(record), NOT_COUNTED) == 0)
		*known = key;
	return 0;
}

/*
 * Looks at the file behind the descriptor in the first argument of `call`: puts a number that stands for
 * it, the same for both ends of a pipe, into the third argument, and returns its kind.
 */
INLINE u8 look_at_file(struct task_struct *task, struct call *call, u64 time)
{
	struct file *file = file_behind(task, (u32)call->arguments[0]);
	struct inode *inode = 0;
	u16 mode = 0;
	u64 number = 0;
	call->arguments[2] = 0;
	if (!file || bpf_probe_read_kernel(&inode, sizeof(inode), &file->f_inode) || !inode)
		return FILE_NONE;
	if (bpf_probe_read_kernel(&mode, sizeof(mode), &inode->i_mode))
		return FILE_NONE;
	u8 kind = file_kind(mode);
	/* All anonymous files share one inode, and one terminal is as good as another. */
	if (kind == FILE_ANONYMOUS || kind == FILE_CHARACTER)
		return kind;
	if (bpf_probe_read_kernel(&number, sizeof(number), &inode->i_ino))
		return kind;
	if (kind == FILE_REGULAR) {
		struct super_block *system = 0;
		u32 device = 0;
		if (bpf_probe_read_kernel(&system, sizeof(system), &inode->i_sb) || !system)
			return kind;
		if (bpf_probe_read_kernel(&device, sizeof(device), &system->s_dev))
			return kind;
		number ^= (u64)device << 32;
	}
	number = number * PRIME ^ kind;
	call->arguments[2] = number;
	if (kind == FILE_REGULAR)
		name_file(file, number, time);
	return kind;
}

/* Fills in the system call that `task` is in, which has user memory; returns its number, −1 for none. */
INLINE s32 system_call(struct task_struct *task, struct call *call, s16 *number)
{
	struct pt_regs *registers = bpf_task_pt_regs(task);
	s32 entered = (s32)registers->orig_ax;
	/* An exception, an interrupt, or a 32-bit program, whose calls have other numbers. */
	if (entered < 0 || (registers->cs & 0xffff) == 0x23)
		return -1;
	*number = entered;
	call->arguments[0] = registers->di;
	call->arguments[1] = registers->si;
	call->arguments[2] = registers->dx;
	return entered;
}

/* ---- accounts ----------------------------------------------------------------------------------- */

/*
 * The kernel notes when a task got its processor and how long it was kept waiting for one, by the clock of the
 * processor's run queue, which it reads at the beginning of every switch. How far our clock is from that one is
 * kept for samples: between switches the run queue's clock stands still.
 */
INLINE void account(struct switch_record *record, struct task_struct *previous, struct task_struct *next)
{
	u64 clock = previous->se.cfs_rq->rq->clock, distance = record->head.time - clock;
	u64 *kept = counter(CLOCK_DISTANCE);
	if (kept)
		*kept = distance;
	if (record->head.flags & PREVIOUS_TRACKED) {
		u64 arrival = previous->sched_info.last_arrival;
		record->account.arrived = arrival ? arrival + distance : 0;
		record->account.waited = previous->sched_info.run_delay;
	}
	if (record->head.flags & NEXT_TRACKED) {
		u64 queued = next->sched_info.last_queued;
		u64 since = queued && queued < clock ? clock - queued : 0;
		record->next_waited = next->sched_info.run_delay + since;
	}
}

/* The same of the task that a sample found. */
INLINE void account_of_running(struct stack_record *record, struct task_struct *task)
{
	u64 *distance = counter(CLOCK_DISTANCE), arrival = task->sched_info.last_arrival;
	record->account.arrived = distance && *distance && arrival ? arrival + *distance : 0;
	record->account.waited = task->sched_info.run_delay;
}

/* ---- the programs ------------------------------------------------------------------------------- */

#define TASK_DEAD 0x80

INLINE u8 why_it_left(int preempted, u32 state, struct task_struct *task)
{
	if (preempted || state == 0)
		return LEFT_RUNNABLE;
	if (state & TASK_DEAD)
		return LEFT_DEAD;
	if (state & 0x0c)
		return LEFT_STOPPED;
	if (state & 0x01)
		return LEFT_INTERRUPTIBLE;
	return task->in_iowait ? LEFT_DEVICE : LEFT_UNINTERRUPTIBLE;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *context)
{
	int preempted = (int)context[0];
	struct task_struct *previous = (void *)context[1];
	struct task_struct *next = (void *)context[2];
	u32 state = (u32)context[3];

	u32 previous_tid = previous->pid, next_tid = next->pid;
	u64 time = 0, key = 0;
	u8 flags = 0;
	if (is_tracked(previous_tid)) {
		flags = PREVIOUS_TRACKED;
		time = bpf_ktime_get_ns();
		/* Before anything that branches: the verifier walks this for every way that leads here. */
		if (!preempted && (state & ~TASK_DEAD) && previous->mm)
			key = stack_key(context, previous, time, ROOM_SWITCH);
	}
	if (is_tracked(next_tid)) {
		flags |= NEXT_TRACKED;
		if (time == 0)
			time = bpf_ktime_get_ns();
	}
	if (flags == 0)
		return 0;

	struct switch_record record = {
		.head = { .time = time, .kind = RECORD_SWITCH, .cpu = bpf_get_smp_processor_id() },
		.previous_tid = previous_tid,
		.next_tid = next_tid,
		.next_pid = next->tgid,
		.number = -1,
	};
	u64 size = __builtin_offsetof(struct switch_record, call);
	record.head.pid = previous->tgid;
	if (flags & PREVIOUS_TRACKED) {
		record.left = why_it_left(preempted, state, previous);
		if (record.left == LEFT_RUNNABLE) {
			/* Pre-empted, wherever it was, or it yielded. */
			if (!preempted && system_call(previous, &record.call, &record.number) == SCHED_YIELD)
				flags |= HAS_CALL;
		} else if (record.left == LEFT_DEAD) {
			bpf_map_delete_elem(&tracked, &previous_tid);
		} else if (previous->mm) {
			s32 number = system_call(previous, &record.call, &record.number);
			if (is_on_descriptor(number))
				record.file = look_at_file(previous, &record.call, time);
			record.call.key = key;
			flags |= HAS_CALL;
		}
		if (flags & HAS_CALL)
			size = sizeof(record);
	}
	record.head.flags = flags;
	if (accounts_known)
		account(&record, previous, next);
	output(&record, size, LOST_EVENTS);
	return 0;
}

/*
 * Where the current code runs. The kernel keeps this in a per-CPU variable that programs cannot name, but
 * every task leads to its processor's run queue, another per-CPU variable at a known distance.
 */
INLINE u8 waking_context(struct task_struct *current)
{
	if (preempt_count_known) {
		u64 *check = counter(CPU_CHECK);
		struct cfs_rq *queue = current->se.cfs_rq;
		if (check && queue && *check != CPU_WRONG) {
			u64 rq = (u64)queue->rq;
			u32 value = 0;
			if (*check == CPU_UNCHECKED) {
				bpf_probe_read_kernel(&value, sizeof(value), (void *)(rq + cpu_number_from_rq));
				*check = value == bpf_get_smp_processor_id() ? CPU_RIGHT : CPU_WRONG;
			}
			if (*check == CPU_RIGHT &&
			    !bpf_probe_read_kernel(&value, sizeof(value), (void *)(rq + preempt_count_from_rq))) {
				if (value & 0x00ff0000)
					return CONTEXT_INTERRUPT;
				return value & 0x100 ? CONTEXT_SOFT_INTERRUPT : CONTEXT_TASK;
			}
		}
	}
	/* Without it: a task that has not entered the kernel by itself can only have been interrupted. */
	if (current->pid == 0)
		return CONTEXT_INTERRUPT;
	if (current->mm && (s32)bpf_task_pt_regs(current)->orig_ax < 0)
		return CONTEXT_INTERRUPT;
	return CONTEXT_TASK;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *context)
{
	struct task_struct *wakee = (void *)context[0];
	u32 wakee_tid = wakee->pid;
	if (!is_tracked(wakee_tid))
		return 0;
	struct task_struct *current = bpf_get_current_task_btf();
	struct wake_record record = {
		.head = { .time = bpf_ktime_get_ns(), .kind = RECORD_WAKE, .cpu = bpf_get_smp_processor_id() },
		.wakee_tid = wakee_tid,
		.wakee_pid = wakee->tgid,
		.waker_tid = current->pid,
		.context = waking_context(current),
		.number = -1,
	};
	record.head.pid = current->tgid;
	u64 size = __builtin_offsetof(struct wake_record, call);
	if (is_tracked(record.waker_tid)) {
		record.head.flags = WAKER_TRACKED;
		/* A soft interrupt delivers what the task sends over loopback, within its call. */
		if (record.context != CONTEXT_INTERRUPT && current->mm) {
			record.head.flags |= HAS_CALL;
			size = sizeof(record);
			record.call.key = stack_key(context, current, record.head.time, ROOM_WAKE);
			system_call(current, &record.call, &record.number);
		}
	} else if (record.context == CONTEXT_TASK) {
		bpf_probe_read_kernel(record.comm, sizeof(record.comm), &current->comm);
		size += sizeof(record.comm);
	}
	output(&record, size, LOST_EVENTS);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int sched_process_fork(u64 *context)
{
	struct task_struct *parent = (void *)context[0];
	struct task_struct *child = (void *)context[1];
	if (!is_tracked(parent->pid))
		return 0;
	struct fork_record record = {
		.head = { .time = bpf_ktime_get_ns(), .kind = RECORD_FORK, .cpu = bpf_get_smp_processor_id() },
		.parent_tid = parent->pid,
		.child_tid = child->pid,
		.child_pid = child->tgid,
	};
	record.head.pid = parent->tgid;
	if (bpf_map_update_elem(&tracked, &record.child_tid, &record.child_pid, BPF_ANY))
		count(LOST_THREADS);
	record.key = stack_key(context, parent, record.head.time, ROOM_FORK);
	output(&record, sizeof(record), LOST_EVENTS);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int sched_process_exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	u32 old_tid = (u32)context[1], tid = task->pid, pid = task->tgid;
	struct linux_binprm *program = (void *)context[2];
	if (!is_tracked(old_tid) && !is_tracked(tid))
		return 0;
	/* A thread that executes a program takes the place, and the tid, of its process's first thread. */
	if (old_tid != tid)
		bpf_map_delete_elem(&tracked, &old_tid);
	bpf_map_update_elem(&tracked, &tid, &pid, BPF_ANY);
	struct exec_record record = {
		.head = { .time = bpf_ktime_get_ns(), .kind = RECORD_EXEC, .cpu = bpf_get_smp_processor_id() },
		.tid = tid,
		.old_tid = old_tid,
	};
	record.head.pid = pid;
	bpf_probe_read_kernel_str(record.path, sizeof(record.path), program->filename);
	output(&record, sizeof(record), LOST_EVENTS);
	return 0;
}

SEC("tp_btf/task_rename")
int task_rename(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	const char *name = (const char *)context[1];
	if (!is_tracked(task->pid))
		return 0;
	struct name_record record = {
		.head = { .time = bpf_ktime_get_ns(), .kind = RECORD_NAME, .cpu = bpf_get_smp_processor_id() },
		.tid = task->pid,
	};
	record.head.pid = task->tgid;
	bpf_probe_read_kernel_str(record.comm, sizeof(record.comm), name);
	output(&record, sizeof(record), LOST_EVENTS);
	return 0;
}

SEC("perf_event")
int sample(struct sample_context *context)
{
	u64 ids = bpf_get_current_pid_tgid();
	u32 which = ROOM_SAMPLE;
	if (!is_tracked((u32)ids))
		return 0;
	struct stack_record *record = bpf_map_lookup_elem(&rooms, &which);
	if (!record)
		return 0;
	int kernel = (context->cs & 3) == 0;
	record->head.time = bpf_ktime_get_ns();
	record->head.kind = RECORD_SAMPLE;
	record->head.flags = kernel ? IN_KERNEL : 0;
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.pid = ids >> 32;
	record->tid = (u32)ids;
	record->key = 0;
	struct task_struct *task = bpf_get_current_task_btf();
	if (accounts_known)
		account_of_running(record, task);
	u32 size = take(context, record, task, kernel);
	if (size <= sizeof(*record))
		output(record, size, LOST_SAMPLES);
	return 0;
}
