/* SQLite (libsqlite3) in four threads, each with a database of its own in memory; its allocator has one lock for all of them.
 *
 *   worker   fill, then four times: sum_groups | find_words | sort_rows | join_tables | walk_tree
 *   main     join ............................................................................| write_report
 *
 * No query changes anything, so each can be left out without a change to the others.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sqlite3.h>
#include "work.h"

enum { WORKERS = 4, ROUNDS = 4 };

static void query(sqlite3 *database, const char *text)
{
    sqlite3_stmt *statement;
    CHECK(sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW)
        ;
    CHECK(sqlite3_finalize(statement) == SQLITE_OK);
}

NOINLINE void sum_groups(sqlite3 *database)
{
    if (LEFT_OUT)
        return;
    query(database, "SELECT kind, sum(value), avg(value), count(DISTINCT value) FROM item GROUP BY kind");
    __asm__ volatile("");
}

NOINLINE void find_words(sqlite3 *database)
{
    if (LEFT_OUT)
        return;
    query(database, "SELECT id FROM item WHERE name LIKE '%7a%' OR name LIKE '%b2_c%' OR name GLOB '*1?3*'");
    __asm__ volatile("");
}

NOINLINE void sort_rows(sqlite3 *database)
{
    if (LEFT_OUT)
        return;
    query(database, "SELECT id, name FROM item ORDER BY substr(name, 3), value");
    __asm__ volatile("");
}

NOINLINE void join_tables(sqlite3 *database)
{
    if (LEFT_OUT)
        return;
    query(database, "SELECT a.id, b.name FROM item a JOIN item b ON b.id = (a.value * 7919) % 12000 WHERE a.kind < 12");
    __asm__ volatile("");
}

NOINLINE void walk_tree(sqlite3 *database)
{
    if (LEFT_OUT)
        return;
    query(database, "WITH RECURSIVE node(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM node WHERE n < 30000)"
                    " SELECT count(*), group_concat(n, '.') FROM node WHERE n % 3 = 0");
    __asm__ volatile("");
}

static sqlite3 *filled(void)
{
    sqlite3 *database;
    CHECK(sqlite3_open(":memory:", &database) == SQLITE_OK);
    const char *fill = "CREATE TABLE item(id INTEGER PRIMARY KEY, kind INTEGER, value INTEGER, name TEXT);"
                       "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 11999)"
                       "INSERT INTO item SELECT i, i % 17, (i * 48271) % 65537, hex(i * 2654435761 % 4294967296) FROM n;";
    CHECK(sqlite3_exec(database, fill, NULL, NULL, NULL) == SQLITE_OK);
    return database;
}

NOINLINE void write_report(sqlite3 *database)
{
    if (LEFT_OUT)
        return;
    query(database, "SELECT name, rank() OVER (PARTITION BY kind ORDER BY value) FROM item ORDER BY name");
    __asm__ volatile("");
}

static void *worker(void *unused)
{
    sqlite3 *database = filled();
    for (int round = 0; round < ROUNDS; round++) {
        sum_groups(database);
        find_words(database);
        sort_rows(database);
        join_tables(database);
        walk_tree(database);
    }
    sqlite3_close(database);
    return unused;
}

int main(void)
{
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    sqlite3 *database = filled();
    write_report(database);
    sqlite3_close(database);
    return 0;
}
