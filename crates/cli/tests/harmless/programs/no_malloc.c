/* Counts what is allocated: the program's own allocator sees every call of the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static char heap[64 << 20];
static atomic_size_t top;
static atomic_int allocations;

void *malloc(size_t bytes) {
    allocations++;
    size_t at = atomic_fetch_add(&top, (bytes + 31) / 16 * 16);
    if (at + bytes + 32 > sizeof heap) return NULL;
    *(size_t *)(heap + at) = bytes;
    return heap + at + 16;
}
void free(void *memory) { (void)memory; }
void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void *realloc(void *memory, size_t bytes) {
    void *other = malloc(bytes);
    if (memory && other) memcpy(other, memory, ((size_t *)memory)[-2] < bytes ? ((size_t *)memory)[-2] : bytes);
    return other;
}
void *memalign(size_t alignment, size_t bytes) {
    char *memory = malloc(bytes + alignment);
    return memory + (alignment - (size_t)memory % alignment) % alignment;
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **to, size_t alignment, size_t bytes) {
    *to = memalign(alignment, bytes);
    return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int pipes[2];
static int turn;

static void use(long number) {
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != number) pthread_cond_wait(&condition, &mutex);
        turn = 1 - turn;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&lock);
        pthread_rwlock_unlock(&lock);
        pthread_rwlock_wrlock(&lock);
        pthread_rwlock_unlock(&lock);
        if (number) sem_post(&semaphore);
        else sem_wait(&semaphore);
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        char text = 'x';
        if (number) (void)!write(pipes[1], &text, 1);
        else (void)!read(pipes[0], &text, 1);
        pthread_barrier_wait(&barrier);
        poll(NULL, 0, 0);
    }
    usleep(1000);
}

static int in_hooks[2];
static void *run(void *number) {
    /* From here on no thread is being created. */
    pthread_barrier_wait(&barrier);
    int before = allocations;
    pthread_barrier_wait(&barrier);
    use((long)number);
    in_hooks[(long)number] = allocations - before;
    return NULL;
}

int main(void) {
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    if (pipe(pipes)) return 1;
    pthread_t threads[2];
    for (int round = 0; round < 3; round++) {
        int before = allocations;
        for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, (void *)i);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        /* What libc takes for a thread it takes without the agent too. */
        printf("%d and %d in hooks, %d in all\n", in_hooks[0], in_hooks[1], allocations - before);
    }
    return 5;
}
