"""MPI from Python. In each of 10 rounds rank 1 computes 30 ms of its own processor time in `compute_late` and sends an object to rank 0
(comm.send, which pickles it) and an array (comm.Send); rank 0 receives both, the first by comm.recv, which probes for it. All meet in
comm.Barrier at the end. Rank 0 waits 10 × 30 = 300 ms for rank 1; 20 messages from rank 1 to rank 0. The critical path is rank 1's."""
import time
from array import array

from mpi4py import MPI


def compute_late():
    begin = time.thread_time()
    total = 0
    while time.thread_time() - begin < 0.030:
        total += sum(range(1000))
    return total


comm = MPI.COMM_WORLD
rank = comm.Get_rank()
comm.Barrier()
for step in range(10):
    if rank == 1:
        compute_late()
        comm.send({"step": step}, dest=0, tag=7)
        comm.Send([array("d", [1.0, 2.0]), MPI.DOUBLE], dest=0, tag=8)
    elif rank == 0:
        assert comm.recv(source=1, tag=7) == {"step": step}
        values = array("d", [0.0, 0.0])
        comm.Recv([values, MPI.DOUBLE], source=1, tag=8)
        assert values[1] == 2.0
comm.Barrier()
