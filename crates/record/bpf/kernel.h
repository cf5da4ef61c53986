/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The few kernel types and helpers that the programs use.
 *
 * Only the fields that are read stand here. The loader looks their real offsets up in the running
 * kernel's type information (CO-RE), so the layouts below need not match any kernel.
 */
#ifndef LONGPOLE_KERNEL_H
#define LONGPOLE_KERNEL_H

#include <linux/bpf.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* Declarations of maps: the loader reads these as types. */
#define MAP_UINT(name, value) int(*name)[value]
#define MAP_TYPE(name, value) typeof(value) *name

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	u64 clock;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	void *private_data;
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct kiocb {
	struct file *ki_filp;
};

struct iov_iter {
	unsigned long count;
};

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
};

struct sk_buff {
	u32 len;
	int skb_iif;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct sock *peer;
	struct unix_address *addr;
};

struct socket {
	struct sock *sk;
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct eventfd_ctx {
	unsigned int flags;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long end_code;
	unsigned long start_stack;
	unsigned long arg_start;
	unsigned long arg_end;
};

struct sched_info {
	u64 run_delay;
	u64 last_arrival;
	u64 last_queued;
};

struct thread_struct {
	unsigned long fsbase;
};

struct kernel_id {
	u32 val;
};

/* 64 bits; what they are called differs. */
struct kernel_capabilities {
	u64 val;
};

struct cred {
	struct kernel_id uid;
	struct kernel_id gid;
	struct kernel_id suid;
	struct kernel_id sgid;
	struct kernel_id euid;
	struct kernel_id egid;
	struct kernel_capabilities cap_permitted;
};

struct cpumask {
	unsigned long bits[1];
};

struct task_struct {
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	unsigned int in_iowait : 1;
	int nr_cpus_allowed;
	struct cpumask cpus_mask;
	s32 pid;
	s32 tgid;
	char comm[16];
	struct files_struct *files;
	const struct cred *cred;
	u64 self_exec_id;
	struct thread_struct thread;
};

struct linux_binprm {
	const char *filename;
	const char *interp;
};

struct pt_regs {
	unsigned long bp;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long sp;
};

#pragma clang attribute pop

/* What a perf_event program gets; a stable layout, not a kernel type (x86-64). */
struct sample_context {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	u64 ip, cs, flags, sp, ss;
	u64 sample_period, address;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
				   u64 flags) = (void *)BPF_FUNC_map_update_elem;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_delete_elem;
static u64 (*bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)BPF_FUNC_get_smp_processor_id;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)BPF_FUNC_get_current_task_btf;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)BPF_FUNC_get_current_pid_tgid;
static struct pt_regs *(*bpf_task_pt_regs)(struct task_struct *task) = (void *)BPF_FUNC_task_pt_regs;
static long (*bpf_probe_read_user)(void *into, u32 size, const void *from) = (void *)BPF_FUNC_probe_read_user;
static long (*bpf_probe_read_kernel)(void *into, u32 size,
				     const void *from) = (void *)BPF_FUNC_probe_read_kernel;
static long (*bpf_probe_read_kernel_str)(void *into, u32 size,
					 const void *from) = (void *)BPF_FUNC_probe_read_kernel_str;
static long (*bpf_get_func_ret)(void *context, u64 *value) = (void *)BPF_FUNC_get_func_ret;
static long (*bpf_get_func_arg)(void *context, u32 index, u64 *value) = (void *)BPF_FUNC_get_func_arg;
static long (*bpf_get_func_arg_cnt)(void *context) = (void *)BPF_FUNC_get_func_arg_cnt;
static long (*bpf_get_stack)(void *context, void *into, u32 size, u64 flags) = (void *)BPF_FUNC_get_stack;
static long (*bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)BPF_FUNC_ringbuf_output;
static long (*bpf_loop)(u32 times, void *step, void *context, u64 flags) = (void *)BPF_FUNC_loop;
static long (*bpf_find_vma)(struct task_struct *task, u64 address, void *look, void *context,
			    u64 flags) = (void *)BPF_FUNC_find_vma;
static u64 (*bpf_ringbuf_query)(void *ring, u64 flags) = (void *)BPF_FUNC_ringbuf_query;

#endif
