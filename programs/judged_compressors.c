/* Compressors (zlib, bzip2, liblzma) in two threads, which take blocks from one counter behind a lock; then one block is read back.
 *
 *   worker   take a block | deflate_block | bzip_block | pack_block | sum_block | ...
 *   main     join ...................................................................| inflate_blocks
 */
#define _GNU_SOURCE
#include <bzlib.h>
#include <lzma.h>
#include <pthread.h>
#include <string.h>
#include <zlib.h>
#include "work.h"

enum { WORKERS = 2, BLOCKS = 12, BYTES = 150000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_block;
static unsigned char text[BYTES];

static void fill(void)
{
    static const char *words[8] = {"lock ", "path ", "thread ", "barrier ", "queue ", "slack ", "metric ", "zero "};
    unsigned long state = 1;
    for (size_t at = 0; at + 10 < BYTES; at += strlen((char *)text + at)) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        strcpy((char *)text + at, words[state >> 61]);
    }
}

NOINLINE void deflate_block(unsigned char *out)
{
    if (LEFT_OUT)
        return;
    uLongf size = 2 * BYTES;
    CHECK(compress2(out, &size, text, BYTES, 6) == Z_OK);
    __asm__ volatile("");
}

NOINLINE void bzip_block(unsigned char *out)
{
    if (LEFT_OUT)
        return;
    unsigned size = 2 * BYTES;
    CHECK(BZ2_bzBuffToBuffCompress((char *)out, &size, (char *)text, BYTES, 1, 0, 0) == BZ_OK);
    __asm__ volatile("");
}

NOINLINE void pack_block(unsigned char *out)
{
    if (LEFT_OUT)
        return;
    size_t size = 0;
    CHECK(lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, NULL, text, BYTES, out, &size, 2 * BYTES) == LZMA_OK);
    __asm__ volatile("");
}

NOINLINE void sum_block(unsigned char *out)
{
    if (LEFT_OUT)
        return;
    unsigned long sum = 0;
    for (int part = 0; part < 60; part++)
        sum += adler32(1, text + part, BYTES - 100) + lzma_crc64(text + part, BYTES - 100, 0);
    memcpy(out, &sum, sizeof sum);
    __asm__ volatile("");
}

NOINLINE void inflate_blocks(unsigned char *out)
{
    if (LEFT_OUT)
        return;
    unsigned char *small = malloc(BYTES);
    uLongf size = BYTES;
    CHECK(small && compress2(small, &size, text, BYTES, 1) == Z_OK);
    for (int block = 0; block < 8 * BLOCKS; block++) {
        uLongf length = 2 * BYTES;
        CHECK(uncompress(out, &length, small, size) == Z_OK);
    }
    free(small);
}

static void *worker(void *unused)
{
    unsigned char *out = malloc(2 * BYTES);
    CHECK(out);
    for (;;) {
        pthread_mutex_lock(&lock);
        int block = next_block++;
        pthread_mutex_unlock(&lock);
        if (block >= BLOCKS)
            break;
        deflate_block(out);
        bzip_block(out);
        pack_block(out);
        sum_block(out);
    }
    free(out);
    return unused;
}

int main(void)
{
    pthread_t threads[WORKERS];
    fill();
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    unsigned char *out = malloc(2 * BYTES);
    CHECK(out);
    inflate_blocks(out);
    free(out);
    return 0;
}
