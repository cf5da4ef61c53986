/* A collector: looks at the machine's load ten times a second, until the recorder ends it.
 *
 *     cc -O2 -I runtime/c -o collector runtime/c/examples/collector.c
 *     longpole record --collect cmd:./collector -- PROGRAM
 *
 * Prints how many looks it took. */
#include <stdio.h>

#include "longpole_series.h"

int main(void)
{
	struct longpole_metric *load =
	    longpole_metric_at(longpole_machine(NULL), "load", "threads", LONGPOLE_GAUGE);
	struct longpole_metric *looks =
	    longpole_metric_at(longpole_machine("collector"), "looks", "looks", LONGPOLE_COUNTER);
	int count = 0;

	while (longpole_collecting(0.1)) {
		double now;
		FILE *file = fopen("/proc/loadavg", "r");
		if (!file)
			return 1;
		if (fscanf(file, "%lf", &now) == 1)
			longpole_set(load, now);
		fclose(file);
		longpole_add(looks, 1);
		count++;
	}
	fprintf(stderr, "%d looks\n", count);
	return 0;
}
