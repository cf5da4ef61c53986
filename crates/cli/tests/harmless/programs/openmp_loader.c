/* Loads a library whose OpenMP runtime nobody else sees, as Python loads its extensions. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    if (count < 2) return 1;
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return 2;
    long (*sum)(int) = (long (*)(int))dlsym(library, "sum");
    printf("%ld\n", sum(100));
    /* No failure but the program's own is found. */
    puts(dlerror() ? "a failure" : "no failure");
    return 3;
}
