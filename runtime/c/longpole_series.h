/* Metrics that a program or a collector gives to longpole itself: counters, gauges, amounts, at a node of the program's
 * tree. Header only; C or C++ with gcc or clang, Linux, POSIX 2008 (-std=gnu11, -D_GNU_SOURCE). Needs no agent and nothing
 * to link; static programs may use it too. docs/runtime.md shows it at work.
 *
 *     struct longpole_metric *commits = longpole_metric("commits", "transactions", LONGPOLE_COUNTER);
 *     longpole_add(commits, 1);
 *
 * Where no recorder watches, a metric is null, and a call costs one load and one branch; with -DLONGPOLE_OFF it costs
 * nothing. Where one does, a number is one atomic operation on memory that the recorder shares: no system call, and
 * nothing is lost when the program is killed. Nothing here allocates or changes errno. Metrics may be made and used in
 * any thread; longpole_add and longpole_set in signal handlers too.
 *
 * Of a name and a label 63 bytes are kept, of a unit 31. A name is letters, digits and `_`.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef LONGPOLE_SERIES_H
#define LONGPOLE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#ifndef LONGPOLE_OFF
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifndef O_CLOEXEC
#error "longpole_series.h needs POSIX 2008: compile with -std=gnu11 or -D_GNU_SOURCE"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How the numbers of a metric are to be read. */
enum longpole_samples {
	LONGPOLE_GAUGE = 0,   /* the value from now on, until the next */
	LONGPOLE_COUNTER = 1, /* a total that only grows */
	LONGPOLE_AMOUNT = 2   /* what came since the number before it */
};

/* What a metric is about. */
struct longpole_node {
	uint32_t kind;	   /* 0 the program, 1 the machine, 2 a process, 3 a thread */
	uint32_t id;	   /* its pid or tid; 0 for the one that makes the metric */
	const char *label; /* a part that longpole does not know (`cpu0`, `vda`), or null */
};

/* A series. Its value is `value + count`, just `count` where `value` was never set. */
struct longpole_metric {
	int64_t count;
	uint64_t value; /* a double's bits */
	uint64_t unused[6];
	uint32_t state;
	uint32_t samples;
	uint32_t node;
	uint32_t id;
	uint64_t created;
	char name[64];
	char unit[32];
	char label[64];
} __attribute__((aligned(256)));

/* The program, on all its machines; the machine; a process, a thread: 0 for the one that makes the metric. */
static inline struct longpole_node longpole_program(void)
{
	struct longpole_node node = {0, 0, NULL};
	return node;
}

static inline struct longpole_node longpole_machine(const char *label)
{
	struct longpole_node node = {1, 0, label};
	return node;
}

static inline struct longpole_node longpole_process(uint32_t pid)
{
	struct longpole_node node = {2, pid, NULL};
	return node;
}

static inline struct longpole_node longpole_thread(uint32_t tid)
{
	struct longpole_node node = {3, tid, NULL};
	return node;
}

#ifdef LONGPOLE_OFF

static inline struct longpole_metric *longpole_metric_at(struct longpole_node node, const char *name, const char *unit,
							 enum longpole_samples samples)
{
	(void)node, (void)name, (void)unit, (void)samples;
	return NULL;
}

static inline void longpole_add(struct longpole_metric *metric, int64_t count) { (void)metric, (void)count; }
static inline void longpole_set(struct longpole_metric *metric, double value) { (void)metric, (void)value; }
static inline uint64_t longpole_now(void) { return 0; }
static inline int longpole_collecting(double seconds) { return (void)seconds, 0; }

static inline void longpole_sample_at(struct longpole_metric *metric, double value, uint64_t nanoseconds)
{
	(void)metric, (void)value, (void)nanoseconds;
}

#else

/* The memory that the recorder shares; runtime/rust/src/interface/series.rs says what everything in it means. */
struct longpole_entry {
	uint64_t sequence;
	uint64_t slot;
	uint64_t value;
	uint64_t time;
} __attribute__((aligned(32)));

enum { LONGPOLE_SLOTS = 4096, LONGPOLE_ENTRIES = 8192 };

struct longpole_memory {
	uint64_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t recorder;
	uint32_t stopped;
	uint64_t refused_series;
	uint64_t refused_values;
	uint64_t tickets __attribute__((aligned(64)));
	uint64_t taken __attribute__((aligned(64)));
	struct longpole_metric slots[LONGPOLE_SLOTS] __attribute__((aligned(4096)));
	struct longpole_entry entries[LONGPOLE_ENTRIES];
} __attribute__((aligned(4096)));

#define LONGPOLE_MAGIC 0x736569726573706cULL /* "lpseries" */
#define LONGPOLE_UNSET 0x7ff86c6f6e67706fULL
#define LONGPOLE_NO_MEMORY ((struct longpole_memory *)1)

/* The answer, one for each program and library: null where nobody has looked yet. */
__attribute__((weak, visibility("hidden"))) struct longpole_memory *longpole_memory_v1;
/* Whether a collector was told to end. */
__attribute__((weak, visibility("hidden"))) volatile sig_atomic_t longpole_ended_v1;

/* The file at the path that the variable begins with; -1 where this process may not open it. */
static inline int longpole_open_v1(const char *variable, size_t length)
{
	static const char link[] = "/memfd:longpole-series (deleted)";
	char path[64], found[sizeof(link)];
	if (length >= sizeof(path))
		return -1;
	memcpy(path, variable, length);
	path[length] = '\0';
	/* Anything else may be a device or a pipe, of a program that has the recorder's pid now. */
	if (readlink(path, found, sizeof(found)) != (ssize_t)sizeof(link) - 1 ||
	    memcmp(found, link, sizeof(link) - 1) != 0)
		return -1;
	return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* The file from the recorder's socket, whose name stands second in the variable: for those of other users, and where
 * the recorder has rights that this process has not. Whoever knows all of the variable gets it. */
static inline int longpole_ask_door_v1(const char *variable, size_t begin)
{
	struct sockaddr_un address;
	struct timeval patience = {0, 200000};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	char byte;
	struct iovec data = {&byte, 1};
	struct msghdr message;
	struct cmsghdr *answer;
	size_t length = strlen(variable), end = begin;
	int file = -1, door;
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	while (end < length && variable[end] != ':')
		end++;
	if (end == length || end - begin >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path + 1, variable + begin, end - begin);
	door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (door < 0)
		return -1;
	setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(door, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	memset(&message, 0, sizeof(message));
	message.msg_iov = &data;
	message.msg_iovlen = 1;
	message.msg_control = control.bytes;
	message.msg_controllen = sizeof(control.bytes);
	if (connect(door, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + end - begin)) == 0 &&
	    send(door, variable, length, MSG_NOSIGNAL) == (ssize_t)length &&
	    recvmsg(door, &message, MSG_CMSG_CLOEXEC) == 1 && (answer = CMSG_FIRSTHDR(&message)) &&
	    answer->cmsg_type == SCM_RIGHTS && answer->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&file, CMSG_DATA(answer), sizeof(file));
	close(door);
	return file;
}

static inline struct longpole_memory *longpole_map_v1(const char *variable)
{
	struct stat status;
	struct longpole_memory *memory = NULL;
	size_t length = 0;
	int file;
	while (variable[length] && variable[length] != ':')
		length++;
	file = longpole_open_v1(variable, length);
	if (file < 0 && variable[length])
		file = longpole_ask_door_v1(variable, length + 1);
	if (file < 0)
		return NULL;
	if (fstat(file, &status) == 0 && status.st_size >= (off_t)sizeof(*memory)) {
		void *base = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		memory = base == MAP_FAILED ? NULL : (struct longpole_memory *)base;
	}
	close(file);
	if (memory && (memory->magic != LONGPOLE_MAGIC || memory->version != 1 || memory->size != sizeof(*memory)))
		return NULL;
	return memory;
}

__attribute__((weak, visibility("hidden"), cold, noinline)) struct longpole_memory *longpole_look_v1(void)
{
	int error = errno;
	struct longpole_memory *memory = NULL;
	const char *variable = getenv("LONGPOLE_SERIES");
	if (variable && !getauxval(AT_SECURE))
		memory = longpole_map_v1(variable);
	errno = error;
	__atomic_store_n(&longpole_memory_v1, memory ? memory : LONGPOLE_NO_MEMORY, __ATOMIC_RELAXED);
	return memory;
}

/* The memory, or null where no recorder takes metrics. */
static inline struct longpole_memory *longpole_memory(void)
{
	struct longpole_memory *memory = __atomic_load_n(&longpole_memory_v1, __ATOMIC_RELAXED);
	if (!memory)
		return longpole_look_v1();
	return memory == LONGPOLE_NO_MEMORY ? NULL : memory;
}

__attribute__((constructor, unused)) static void longpole_look_at_start(void) { (void)longpole_memory(); }

/* Now, nanoseconds of CLOCK_MONOTONIC: the clock of all times that the recorder takes. */
static inline uint64_t longpole_now(void)
{
	struct timespec time = {0, 0};
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The number at the end of a link of /proc, as the recorder's /proc has it: in a pid namespace, getpid differs. */
static inline uint32_t longpole_own_number(const char *link)
{
	char text[64];
	int error = errno;
	uint32_t number = 0;
	ssize_t length = readlink(link, text, sizeof(text)), at = length;
	errno = error;
	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	for (; at >= 0 && at < length; at++)
		number = number * 10 + (uint32_t)(text[at] - '0');
	return number;
}

static inline void longpole_keep_text(char *place, size_t room, const char *text)
{
	size_t at;
	for (at = 0; text && at < room - 1 && text[at]; at++)
		place[at] = text[at];
}

static inline int longpole_is_text(const char *place, size_t room, const char *text)
{
	size_t at;
	for (at = 0; at < room - 1; at++) {
		char letter = text ? text[at] : '\0';
		if (place[at] != letter)
			return 0;
		if (!letter)
			return 1;
	}
	return 1;
}

static inline int longpole_is_same(const struct longpole_metric *slot, struct longpole_node node, const char *name)
{
	return slot->node == node.kind && slot->id == node.id && longpole_is_text(slot->name, sizeof(slot->name), name) &&
	       longpole_is_text(slot->label, sizeof(slot->label), node.label);
}

/* Waits for a slot that somebody makes; one who was killed meanwhile leaves it unmade for ever. */
static inline int longpole_is_settled(const struct longpole_metric *slot)
{
	int patience;
	for (patience = 0; patience < 10000; patience++) {
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
		if (state != 1)
			return state == 2;
		sched_yield();
	}
	return 0;
}

/* The metric of this name at a node; null where no recorder takes it, or where there is no room (counted). The same name
 * and node are the same series. Numbers of a child process that is forked later count for the same node. To be made
 * once and kept: it is looked for among all that there are. */
static inline struct longpole_metric *longpole_metric_at(struct longpole_node node, const char *name, const char *unit,
							 enum longpole_samples samples)
{
	struct longpole_memory *memory = longpole_memory();
	struct longpole_metric *slot;
	if (!memory)
		return NULL;
	if (node.kind == 2 && !node.id)
		node.id = longpole_own_number("/proc/self");
	if (node.kind == 3 && !node.id)
		node.id = longpole_own_number("/proc/thread-self");
	for (slot = memory->slots; slot < memory->slots + LONGPOLE_SLOTS; slot++) {
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
		/* Slots are taken in order, so whoever makes the same series at the same time meets us here. */
		if (!state && __atomic_compare_exchange_n(&slot->state, &state, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			slot->value = LONGPOLE_UNSET;
			slot->samples = (uint32_t)samples;
			slot->node = node.kind;
			slot->id = node.id;
			slot->created = longpole_now();
			longpole_keep_text(slot->name, sizeof(slot->name), name);
			longpole_keep_text(slot->unit, sizeof(slot->unit), unit);
			longpole_keep_text(slot->label, sizeof(slot->label), node.label);
			__atomic_store_n(&slot->state, 2, __ATOMIC_RELEASE);
			return slot;
		}
		if (longpole_is_settled(slot) && longpole_is_same(slot, node, name))
			return slot;
	}
	__atomic_fetch_add(&memory->refused_series, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Adds to it; to a gauge also less than zero. One atomic addition. */
static inline void longpole_add(struct longpole_metric *metric, int64_t count)
{
	if (metric)
		__atomic_fetch_add(&metric->count, count, __ATOMIC_RELAXED);
}

/* Sets it: the value of a gauge, the total of a counter. */
static inline void longpole_set(struct longpole_metric *metric, double value)
{
	uint64_t bits;
	if (!metric)
		return;
	value -= (double)__atomic_load_n(&metric->count, __ATOMIC_RELAXED);
	memcpy(&bits, &value, sizeof(bits));
	__atomic_store_n(&metric->value, bits, __ATOMIC_RELEASE);
}

/* Gives a number with its time (longpole_now). What longpole_set sets between two looks of the recorder (10 ms) only
 * counts as it is at the second; all of these are kept. Where they come faster than the recorder takes them, some are
 * lost, and counted. */
static inline void longpole_sample_at(struct longpole_metric *metric, double value, uint64_t nanoseconds)
{
	struct longpole_memory *memory = longpole_memory();
	struct longpole_entry *entry;
	uint64_t ticket, bits;
	if (!metric || !memory)
		return;
	memcpy(&bits, &value, sizeof(bits));
	ticket = __atomic_load_n(&memory->tickets, __ATOMIC_RELAXED);
	do {
		/* Acquire: the recorder has read the entry before it says so. */
		if (ticket - __atomic_load_n(&memory->taken, __ATOMIC_ACQUIRE) >= LONGPOLE_ENTRIES) {
			__atomic_fetch_add(&memory->refused_values, 1, __ATOMIC_RELAXED);
			return;
		}
	} while (!__atomic_compare_exchange_n(&memory->tickets, &ticket, ticket + 1, 1, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	entry = &memory->entries[ticket % LONGPOLE_ENTRIES];
	__atomic_store_n(&entry->slot, (uint64_t)(metric - memory->slots), __ATOMIC_RELAXED);
	__atomic_store_n(&entry->value, bits, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->time, nanoseconds, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->sequence, ticket + 1, __ATOMIC_RELEASE);
}

static inline void longpole_end_v1(int signal)
{
	(void)signal;
	longpole_ended_v1 = 1;
}

static inline int longpole_is_alive(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

/* The loop of a collector: waits until the next look is due, a look every so often, the first at once. 0 where there is to
 * be none: at SIGTERM or SIGINT, which is how the recorder ends collectors, and when the recorder is gone. From the first
 * call on the two signals end the loop, not the process. For one thread; looks that came too late are left out. */
static inline int longpole_collecting(double seconds)
{
	static uint64_t next;
	static pid_t recorder;
	struct longpole_memory *memory = longpole_memory();
	uint64_t interval = seconds > 1e-6 ? (uint64_t)(seconds * 1e9) : 1000;
	if (!next) {
		struct sigaction action;
		memset(&action, 0, sizeof(action));
		action.sa_handler = longpole_end_v1;
		sigaction(SIGTERM, &action, NULL);
		sigaction(SIGINT, &action, NULL);
		next = longpole_now();
		/* In another pid namespace it cannot be seen. */
		recorder = memory && longpole_is_alive((pid_t)memory->recorder) ? (pid_t)memory->recorder : 0;
	}
	for (;;) {
		uint64_t now = longpole_now();
		if (longpole_ended_v1 || (recorder && !longpole_is_alive(recorder)) ||
		    (memory && __atomic_load_n(&memory->stopped, __ATOMIC_RELAXED)))
			return 0;
		if (now >= next) {
			next += interval * ((now - next) / interval + 1);
			return 1;
		} else {
			/* The signals are let in only while it waits: none comes between the question and the wait. */
			struct timespec rest = {(time_t)((next - now) / 1000000000), (long)((next - now) % 1000000000)};
			sigset_t kept_out, before;
			sigemptyset(&kept_out);
			sigaddset(&kept_out, SIGTERM);
			sigaddset(&kept_out, SIGINT);
			pthread_sigmask(SIG_BLOCK, &kept_out, &before);
			if (!longpole_ended_v1)
				pselect(0, NULL, NULL, NULL, &rest, &before);
			pthread_sigmask(SIG_SETMASK, &before, NULL);
		}
	}
}

#endif

/* The metric of this name of the calling process. */
static inline struct longpole_metric *longpole_metric(const char *name, const char *unit, enum longpole_samples samples)
{
	return longpole_metric_at(longpole_process(0), name, unit, samples);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
