/* A library that joins a thread by a function that few programs use, for `late_join.c`. */
#define _GNU_SOURCE
#include <pthread.h>

int join_by_library(pthread_t thread) { return pthread_timedjoin_np(thread, NULL, NULL); }
