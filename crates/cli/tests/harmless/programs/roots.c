/* Programs that are executed in another root, where the agent's file is not: what they say is what they say without it.
 * The first argument is a folder with `plain` and a shell in it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *plain[] = {"plain", NULL};

static void by_execv(void) { execv("/plain", plain); }
static void by_execve(void) { execve("/plain", plain, environ); }
static void by_execvp(void) { execvp("plain", plain); }
static void by_execvpe(void) { execvpe("plain", plain, environ); }
static void by_execl(void) { execl("/plain", "plain", "1", "2", "3", "4", "5", "6", "7", NULL); }
static void by_execlp(void) { execlp("plain", "plain", NULL); }
static void by_fexecve(void) { fexecve(open("/plain", O_RDONLY), plain, environ); }
static void by_execveat(void) { execveat(AT_FDCWD, "/plain", plain, environ, 0); }
static void by_number(void) { syscall(SYS_execve, "/plain", plain, environ); }
static void by_system(void) { _exit(system("/plain") >> 8); }

static void by_popen(void) {
    FILE *out = popen("/plain", "r");
    char line[64];
    while (fgets(line, sizeof line, out)) fputs(line, stdout);
    fflush(stdout);
    _exit(pclose(out) >> 8);
}

static void by_spawn(void) {
    pid_t pid;
    int status = 0;
    if (posix_spawn(&pid, "/plain", NULL, NULL, plain, environ)) _exit(1);
    waitpid(pid, &status, 0);
    if (posix_spawnp(&pid, "plain", NULL, NULL, plain, environ)) _exit(2);
    waitpid(pid, &status, 0);
    _exit(status >> 8);
}

static void by_vfork(void) {
    int status = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/plain", plain);
        _exit(4);
    }
    waitpid(pid, &status, 0);
    _exit(status >> 8);
}

/* An environment that somebody copied, with a variable before ours and one behind it. */
static void by_copy(void) {
    char *copy[] = {"FIRST=1", NULL, "LAST=1", NULL};
    const char *value = getenv("LD_PRELOAD");
    if (!value) copy[1] = copy[2], copy[2] = NULL;
    else if (asprintf(&copy[1], "LD_PRELOAD=%s", value) < 0) abort();
    execve("/plain", plain, copy);
}

int main(int count, char **arguments) {
    void (*tests[])(void) = {by_execv,  by_execve, by_execvp, by_execvpe, by_execl, by_execlp, by_fexecve, by_execveat,
                             by_number, by_system, by_popen,  by_spawn,   by_vfork, by_copy};
    setenv("PATH", "/", 1);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (chroot(arguments[1]) || chdir("/")) abort();
            tests[i]();
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
        printf("%zu ended with %x\n", i, status);
        fflush(stdout);
    }
    return 6;
}
