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
 * names it. Where `known_stacks` has the stack's registers and all words that counted, nothing is hashed.
 */
#include "records.h"

#define RING_BYTES (8 << 20)
#define MOST_TASKS 65536
#define MOST_PROCESSES 16384
#define SENT_KEYS (1 << 17)
/* The reader is woken at most this often; otherwise it looks by itself. */
#define ALARM_NANOSECONDS 2000000

char program_license[] SEC("license") = "Dual MIT/GPL";

/* Stacks that are known on a processor, at least. */
#define KNOWN_STACKS 256

/* Set by the loader. */
const volatile u32 stack_bytes = 1024;  /* user memory copied for a stack, a multiple of 8, ≤ MOST_MEMORY */
const volatile u32 walk_frame_pointers = 1;
const volatile u32 preempt_count_known = 0;  /* the two offsets below are right */
const volatile s64 preempt_count_from_rq = 0; /* per-CPU variables: __preempt_count − runqueues */
const volatile s64 cpu_number_from_rq = 0;    /* cpu_number − runqueues; a check of the former */
const volatile u32 known_stacks_mask = KNOWN_STACKS - 1; /* how many there is room for on a processor: a power of two, less 1 */
const volatile u32 accounts_known = 0; /* the kernel keeps accounts of its tasks */
/* A recorder with capabilities of its own sees into tasks of its caller only. */
const volatile u32 callers_only = 0;
const volatile u32 caller_user = 0;
const volatile u32 caller_group = 0;

struct {
	MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
	MAP_UINT(max_entries, RING_BYTES);
} ring SEC(".maps");

/* tid → what was told of the processors on which it may run, mixed, of the recorded tasks; 0: nothing yet */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_HASH);
	MAP_UINT(max_entries, MOST_TASKS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
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
enum { ROOM_SWITCH, ROOM_WAKE, ROOM_FORK, ROOM_SAMPLE, ROOM_STORE, ROOMS };

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, ROOMS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct stack_record);
} rooms SEC(".maps");

#define KNOWN_WORDS 64

struct stack_identity {
	u64 process; /* with its number of executions */
	u64 ip;
	u64 sp;
	u64 bp;
	u64 depth;
	u64 areas; /* mixed; which words count depends on them */
	u64 python; /* what it executes of Python, mixed */
	u64 kernel; /* where in the kernel it is, mixed; 0: nobody asks */
};

/* A stack that was seen more than once, with all that unwinding it depends on. */
struct known_stack {
	struct stack_identity identity;
	u64 key;
	u32 bytes;   /* from sp to behind the last word that counts */
	u32 words;   /* that count; 0: not written down yet; more than there is room for: never */
	u64 word[KNOWN_WORDS];
	u16 at[KNOWN_WORDS]; /* words from sp; behind the last one it stands again up to a whole step */
};

/*
 * By registers; lossy. Of each processor, so that nobody writes what another one reads. The loader makes room for more where processors
 * are few: each thread has stacks of its own, and those that share a place displace each other.
 */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, KNOWN_STACKS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct known_stack);
} known_stacks SEC(".maps");

/* How to read what the threads of a process execute of Python, as the reader has learnt it; offsets are in bytes. */
struct python {
	u64 runtime;      /* address of what leads to the threads */
	u64 code_type;    /* address of the type of code objects */
	u64 is_current;   /* there stands the thread that has the interpreter's lock, not the interpreters */
	u64 interpreters; /* in the runtime */
	u64 next_interpreter;
	u64 threads; /* in an interpreter */
	u64 next_thread;
	u64 interpreter; /* in a thread, as all to `frame` */
	u64 handle;
	u64 frame;
	u64 is_indirect; /* the frame is `indirect` bytes behind where that leads */
	u64 indirect;
	u64 previous; /* in a frame, as all to `begins_loop` */
	u64 code;
	u64 loop_kind;
	u64 begins_loop;
	u64 code_begin; /* where in a code object the rest of it begins that is read */
	u64 file; /* behind that, as all to `line` */
	u64 name;
	u64 line;
	u64 length; /* in a text, as the state */
	u64 state;  /* 0: a byte each character */
	u64 text;   /* where a text begins at the latest */
	u64 layout; /* the reader's number for all this */
};

/* So much is read of a frame and of a code object at once; in words, of which there is room for a power of two. */
#define PYTHON_FRAME_WORDS 10
#define PYTHON_CODE_WORDS 12
#define PYTHON_WORDS 16

struct python_room {
	struct python_record record;
	u64 frame[PYTHON_WORDS];
	u64 code[PYTHON_WORDS];
};

/* Which frames the interpreter's loop is entered with. */
enum { EACH_FRAME = 0, MARKED_FRAMES = 1, FRAMES_BEHIND_OWN = 2 };
/* Who owns a frame of the loop itself. */
#define OWNED_BY_LOOP 3

/* by pid */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_HASH);
	MAP_UINT(max_entries, MOST_PROCESSES);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct python);
} pythons SEC(".maps");

/* tid → what the interpreter knows of the thread */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH);
	MAP_UINT(max_entries, 16384);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} python_threads SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, ROOMS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct python_room);
} python_rooms SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, ROOMS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct function_record);
} function_rooms SEC(".maps");

/* Room for the record of an execution, which is too large for the stack. */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct exec_record);
} exec_room SEC(".maps");

enum {
	LOST_EVENTS,
	LOST_SAMPLES,
	LOST_STACKS,
	LOST_THREADS,
	OWN_RUNS,
	OWN_NANOSECONDS, /* of one run in TIMED_RUNS */
	CPU_CHECK,
	LAST_ALARM,
	CLOCK_DISTANCE,
	LAST_LOOK,
	LAST_LOOK_FOUND, /* a recorded task */
	COUNTERS
};
#define NOT_COUNTED COUNTERS
/* A reading of the clock is a part of what a short run takes. */
#define TIMED_RUNS 16
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

/*
 * A run that was about a recorded task began at this time and is over. Most runs are about other programs,
 * whose switches and wakes are no cost of this one's.
 */
INLINE void spent(u64 begin)
{
	u64 *runs = counter(OWN_RUNS), *nanoseconds = counter(OWN_NANOSECONDS);
	if (!runs || !nanoseconds)
		return;
	if (*runs % TIMED_RUNS == 0)
		*nanoseconds += bpf_ktime_get_ns() - begin;
	*runs += 1;
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
	if (failed && lost != NOT_COUNTED)
		count(lost);
	return failed;
}

/*
 * Whether the recorder's caller may not look into the task: it is another user's, or has gained rights by an
 * execution. When it runs and waits is told all the same.
 */
INLINE int is_private(struct task_struct *task)
{
	if (!callers_only)
		return 0;
	const struct cred *cred = task->cred;
	if (!cred)
		return 1;
	u64 capabilities = ~0ull;
	if (bpf_probe_read_kernel(&capabilities, sizeof(capabilities), &cred->cap_permitted))
		return 1;
	u32 users = (cred->uid.val ^ caller_user) | (cred->euid.val ^ caller_user) | (cred->suid.val ^ caller_user);
	u32 groups = (cred->gid.val ^ caller_group) | (cred->egid.val ^ caller_group) |
		     (cred->sgid.val ^ caller_group);
	return users || groups || capabilities;
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

/* The word, or 0 if unwinding cannot depend on it. */
INLINE u64 counted(struct hash *hash, u64 word)
{
	u64 counted = 0;
	if (word >= 0x10000) {
		u64 nowhere = outside(word, hash->areas.libraries, hash->areas.libraries_size) &
			      outside(word, hash->areas.program, hash->areas.program_size) &
			      outside(word, hash->stack, NEAR_STACK) &
			      outside(word, hash->areas.generated, hash->areas.generated_size);
		counted = word & ((nowhere >> 63) - 1);
	}
	return counted;
}

INLINE u64 mix(struct hash *hash, u64 lane, u64 word)
{
	return (lane ^ counted(hash, word)) * PRIME;
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

INLINE void prepare(struct hash *hash, struct stack_record *record, struct task_struct *task, struct areas *areas)
{
	struct mm_struct *memory = task->mm;
	hash->record = record;
	hash->stack = record->sp;
	if (areas) {
		hash->areas = *areas;
	} else if (memory) {
		hash->areas.program = memory->start_code;
		hash->areas.program_size = memory->end_code - memory->start_code;
		hash->areas.libraries = 1ull << 32;
		hash->areas.libraries_size = (1ull << 47) - (1ull << 32);
	}
}

INLINE u64 process_of(struct task_struct *task)
{
	return (u32)task->tgid ^ (task->self_exec_id << 32);
}

/* The key of what stands in `record`; its data is followed by zeros up to a whole step. */
INLINE u64 hash_stack(struct hash *hash, struct stack_identity *identity, u32 words)
{
	struct stack_record *record = hash->record;
	hash->lanes[0] = identity->process ^ identity->python ^ identity->kernel;
	hash->lanes[1] = record->ip;
	hash->lanes[2] = record->sp;
	hash->lanes[3] = mix(hash, 0, record->bp);
	bpf_loop((words + STEP_WORDS - 1) / STEP_WORDS, hash_step, hash, 0);
	u64 key = 0;
	for (int i = 0; i < 4; i++) {
		key = (key ^ hash->lanes[i]) * PRIME;
		key ^= key >> 29;
	}
	return key ? key : 1;
}

/* ---- stacks that were seen before ----------------------------------------------------------------- */

/*
 * A thread mostly waits and wakes where it did so before. Unwinding reads return addresses and saved frame pointers, of which the
 * registers and what was read before tell where the next one lies: where the registers and all words that counted the last time are the
 * same, it takes the same way to its end, whatever the other words are now.
 */
struct comparison {
	struct stack_record *record;
	struct known_stack *known;
	struct hash *hash;
	u64 difference;
};

static long compare_step(u32 index, struct comparison *comparison)
{
	if (index >= KNOWN_WORDS / STEP_WORDS)
		return 1;
	u64 *words = (u64 *)comparison->record->data, difference = 0;
	u64 *word = comparison->known->word + index * STEP_WORDS;
	u16 *at = comparison->known->at + index * STEP_WORDS;
	for (int i = 0; i < STEP_WORDS; i++)
		difference |= words[at[i] & (MOST_MEMORY / 8 - 1)] ^ word[i];
	comparison->difference |= difference;
	return difference != 0;
}

/* Writes down where words lie that count. */
static long note_step(u32 index, struct comparison *comparison)
{
	struct known_stack *known = comparison->known;
	if (index >= MOST_MEMORY / 8)
		return 1;
	u64 word = ((u64 *)comparison->record->data)[index];
	if (!counted(comparison->hash, word))
		return 0;
	u32 next = known->words++;
	known->bytes = index * 8 + 8;
	for (int i = 0; i < STEP_WORDS; i++, next++) {
		if (next >= KNOWN_WORDS)
			return i == 0;
		known->at[next] = index;
		known->word[next] = word;
	}
	return 0;
}

INLINE u64 mixed_areas(struct areas *areas)
{
	if (!areas)
		return 0;
	u64 mixed = areas->program ^ (areas->program_size * PRIME);
	mixed = mixed * PRIME ^ areas->libraries;
	mixed = mixed * PRIME ^ areas->libraries_size;
	mixed = mixed * PRIME ^ areas->generated;
	return mixed * PRIME ^ areas->generated_size;
}

INLINE struct known_stack *known_stack(struct stack_identity *identity)
{
	u64 mixed = (identity->ip ^ identity->sp * PRIME ^ identity->process ^ identity->python) * PRIME;
	u32 slot = (u32)(mixed >> 40) & known_stacks_mask;
	return bpf_map_lookup_elem(&known_stacks, &slot);
}

INLINE int is_same(struct stack_identity *one, struct stack_identity *other)
{
	return !((one->process ^ other->process) | (one->ip ^ other->ip) | (one->sp ^ other->sp) |
		 (one->bp ^ other->bp) | (one->depth ^ other->depth) | (one->areas ^ other->areas) |
		 (one->python ^ other->python));
}

/* The key of the stack with these registers, if all that it depends on is as it was; else 0. */
INLINE u64 known_key(struct known_stack *known, struct stack_record *record, u64 sp)
{
	u32 bytes = known->bytes, words = known->words;
	if (words == 0 || words > KNOWN_WORDS || bytes > MOST_MEMORY)
		return 0;
	if (bpf_probe_read_user(record->data, bytes, (void *)sp))
		return 0;
	struct comparison comparison = { .record = record, .known = known };
	bpf_loop((words + STEP_WORDS - 1) / STEP_WORDS, compare_step, &comparison, 0);
	return comparison.difference ? 0 : known->key;
}

/* Keeps the stack in `record`; where it is there for the second time, with the words that count. */
INLINE void keep_stack(struct known_stack *known, struct stack_identity *identity, struct hash *hash, u64 key)
{
	struct stack_record *record = hash->record;
	u32 most = stack_bytes & ~7u, whole = identity->depth;
	if (whole > most && whole > SHORT_STACK)
		whole = most;
	/* A chain of frame pointers leads beyond what is copied, and memory can be missing. */
	if (record->kernel_frames || record->user_frames || record->memory_bytes != whole)
		return;
	if (!is_same(&known->identity, identity) || known->key != key) {
		known->identity = *identity;
		known->key = key;
		known->words = 0;
	} else if (known->words == 0) {
		struct comparison comparison = { .record = record, .known = known, .hash = hash };
		bpf_loop(record->memory_bytes / 8, note_step, &comparison, 0);
	}
}

/* ---- Python --------------------------------------------------------------------------------------- */

/* The word there; 0 where that cannot be read. */
INLINE u64 user_word(u64 address)
{
	u64 word = 0;
	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

INLINE u64 innermost_frame(const struct python *python, u64 thread)
{
	u64 frame = user_word(thread + python->frame);
	return frame && python->is_indirect ? user_word(frame + python->indirect) : frame;
}

/* Looks for the thread with a handle among all that the interpreters know. */
struct python_search {
	const struct python *python;
	u64 handle;
	u64 interpreter;
	u64 thread;
	u64 found;
	u64 frame;
};

#define MOST_PYTHON_THREADS 1024

static long look_at_thread(u32 index, struct python_search *search)
{
	const struct python *python = search->python;
	u64 thread = search->thread;
	if (!thread) {
		if (!search->interpreter)
			return 1;
		search->thread = user_word(search->interpreter + python->threads);
		search->interpreter = user_word(search->interpreter + python->next_interpreter);
		return 0;
	}
	/* A thread that is being created has the handle of its creator, and no frame. */
	if (user_word(thread + python->handle) == search->handle) {
		search->found = thread;
		search->frame = innermost_frame(python, thread);
		if (search->frame)
			return 1;
	}
	search->thread = user_word(thread + python->next_thread);
	return 0;
}

/* The innermost frame of the current thread; 0 where it executes nothing of Python. */
INLINE u64 python_frame(const struct python *python, u32 tid, u64 handle)
{
	u64 *known = bpf_map_lookup_elem(&python_threads, &tid);
	if (known && user_word(*known + python->handle) == handle) {
		u64 frame = innermost_frame(python, *known);
		if (frame)
			return frame;
	}
	struct python_search search = { .python = python, .handle = handle };
	if (python->is_current) {
		/* While no thread has the lock, none can be found. */
		u64 current = user_word(python->runtime);
		search.interpreter = current ? user_word(current + python->interpreter) : 0;
	} else {
		search.interpreter = user_word(python->runtime + python->interpreters);
	}
	bpf_loop(MOST_PYTHON_THREADS, look_at_thread, &search, 0);
	if (search.frame)
		bpf_map_update_elem(&python_threads, &tid, &search.found, BPF_ANY);
	return search.frame;
}

/* Copies an object of a text; how many bytes of it. */
INLINE u32 copy_text(const struct python *python, char *into, u64 text)
{
	u64 length = user_word(text + python->length), unit = 1;
	if (python->state)
		unit = (user_word(text + python->state) >> 2) & 7;
	u64 bytes = python->text + length * unit;
	if (length > FUNCTION_TEXT_BYTES || bytes > FUNCTION_TEXT_BYTES)
		bytes = FUNCTION_TEXT_BYTES;
	u32 size = (u32)bytes;
	if (size > FUNCTION_TEXT_BYTES)
		return 0;
	return bpf_probe_read_user(into, size, (void *)text) ? 0 : size;
}

struct python_walk {
	const struct python *python;
	struct python_room *room;
	u64 process;
	u64 frame;
	u64 key;
	u32 which;
};

struct python_function {
	u64 number;
	u32 line;
	u64 code;
	u64 name;
	u64 file;
};

/* Sends what a function is called; whether that was no function, or failed. */
static NOINLINE int send_function(struct python_walk *walk, struct python_function *function)
{
	const struct python *python = walk->python;
	u32 which = walk->which;
	struct function_record *record = bpf_map_lookup_elem(&function_rooms, &which);
	if (!record || user_word(function->code + 8) != python->code_type)
		return 1;
	record->head = walk->room->record.head;
	record->head.kind = RECORD_FUNCTION;
	record->number = function->number;
	record->line = function->line;
	record->layout = python->layout;
	record->name_bytes = copy_text(python, record->name, function->name);
	record->file_bytes = copy_text(python, record->file, function->file);
	if (!record->name_bytes || !record->file_bytes)
		return 1;
	return output(record, sizeof(*record), NOT_COUNTED) != 0;
}

/* The number of the function that a code object is of. Memory is used again, so its texts count too. */
INLINE u64 function_number(struct python_walk *walk, u64 code)
{
	const struct python *python = walk->python;
	u64 *words = walk->room->code;
	if (bpf_probe_read_user(words, PYTHON_CODE_WORDS * 8, (void *)(code + python->code_begin)))
		return FUNCTION_UNREADABLE;
	struct python_function function = {
		.code = code,
		.name = words[(python->name >> 3) & (PYTHON_WORDS - 1)],
		.file = words[(python->file >> 3) & (PYTHON_WORDS - 1)],
		.line = ((u32 *)words)[(python->line >> 2) & (2 * PYTHON_WORDS - 1)],
	};
	if (!function.name || !function.file)
		return FUNCTION_UNREADABLE;
	u64 number = (walk->process ^ code) * PRIME;
	number = ((number ^ number >> 29) ^ function.name) * PRIME;
	number = ((number ^ number >> 29) ^ function.file) * PRIME;
	number = ((number ^ number >> 29) ^ function.line) * PRIME;
	number = (number ^ number >> 29) & ~(1ull << FRAME_BEGINS_LOOP);
	if (number <= FUNCTION_UNREADABLE)
		return FUNCTION_UNREADABLE;
	function.number = number;
	u32 slot = (u32)(number >> 13) & (SENT_KEYS - 1);
	u64 *known = bpf_map_lookup_elem(&sent, &slot);
	if (!known || *known == number)
		return number;
	if (send_function(walk, &function))
		return FUNCTION_UNREADABLE;
	*known = number;
	return number;
}

static long python_step(u32 index, struct python_walk *walk)
{
	const struct python *python = walk->python;
	u64 frame = walk->frame, number = FUNCTION_NONE;
	if (!frame || index >= MOST_PYTHON_FRAMES)
		return 1;
	u64 *words = walk->room->frame;
	if (bpf_probe_read_user(words, PYTHON_FRAME_WORDS * 8, (void *)frame))
		return 1;
	u8 mark = python->loop_kind == EACH_FRAME ? 1 : ((u8 *)words)[python->begins_loop & (8 * PYTHON_WORDS - 1)];
	int is_own = python->loop_kind == FRAMES_BEHIND_OWN && mark == OWNED_BY_LOOP;
	/* In newer versions the lowest bits of a reference say how it is counted. */
	if (!is_own)
		number = function_number(walk, words[(python->code >> 3) & (PYTHON_WORDS - 1)] & ~3ull);
	if (python->loop_kind == FRAMES_BEHIND_OWN ? is_own : mark)
		number |= 1ull << FRAME_BEGINS_LOOP;
	/* Where it is used, for the verifier. */
	asm volatile("" : "+r"(index));
	if (index >= MOST_PYTHON_FRAMES)
		return 1;
	((u64 *)walk->room->record.frames)[index] = number;
	walk->room->record.count = index + 1;
	walk->key = (walk->key ^ number) * PRIME;
	walk->key ^= walk->key >> 29;
	walk->frame = words[(python->previous >> 3) & (PYTHON_WORDS - 1)];
	return 0;
}

/*
 * Notes what the current thread executes of Python; returns all of that, mixed, or 0 where it is nothing. A function that others could
 * link to, so that the verifier walks it once and not for each call.
 */
u64 take_python(u64 time, u32 which);
long send_python(u32 which, u64 key, u32 lost);

NOINLINE u64 take_python(u64 time, u32 which)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->tgid, tid = task->pid;
	struct python *python = bpf_map_lookup_elem(&pythons, &pid);
	if (!python || is_private(task))
		return 0;
	struct python_room *room = bpf_map_lookup_elem(&python_rooms, &which);
	u64 frame = python_frame(python, tid, task->thread.fsbase);
	if (!room || !frame)
		return 0;
	struct python_record *record = &room->record;
	record->head = (struct head){ .time = time, .kind = RECORD_PYTHON, .cpu = bpf_get_smp_processor_id(), .pid = pid };
	record->tid = tid;
	record->count = 0;
	struct python_walk walk = {
		.python = python,
		.room = room,
		.process = process_of(task),
		.frame = frame,
		.which = which,
	};
	bpf_loop(MOST_PYTHON_FRAMES, python_step, &walk, 0);
	record->is_cut = walk.frame != 0;
	return walk.key;
}

/* Sends what was noted, of the stack with this key or, without one, of the sample of this time. */
NOINLINE long send_python(u32 which, u64 key, u32 lost)
{
	struct python_room *room = bpf_map_lookup_elem(&python_rooms, &which);
	struct python_record *record = &room->record;
	if (!room || record->count > MOST_PYTHON_FRAMES)
		return 1;
	record->key = key;
	return output(record, __builtin_offsetof(struct python_record, frames) + record->count * 8, lost);
}

#define VFORK 58

/*
 * Where user code of a thread in the kernel goes on, with the stack as it is. The C libraries' vfork keeps its return address in a
 * register during the call, so that the child cannot overwrite it: then it is that, which lies beyond the end of the stack still.
 */
INLINE u64 user_ip(struct pt_regs *registers)
{
	u64 popped = 0;
	if (registers->orig_ax == VFORK &&
	    bpf_probe_read_user(&popped, sizeof(popped), (void *)(registers->sp - sizeof(popped))) == 0 &&
	    (popped == registers->di || popped == registers->dx))
		return popped;
	return registers->ip;
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
	if (is_private(task))
		return __builtin_offsetof(struct stack_record, data);
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
		record->ip = user_ip(registers);
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

INLINE int was_sent(u64 key)
{
	u32 slot = (u32)(key >> 13) & (SENT_KEYS - 1);
	u64 *known = bpf_map_lookup_elem(&sent, &slot);
	return known && *known == key;
}

/* The key of a stack that is not known: all of it is copied, and sent if it is new. */
static NOINLINE u64 new_stack_key(void *context, struct stack_record *record, struct stack_identity *identity, u64 time,
				  u32 which)
{
	struct task_struct *task = bpf_get_current_task_btf();
	record->head.time = time;
	record->head.kind = RECORD_STACK;
	record->head.flags = 0;
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.pid = task->tgid;
	record->tid = task->pid;
	u32 size = take(context, record, task, identity->kernel != 0);
	if (size > sizeof(*record) - STEP_WORDS * 8)
		return 0;
	u64 *slack = (void *)record + size;
	for (int i = 0; i < STEP_WORDS; i++)
		slack[i] = 0;
	u32 words = (size - __builtin_offsetof(struct stack_record, data)) / 8, pid = task->tgid;
	struct hash hash = {};
	prepare(&hash, record, task, bpf_map_lookup_elem(&executable, &pid));
	u64 key = hash_stack(&hash, identity, words);
	u32 slot = (u32)(key >> 13) & (SENT_KEYS - 1);
	u64 *sent_key = bpf_map_lookup_elem(&sent, &slot);
	if (!sent_key || *sent_key != key) {
		record->key = key;
		if (identity->python && send_python(which, key, LOST_STACKS))
			return 0;
		if (output(record, size, LOST_STACKS))
			return 0;
		if (sent_key)
			*sent_key = key;
	}
	struct known_stack *known = known_stack(identity);
	if (known)
		keep_stack(known, identity, &hash, key);
	return key;
}

#define MIXED_FRAMES 8

/* Where in the kernel the current task is, mixed; never 0. */
INLINE u64 mixed_kernel_frames(void *context)
{
	u64 frames[MIXED_FRAMES] = {}, mixed = 0;
	bpf_get_stack(context, frames, sizeof(frames), 0);
	for (int i = 0; i < MIXED_FRAMES; i++)
		mixed = (mixed ^ frames[i]) * PRIME;
	return mixed | 1;
}

/*
 * The key of the stack of `task`, which is the current one; 0 if it has none or it was lost. `kernel` asks for the kernel's frames
 * too.
 */
INLINE u64 stack_key(void *context, struct task_struct *task, u64 time, u32 which, int kernel)
{
	struct stack_record *record = bpf_map_lookup_elem(&rooms, &which);
	struct mm_struct *memory = task->mm;
	if (!record || !memory || is_private(task))
		return 0;
	struct pt_regs *registers = bpf_task_pt_regs(task);
	u32 pid = task->tgid;
	struct stack_identity identity = {
		.process = process_of(task),
		.ip = user_ip(registers),
		.sp = registers->sp,
		.bp = registers->bp,
		.depth = stack_depth(task, memory, registers->sp),
		.areas = mixed_areas(bpf_map_lookup_elem(&executable, &pid)),
		.python = take_python(time, which),
		.kernel = kernel ? mixed_kernel_frames(context) : 0,
	};
	struct known_stack *known = known_stack(&identity);
	if (known && !kernel && is_same(&known->identity, &identity)) {
		u64 key = known_key(known, record, identity.sp);
		if (key && was_sent(key))
			return key;
	}
	return new_stack_key(context, record, &identity, time, which);
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
	case 217: case 242: case 243: case 275: case 276: /* getdents64 mq_timed… splice tee */
	case 278: case 285: /* vmsplice fallocate */
	case 288: case 295: case 296: case 299: case 307: /* accept4 preadv pwritev recvmmsg sendmmsg */
	case 326: case 327: case 328: /* copy_file_range preadv2 pwritev2 */
		return 1;
	}
	return 0;
}

#define POLL 7
#define PPOLL 271

/* Puts the only descriptor that a `poll` waits for into the first argument, in place of the address where it stands; whether it has one. */
INLINE int is_poll_of_one(struct call *call, s32 number)
{
	s32 descriptor = -1;
	if ((number != POLL && number != PPOLL) || call->arguments[1] != 1)
		return 0;
	if (bpf_probe_read_user(&descriptor, sizeof(descriptor), (void *)call->arguments[0]))
		return 0;
	call->arguments[0] = (u32)descriptor;
	return 1;
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

/* A timerfd is told from other anonymous files by its name. */
INLINE u8 anonymous_kind(struct file *file)
{
	struct dentry *entry = 0;
	const unsigned char *name = 0;
	char begin[8] = {};
	if (bpf_probe_read_kernel(&entry, sizeof(entry), &file->f_path.dentry) || !entry)
		return FILE_ANONYMOUS;
	if (bpf_probe_read_kernel(&name, sizeof(name), &entry->d_name.name) || !name)
		return FILE_ANONYMOUS;
	if (bpf_probe_read_kernel_str(begin, sizeof(begin), name) <= 0)
		return FILE_ANONYMOUS;
	int is_timer = begin[1] == 't' && begin[2] == 'i' && begin[3] == 'm' && begin[4] == 'e' && begin[5] == 'r';
	return is_timer ? FILE_TIMER : FILE_ANONYMOUS;
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

#define LOCAL 1
#define INTERNET 2
#define INTERNET_6 10
/* Ports from here on are given to those who ask for a connection. */
#define GIVEN_PORTS 32768

/* The other end of a connection that this end asked for, if it has a name that stays. */
INLINE int read_peer(struct sock *socket, struct peer_record *record)
{
	u16 family = 0, port = 0, own = 0;
	if (bpf_probe_read_kernel(&family, sizeof(family), &socket->__sk_common.skc_family))
		return 0;
	record->family = family;
	if (family == LOCAL) {
		struct sock *peer = 0;
		struct unix_address *address = 0;
		if (bpf_probe_read_kernel(&peer, sizeof(peer), &((struct unix_sock *)socket)->peer) || !peer)
			return 0;
		if (bpf_probe_read_kernel(&address, sizeof(address), &((struct unix_sock *)peer)->addr) || !address)
			return 0;
		return bpf_probe_read_kernel_str(record->address, sizeof(record->address), address->name[0].sun_path) > 1;
	}
	if (bpf_probe_read_kernel(&port, sizeof(port), &socket->__sk_common.skc_dport) ||
	    bpf_probe_read_kernel(&own, sizeof(own), &socket->__sk_common.skc_num))
		return 0;
	record->port = __builtin_bswap16(port);
	if (record->port == 0 || record->port >= GIVEN_PORTS || own < GIVEN_PORTS)
		return 0;
	if (family == INTERNET)
		return !bpf_probe_read_kernel(record->address, 4, &socket->__sk_common.skc_daddr);
	return family == INTERNET_6 && !bpf_probe_read_kernel(record->address, 16, &socket->__sk_common.skc_v6_daddr);
}

/* Sends the other end of a connection, if that was not done of late. */
static NOINLINE int name_peer(struct file *file, u64 number, u64 time)
{
	struct socket *connection = 0;
	struct sock *socket = 0;
	struct peer_record record = {
		.head = { .time = time, .kind = RECORD_PEER, .cpu = bpf_get_smp_processor_id() },
		.number = number,
	};
	if (bpf_probe_read_kernel(&connection, sizeof(connection), &file->private_data) || !connection)
		return 0;
	if (bpf_probe_read_kernel(&socket, sizeof(socket), &connection->sk) || !socket)
		return 0;
	/* A number of a file is given again: to a connection at another place. */
	u64 key = (number ^ (u64)socket) * PRIME ^ FILE_SOCKET;
	u32 slot = (u32)(key >> 13) & (SENT_KEYS - 1);
	u64 *known = bpf_map_lookup_elem(&sent, &slot);
	if (!known || *known == key)
		return 0;
	int is_named = read_peer(socket, &record);
	/* A local socket may get its other end later. */
	if (is_named ? output(&record, sizeof(record), NOT_COUNTED) == 0 : record.family != LOCAL)
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
	if (kind == FILE_ANONYMOUS)
		return anonymous_kind(file);
	if (kind == FILE_CHARACTER)
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
	if (kind == FILE_SOCKET)
		name_peer(file, number, time);
	return kind;
}

/* Code segment of 32-bit programs. */
#define COMPATIBLE_CODE 0x23

/* Fills in the system call that `task` is in, which has user memory; returns its number, −1 for none. */
INLINE s32 system_call(struct task_struct *task, struct call *call, s16 *number)
{
	struct pt_regs *registers = bpf_task_pt_regs(task);
	s32 entered = (s32)registers->orig_ax;
	/* An exception, an interrupt, or a 32-bit program, whose calls have other numbers. */
	if (entered < 0 || (registers->cs & 0xffff) == COMPATIBLE_CODE || is_private(task))
		return -1;
	*number = entered;
	call->arguments[0] = registers->di;
	call->arguments[1] = registers->si;
	call->arguments[2] = registers->dx;
	return entered;
}

#define FUTEX 202
#define FUTEX_PRIVATE 128
/* FUTEX_WAIT_BITSET with the clock of the day: glibc's join, with the tid as third argument, and its sem_wait, with 0. */
#define FUTEX_JOIN 265
#define SEMOP 65
#define SEMTIMEDOP 220
#define VM_SHARED 0x08

struct shared_word {
	u64 address;
	u64 number;
};

static long look_at_area(struct task_struct *task, struct vm_area_struct *area, struct shared_word *word)
{
	struct inode *inode = 0;
	struct super_block *system = 0;
	u64 number = 0;
	u32 device = 0;
	struct file *file = area->vm_file;
	if (!(area->vm_flags & VM_SHARED) || !file)
		return 0;
	if (bpf_probe_read_kernel(&inode, sizeof(inode), &file->f_inode) || !inode)
		return 0;
	if (bpf_probe_read_kernel(&number, sizeof(number), &inode->i_ino))
		return 0;
	if (bpf_probe_read_kernel(&system, sizeof(system), &inode->i_sb) || !system)
		return 0;
	if (bpf_probe_read_kernel(&device, sizeof(device), &system->s_dev))
		return 0;
	u64 offset = (area->vm_pgoff << 12) + word->address - area->vm_start;
	word->number = ((number ^ (u64)device << 32) * PRIME ^ offset) * PRIME | 1;
	return 0;
}

/* A number for the word at this address of the current task's memory, the same in all processes that share it; 0: it is not shared. */
static NOINLINE u64 shared_word(u64 address)
{
	struct shared_word word = { .address = address };
	bpf_find_vma(bpf_get_current_task_btf(), address, look_at_area, &word, 0);
	return word.number;
}

/*
 * Puts into the arguments which one of those that processes share the call is for: in place of a futex' value a number for its word, in
 * place of the address of what is to be done with semaphores the number of the first one in its set. Returns the kind of file in which
 * the word lies.
 */
static NOINLINE u8 look_at_shared(struct call *call, s32 number)
{
	if (number == FUTEX && !(call->arguments[1] & FUTEX_PRIVATE) &&
	    !(call->arguments[1] == FUTEX_JOIN && call->arguments[2])) {
		u64 shared = shared_word(call->arguments[0]);
		if (shared) {
			call->arguments[2] = shared;
			return FILE_REGULAR;
		}
	}
	if (number == SEMOP || number == SEMTIMEDOP) {
		u16 first = 0;
		if (!bpf_probe_read_user(&first, sizeof(first), (void *)call->arguments[1]))
			call->arguments[1] = first;
	}
	return FILE_NONE;
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

/* ---- affinities --------------------------------------------------------------------------------- */

/* On which processors the task may run, mixed; never 0. */
INLINE u64 allowed_processors(struct task_struct *task)
{
	return (task->cpus_mask.bits[0] * PRIME ^ (u32)task->nr_cpus_allowed) | 1ull << 63;
}

/* Tells on which processors the current task may run. */
long tell_allowed(u64 time);

NOINLINE long tell_allowed(u64 time)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid;
	u64 *told = bpf_map_lookup_elem(&tracked, &tid);
	struct allowed_record record = {
		.head = { .time = time, .kind = RECORD_ALLOWED, .cpu = bpf_get_smp_processor_id(), .pid = task->tgid },
		.tid = tid,
		.count = task->nr_cpus_allowed,
		.first = task->cpus_mask.bits[0],
	};
	if (told && output(&record, sizeof(record), NOT_COUNTED) == 0)
		*told = allowed_processors(task);
	return 0;
}

/* ---- the programs ------------------------------------------------------------------------------- */

#define TASK_DEAD 0x80

/* What the compiler leaves to the loader about a bit field: where the word that holds it begins, and by how many bits it is shifted
 * left and right, as 64 bits, until nothing else is left. Read as a plain member, its place within the word would be that of kernel.h. */
enum { FIELD_OFFSET = 0, FIELD_LEFT = 4, FIELD_RIGHT = 5 };

/* Whether the kernel counts a task as waiting for a device. */
INLINE int waits_for_device(struct task_struct *task)
{
	const void *word = (const void *)task + __builtin_preserve_field_info(task->in_iowait, FIELD_OFFSET);

	asm volatile("" : "+r"(word));
	u64 value = *(const unsigned int *)word;
	value <<= __builtin_preserve_field_info(task->in_iowait, FIELD_LEFT);
	return (value >> __builtin_preserve_field_info(task->in_iowait, FIELD_RIGHT)) != 0;
}

INLINE u8 why_it_left(int preempted, u32 state, struct task_struct *task)
{
	if (preempted || state == 0)
		return LEFT_RUNNABLE;
	if (state & TASK_DEAD)
		return LEFT_DEAD;
	if (state & 0x0c)
		return LEFT_STOPPED;
	if (waits_for_device(task))
		return LEFT_DEVICE;
	return (state & 0x01) ? LEFT_INTERRUPTIBLE : LEFT_UNINTERRUPTIBLE;
}

/* Whether it waits for another thread within the kernel, for a lock mostly: only the kernel's frames tell for what. */
INLINE int waits_in_kernel(u32 state, struct task_struct *task)
{
	return (state & 0x02) && !waits_for_device(task);
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
	/* Nothing is kept of the idle task. */
	u64 *told = bpf_map_lookup_elem(&tracked, &previous_tid);
	if (told) {
		flags = PREVIOUS_TRACKED;
		time = bpf_ktime_get_ns();
		if (*told != allowed_processors(previous))
			tell_allowed(time);
		/* Before anything that branches: the verifier walks this for every way that leads here. */
		if (!preempted && (state & ~TASK_DEAD) && previous->mm)
			key = stack_key(context, previous, time, ROOM_SWITCH, waits_in_kernel(state, previous));
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
			if (record.head.pid == previous_tid)
				bpf_map_delete_elem(&pythons, &previous_tid);
			/* The call in which it ended tells whether it did so by itself. */
			struct pt_regs *registers = bpf_task_pt_regs(previous);
			if ((registers->cs & 0xffff) != COMPATIBLE_CODE && !is_private(previous)) {
				record.number = (s16)registers->orig_ax;
				flags |= HAS_CALL;
			}
		} else if (previous->mm) {
			s32 number = system_call(previous, &record.call, &record.number);
			if (is_on_descriptor(number) || is_poll_of_one(&record.call, number))
				record.file = look_at_file(previous, &record.call, time);
			else
				record.file = look_at_shared(&record.call, number);
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
	spent(time);
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
					return CONTEXT_HARD_INTERRUPT;
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
		if ((record.context == CONTEXT_TASK || record.context == CONTEXT_SOFT_INTERRUPT) && current->mm) {
			record.head.flags |= HAS_CALL;
			size = sizeof(record);
			record.call.key = stack_key(context, current, record.head.time, ROOM_WAKE, 0);
			system_call(current, &record.call, &record.number);
		}
	} else if (record.context == CONTEXT_TASK) {
		bpf_probe_read_kernel(record.comm, sizeof(record.comm), &current->comm);
		size += sizeof(record.comm);
	}
	output(&record, size, LOST_EVENTS);
	spent(record.head.time);
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
	/* It may run where its creator may, of which the reader was told. */
	u32 parent_tid = parent->pid;
	u64 *parent_told = bpf_map_lookup_elem(&tracked, &parent_tid), told = parent_told ? *parent_told : 0;
	if (bpf_map_update_elem(&tracked, &record.child_tid, &told, BPF_ANY))
		count(LOST_THREADS);
	if (record.child_pid == record.head.pid && !is_private(parent))
		record.handle = child->thread.fsbase;
	if (record.child_pid != record.head.pid) {
		struct python *python = bpf_map_lookup_elem(&pythons, &record.head.pid);
		if (python)
			bpf_map_update_elem(&pythons, &record.child_pid, python, BPF_ANY);
	}
	record.key = stack_key(context, parent, record.head.time, ROOM_FORK, 0);
	output(&record, sizeof(record), LOST_EVENTS);
	spent(record.head.time);
	return 0;
}

/*
 * Copies the arguments that a new program was given; returns how many bytes there are. What lies behind them, the environment,
 * is none of our business.
 */
INLINE u32 read_arguments(char *into, struct mm_struct *memory)
{
	if (!memory)
		return 0;
	u64 start = memory->arg_start, bytes = memory->arg_end - start;
	if (bytes > ARGUMENT_BYTES - 1)
		bytes = ARGUMENT_BYTES - 1;
	u32 size = (u32)bytes & (ARGUMENT_BYTES - 1);
	return bpf_probe_read_user(into, size, (void *)start) == 0 ? size : 0;
}

/* Whether a program that was just executed may be Python: it is called so, or a script, whose interpreter may be. */
INLINE int may_be_python(struct task_struct *task, struct linux_binprm *program)
{
	char name[8] = {};
	u64 filename = 0, interpreter = 0;
	bpf_probe_read_kernel(name, sizeof(name), &task->comm);
	bpf_probe_read_kernel(&filename, sizeof(filename), &program->filename);
	bpf_probe_read_kernel(&interpreter, sizeof(interpreter), &program->interp);
	int is_called_so = name[0] == 'p' && name[1] == 'y' && name[2] == 't' && name[3] == 'h' && name[4] == 'o' && name[5] == 'n';
	return is_called_so || filename != interpreter;
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
	if (old_tid != tid) {
		u64 nothing = 0;
		bpf_map_delete_elem(&tracked, &old_tid);
		bpf_map_update_elem(&tracked, &tid, &nothing, BPF_ANY);
	}
	u32 first = 0;
	struct exec_record *record = bpf_map_lookup_elem(&exec_room, &first);
	if (!record)
		return 0;
	record->head = (struct head){ .time = bpf_ktime_get_ns(), .kind = RECORD_EXEC };
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.pid = pid;
	record->tid = tid;
	record->old_tid = old_tid;
	if (bpf_probe_read_kernel_str(record->path, sizeof(record->path), program->filename) < 0)
		record->path[0] = 0;
	record->argument_bytes = read_arguments(record->arguments, task->mm);
	bpf_map_delete_elem(&pythons, &pid);
	if (may_be_python(task, program)) {
		/* The reader has to find out how to read it before it has done much. */
		if (bpf_ringbuf_output(&ring, record, sizeof(*record), BPF_RB_FORCE_WAKEUP))
			count(LOST_EVENTS);
	} else {
		output(record, sizeof(*record), LOST_EVENTS);
	}
	spent(record->head.time);
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
	spent(record.head.time);
	return 0;
}

/* A sample counts for half the interval before it and half of that after it: the reader is told of both looks. */
INLINE int look_elsewhere(u64 time, u64 before)
{
	struct look_record record = {
		.head = { .time = time, .kind = RECORD_LOOK, .cpu = bpf_get_smp_processor_id() },
		.before = before,
	};
	output(&record, sizeof(record), NOT_COUNTED);
	return 0;
}

/* What the reader needs to know which word the thread looks at, if it spins. */
INLINE void send_registers(struct sample_context *from, u64 ids, u64 time)
{
	struct registers_record record = {
		.head = { .time = time, .kind = RECORD_REGISTERS, .cpu = bpf_get_smp_processor_id(),
			  .pid = ids >> 32 },
		.tid = (u32)ids,
		.ip = from->ip,
		.general = { from->ax, from->cx, from->dx, from->bx, from->sp, from->bp, from->si, from->di,
			     from->r8, from->r9, from->r10, from->r11, from->r12, from->r13, from->r14, from->r15 },
	};
	output(&record, sizeof(record), NOT_COUNTED);
}

SEC("perf_event")
int sample(struct sample_context *context)
{
	u64 ids = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	u32 which = ROOM_SAMPLE;
	u64 *last = counter(LAST_LOOK), *found = counter(LAST_LOOK_FOUND);
	if (!last || !found)
		return 0;
	u64 before = *last ? now - *last : 0, found_before = *found;
	*last = now;
	*found = is_tracked((u32)ids);
	if (!*found)
		return found_before ? look_elsewhere(now, before) : 0;
	struct stack_record *record = bpf_map_lookup_elem(&rooms, &which);
	if (!record)
		return 0;
	int kernel = (context->cs & 3) == 0;
	record->head.time = now;
	record->before = before;
	record->head.kind = RECORD_SAMPLE;
	record->head.flags = kernel ? IN_KERNEL : 0;
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.pid = ids >> 32;
	record->tid = (u32)ids;
	record->key = 0;
	struct task_struct *task = bpf_get_current_task_btf();
	if (accounts_known)
		account_of_running(record, task);
	if (take_python(now, which))
		send_python(which, 0, NOT_COUNTED);
	u32 size = take(context, record, task, kernel);
	u64 begin = record->head.time;
	if (!kernel && !is_private(task))
		send_registers(context, ids, begin);
	if (size <= sizeof(*record))
		output(record, size, LOST_SAMPLES);
	spent(begin);
	return 0;
}

/* A thread has written a word for which others spin. The event counts down: it ends after some. */
SEC("perf_event")
int store(struct sample_context *context)
{
	u64 ids = bpf_get_current_pid_tgid();
	u32 which = ROOM_STORE;
	struct stack_record *record = bpf_map_lookup_elem(&rooms, &which);
	if (!record || !is_tracked((u32)ids))
		return 1;
	record->head.time = bpf_ktime_get_ns();
	record->head.kind = RECORD_STORE;
	record->head.flags = 0;
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.pid = ids >> 32;
	record->tid = (u32)ids;
	record->key = context->address;
	record->before = 0;
	record->account.arrived = 0;
	record->account.waited = 0;
	u64 begin = record->head.time;
	u32 size = take(context, record, bpf_get_current_task_btf(), 0);
	if (size <= sizeof(*record))
		output(record, size, LOST_EVENTS);
	spent(begin);
	return 1;
}

/* Whether the current task is recorded, and may be looked into. */
INLINE int is_recorded(void)
{
	return is_tracked((u32)bpf_get_current_pid_tgid()) && !is_private(bpf_get_current_task_btf());
}

/* ---- joins -------------------------------------------------------------------------------------- */

/* The current thread joins another, by its handle: its thread pointer. */
INLINE int join(struct pt_regs *registers, u8 flags)
{
	u64 ids = bpf_get_current_pid_tgid();
	/* The handle is an address of the task's memory. */
	if (!is_recorded())
		return 0;
	struct join_record record = {
		.head = { .time = bpf_ktime_get_ns(), .kind = RECORD_JOIN, .flags = flags,
			  .cpu = bpf_get_smp_processor_id(), .pid = ids >> 32 },
		.tid = (u32)ids,
		.handle = registers->di,
	};
	output(&record, sizeof(record), LOST_EVENTS);
	spent(record.head.time);
	return 0;
}

SEC("uprobe")
int join_waits(struct pt_regs *registers)
{
	return join(registers, JOIN_WAITS);
}

SEC("uprobe")
int join_tries(struct pt_regs *registers)
{
	return join(registers, 0);
}

/* The current thread looks for a child that has ended, or waits for one: for one of them, or for any. */
SEC("tp_btf/sched_process_wait")
int sched_process_wait(u64 *context)
{
	struct pid *child = (void *)context[0];
	u64 ids = bpf_get_current_pid_tgid();
	if (!is_tracked((u32)ids))
		return 0;
	struct join_record record = {
		.head = { .time = bpf_ktime_get_ns(), .kind = RECORD_JOIN, .flags = JOIN_CHILD,
			  .cpu = bpf_get_smp_processor_id(), .pid = ids >> 32 },
		.tid = (u32)ids,
	};
	if (child)
		bpf_probe_read_kernel(&record.child, sizeof(record.child), &child->numbers[0].nr);
	output(&record, sizeof(record), LOST_EVENTS);
	spent(record.head.time);
	return 0;
}

/* ---- streams ------------------------------------------------------------------------------------ */

#define MOST_STREAMS 16384
/* Set in the number of a stream that leads from one machine to another, where both ends make the same one. */
#define BETWEEN_MACHINES (1ull << 63)
/* The upper half of the number of a pipe: "pipe". */
#define PIPE_STREAMS 0x70697065ull
#define MESSAGE_PEEK 2
#define EVENTFD_SEMAPHORE 1

/* How many bytes went into a stream and out of it. */
struct stream {
	u64 written;
	u64 read;
	u64 told; /* of what was written, where that is told when it is done */
};

/* by channel */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH);
	MAP_UINT(max_entries, MOST_STREAMS);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct stream);
} streams SEC(".maps");

INLINE struct stream *stream_of(u64 channel)
{
	struct stream *stream = bpf_map_lookup_elem(&streams, &channel);
	if (!stream) {
		struct stream empty = {};
		bpf_map_update_elem(&streams, &channel, &empty, BPF_NOEXIST);
		stream = bpf_map_lookup_elem(&streams, &channel);
	}
	return stream;
}

static NOINLINE int transfer(u64 channel, u64 position, u64 bytes, u64 flags)
{
	u64 ids = bpf_get_current_pid_tgid();
	struct transfer_record record = {
		.head = { .time = bpf_ktime_get_ns(), .kind = RECORD_TRANSFER, .flags = flags,
			  .cpu = bpf_get_smp_processor_id(), .pid = ids >> 32 },
		.tid = (u32)ids,
		.channel = channel,
		.position = position,
		.bytes = bytes,
	};
	output(&record, sizeof(record), LOST_EVENTS);
	spent(record.head.time);
	return 0;
}

/*
 * A write is told before it is done: whoever reads of it can be told to have done so before the write returns.
 * What was not written after all is given back then.
 */
INLINE int begin_write(u64 channel, u64 bytes)
{
	struct stream *stream = channel && bytes ? stream_of(channel) : 0;
	if (stream)
		transfer(channel, __sync_fetch_and_add(&stream->written, bytes), bytes, IS_WRITE);
	return 0;
}

INLINE int end_write(u64 channel, u64 bytes, s64 written)
{
	u64 begin = bpf_ktime_get_ns(), missing = bytes - (written > 0 ? (u64)written : 0);
	struct stream *stream = channel && missing ? stream_of(channel) : 0;
	if (stream)
		__sync_fetch_and_add(&stream->written, -missing);
	spent(begin);
	return 0;
}

INLINE int end_read(u64 channel, s64 bytes)
{
	struct stream *stream = channel && bytes > 0 ? stream_of(channel) : 0;
	if (stream)
		transfer(channel, __sync_fetch_and_add(&stream->read, bytes), bytes, 0);
	return 0;
}

INLINE s64 result_of(u64 *context)
{
	u64 result = 0;
	bpf_get_func_ret(context, &result);
	return (s64)result;
}

/* A pipe's number shows that it is one: how much goes into it is known. */
INLINE u64 pipe_of(struct kiocb *request)
{
	u64 mixed = request->ki_filp->f_inode->i_ino * PRIME;
	return PIPE_STREAMS << 32 | mixed >> 32;
}

SEC("fentry/anon_pipe_write")
int pipe_write(u64 *context)
{
	if (!is_recorded())
		return 0;
	return begin_write(pipe_of((void *)context[0]), ((struct iov_iter *)context[1])->count);
}

/* What is left of the request was not written. */
SEC("fexit/anon_pipe_write")
int pipe_written(u64 *context)
{
	u64 left = ((struct iov_iter *)context[1])->count;
	if (left == 0 || !is_recorded())
		return 0;
	return end_write(pipe_of((void *)context[0]), left, 0);
}

SEC("fexit/anon_pipe_read")
int pipe_read(u64 *context)
{
	if (!is_recorded())
		return 0;
	return end_read(pipe_of((void *)context[0]), result_of(context));
}

/* What a socket receives is a stream, and so is what a connection carries in one direction. */
INLINE u64 stream_into(u64 socket)
{
	return ((socket * PRIME) ^ FILE_SOCKET) & ~BETWEEN_MACHINES;
}

/* The pointer that lies there, as a number: the kernel refuses to load programs that calculate with its pointers. */
INLINE u64 pointer_at(const void *place)
{
	u64 pointer = 0;
	bpf_probe_read_kernel(&pointer, sizeof(pointer), place);
	return pointer;
}

INLINE u64 unix_peer(struct sock *socket)
{
	u64 peer = pointer_at(&((struct unix_sock *)socket)->peer);
	return peer ? stream_into(peer) : 0;
}

SEC("fentry/unix_stream_sendmsg")
int unix_send(u64 *context)
{
	if (!is_recorded())
		return 0;
	return begin_write(unix_peer(((struct socket *)context[0])->sk), context[2]);
}

SEC("fexit/unix_stream_sendmsg")
int unix_sent(u64 *context)
{
	s64 result = result_of(context);
	if (result == (s64)context[2] || !is_recorded())
		return 0;
	return end_write(unix_peer(((struct socket *)context[0])->sk), context[2], result);
}

SEC("fexit/unix_stream_recvmsg")
int unix_received(u64 *context)
{
	if (!is_recorded() || context[3] & MESSAGE_PEEK)
		return 0;
	return end_read(stream_into(pointer_at(&((struct socket *)context[0])->sk)), result_of(context));
}

#define LOOPBACK 127

INLINE u64 mixed_address(struct in6_addr *address)
{
	u32 *words = address->in6_u.u6_addr32;
	return ((u64)words[0] << 32 | words[1]) * PRIME ^ ((u64)words[2] << 32 | words[3]);
}

/* One direction of a connection, by its ends. */
INLINE u64 tcp_stream(struct sock *socket, int sends)
{
	struct sock_common *ends = &socket->__sk_common;
	u64 local = ends->skc_rcv_saddr, remote = ends->skc_daddr;
	if (ends->skc_family == INTERNET_6) {
		local = mixed_address(&ends->skc_v6_rcv_saddr);
		remote = mixed_address(&ends->skc_v6_daddr);
	}
	u64 is_local = local == remote || (ends->skc_family == INTERNET && (local & 255) == LOOPBACK);
	local = local * PRIME ^ ends->skc_num;
	remote = remote * PRIME ^ __builtin_bswap16(ends->skc_dport);
	u64 from = sends ? local : remote, to = sends ? remote : local;
	u64 stream = ((from * PRIME) ^ (from >> 29) ^ to) * PRIME ^ FILE_SOCKET;
	return is_local ? stream & ~BETWEEN_MACHINES : stream | BETWEEN_MACHINES;
}

SEC("fentry/tcp_sendmsg")
int tcp_send(u64 *context)
{
	if (!is_recorded())
		return 0;
	return begin_write(tcp_stream((void *)context[0], 1), context[2]);
}

SEC("fexit/tcp_sendmsg")
int tcp_sent(u64 *context)
{
	s64 result = result_of(context);
	if (result == (s64)context[2] || !is_recorded())
		return 0;
	return end_write(tcp_stream((void *)context[0], 1), context[2], result);
}

SEC("fexit/tcp_recvmsg")
int tcp_received(u64 *context)
{
	u64 flags = 0;
	if (!is_recorded())
		return 0;
	/* Before Linux 5.19 there was one argument more: the flags are the last but one. */
	bpf_get_func_arg(context, bpf_get_func_arg_cnt(context) - 2, &flags);
	if (flags & MESSAGE_PEEK)
		return 0;
	return end_read(tcp_stream((void *)context[0], 0), result_of(context));
}

#define STREAM 1

/* One direction of a connected socket that carries bytes; 0 of other sockets. */
INLINE u64 socket_stream(u64 *context, int sends)
{
	struct sock *socket = (void *)context[0];
	u16 family = socket->__sk_common.skc_family;
	if (socket->sk_type != STREAM)
		return 0;
	if (family == INTERNET || family == INTERNET_6)
		return tcp_stream(socket, sends);
	if (family != LOCAL)
		return 0;
	return sends ? unix_peer(socket) : stream_into(pointer_at(&context[0]));
}

/*
 * For kernels that refuse programs on their functions: tracepoints at the ends of sending and receiving. Of what is received before
 * its sending is told on this machine nothing is told: the receiver waited and was woken, or did not wait by a moment.
 */
SEC("tp_btf/sock_send_length")
int socket_sent(u64 *context)
{
	s64 sent = (int)context[1];
	if (sent <= 0 || !is_recorded())
		return 0;
	u64 channel = socket_stream(context, 1);
	struct stream *stream = channel ? stream_of(channel) : 0;
	if (!stream)
		return 0;
	transfer(channel, __sync_fetch_and_add(&stream->written, sent), sent, IS_WRITE);
	__sync_fetch_and_add(&stream->told, sent);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int socket_received(u64 *context)
{
	s64 received = (int)context[1];
	if (received <= 0 || context[2] & MESSAGE_PEEK || !is_recorded())
		return 0;
	u64 channel = socket_stream(context, 0);
	struct stream *stream = channel ? stream_of(channel) : 0;
	if (!stream)
		return 0;
	u64 position = __sync_fetch_and_add(&stream->read, received);
	/* What another machine sends is told there. */
	int is_from_afar = channel & BETWEEN_MACHINES && !stream->written;
	if (is_from_afar || position + received <= stream->told)
		transfer(channel, position, received, 0);
	return 0;
}

#define LOOPBACK_INTERFACE 1
#define MOST_DATAGRAMS 16384

/* Where a datagram lies in the stream of its receiver. */
struct datagram {
	u64 channel;
	u64 position;
	u64 bytes;
};

/* by buffer; those that nobody will receive are forgotten */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH);
	MAP_UINT(max_entries, MOST_DATAGRAMS);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct datagram);
} datagrams SEC(".maps");

/*
 * A datagram comes to its receiver. Over the loopback interface its sender brings it there; others come in whatever thread an
 * interrupt met.
 */
SEC("fentry/__udp_enqueue_schedule_skb")
int datagram_sent(u64 *context)
{
	struct sk_buff *buffer = (void *)context[1];
	u64 key = pointer_at(&context[1]);
	if (buffer->skb_iif != LOOPBACK_INTERFACE || !is_recorded()) {
		bpf_map_delete_elem(&datagrams, &key);
		return 0;
	}
	struct datagram sent = { .channel = stream_into(pointer_at(&context[0])), .bytes = buffer->len ?: 1 };
	struct stream *stream = stream_of(sent.channel);
	if (!stream)
		return 0;
	sent.position = __sync_fetch_and_add(&stream->written, sent.bytes);
	bpf_map_update_elem(&datagrams, &key, &sent, BPF_ANY);
	return transfer(sent.channel, sent.position, sent.bytes, IS_WRITE);
}

/* It was copied to a thread; a length below nothing is that of one that was only looked at. */
SEC("fentry/skb_consume_udp")
int datagram_received(u64 *context)
{
	u64 key = pointer_at(&context[1]);
	if ((int)context[2] < 0 || !is_recorded())
		return 0;
	struct datagram *found = bpf_map_lookup_elem(&datagrams, &key);
	if (!found)
		return 0;
	struct datagram received = *found;
	bpf_map_delete_elem(&datagrams, &key);
	return transfer(received.channel, received.position, received.bytes, 0);
}

/* A counter that grows by what is written; a read takes all of it, or one. */
INLINE u64 event_of(struct file *file)
{
	return (((u64)file->private_data * PRIME) ^ FILE_ANONYMOUS) & ~BETWEEN_MACHINES;
}

SEC("fentry/eventfd_write")
int event_write(u64 *context)
{
	u64 value = 0;
	if (!is_recorded() || bpf_probe_read_user(&value, sizeof(value), (void *)context[1]))
		return 0;
	return begin_write(event_of((void *)context[0]), value);
}

SEC("fexit/eventfd_write")
int event_written(u64 *context)
{
	u64 value = 0;
	if (result_of(context) > 0 || !is_recorded() ||
	    bpf_probe_read_user(&value, sizeof(value), (void *)context[1]))
		return 0;
	return end_write(event_of((void *)context[0]), value, 0);
}

SEC("fexit/eventfd_read")
int event_read(u64 *context)
{
	if (result_of(context) <= 0 || !is_recorded())
		return 0;
	struct file *file = ((struct kiocb *)context[0])->ki_filp;
	u64 channel = event_of(file);
	u32 flags = 0;
	bpf_probe_read_kernel(&flags, sizeof(flags), &((struct eventfd_ctx *)file->private_data)->flags);
	struct stream *stream = stream_of(channel);
	if (!stream)
		return 0;
	s64 all = (s64)(stream->written - stream->read);
	return end_read(channel, flags & EVENTFD_SEMAPHORE ? 1 : all);
}
