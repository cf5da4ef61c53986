/* Writes an OTF2 trace with OTF2's own library, from a script: what each thread did and when, so that the answer is known.
 * `write_trace FOLDER SCRIPT` makes FOLDER/traces.otf2 and what belongs to it.
 *
 *   node NODE NAME                    a machine
 *   process RANK NODE NAME            a process with this rank; without one, all run on one machine
 *   thread LOCATION RANK NAME         its threads: the first is the one that communicates
 *   comm NUMBER NAME RANK,RANK…       a communicator; 0 is that of all ranks
 *   team NUMBER NAME LOCATION,…       a team of threads
 *   clock LOCATION TIME OFFSET        what the location's clock lacks then
 *   local LOCATION comm|region FROM TO    the number FROM in its events is TO in the trace
 *   many ROUNDS                       so many rounds of a ring among all ranks, in place of events
 *   LOCATION TIME EVENT …             an event; times are microseconds, those of a location in their order
 *
 * Regions are defined by their names, in the order in which they are seen: MPI_… are MPI's, omp_… are OpenMP's, of which those
 * with `barrier` or `critical` in their name are that; pthread_join waits for the end of a thread. All others are the program's. */
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, RESOLUTION = 1000000000, OFFSET = 1000000 };
enum { NOTHING = UINT32_MAX };

#define CHECK(condition)                                                                                                    \
    do {                                                                                                                    \
        if (!(condition)) {                                                                                                 \
            fprintf(stderr, "line %d of the script: %s\n", line_number, #condition);                                        \
            exit(1);                                                                                                        \
        }                                                                                                                   \
    } while (0)

static int line_number;
static OTF2_Archive *archive;
static OTF2_GlobalDefWriter *definitions;
static char *texts[MOST];
static unsigned text_count;
static char *regions[MOST];
static unsigned region_count;
static struct { unsigned location, process; char *name; uint64_t events; } threads[MOST];
static unsigned thread_count;
static struct { unsigned rank, node; char *name; } processes[MOST];
static unsigned process_count;
static struct { unsigned number; char *name; } nodes[MOST];
static unsigned node_count;
static struct { unsigned number; char *name; uint64_t members[MOST]; unsigned size; int is_team; } *comms;
static unsigned comm_count;
static uint64_t last_time;

static OTF2_FlushType flush_always(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final) {
    (void)data, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static OTF2_FlushCallbacks flushing = {.otf2_pre_flush = flush_always};

static unsigned text(const char *wanted) {
    for (unsigned i = 0; i < text_count; i++)
        if (strcmp(texts[i], wanted) == 0) return i;
    CHECK(text_count < MOST);
    texts[text_count] = strdup(wanted);
    OTF2_GlobalDefWriter_WriteString(definitions, text_count, wanted);
    return text_count++;
}

static unsigned region(const char *name) {
    for (unsigned i = 0; i < region_count; i++)
        if (strcmp(regions[i], name) == 0) return i;
    CHECK(region_count < MOST);
    regions[region_count] = strdup(name);
    return region_count++;
}

static void define_region(unsigned number) {
    const char *name = regions[number];
    OTF2_Paradigm paradigm = OTF2_PARADIGM_COMPILER;
    OTF2_RegionRole role = OTF2_REGION_ROLE_FUNCTION;
    if (strncmp(name, "MPI_", 4) == 0) paradigm = OTF2_PARADIGM_MPI;
    if (strncmp(name, "omp_", 4) == 0) paradigm = OTF2_PARADIGM_OPENMP;
    if (strncmp(name, "pthread_", 8) == 0) paradigm = OTF2_PARADIGM_PTHREAD;
    if (strstr(name, "omp_barrier")) role = OTF2_REGION_ROLE_BARRIER;
    if (strstr(name, "omp_critical")) role = OTF2_REGION_ROLE_CRITICAL;
    if (strcmp(name, "pthread_join") == 0) role = OTF2_REGION_ROLE_THREAD_WAIT;
    bool is_own = paradigm == OTF2_PARADIGM_COMPILER;
    OTF2_GlobalDefWriter_WriteRegion(definitions, number, text(name), text(name), text(""), role, paradigm,
                                     OTF2_REGION_FLAG_NONE, text(is_own ? "solver.c" : ""), is_own ? 10 * (number + 1) : 0, 0);
}

static unsigned place_of(unsigned location) {
    for (unsigned i = 0; i < thread_count; i++)
        if (threads[i].location == location) return i;
    CHECK(!"a known location");
    return 0;
}

static unsigned number(char **words, int place) {
    CHECK(words[place] != NULL);
    return (unsigned)strtoul(words[place], NULL, 0);
}

static void add_comm(unsigned id, const char *name, char *list, int is_team) {
    CHECK(comm_count < MOST);
    comms[comm_count].number = id;
    comms[comm_count].name = strdup(name);
    comms[comm_count].is_team = is_team;
    comms[comm_count].size = 0;
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ","))
        comms[comm_count].members[comms[comm_count].size++] = strtoul(word, NULL, 0);
    comm_count++;
}

static void write_event(unsigned location, uint64_t time, char **words) {
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, location);
    const char *event = words[2];
    threads[place_of(location)].events++;
    OTF2_ErrorCode code = OTF2_SUCCESS;
    if (time > last_time) last_time = time;
#define IS(name) (strcmp(event, name) == 0)
#define N(place) number(words, place)
    if (IS("enter")) code = OTF2_EvtWriter_Enter(writer, NULL, time, region(words[3]));
    else if (IS("leave")) code = OTF2_EvtWriter_Leave(writer, NULL, time, region(words[3]));
    else if (IS("enter_number")) code = OTF2_EvtWriter_Enter(writer, NULL, time, N(3));
    else if (IS("leave_number")) code = OTF2_EvtWriter_Leave(writer, NULL, time, N(3));
    else if (IS("send")) code = OTF2_EvtWriter_MpiSend(writer, NULL, time, N(3), N(4), N(5), N(6));
    else if (IS("recv")) code = OTF2_EvtWriter_MpiRecv(writer, NULL, time, N(3), N(4), N(5), N(6));
    else if (IS("isend")) code = OTF2_EvtWriter_MpiIsend(writer, NULL, time, N(3), N(4), N(5), N(6), N(7));
    else if (IS("isend_complete")) code = OTF2_EvtWriter_MpiIsendComplete(writer, NULL, time, N(3));
    else if (IS("irecv_request")) code = OTF2_EvtWriter_MpiIrecvRequest(writer, NULL, time, N(3));
    else if (IS("irecv")) code = OTF2_EvtWriter_MpiIrecv(writer, NULL, time, N(3), N(4), N(5), N(6), N(7));
    else if (IS("cancelled")) code = OTF2_EvtWriter_MpiRequestCancelled(writer, NULL, time, N(3));
    else if (IS("tested")) code = OTF2_EvtWriter_MpiRequestTest(writer, NULL, time, N(3));
    else if (IS("collective_begin")) code = OTF2_EvtWriter_MpiCollectiveBegin(writer, NULL, time);
    else if (IS("collective_end")) code = OTF2_EvtWriter_MpiCollectiveEnd(writer, NULL, time, N(3), N(4), N(5), 8, 8);
    else if (IS("collective_request")) code = OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, NULL, time, N(3));
    else if (IS("collective_complete"))
        code = OTF2_EvtWriter_NonBlockingCollectiveComplete(writer, NULL, time, N(3), N(4), N(5), 8, 8, N(6));
    else if (IS("fork")) code = OTF2_EvtWriter_ThreadFork(writer, NULL, time, OTF2_PARADIGM_OPENMP, N(3));
    else if (IS("join")) code = OTF2_EvtWriter_ThreadJoin(writer, NULL, time, OTF2_PARADIGM_OPENMP);
    else if (IS("team_begin")) code = OTF2_EvtWriter_ThreadTeamBegin(writer, NULL, time, N(3));
    else if (IS("team_end")) code = OTF2_EvtWriter_ThreadTeamEnd(writer, NULL, time, N(3));
    else if (IS("acquire")) code = OTF2_EvtWriter_ThreadAcquireLock(writer, NULL, time, OTF2_PARADIGM_OPENMP, N(3), N(4));
    else if (IS("release")) code = OTF2_EvtWriter_ThreadReleaseLock(writer, NULL, time, OTF2_PARADIGM_OPENMP, N(3), N(4));
    else if (IS("thread_create")) code = OTF2_EvtWriter_ThreadCreate(writer, NULL, time, N(3), N(4));
    else if (IS("thread_begin")) code = OTF2_EvtWriter_ThreadBegin(writer, NULL, time, N(3), N(4));
    else if (IS("thread_wait")) code = OTF2_EvtWriter_ThreadWait(writer, NULL, time, N(3), N(4));
    else if (IS("thread_end")) code = OTF2_EvtWriter_ThreadEnd(writer, NULL, time, N(3), N(4));
    else if (IS("put")) code = OTF2_EvtWriter_RmaPut(writer, NULL, time, N(3), N(4), N(5), N(6));
    else if (IS("flush")) code = OTF2_EvtWriter_BufferFlush(writer, NULL, time, OFFSET + 1000ull * N(3));
    else if (IS("parameter")) code = OTF2_EvtWriter_ParameterInt(writer, NULL, time, N(3), -5);
    else if (IS("metric")) {
        OTF2_Type type = OTF2_TYPE_UINT64;
        OTF2_MetricValue value = {.unsigned_int = N(3)};
        code = OTF2_EvtWriter_Metric(writer, NULL, time, 0, 1, &type, &value);
    } else if (IS("attributes")) {
        OTF2_AttributeList *list = OTF2_AttributeList_New();
        OTF2_AttributeList_AddUint32(list, 0, 7);
        code = OTF2_EvtWriter_Enter(writer, list, time, region(words[3]));
        OTF2_AttributeList_Delete(list);
    } else
        CHECK(!"a known event");
    CHECK(code == OTF2_SUCCESS);
}

/* A ring: each rank computes, sends to the next and receives from the one before. */
static void write_many(unsigned rounds) {
    unsigned compute = region("compute"), send = region("MPI_Send"), receive = region("MPI_Recv"), main_ = region("main");
    for (unsigned place = 0; place < thread_count; place++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, threads[place].location);
        uint64_t time = OFFSET;
        OTF2_EvtWriter_Enter(writer, NULL, time, main_);
        for (unsigned round = 0; round < rounds; round++) {
            uint64_t begin = OFFSET + 100000ull * round;
            OTF2_EvtWriter_Enter(writer, NULL, begin, compute);
            OTF2_EvtWriter_Leave(writer, NULL, time = begin + 30000 + 1000 * ((round * 7 + place * 13) % 40), compute);
            OTF2_EvtWriter_Enter(writer, NULL, time += 100, send);
            OTF2_EvtWriter_MpiSend(writer, NULL, time += 50, (place + 1) % thread_count, 0, 1, 1024);
            OTF2_EvtWriter_Leave(writer, NULL, time += 50, send);
            OTF2_EvtWriter_Enter(writer, NULL, time += 100, receive);
            OTF2_EvtWriter_MpiRecv(writer, NULL, begin + 80000, (place + thread_count - 1) % thread_count, 0, 1, 1024);
            OTF2_EvtWriter_Leave(writer, NULL, time = begin + 80100, receive);
        }
        OTF2_EvtWriter_Leave(writer, NULL, time += 100, main_);
        threads[place].events = 2 + 8ull * rounds;
        if (time > last_time) last_time = time;
    }
}

static struct { unsigned location; uint64_t time; int64_t offset; } clocks[MOST];
static unsigned clock_count;
static struct { unsigned location; int is_comm; unsigned from, to; } locals[MOST];
static unsigned local_count;

static void read_definition(char **words) {
    const char *what = words[0];
    if (strcmp(what, "node") == 0) {
        nodes[node_count].number = number(words, 1);
        nodes[node_count++].name = strdup(words[2]);
    } else if (strcmp(what, "process") == 0) {
        processes[process_count].rank = number(words, 1);
        processes[process_count].node = number(words, 2);
        processes[process_count++].name = strdup(words[3]);
    } else if (strcmp(what, "thread") == 0) {
        threads[thread_count].location = number(words, 1);
        threads[thread_count].process = number(words, 2);
        threads[thread_count++].name = strdup(words[3]);
    } else if (strcmp(what, "comm") == 0 || strcmp(what, "team") == 0) {
        add_comm(number(words, 1), words[2], words[3], what[0] == 't');
    } else if (strcmp(what, "clock") == 0) {
        clocks[clock_count].location = number(words, 1);
        clocks[clock_count].time = OFFSET + 1000ull * number(words, 2);
        clocks[clock_count++].offset = 1000ll * atoll(words[3]);
    } else if (strcmp(what, "local") == 0) {
        locals[local_count].location = number(words, 1);
        locals[local_count].is_comm = strcmp(words[2], "comm") == 0;
        locals[local_count].from = number(words, 3);
        locals[local_count].to = locals[local_count].is_comm ? number(words, 4) : region(words[4]);
        local_count++;
    } else if (strcmp(what, "many") == 0) {
        write_many(number(words, 1));
    } else {
        CHECK(!"a known definition");
    }
}

static void write_local(unsigned location) {
    OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive, location);
    for (int is_comm = 0; is_comm < 2; is_comm++) {
        OTF2_IdMap *map = OTF2_IdMap_Create(OTF2_ID_MAP_SPARSE, 4);
        unsigned found = 0;
        for (unsigned i = 0; i < local_count; i++)
            if (locals[i].location == location && locals[i].is_comm == is_comm) {
                OTF2_IdMap_AddIdPair(map, locals[i].from, locals[i].to);
                found++;
            }
        if (found) OTF2_DefWriter_WriteMappingTable(writer, is_comm ? OTF2_MAPPING_COMM : OTF2_MAPPING_REGION, map);
        OTF2_IdMap_Free(map);
    }
    for (unsigned i = 0; i < clock_count; i++)
        if (clocks[i].location == location) OTF2_DefWriter_WriteClockOffset(writer, clocks[i].time, clocks[i].offset, 0.5);
    OTF2_Archive_CloseDefWriter(archive, writer);
}

static void write_definitions(void) {
    OTF2_GlobalDefWriter_WriteClockProperties(definitions, RESOLUTION, OFFSET, last_time - OFFSET + 1, 1700000000000000000ull);
    text("");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions, 0, text("cluster"), text("machine"), NOTHING);
    for (unsigned i = 0; i < node_count; i++) {
        OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions, nodes[i].number, text(nodes[i].name), text("node"), 0);
        OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(definitions, nodes[i].number, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    }
    static uint64_t ranks[MOST];
    for (unsigned i = 0; i < process_count; i++)
        OTF2_GlobalDefWriter_WriteLocationGroup(definitions, processes[i].rank, text(processes[i].name),
                                                OTF2_LOCATION_GROUP_TYPE_PROCESS, processes[i].node, NOTHING);
    for (unsigned i = thread_count; i-- > 0;) ranks[threads[i].process] = threads[i].location;
    for (unsigned i = 0; i < thread_count; i++)
        OTF2_GlobalDefWriter_WriteLocation(definitions, threads[i].location, text(threads[i].name), OTF2_LOCATION_TYPE_CPU_THREAD,
                                           threads[i].events, threads[i].process);
    for (unsigned i = 0; i < region_count; i++) define_region(i);
    static uint64_t all[MOST];
    for (unsigned i = 0; i < process_count; i++) all[i] = i;
    OTF2_GlobalDefWriter_WriteGroup(definitions, 0, text(""), OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, process_count, ranks);
    OTF2_GlobalDefWriter_WriteGroup(definitions, 1, text(""), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, process_count, all);
    OTF2_GlobalDefWriter_WriteComm(definitions, 0, text("MPI_COMM_WORLD"), 1, NOTHING, OTF2_COMM_FLAG_NONE);
    for (unsigned i = 0; i < comm_count; i++) {
        OTF2_GroupType type = comms[i].is_team ? OTF2_GROUP_TYPE_COMM_LOCATIONS : OTF2_GROUP_TYPE_COMM_GROUP;
        OTF2_GlobalDefWriter_WriteGroup(definitions, i + 2, text(""), type,
                                        comms[i].is_team ? OTF2_PARADIGM_OPENMP : OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                        comms[i].size, comms[i].members);
        OTF2_GlobalDefWriter_WriteComm(definitions, comms[i].number, text(comms[i].name), i + 2, 0, OTF2_COMM_FLAG_NONE);
    }
}

int main(int argc, char **argv) {
    FILE *script = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!script) return fprintf(stderr, "usage: %s FOLDER SCRIPT\n", argv[0]), 2;
    comms = calloc(MOST, sizeof *comms);
    archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 256 << 10, 256 << 10, OTF2_SUBSTRATE_POSIX,
                                OTF2_COMPRESSION_NONE);
    if (!archive) return 1;
    OTF2_Archive_SetFlushCallbacks(archive, &flushing, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_SetCreator(archive, "write_trace");
    OTF2_Archive_OpenEvtFiles(archive);
    definitions = OTF2_Archive_GetGlobalDefWriter(archive);
    char line[1 << 16], *words[16];
    while (fgets(line, sizeof line, script)) {
        int count = 0;
        line_number++;
        for (char *word = strtok(line, " \n"); word && count < 15; word = strtok(NULL, " \n")) words[count++] = word;
        words[count] = NULL;
        if (count == 0 || words[0][0] == '#') continue;
        if (words[0][0] >= '0' && words[0][0] <= '9')
            write_event(number(words, 0), OFFSET + (uint64_t)(1000.0 * strtod(words[1], NULL) + 0.5), words);
        else
            read_definition(words);
    }
    fclose(script);
    for (unsigned i = 0; i < thread_count; i++)
        OTF2_Archive_CloseEvtWriter(archive, OTF2_Archive_GetEvtWriter(archive, threads[i].location));
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_OpenDefFiles(archive);
    for (unsigned i = 0; i < thread_count; i++) write_local(threads[i].location);
    OTF2_Archive_CloseDefFiles(archive);
    write_definitions();
    OTF2_Archive_CloseGlobalDefWriter(archive, definitions);
    return OTF2_Archive_Close(archive) == OTF2_SUCCESS ? 0 : 1;
}
