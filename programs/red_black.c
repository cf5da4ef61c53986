// A red-black relaxation of a grid by the threads of an OpenMP team, divided and laid out in three ways, after Ocean
// (Meira, LeBlanc, Hardavellas and Amorim 1997, §4.2).
//
//   strips   rows of the grid one after the other; a thread has neighbouring rows
//   tiles    the same grid; a thread has a rectangle of it
//   blocks   a thread has a rectangle, which lies in pages of its own
//
// T threads in P x Q rectangles (2: 1 x 2, 4: 2 x 2, 8: 2 x 4), K rounds of a red and a black sweep with a barrier behind
// each. 128 rows of 1 KiB. With pages of 8 KiB and lazy release consistency a thread asks once in a sweep for each page
// that it touches and that another one wrote in the sweep before. In the first sweep nobody has anything to ask for that
// is no first reference. So there are, 2 K - 1 times:
//
//   strips   2 (T - 1)                          the page before and the page after each border
//   tiles    T * 16 / P + 2 (P - 1) Q           all pages: a page has 8 whole rows; and those across the border
//   blocks   2 P (Q - 1) * 16 / T + 2 (P - 1) Q  all pages of a rectangle beside, as each has a few rows, and one above or below
//
// Strips with lines of 64 bytes: the 16 lines of the row before and the row after each border, as often, and once more by
// the first thread, which has written all lines before: 16 (2 (T - 1) (2 K - 1) + 1).
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 128 };

static _Alignas(8192) double grid[SIZE * SIZE];
static _Alignas(8192) int height = SIZE, width = SIZE;

// Rectangles one after the other, each row by row: of the whole grid's size they are the rows of the grid.
#define AT(row, column) \
    grid[((row) / h * (SIZE / w) + (column) / w) * h * w + (row) % h * w + (column) % w]

#define RELAX(part, colour) \
    int h = height, w = width; \
    for (int row = part[0]; row < part[1]; row++) \
        for (int column = part[2]; column < part[3]; column++) \
            if ((row + column) % 2 == colour && row > 0 && row < SIZE - 1 && column > 0 && column < SIZE - 1) \
                AT(row, column) = 0.25 * (AT(row - 1, column) + AT(row + 1, column) + AT(row, column - 1) + \
                                          AT(row, column + 1));

__attribute__((noinline)) static void relax_red(const int *part) { RELAX(part, 0) }

__attribute__((noinline)) static void relax_black(const int *part) { RELAX(part, 1) }

__attribute__((noinline)) static void initialise(void) {
    for (int i = 0; i < SIZE * SIZE; i++)
        grid[i] = i % SIZE == 0;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "tiles";
    int threads = argc > 2 ? atoi(argv[2]) : 4, rounds = argc > 3 ? atoi(argv[3]) : 3;
    int is_strips = strcmp(mode, "strips") == 0;
    int down = is_strips ? threads : threads > 2 ? 2 : 1, across = threads / down;
    if (strcmp(mode, "blocks") == 0) {
        height = SIZE / down;
        width = SIZE / across;
    }
    initialise();
#pragma omp parallel num_threads(threads)
    {
        int own = omp_get_thread_num(), rows = SIZE / down, columns = SIZE / across;
        int row = own / across * rows, column = own % across * columns;
        int part[4] = {row, row + rows, column, column + columns};
        for (int round = 0; round < rounds; round++) {
            relax_red(part);
#pragma omp barrier
            relax_black(part);
#pragma omp barrier
        }
    }
    return 0;
}
