/* Nothing is left behind: no descriptor, no child, no file. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *argument) {
    usleep(100);
    return argument;
}

static void say_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    printf("descriptors");
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') printf(" %s", entry->d_name);
    printf(", next %d\n", dup(0));
    closedir(folder);
}

int main(void) {
    say_descriptors();
    pthread_t threads[50];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) pthread_create(&threads[i], NULL, nothing, NULL);
        for (int i = 0; i < 50; i++) pthread_join(threads[i], NULL);
    }
    say_descriptors();
    int result = waitpid(-1, NULL, WNOHANG);
    printf("children %d %d\n", result, errno == ECHILD);
    fflush(stdout);
    if (fork() == 0) {
        say_descriptors();
        fflush(stdout);
        execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | wc -l", NULL);
    }
    wait(NULL);
    return 0;
}
