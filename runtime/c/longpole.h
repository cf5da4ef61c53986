/* Tells longpole what a program knows of itself: regions, tasks, names of threads and of locks, and locks that it
 * makes itself. Header only; C11 or C++11 with gcc or clang, Linux. docs/runtime.md shows it at work.
 *
 * Where no recorder watches, each call costs one relaxed load and one branch; with -DLONGPOLE_OFF it costs nothing.
 * Nothing here allocates or changes errno, and every function may be called from any thread, in signal handlers,
 * before main and after fork. With a C library before glibc 2.34, link with -ldl; static programs: -DLONGPOLE_OFF.
 *
 * Names of regions and tasks must live for ever (string literals do). All other names are copied. Of every name at
 * most 63 bytes are kept.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef LONGPOLE_H
#define LONGPOLE_H

#include <stddef.h>
#include <stdint.h>

#ifndef LONGPOLE_OFF
#include <dlfcn.h>
#include <errno.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What an object is that threads wait for. */
enum longpole_kind {
	LONGPOLE_MUTEX = 0,
	LONGPOLE_READ_WRITE_LOCK = 1,
	LONGPOLE_SPIN_LOCK = 2,
	LONGPOLE_CONDITION = 3,
	LONGPOLE_BARRIER = 4,
	LONGPOLE_SEMAPHORE = 5,
	LONGPOLE_ONCE = 6,
	LONGPOLE_OTHER = 7
};

/* The functions of the agent, as the symbol longpole_agent_v1 gives them:
 *     const struct longpole_agent *longpole_agent_v1(void);
 * The table is only ever added to at its end; `size` says how much of it an agent has. */
struct longpole_agent {
	uint32_t version; /* 1 */
	uint32_t size;	  /* of the table, bytes */
	void (*region_enter)(const char *name);
	void (*region_leave)(void);
	uint64_t (*task_spawn)(void);
	void (*task_begin)(uint64_t task, const char *name);
	void (*task_end)(void);
	void (*thread_name)(const char *name);
	void (*object_name)(const void *object, size_t size, const char *name);
	void (*wait_begin)(const void *object, uint32_t kind);
	void (*wait_end)(void);
	void (*acquired)(const void *object, uint32_t kind);
	void (*released)(const void *object);
};

#ifdef LONGPOLE_OFF

static inline const struct longpole_agent *longpole_agent(void)
{
	return NULL;
}

#else

#define LONGPOLE_ABSENT ((const struct longpole_agent *)1)

/* The answer, one for each program and library: null where nobody has asked yet. */
__attribute__((weak, visibility("hidden"))) const struct longpole_agent *longpole_answer_v1;

/* Looks the agent up. The first failed look-up allocates inside the C library and takes its lock, so the constructor
 * below does it before the program could be in a signal handler or in a forked child. */
__attribute__((weak, visibility("hidden"), cold, noinline)) const struct longpole_agent *longpole_ask_v1(void)
{
	const struct longpole_agent *answer = LONGPOLE_ABSENT, *table;
	const struct longpole_agent *(*ask)(void);
	int error = errno;
	void *symbol = dlsym((void *)0 /* RTLD_DEFAULT */, "longpole_agent_v1");
	if (symbol) {
		__builtin_memcpy(&ask, &symbol, sizeof(ask));
		table = ask();
		if (table && table->version == 1 && table->size >= sizeof(struct longpole_agent))
			answer = table;
	} else {
		dlerror(); /* The program must not find our failure when it asks for its own. */
	}
	errno = error;
	__atomic_store_n(&longpole_answer_v1, answer, __ATOMIC_RELAXED);
	return answer;
}

/* The agent, or null where there is none. */
static inline const struct longpole_agent *longpole_agent(void)
{
	const struct longpole_agent *answer = __atomic_load_n(&longpole_answer_v1, __ATOMIC_RELAXED);
	if (__builtin_expect(answer == LONGPOLE_ABSENT, 1))
		return NULL;
	if (!answer)
		answer = longpole_ask_v1();
	return answer == LONGPOLE_ABSENT ? NULL : answer;
}

__attribute__((constructor, unused)) static void longpole_ask_at_start(void)
{
	(void)longpole_agent();
}

#endif

/* The calling thread enters a region, and leaves the one it entered last. Regions nest; a thread leaves what it
 * entered. In reports the name stands in the call path, between the procedure that enters the region and those that
 * are called inside. */
static inline void longpole_region_begin(const char *name)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->region_enter(name);
}

static inline void longpole_region_end(void)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->region_leave();
}

/* The calling thread makes a task: work that some thread will do. Gives its key. */
static inline uint64_t longpole_task_spawn(void)
{
	const struct longpole_agent *agent = longpole_agent();
	return agent ? agent->task_spawn() : 0;
}

/* The calling thread begins to do work of a task, and ends. A task may be done in several parts. Its work is shown,
 * and charged, under the call path at which the task was made. */
static inline void longpole_task_begin(uint64_t task, const char *name)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->task_begin(task, name);
}

static inline void longpole_task_end(void)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->task_end();
}

/* Names the calling thread, for longpole only: what the kernel and debuggers show is left as it is. */
static inline void longpole_thread_name(const char *name)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->thread_name(name);
}

/* Names the lock, or whatever else threads wait for, in `size` bytes of memory. */
static inline void longpole_object_name(const void *object, size_t size, const char *name)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->object_name(object, size, name);
}

/* The same for the object that a pointer points to. */
#define LONGPOLE_NAME(pointer, name) longpole_object_name((pointer), sizeof(*(pointer)), (name))

/* For locks that the program makes itself. The calling thread waits for an object, and stops waiting; while it waits
 * and runs it spins, which is no useful work. */
static inline void longpole_wait_begin(const void *object, enum longpole_kind kind)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->wait_begin(object, (uint32_t)kind);
}

static inline void longpole_wait_end(void)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->wait_end();
}

/* It has acquired an object. */
static inline void longpole_acquired(const void *object, enum longpole_kind kind)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->acquired(object, (uint32_t)kind);
}

/* It gives an object back: to be called before another thread can acquire it. */
static inline void longpole_released(const void *object)
{
	const struct longpole_agent *agent = longpole_agent();
	if (agent)
		agent->released(object);
}

static inline void longpole_leave_scope(const char *const *name)
{
	(void)name;
	longpole_region_end();
}

#define LONGPOLE_JOIN_(a, b) a##b
#define LONGPOLE_JOIN(a, b) LONGPOLE_JOIN_(a, b)

/* A region that ends with the block it stands in. */
#define LONGPOLE_SCOPE(name)                                                                                 \
	__attribute__((cleanup(longpole_leave_scope), unused)) const char *const LONGPOLE_JOIN(              \
	    longpole_scope_, __LINE__) = (longpole_region_begin(name), (name))

#ifdef __cplusplus
} /* extern "C" */

namespace longpole
{

/* The calling thread is in a region while this lives. */
class region
{
      public:
	explicit region(const char *name) { longpole_region_begin(name); }
	~region() { longpole_region_end(); }
	region(const region &) = delete;
	region &operator=(const region &) = delete;
};

/* A task that was made: work of it is shown, and charged, under the call path at which it was made. */
class task
{
      public:
	task() : key_(longpole_task_spawn()) {}

	/* A part of the task, which the calling thread does while this lives. */
	class part
	{
	      public:
		part(const task &of, const char *name) { longpole_task_begin(of.key_, name); }
		~part() { longpole_task_end(); }
		part(const part &) = delete;
		part &operator=(const part &) = delete;
	};

	/* Does work of the task. */
	template <typename Work> auto run(const char *name, Work &&work) const -> decltype(work())
	{
		part within(*this, name);
		return work();
	}

      private:
	uint64_t key_;
};

} /* namespace longpole */
#endif

#endif
