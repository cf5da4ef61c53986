use super::*;

fn owner(name: &str, module: &str) -> CodeOwner {
    code_owner(&Procedure { name: name.into(), module: module.into(), file: String::new() })
}

#[test]
fn what_every_program_has_is_a_runtime_s() {
    for (name, module) in [
        ("__memmove_avx_unaligned_erms", "libc.so.6"),
        ("__memmove_avx_unaligned_erms", "static_program"),
        ("_int_malloc", "static_program"),
        ("operator new(unsigned long)", "app"),
        ("std::vector<int, std::allocator<int> >::push_back(int const&)", "app"),
        ("core::ptr::drop_in_place<app::Node>", "app"),
        ("<alloc::vec::Vec<u8> as core::clone::Clone>::clone", "app"),
        ("runtime.mallocgc", "server"),
        ("crypto/sha256.block", "server"),
        ("crypto/internal/fips140/sha256.blockSHANI", "server"),
        ("encoding/json.(*decodeState).object", "server"),
        ("sort.insertionSort", "server"),
        ("[libm.so.6]", "libm.so.6"),
        ("G1ParScanThreadState::trim_queue", "libjvm.so"),
        ("_PyEval_EvalFrameDefault", "python3.11"),
        ("python3.11+0x4d4890", "python3.11"),
        ("Builtins_MapPrototypeSet", "node"),
        ("node::fs::Read(v8::FunctionCallbackInfo<v8::Value> const&)", "node"),
        ("[python3.11]", "python3.11"),
    ] {
        assert_eq!(owner(name, module), CodeOwner::Runtime, "{name}");
    }
    assert_eq!(owner("clear_page_erms", "[kernel]"), CodeOwner::Kernel);
}

#[test]
fn what_the_program_chose_is_its_own() {
    for (name, module) in [
        ("inflate", "libz.so.1"),
        ("[libx264.so.164]", "libx264.so.164"),
        ("app::runtime::poll", "app"),
        ("free_list_push", "app"),
        ("memory_pool_take", "app"),
        ("start_workers", "app"),
        ("memcpy_fast", "app"),
        ("core::Engine::run(int)", "app"),
        ("dl_list_push", "app"),
        ("main.sort", "server"),
        ("github.com/klauspost/compress/flate.(*decompressor).huffmanBlock", "server"),
        ("hashes/worker.Run", "server"),
        ("sort", "server"),
        ("io.read files.js:3", "[jit]"),
        ("compute train.py", "[jit]"),
        ("free pool.js:12", "[jit]"),
        ("main.scrape", "node_exporter"),
        ("sha256_block", "python3.11"),
        ("server+0x4d4890", "server"),
        ("[no stack]", "[unknown]"),
        ("load tables", Procedure::REGION),
    ] {
        assert_eq!(owner(name, module), CodeOwner::Program, "{name}");
    }
}
