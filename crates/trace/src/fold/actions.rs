//! What procedures of the kernel and of runtimes do, in words that follow the name of the one who asked for it:
//! "`encode_frame`, zeroing pages".

use super::Folding;
use super::code_owner::{CodeOwner, code_owner};
use super::go_library::is_of_go_library;
use super::python_library::{is_extension, is_python_module, part_of_library};
use crate::paths::Procedure;

/// Words, and the names that they are for: with a trailing `*` by their begin, without leading underscores.
type FoldWords = (&'static str, &'static [&'static str]);

const KERNEL: &[FoldWords] = &[
    (
        "zeroing pages",
        &["clear_page*", "clear_huge_page*", "clear_subpage*", "folio_zero*", "clear_user*", "clear_folio*"],
    ),
    (
        "copying pages",
        &["copy_page_*", "copy_page", "copy_user_highpage*", "copy_mc_*", "wp_page_copy", "migrate_pages*"],
    ),
    (
        "copying data to or from the kernel",
        &[
            "copy_from_iter*",
            "copy_to_iter*",
            "copy_user_*",
            "copy_from_user*",
            "copy_to_user*",
            "rep_movs*",
            "copyin*",
            "copyout*",
            "skb_copy_datagram*",
            "simple_copy_to_iter",
            "copy_page_to_iter*",
            "copy_page_from_iter*",
            "copy_folio_to_iter*",
        ],
    ),
    (
        "creating processes or threads",
        &[
            "kernel_clone",
            "copy_process",
            "dup_mm*",
            "dup_mmap",
            "copy_page_range",
            "copy_pmd_range",
            "copy_pud_range",
            "copy_present_*",
        ],
    ),
    (
        "starting programs",
        &["bprm_*", "begin_new_exec", "load_elf_*", "do_execve*", "exec_mmap", "setup_arg_pages", "elf_load"],
    ),
    (
        "mapping memory",
        &[
            "do_mmap*",
            "mmap_region*",
            "vm_mmap*",
            "do_brk*",
            "mprotect_*",
            "do_mprotect*",
            "vma_*",
            "mas_*",
            "mt_*",
        ],
    ),
    (
        "unmapping memory",
        &[
            "do_munmap*",
            "unmap_*",
            "zap_*",
            "exit_mmap",
            "tlb_*",
            "free_pgtables",
            "free_pages_and_swap*",
            "flush_tlb*",
            "folio_remove_rmap*",
            "release_pages",
            "do_madvise*",
        ],
    ),
    (
        "faulting in pages",
        &[
            "asm_exc_page_fault",
            "exc_page_fault",
            "do_user_addr_fault",
            "handle_mm_fault",
            "do_anonymous_page",
            "do_fault*",
            "filemap_map_pages",
            "filemap_fault",
            "next_uptodate_folio",
            "set_pte_range",
            "alloc_anon_folio",
            "vma_alloc_folio*",
            "lock_vma_under_rcu",
        ],
    ),
    (
        Folding::WAKING,
        &[
            "try_to_wake_up",
            "wake_up_*",
            "ttwu_*",
            "futex_wake*",
            "wake_q*",
            "select_task_rq*",
            "select_idle*",
            "ep_poll_callback",
        ],
    ),
    (
        Folding::SWITCHING,
        &[
            "finish_task_switch*",
            "schedule*",
            "context_switch",
            "pick_next_*",
            "dequeue_*",
            "enqueue_*",
            "prepare_task_switch",
            "switch_*",
            "update_curr*",
            "yield_task*",
            "do_sched_yield",
        ],
    ),
    ("waiting by futex", &["do_futex", "futex_*", "hash_futex", "get_futex*", "plist_*"]),
    (
        "sending and receiving",
        &[
            "tcp_*",
            "udp_*",
            "ip_*",
            "ip6_*",
            "netif_*",
            "net_rx*",
            "net_tx*",
            "sock_*",
            "unix_stream_*",
            "skb_*",
            "dev_queue*",
            "inet_*",
            "nf_*",
            "process_backlog",
            "loopback_*",
            "alloc_skb*",
            "kfree_skb*",
            "sk_*",
            "sendmsg*",
            "recvmsg*",
            "sys_send*",
            "sys_recv*",
        ],
    ),
    ("using pipes", &["pipe_*", "anon_pipe_*"]),
    ("polling", &["ep_*", "do_epoll*", "do_poll*", "do_sys_poll", "do_select", "core_sys_select"]),
    (
        "reading files",
        &[
            "filemap_read",
            "filemap_get_pages",
            "page_cache_*",
            "read_pages",
            "vfs_read*",
            "generic_file_read*",
            "ext4_file_read*",
            "xfs_file_read*",
            "btrfs_file_read*",
            "new_sync_read",
        ],
    ),
    (
        "writing files",
        &[
            "generic_perform_write",
            "vfs_write*",
            "generic_file_write*",
            "ext4_*write*",
            "ext4_da_*",
            "xfs_file_*write*",
            "btrfs_*write*",
            "new_sync_write",
            "iomap_*write*",
            "balance_dirty*",
        ],
    ),
    (
        "looking up files",
        &[
            "path_openat",
            "path_lookupat",
            "link_path_walk*",
            "walk_component",
            "d_lookup*",
            "lookup_fast",
            "vfs_statx*",
            "do_sys_open*",
            "getname*",
            "iterate_dir",
            "filename_lookup",
            "vfs_getattr*",
            "do_filp_open",
        ],
    ),
    ("exiting", &["do_exit", "do_group_exit", "mmput*"]),
    (
        "handling signals",
        &[
            "do_signal*",
            "get_signal",
            "send_signal*",
            "do_send_*",
            "arch_do_signal*",
            "sys_rt_sig*",
            "restore_sigcontext",
        ],
    ),
    (
        "handling interrupts",
        &[
            "handle_softirqs",
            "do_softirq*",
            "irq_exit*",
            "sysvec_*",
            "asm_sysvec*",
            "common_interrupt",
            "hrtimer_interrupt",
            "asm_common_interrupt",
        ],
    ),
    (
        "reading the clock",
        &[
            "sys_clock_gettime",
            "posix_*clock*",
            "ktime_*",
            "posix_cpu_*",
            "thread_group_*cputime*",
            "do_clock_gettime",
            "cpu_clock_sample",
        ],
    ),
];

const RUNTIME: &[FoldWords] = &[
    ("copying memory", &["memcpy*", "memmove*", "mempcpy*", "runtime.memmove*", "runtime.typedmemmove*"]),
    ("zeroing memory", &["memset*", "bzero*", "runtime.memclr*", "explicit_bzero*"]),
    (
        "comparing memory",
        &[
            "memcmp*",
            "bcmp*",
            "runtime.memequal*",
            "memeqbody*",
            "internal/bytealg.Compare*",
            "internal/bytealg.Equal*",
        ],
    ),
    ("searching memory", &["memchr*", "memrchr*", "internal/bytealg.*", "indexbytebody*"]),
    (
        "handling strings",
        &[
            "str*",
            "GI_str*",
            "std::__cxx11::basic_string*",
            "std::basic_string*",
            "alloc::string::*",
            "alloc::str::*",
            "core::str::*",
        ],
    ),
    (
        "allocating memory",
        &[
            "malloc*",
            "xmalloc",
            "xcalloc",
            "xrealloc",
            "g_malloc*",
            "calloc",
            "realloc*",
            "int_malloc*",
            "int_realloc",
            "sysmalloc*",
            "libc_malloc*",
            "libc_calloc",
            "libc_realloc",
            "memalign",
            "aligned_alloc",
            "posix_memalign",
            "int_memalign",
            "operator new*",
            "unlink_chunk*",
            "alloc::alloc::*",
            "alloc::raw_vec::*",
            "rust_alloc*",
            "rust_realloc*",
            "rdl_alloc*",
            "runtime.mallocgc*",
            "runtime.newobject",
            "runtime.makeslice*",
            "runtime.growslice*",
            "runtime.(*mcache)*",
            "runtime.(*mcentral)*",
            "runtime.(*mheap).alloc*",
            "runtime.nextFreeFast*",
            "mi_malloc*",
            "je_malloc*",
            "tc_malloc*",
            "mmap*",
            "sbrk*",
            "brk",
        ],
    ),
    (
        "freeing memory",
        &[
            "free",
            "cfree",
            "int_free*",
            "libc_free*",
            "malloc_consolidate*",
            "systrim*",
            "operator delete*",
            "munmap*",
            "rust_dealloc*",
            "core::ptr::drop_in_place*",
            "mi_free*",
            "je_free*",
            "tc_free*",
        ],
    ),
    (
        Folding::GARBAGE,
        &[
            "runtime.gc*",
            "runtime.scan*",
            "runtime.greyobject*",
            "runtime.mark*",
            "runtime.sweep*",
            "runtime.bgsweep*",
            "runtime.(*sweep*",
            "runtime.(*gc*",
            "runtime.(*mspan)*",
            "runtime.findObject*",
            "runtime.wb*",
            "runtime.bulkBarrier*",
            "G1*",
            "ZMark*",
            "ZRelocate*",
            "ParallelGC*",
            "PS*Task*",
            "Shenandoah*",
            "SerialGC*",
            "MarkSweep*",
            "GenMarkSweep*",
            "GenCollectedHeap::*collect*",
            "TenuredGeneration::*",
            "DefNewGeneration::*",
            "ContiguousSpace::*compact*",
            "CompactibleSpace::*",
            "OopOopIterateDispatch*",
            "VM_GenCollect*",
            "VM_CollectFor*",
            "VM_GC_Operation*",
            "v8::internal::Heap::*",
            "v8::internal::Scaveng*",
            "v8::internal::MarkCompact*",
            "v8::internal::*Marking*",
            "v8::internal::Sweeper::*",
            "v8::internal::Evacuat*",
            "gc_collect*",
            "deduce_unreachable*",
            "GCTaskThread*",
            "WorkerThread::run*",
            "GangWorker*",
        ],
    ),
    (
        "compiling (JIT)",
        &[
            "C2Compiler*",
            "Compile::*",
            "CompileBroker*",
            "Compilation::*",
            "PhaseChaitin*",
            "Phase*::*",
            "LinearScan*",
        ],
    ),
    (
        "sorting",
        &[
            "qsort*",
            "msort*",
            "std::sort*",
            "std::__introsort*",
            "std::__sort*",
            "std::stable_sort*",
            "core::slice::sort*",
            "alloc::slice::*sort*",
        ],
    ),
    (
        "formatting text",
        &[
            "vfprintf*",
            "printf*",
            "snprintf*",
            "vsnprintf*",
            "IO_*",
            "sprintf*",
            "std::ostream*",
            "std::basic_ostream*",
            "core::fmt::*",
            "alloc::fmt::*",
            "fputs*",
            "fwrite*",
            "itoa*",
        ],
    ),
    ("parsing numbers", &["strto*", "sscanf*", "vfscanf*", "core::num::*"]),
    (
        "using hash maps",
        &[
            "std::_Hashtable*",
            "std::unordered_*",
            "std::__detail::_Map_base*",
            "hashbrown::*",
            "<hashbrown::*",
            "std::collections::hash*",
            "runtime.map*",
            "internal/runtime/maps.*",
            "aeshashbody*",
        ],
    ),
    ("using ordered maps", &["std::_Rb_tree*", "std::map*", "std::set*", "alloc::collections::btree*"]),
    ("using vectors", &["std::vector*", "alloc::vec::*", "<alloc::vec::*", "std::deque*"]),
    (
        "computing elementary functions",
        &["exp*", "log*", "pow*", "sin*", "cos*", "tan*", "ieee754_*", "atan*", "sqrt*", "fma*"],
    ),
    ("generating random numbers", &["random*", "rand*", "std::mersenne*", "drand48*"]),
    (
        "throwing exceptions",
        &["Unwind_*", "cxa_throw*", "cxa_begin_catch*", "gxx_personality*", "dl_iterate_phdr*"],
    ),
    (
        "locking",
        &[
            "pthread_mutex*",
            "pthread_rwlock*",
            "pthread_spin*",
            "lll_lock*",
            "lll_unlock*",
            "std::mutex*",
            "std::sync::mutex*",
            "std::sync::poison::mutex*",
            "runtime.lock*",
            "runtime.unlock*",
            "sync.(*Mutex)*",
            "sync.(*RWMutex)*",
            "internal/sync.*",
            "ObjectMonitor*",
            "ObjectSynchronizer*",
        ],
    ),
    (
        "waiting and waking",
        &[
            "pthread_cond*",
            "sem_*",
            "pthread_barrier*",
            "futex_*",
            "std::condition_variable*",
            "std::sync::condvar*",
            "runtime.futex*",
            "runtime.note*",
        ],
    ),
    (
        "creating threads",
        &[
            "pthread_create*",
            "clone*",
            "allocate_stack*",
            "std::thread::Builder*",
            "std::thread::spawn*",
            "runtime.newosproc*",
        ],
    ),
    (
        "scheduling goroutines",
        &[
            "runtime.schedule*",
            "runtime.findRunnable*",
            "runtime.park_m",
            "runtime.gopark*",
            "runtime.goready*",
            "runtime.ready*",
            "runtime.startm*",
            "runtime.wakep*",
            "runtime.stealWork*",
            "runtime.runq*",
            "runtime.execute",
            "runtime.newproc*",
            "runtime.mcall",
            "runtime.stopm",
            "runtime.resetspinning",
        ],
    ),
    (
        "using channels",
        &[
            "runtime.chan*",
            "runtime.send*",
            "runtime.recv*",
            "runtime.selectgo*",
            "runtime.closechan*",
            "std::sync::mpsc*",
            "std::sync::mpmc*",
        ],
    ),
    (
        "compiling JavaScript",
        &[
            "v8::internal::Compiler::*",
            "v8::internal::compiler::*",
            "v8::internal::baseline::*",
            "v8::internal::maglev::*",
            "v8::internal::interpreter::*",
            "v8::internal::Pars*",
            "v8::internal::PreParser*",
        ],
    ),
    (
        "copying messages",
        &[
            "v8::ValueSerializer::*",
            "v8::ValueDeserializer::*",
            "v8::internal::ValueSerializer::*",
            "v8::internal::ValueDeserializer::*",
        ],
    ),
    ("parsing JSON", &["v8::internal::JsonParse*"]),
    ("writing JSON", &["v8::internal::JsonStringif*"]),
    ("in JavaScript's built-ins", &["Builtins_*"]),
    ("in OpenMP's runtime", &["gomp_*", "GOMP_*", "kmp_*", "kmpc_*"]),
    ("loading libraries", &["dl_*", "do_lookup_x", "check_match", "rtld*"]),
    ("reading the clock", &["clock_gettime*", "gettimeofday*", "vdso_*", "runtime.nanotime*"]),
];

/// By the begin of a module's name, where no name says more.
const MODULES: &[(&str, &str)] = &[
    ("[kernel]", "in the kernel"),
    ("libc.so", "in the C library"),
    ("libc-2.", "in the C library"),
    ("libm", "computing elementary functions"),
    ("libstdc++", "in the C++ library"),
    ("libc++", "in the C++ library"),
    ("ld-", "loading libraries"),
    ("libgomp", "in OpenMP's runtime"),
    ("libomp", "in OpenMP's runtime"),
    ("libiomp5", "in OpenMP's runtime"),
    ("libgcc_s", "throwing exceptions"),
    ("libjvm", "in the Java virtual machine"),
    ("libnode", "in Node's runtime"),
    ("python3", "in the Python interpreter"),
    ("libpython3", "in the Python interpreter"),
    ("python2", "in the Python interpreter"),
    ("libpython2", "in the Python interpreter"),
    ("[python]", "in Python's standard library"),
    ("[vdso]", "reading the clock"),
];

/// What the procedure is known to do; `None` where it is the program's, or known for nothing.
pub(super) fn action(procedure: &Procedure) -> Option<&'static str> {
    let table = match code_owner(procedure) {
        CodeOwner::Program => return None,
        CodeOwner::Kernel => KERNEL,
        CodeOwner::Runtime => RUNTIME,
    };
    let plain = procedure.name.trim_start_matches('_');
    let is_its = |&&(_, names): &&FoldWords| names.iter().any(|pattern| matches(pattern, plain));
    table.iter().find(is_its).map(|&(words, _)| words)
}

/// What modules in C for Python do; `None` for another procedure.
pub(super) fn of_python_module(procedure: &Procedure) -> Option<&'static str> {
    match procedure.module.as_str() {
        module if is_python_module(module) => Some("in Python's standard library"),
        module if is_extension(module) => Some("in an extension module"),
        _ => None,
    }
}

/// What procedures of its library do; `None` for a procedure of the program. Those of CPython that are folded are its interpreter's.
pub(super) fn in_general(procedure: &Procedure) -> Option<&'static str> {
    if code_owner(procedure) == CodeOwner::Program && !procedure.is_of_python() {
        return None;
    }
    if let Some(part) = part_of_library(procedure) {
        return Some(part);
    }
    let name = procedure.name.as_str();
    if procedure.is_of_node() {
        return Some("in Node's runtime");
    }
    let of_module = MODULES.iter().find(|(prefix, _)| procedure.module.starts_with(prefix));
    Some(match of_module {
        Some((_, words)) => words,
        None if ["runtime.", "runtime/", "internal/"].iter().any(|begin| name.starts_with(begin)) => {
            "in the Go runtime"
        }
        None if is_of_go_library(name) => "in Go's standard library",
        None => "in the standard library",
    })
}

/// A pattern with at most two `*`: at the end, and within.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, "")) => name.starts_with(begin),
        Some((begin, rest)) => {
            let within = rest.trim_end_matches('*');
            name.strip_prefix(begin).is_some_and(|inner| inner.contains(within))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, module: &str) -> Option<&'static str> {
        action(&Procedure { name: name.into(), module: module.into(), file: String::new() })
    }

    #[test]
    fn what_is_known_for_something_says_it() {
        for (name, module, words) in [
            ("clear_page_erms", "[kernel]", "zeroing pages"),
            ("_copy_from_iter", "[kernel]", "copying data to or from the kernel"),
            ("finish_task_switch.isra.0", "[kernel]", "switching threads"),
            ("__memmove_avx_unaligned_erms", "libc.so.6", "copying memory"),
            ("_int_malloc", "libc.so.6", "allocating memory"),
            ("runtime.scanobject", "server", "collecting garbage"),
            ("G1ParScanThreadState::trim_queue", "libjvm.so", "collecting garbage"),
            (
                "TenuredGeneration::collect(bool, bool, unsigned long, bool)",
                "libjvm.so",
                "collecting garbage",
            ),
            ("ContiguousSpace::prepare_for_compaction(CompactPoint*)", "libjvm.so", "collecting garbage"),
            ("std::__introsort_loop<int*, long>", "app", "sorting"),
            ("v8::internal::ValueDeserializer::ReadObject()", "node", "copying messages"),
            ("v8::internal::JsonParser<unsigned char>::ParseJson()", "node", "parsing JSON"),
        ] {
            assert_eq!(said(name, module), Some(words), "{name}");
        }
        assert_eq!(said("clear_page", "app"), None, "a procedure of the program");
    }
}
