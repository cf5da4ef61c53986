/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the programs write into the ring. The readers (`src/bpf/wire.rs`) are made of this file, which holds numbers,
 * enumerations and structures of integers, texts and other structures, and nothing else (`../record_layouts.rs`).
 * Every record begins with a head; integers are of the machine's own byte order.
 */
#ifndef LONGPOLE_RECORDS_H
#define LONGPOLE_RECORDS_H

#include "kernel.h"

enum record_kind {
	RECORD_SWITCH = 1,
	RECORD_WAKE = 2,
	RECORD_FORK = 3,
	RECORD_EXEC = 4,
	RECORD_NAME = 5,
	RECORD_SAMPLE = 6,
	RECORD_STACK = 7,
	RECORD_FILE = 8,
	RECORD_JOIN = 9,
	RECORD_TRANSFER = 10,
	RECORD_LOOK = 11,
	RECORD_REGISTERS = 12,
	RECORD_STORE = 13,
	RECORD_PYTHON = 14,
	RECORD_FUNCTION = 15,
	RECORD_ALLOWED = 16,
	RECORD_PEER = 17,
};

/* Flags of a head. */
enum {
	PREVIOUS_TRACKED = 1, /* switch: the task that left is recorded */
	NEXT_TRACKED = 2,     /* switch: the task that came is recorded */
	HAS_CALL = 4,         /* the call part follows */
	IN_KERNEL = 8,        /* sample: the timer found kernel code */
	WAKER_TRACKED = 16,   /* wake: the waker is recorded */
	JOIN_WAITS = 1,       /* join: it returns when the thread has ended, and not before */
	JOIN_CHILD = 2,       /* join: of a child process */
	IS_WRITE = 1,         /* transfer: into the stream */
};

/* Who woke, in wake records. */
enum {
	CONTEXT_TASK = 0,
	CONTEXT_INTERRUPT = 1,
	CONTEXT_SOFT_INTERRUPT = 2,
	CONTEXT_HARD_INTERRUPT = 3,
};

/* Why a task left, in switch records. */
enum {
	LEFT_RUNNABLE = 0,
	LEFT_INTERRUPTIBLE = 1,
	LEFT_UNINTERRUPTIBLE = 2,
	LEFT_DEVICE = 3,
	LEFT_STOPPED = 4,
	LEFT_DEAD = 5,
};

/* Kinds of file behind a descriptor. */
enum {
	FILE_NONE = 0,
	FILE_REGULAR = 1,
	FILE_PIPE = 2,
	FILE_SOCKET = 3,
	FILE_CHARACTER = 4,
	FILE_BLOCK = 5,
	FILE_ANONYMOUS = 6,
	FILE_TIMER = 7,
};

struct head {
	u64 time;
	u8 kind;
	u8 flags;
	u16 cpu;
	u32 pid; /* of the task the record is about: who left, woke, forked, … */
};

/* On which processors a thread may run from now on, before its first record that this is about. */
struct allowed_record {
	struct head head;
	u32 tid;
	u32 count; /* of those that the kernel could have, online or not */
	u64 first; /* a bit for each processor up to 63 */
};

/* Where and in which system call the task was. */
struct call {
	/*
	 * Of calls on a descriptor the third is the number of the file behind it; of a futex in memory that processes share a number for
	 * its word, and the kind of file is a regular one; of semop the second is the number of the first semaphore in its set.
	 */
	u64 arguments[3];
	u64 key; /* of its stack; 0: none */
};

/* The kernel's own account of a task: by it a switch to the task that no tracepoint told is known. */
struct account {
	u64 arrived; /* when it got its processor; 0: not known */
	u64 waited;  /* how long it was ready without one, in all its life */
};

struct switch_record {
	struct head head;
	u32 previous_tid;
	u32 next_tid;
	u32 next_pid;
	u8 left;
	u8 file;
	s16 number;
	struct account account; /* of who left */
	u64 next_waited;
	struct call call; /* only with HAS_CALL */
};

struct wake_record {
	struct head head;
	u32 wakee_tid;
	u32 wakee_pid;
	u32 waker_tid;
	u8 context;
	u8 file;
	s16 number;
	union {
		struct call call; /* with HAS_CALL */
		char comm[16];    /* of a waker that is not recorded */
	};
};

struct fork_record {
	struct head head;
	u32 parent_tid;
	u32 child_tid;
	u32 child_pid;
	u32 unused;
	u64 key;
	u64 handle; /* the thread pointer of a new thread, which is its handle in the C library; 0: not known */
};

/* A join of a thread by its handle, or a look for a child that has ended. */
struct join_record {
	struct head head;
	u32 tid;
	u32 child; /* its pid, or a process group's; 0: any */
	u64 handle;
};

/* Bytes that went into a stream, before they did; or out of it, after they did. */
struct transfer_record {
	struct head head;
	u32 tid;
	u32 unused;
	u64 channel;
	u64 position; /* bytes that went the same way before */
	u64 bytes;
};

#define PATH_BYTES 256
/* Of the arguments of a program; what is longer is cut. A power of two. */
#define ARGUMENT_BYTES 1024

struct exec_record {
	struct head head;
	u32 tid;
	u32 old_tid;
	char path[PATH_BYTES];
	u32 argument_bytes;
	u32 unused;
	char arguments[ARGUMENT_BYTES]; /* each ends with a zero */
};

struct name_record {
	struct head head;
	u32 tid;
	char comm[16];
	u32 unused;
};

#define FILE_NAME_BYTES 64

/* The name of a regular file or folder, before the first record with its number. */
struct file_record {
	struct head head;
	u64 number;
	char name[FILE_NAME_BYTES];
};

/* The other end of a connection that this end asked for, before the first record with its number. */
struct peer_record {
	struct head head;
	u64 number;
	u16 family; /* of the address: of a path (1), 4 bytes (2), or 16 bytes (10) */
	u16 port;
	u32 unused;
	char address[FILE_NAME_BYTES];
};

#define MOST_KERNEL_FRAMES 32
#define MOST_USER_FRAMES 127
#define MOST_MEMORY 8192

/* A stack: of a sample, one that later records name by its key, or that of a store into a watched word. */
struct stack_record {
	struct head head;
	u64 key; /* store: the word's address */
	u64 ip;
	u64 sp;
	u64 bp;
	struct account account; /* sample */
	u64 before; /* sample: how long ago the timer looked at this processor before; 0: not known */
	u32 tid;
	u32 memory_bytes;
	u32 kernel_frames;
	u32 user_frames;
	/* kernel frames, user frames, memory; what is absent takes no room; at the end room for zeros */
	u8 data[MOST_KERNEL_FRAMES * 8 + MOST_USER_FRAMES * 8 + MOST_MEMORY + 64];
};

/* The timer looked at a processor and found no recorded task, where it had found one before. */
struct look_record {
	struct head head;
	u64 before; /* how long ago that was */
};

/* The registers of a thread that a sample found in its own code; of the time of that sample. */
struct registers_record {
	struct head head;
	u32 tid;
	u32 unused;
	u64 ip;
	u64 general[16]; /* by their numbers in x86-64's instructions: ax, cx, dx, bx, sp, bp, si, di, r8, … */
};

#define MOST_PYTHON_FRAMES 128

/* What a thread executes of Python, before the stack with the same key, or the sample of the same time. */
struct python_record {
	struct head head;
	u64 key;
	u32 tid;
	u32 count;
	u32 is_cut; /* there are more frames */
	u32 unused;
	/* Innermost first: the number of a function, and whether the interpreter's loop was entered with it. What is absent takes no room. */
	u8 frames[MOST_PYTHON_FRAMES * 8];
};

/* In the words of frames. */
#define FRAME_BEGINS_LOOP 63  /* the bit that says so */
#define FUNCTION_NONE 0       /* the frame is the loop's own, of no function */
#define FUNCTION_UNREADABLE 1

#define FUNCTION_TEXT_BYTES 512

/* A function of Python, before the first record that has its number: the objects of its texts as they are in memory. */
struct function_record {
	struct head head;
	u64 number;
	u32 name_bytes;
	u32 file_bytes;
	u32 line; /* its first */
	u32 layout; /* by which its texts are read */
	char name[FUNCTION_TEXT_BYTES];
	char file[FUNCTION_TEXT_BYTES];
};

#endif
