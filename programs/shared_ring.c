// One thread fills a ring of 16 cache lines, another one empties it: a single producer and a single consumer.
//
// K items. A slot is fetched by the consumer once for each item: 16 requests are its first references, K - 16 are
// transfers (single producer, single consumer). The producer writes a slot again without reading it: it has a copy, and
// takes the consumer's away without a fetch. So of the ring there are 16 + 16 first references and K - 16 transfers.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#define SLOTS 16

static struct slot {
    _Alignas(64) long item;
} ring[SLOTS];
static _Alignas(64) sem_t free_slots;
static _Alignas(64) sem_t filled_slots;
static _Alignas(64) long items;
static _Alignas(64) long sum;

static void put(struct slot *slot, long item) { slot->item = item; }

static long take(struct slot *slot) { return slot->item; }

static void *produce(void *none) {
    long count = items;
    for (long item = 0; item < count; item++) {
        sem_wait(&free_slots);
        put(&ring[item % SLOTS], item);
        sem_post(&filled_slots);
    }
    return none;
}

static void *consume(void *none) {
    long count = items, found = 0;
    for (long item = 0; item < count; item++) {
        sem_wait(&filled_slots);
        found += take(&ring[item % SLOTS]);
        sem_post(&free_slots);
    }
    sum = found;
    return none;
}

int main(int argc, char **argv) {
    items = argc > 1 ? atol(argv[1]) : 1000;
    sem_init(&free_slots, 0, SLOTS);
    sem_init(&filled_slots, 0, 0);
    pthread_t producer, consumer;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    return sum != items * (items - 1) / 2;
}
