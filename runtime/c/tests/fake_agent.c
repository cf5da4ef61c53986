/* An agent that writes down what it is told: a line a call, to the file FAKE_AGENT_LOG. FAKE_AGENT_VERSION and
 * FAKE_AGENT_SIZE change what it says of itself. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LONGPOLE_OFF /* only the declarations */
#include "../longpole.h"

static void note(const char *format, ...)
{
	char line[256];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	int file = open(getenv("FAKE_AGENT_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0644);
	if (write(file, line, (size_t)length) != length)
		abort();
	close(file);
}

static uint64_t tasks;

static void region_enter(const char *name) { note("enter %s\n", name); }
static void region_leave(void) { note("leave\n"); }
static uint64_t task_spawn(void)
{
	note("spawn %d\n", (int)++tasks);
	return tasks;
}
static void task_begin(uint64_t task, const char *name) { note("begin %d %s\n", (int)task, name); }
static void task_end(void) { note("end\n"); }
static void thread_name(const char *name) { note("thread %s\n", name); }
static void object_name(const void *object, size_t size, const char *name)
{
	note("object %d %d %s\n", *(const int *)object, (int)size, name);
}
static void wait_begin(const void *object, uint32_t kind) { note("wait %d %u\n", *(const int *)object, kind); }
static void wait_end(void) { note("waited\n"); }
static void acquired(const void *object, uint32_t kind) { note("acquired %d %u\n", *(const int *)object, kind); }
static void released(const void *object) { note("released %d\n", *(const int *)object); }

const struct longpole_agent *longpole_agent_v1(void)
{
	static struct longpole_agent agent = {
		1,	     sizeof(agent), region_enter, region_leave, task_spawn, task_begin, task_end,
		thread_name, object_name,   wait_begin,	  wait_end,	acquired,   released,
	};
	if (getenv("FAKE_AGENT_VERSION"))
		agent.version = (uint32_t)atoi(getenv("FAKE_AGENT_VERSION"));
	if (getenv("FAKE_AGENT_SIZE"))
		agent.size = (uint32_t)atoi(getenv("FAKE_AGENT_SIZE"));
	note("asked\n");
	return &agent;
}
