//! The programs that only tests need: found, installed where that may be done, else named.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A tool: the program (or LLVM library) looked for, and the Debian or Ubuntu packages that bring it, the first that
/// exists being taken.
struct RequiredTool {
    program: &'static str,
    packages: &'static [&'static str],
}

const fn tool(program: &'static str, packages: &'static [&'static str]) -> RequiredTool {
    RequiredTool { program, packages }
}

const TOOLS: &[RequiredTool] = &[
    tool("gcc", &["gcc"]),
    tool("g++", &["g++"]),
    tool("make", &["make"]),
    tool("perf", &["linux-perf", "linux-tools-generic"]),
    tool("pigz", &["pigz"]),
    tool("pbzip2", &["pbzip2"]),
    tool("xz", &["xz-utils"]),
    tool("zstd", &["zstd"]),
    tool("rg", &["ripgrep"]),
    tool("clang", &["clang"]),
    tool("libclang_rt.tsan-x86_64.a", &["libclang-rt-dev"]),
    tool("bwrap", &["bubblewrap"]),
    tool("libomp.so.5", &["libomp-dev"]),
    tool("/usr/include/tbb/parallel_pipeline.h", &["libtbb-dev"]),
    tool("go", &["golang-go"]),
    tool("javac", &["default-jdk-headless"]),
    tool("python3", &["python3"]),
    tool("initdb", &["postgresql"]),
    tool("pgbench", &["postgresql", "postgresql-contrib"]),
    tool("mpirun", &["openmpi-bin"]),
    tool("mpicc", &["libopenmpi-dev"]),
    tool("mpirun.mpich", &["mpich"]),
    tool("mpicc.mpich", &["libmpich-dev"]),
    tool("/usr/lib/python3/dist-packages/mpi4py/__init__.py", &["python3-mpi4py"]),
    tool("gfortran", &["gfortran"]),
    tool("otf2-print", &["otf2-tools"]),
    tool("otf2-config", &["libotf2-trace-dev"]),
    tool("prometheus-node-exporter", &["prometheus-node-exporter"]),
    tool("setpriv", &["util-linux"]),
    tool("ip", &["iproute2"]),
    tool("ssh", &["openssh-client"]),
    tool("sshd", &["openssh-server"]),
    tool("musl-gcc", &["musl-tools"]),
    tool("qemu-x86_64", &["qemu-user"]),
    tool("node", &["nodejs"]),
    tool("npm", &["npm"]),
    tool("chromium", &["chromium", "chromium-browser"]),
];

/// Finds every tool, installs what is missing if `install` and this is root on a machine with apt, and
/// returns the programs that are still missing with what would bring them.
pub fn provide(install: bool) -> Vec<String> {
    let missing: Vec<&RequiredTool> = TOOLS.iter().filter(|tool| find(tool.program).is_none()).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    // SAFETY: geteuid has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    if install && is_root && find("apt-get").is_some() {
        install_by_apt(&missing);
    }
    let missing = missing.into_iter().filter(|tool| find(tool.program).is_none());
    missing.map(|tool| format!("{} (apt-get install {})", tool.program, tool.packages[0])).collect()
}

fn install_by_apt(missing: &[&RequiredTool]) {
    let names: Vec<&str> = missing.iter().map(|tool| tool.program).collect();
    eprintln!("==> installing for the tests: {}", names.join(", "));
    if !apt(&["update", "-qq"]) {
        eprintln!("    apt-get update failed; going on with what is here");
    }
    let mut packages: Vec<&str> = missing
        .iter()
        .filter_map(|tool| tool.packages.iter().find(|package| is_known(package)).copied())
        .collect();
    packages.sort_unstable();
    packages.dedup();
    let all = [&["install", "-y", "-qq", "--no-install-recommends"], &packages[..]].concat();
    if packages.is_empty() || apt(&all) {
        return;
    }
    // One package that cannot be had must not cost the others.
    for package in packages {
        apt(&["install", "-y", "-qq", "--no-install-recommends", package]);
    }
}

/// Installs those of these packages that there are, where that may be done; what could not be installed is seen by its
/// absence.
pub fn install(packages: &[&str]) {
    // SAFETY: geteuid has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root && find("apt-get").is_some() {
        eprintln!("==> installing {}", packages.join(" "));
        if !packages.iter().all(|package| is_known(package)) {
            apt(&["update", "-qq"]);
        }
        let known: Vec<&str> = packages.iter().copied().filter(|package| is_known(package)).collect();
        apt(&[&["install", "-y", "-qq", "--no-install-recommends"], &known[..]].concat());
    }
}

/// Whether there is a package of this name to install.
fn is_known(package: &str) -> bool {
    let mut command = Command::new("apt-cache");
    command.args(["show", "--no-all-versions", package]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn apt(arguments: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command.stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The program on the PATH, or where Debian keeps the server programs of PostgreSQL, those of the super-user, the
/// libraries of LLVM, and those of clang.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    if let Ok(entries) = std::fs::read_dir("/usr/lib") {
        let versions =
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
        folders.extend(versions.map(|version| version.path().join("lib")));
    }
    if program.starts_with("libclang_rt.") {
        let clang = Command::new("clang").arg("--print-resource-dir").stderr(Stdio::null()).output();
        let resources = clang.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
        folders.extend(resources.map(|resources| PathBuf::from(resources).join("lib/linux")));
    }
    let is_library = program.contains(".so") || program.ends_with(".a") || program.starts_with('/');
    let is_it = |path: &PathBuf| if is_library { path.is_file() } else { is_executable(path) };
    folders.into_iter().map(|folder| folder.join(program)).find(is_it)
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
