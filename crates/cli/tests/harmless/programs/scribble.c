/* Writes what a hostile program could into the memory that agents share with the recorder.
 * Arguments: its path, a number that the writes follow from, how many. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER (64 << 10)
#define AREA (256 << 10)

static uint64_t state;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t value(void) {
    switch (draw() % 8) {
    case 0: return 0;
    case 1: return ~0ull;
    case 2: return draw() % 4096;
    case 3: return (uint64_t)getpid() << 32 | (uint32_t)getpid();
    case 4: return 1ull << (draw() % 64);
    case 5: return draw() % 24 | (draw() % 1024) << 6 | draw() << 16; /* an event's first word */
    case 6: return 0x100000001ull * (draw() % 3);
    default: return draw();
    }
}

int main(int count, char **arguments) {
    if (count < 4) return 1;
    int file = open(arguments[1], O_RDWR);
    if (file < 0) {
        perror("open");
        return 1;
    }
    struct stat status;
    fstat(file, &status);
    uint64_t *words = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (words == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    state = strtoull(arguments[2], NULL, 0) * 0x9e3779b97f4a7c15ull | 1;
    uint64_t areas = (status.st_size - HEADER) / AREA;
    for (long left = atol(arguments[3]); left > 0; left--) {
        /* The header, the first areas and the last one; the words at the beginning of an area more than those of its ring. */
        uint64_t area = draw() % 16 == 0 ? areas - 1 : draw() % 4;
        uint64_t in = draw() % 2 ? draw() % 256 : draw() % AREA;
        uint64_t at = draw() % 8 == 0 ? draw() % 320 : HEADER + area * AREA + in;
        words[at / 8] = value();
        if (left % 1000 == 0) usleep(1000);
    }
    puts("scribbled");
    return 0;
}
