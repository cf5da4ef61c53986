/* Small limits: what fits without the agent fits with it, and what fails fails the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *argument) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static int threads(int count) {
    pthread_t all[64];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    int made = 0;
    while (made < count && pthread_create(&all[made], &attributes, nothing, NULL) == 0) made++;
    for (int i = 0; i < made; i++) pthread_join(all[i], NULL);
    return made;
}

static void limit(int which, rlim_t value) {
    struct rlimit limit;
    getrlimit(which, &limit);
    limit.rlim_cur = value;
    if (setrlimit(which, &limit)) abort();
}

static int with_address_space(int again) {
    /* As it executes, so does the program begin: with little. */
    limit(RLIMIT_AS, 200 << 20);
    void *large = malloc(100 << 20);
    printf("malloc %d, too much %d, threads %d\n", large != NULL, malloc(300 << 20) != NULL, threads(40));
    fflush(stdout);
    free(large);
    if (again) {
        execl("/proc/self/exe", "limits", "again", NULL);
        return 1;
    }
    return 0;
}

static int with_descriptors(int again) {
    limit(RLIMIT_NOFILE, 8);
    int last = 0, count = 0;
    for (int opened; (opened = open("/dev/null", O_RDONLY)) >= 0; count++) last = opened;
    printf("last descriptor %d of %d, threads %d\n", last, count, threads(40));
    fflush(stdout);
    return again;
}

static int with_data(int again) {
    limit(RLIMIT_DATA, 40 << 20);
    printf("threads %d, malloc %d\n", threads(40), malloc(20 << 20) != NULL);
    return again;
}

static int with_stack(int again) {
    limit(RLIMIT_STACK, 128 << 10);
    printf("threads %d\n", threads(40));
    fflush(stdout);
    pthread_t thread;
    printf("default %d\n", pthread_create(&thread, NULL, nothing, NULL));
    pthread_join(thread, NULL);
    return again;
}

static int with_files(int again) {
    limit(RLIMIT_FSIZE, 0);
    printf("threads %d\n", threads(40));
    return again;
}

static int with_seccomp(int again) {
    printf("threads %d\n", threads(2));
    int pipes[2];
    if (pipe(pipes)) abort();
    fflush(stdout);
    /* Only read, write, exit and sigreturn from here on. */
    prctl(PR_SET_SECCOMP, 1);
    char text = 'x';
    write(pipes[1], &text, 1);
    read(pipes[0], &text, 1);
    nothing(NULL);
    write(1, "confined\n", 9);
    syscall(SYS_exit, 5 + again);
    return 1;
}

static int with_nothing_mapped_ahead(int again) {
    mlockall(MCL_CURRENT);
    printf("threads %d\n", threads(40));
    if (chroot("/proc") == 0) printf("threads %d\n", threads(40));
    return again;
}

int main(int count, char **arguments) {
    if (count > 1) {
        if (strcmp(arguments[1], "again")) return 1;
        return with_address_space(0) + 20;
    }
    int (*tests[])(int) = {with_address_space, with_descriptors, with_data, with_stack, with_files, with_seccomp,
                           with_nothing_mapped_ahead};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int result = tests[i](i == 0);
            fflush(stdout);
            _exit(result);
        }
        int status;
        waitpid(child, &status, 0);
        printf("%zu ended with %x\n", i, status);
    }
    return 6;
}
