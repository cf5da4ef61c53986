/* Says something, sleeps, says something else, ends. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    puts("out");
    fprintf(stderr, "error\n");
    usleep(2000);
    return 3;
}
