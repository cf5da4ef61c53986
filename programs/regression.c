// Linear regression as in a well-known benchmark: each thread sums up its part of the points in a struct of its own.
//
// The structs are 64 bytes, one after the other, in memory from malloc, which begins 16 bytes after a multiple of 64:
// so each of them lies on two cache lines, and neighbours share a line, though no datum is shared. With the argument
// `aligned` the array begins at a multiple of 64. The sums are the same.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
    char x, y;
};

struct part {
    pthread_t thread;
    struct point *points;
    long count;
    long long sx, sy, sxx, syy, sxy;
};

static void *regress(void *argument) {
    struct part *part = argument;
    for (long i = 0; i < part->count; i++) {
        struct point point = part->points[i];
        part->sx += point.x;
        part->sy += point.y;
        part->sxx += point.x * point.x;
        part->syy += point.y * point.y;
        part->sxy += point.x * point.y;
    }
    return NULL;
}

static struct part *make_parts(long threads, int is_aligned) {
    if (is_aligned)
        return aligned_alloc(64, threads * sizeof(struct part));
    // Where an allocator puts it is its own affair: here it is fixed, so that every run is the same.
    char *memory = aligned_alloc(64, threads * sizeof(struct part) + 64);
    return (struct part *)(memory + 16);
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 2;
    long count = argc > 2 ? atol(argv[2]) : 1000;
    int is_aligned = argc > 3 && strcmp(argv[3], "aligned") == 0;
    struct point *points = malloc(threads * count * sizeof(struct point));
    for (long i = 0; i < threads * count; i++)
        points[i] = (struct point){i % 7, i % 11};
    struct part *parts = make_parts(threads, is_aligned);
    memset(parts, 0, threads * sizeof(struct part));
    for (long i = 0; i < threads; i++) {
        parts[i].points = points + i * count;
        parts[i].count = count;
    }
    for (long i = 0; i < threads; i++)
        pthread_create(&parts[i].thread, NULL, regress, &parts[i]);
    long long sum = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(parts[i].thread, NULL);
        sum += parts[i].sx + parts[i].sy + parts[i].sxx + parts[i].syy + parts[i].sxy;
    }
    printf("%lld\n", sum);
    return 0;
}
