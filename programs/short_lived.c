/* Ends at once, with status 7: no sample can be expected, yet the recording is whole: one process, one
 * thread, its CPU time, its exit status. */
int main(void) { return 7; }
