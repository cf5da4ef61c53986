import os, sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp
def late(x):
    with torch.autograd.profiler.record_function("late_work"):
        for _ in range(60): x = torch.mm(x, x).div_(500)
    return x
def work(x):
    with torch.autograd.profiler.record_function("work"):
        for _ in range(20): x = torch.mm(x, x).div_(500)
    return x
def main(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    x = torch.rand(300,300)
    dist.barrier()
    with torch.autograd.profiler.profile(use_kineto=False) as p:
        for i in range(5):
            x = work(x)
            if rank == 1: x = late(x)
            dist.all_reduce(x)
    p.export_chrome_trace(f"rank{rank}.json")
if __name__ == "__main__":
    mp.spawn(main, nprocs=2)
