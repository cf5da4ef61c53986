//! Names of addresses in ELF files: symbols, line tables and inlined calls.

use std::cell::OnceCell;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blazesym::helper::ElfResolver;
use blazesym::symbolize::{CodeInfo, FindSymOpts, ResolvedSym, Symbolize};
use longpole_event::{BusyWaiting, ModuleKind};
use rustc_hash::FxHashMap;

use crate::closures::{Closures, is_unnumbered};
use crate::debug_functions::{DebugFunctions, is_too_far};
use crate::exports::Exports;
use crate::functions::Functions;
use crate::go_functions::GoFunctions;
use crate::image::{FileIdentity, Image};
use crate::locate;
use crate::module::CodeModule;
use crate::name::readable;
use crate::spin::Spins;
use crate::symboliser::{NamedAddress, NamedPlace};
use crate::thread_bodies::{self, ThreadBodies};
use crate::vdso;

/// No file has code from here on: user space ends.
const LARGEST_ADDRESS: u64 = 1 << 47;
/// Folders with separate debug files.
const DEBUG_FOLDERS: [&str; 2] = ["/usr/lib/debug", "/lib/debug"];

/// The code of a file and what is known of it beside its symbols.
struct FileCode {
    image: Arc<Image>,
    functions: Functions,
    exports: Exports,
    thread_bodies: OnceCell<ThreadBodies>,
    closures: OnceCell<Closures>,
    debug_functions: OnceCell<DebugFunctions>,
    go: Option<GoFunctions>,
    spins: Spins,
}

impl FileCode {
    fn of(image: Arc<Image>) -> Self {
        FileCode {
            functions: Functions::of(&image),
            exports: Exports::of(&image),
            thread_bodies: OnceCell::new(),
            closures: OnceCell::new(),
            debug_functions: OnceCell::new(),
            go: GoFunctions::of(&image),
            spins: Spins::of(&image),
            image,
        }
    }
}

/// An ELF file with everything found that names its addresses.
pub(crate) struct ElfNames {
    /// The file itself first, then its separate debug files.
    resolvers: Vec<ElfResolver>,
    code: Option<FileCode>,
    /// The source files of functions, by where these begin.
    own_files: FxHashMap<u64, Option<String>>,
    /// Last part of the file's path.
    file_name: String,
    /// Files in memory that resolvers read by path.
    _copies: Vec<std::fs::File>,
}

impl ElfNames {
    /// Opens the file of a module and its debug files; `None` where none is left.
    pub fn open(module: &CodeModule) -> Option<Self> {
        let mut copies = Vec::new();
        let mut paths: Vec<PathBuf> = Vec::new();
        let image = module.image().cloned().or_else(|| reopened(module).map(Arc::new));
        if let Some(image) = &image {
            paths.extend(path_of(image, &module.path, &mut copies));
        }
        paths.extend(debug_files(&module.build_id));
        let open = |path: &PathBuf| ElfResolver::open_with_debug_dirs(path, DEBUG_FOLDERS).ok();
        let resolvers: Vec<ElfResolver> = paths.iter().filter_map(open).collect();
        if resolvers.is_empty() && image.is_none() {
            return None;
        }
        let code = image.map(FileCode::of);
        let file_name =
            module.path.file_name().unwrap_or(module.path.as_os_str()).to_string_lossy().into_owned();
        Some(ElfNames { resolvers, code, own_files: FxHashMap::default(), file_name, _copies: copies })
    }

    /// Names addresses: one answer for each, in their order.
    pub fn names(&mut self, addresses: &[u64]) -> Vec<NamedAddress> {
        let mut order: Vec<usize> = (0..addresses.len()).collect();
        order.sort_unstable_by_key(|&index| addresses[index]);
        let mut names = vec![NamedAddress::default(); addresses.len()];
        for index in order {
            names[index] = self.name(addresses[index]);
        }
        names
    }

    fn name(&mut self, address: u64) -> NamedAddress {
        let start = self.code.as_ref().and_then(|code| code.functions.start_of(address));
        let mut places = match self.symbol(address, start) {
            Some(symbol) => {
                let function = start.unwrap_or(symbol.addr);
                let name = self.body(function, symbol.name).or_else(|| self.exported(function));
                self.places(&symbol, name)
            }
            None => self.unlisted(address, start).into_iter().collect(),
        };
        if let (Some(start), Some(function)) = (start, places.last_mut().filter(|place| place.file.is_some()))
        {
            self.keep_file(start, function);
        }
        let waiting = |code: &mut FileCode| code.spins.at(&code.image, &code.functions, address);
        NamedAddress { places, waiting: self.code.as_mut().map_or(BusyWaiting::Work, waiting) }
    }

    /// Gives the function that begins there its own file. Code that was inlined into it has lines of other files, and compilers do not
    /// always say that it was: then the line in the function is not known.
    fn keep_file(&mut self, start: u64, function: &mut NamedPlace) {
        if !self.own_files.contains_key(&start) {
            let places = self.symbol(start, Some(start)).map(|symbol| self.places(&symbol, None));
            let file = places.and_then(|mut places| places.pop()?.file);
            self.own_files.insert(start, file);
        }
        let own = &self.own_files[&start];
        if own.is_some() && *own != function.file {
            (function.file, function.line) = (own.clone(), 0);
        }
    }

    /// The inlined calls at an address and the function around them, innermost first.
    ///
    /// Each inlined function comes with the line of its call; the line within it is that of the function
    /// inlined into it, and the innermost one's is that of the address.
    fn places(&self, symbol: &ResolvedSym<'_>, exported: Option<&str>) -> Vec<NamedPlace> {
        let place = |name: &str, code: Option<&CodeInfo<'_>>| NamedPlace {
            procedure: self.readable(name),
            file: code.map(|code| code.to_path().to_string_lossy().into_owned()),
            line: code.and_then(|code| code.line).unwrap_or(0),
        };
        let mut places = vec![place(exported.unwrap_or(symbol.name), symbol.code_info.as_deref())];
        for inlined in &symbol.inlined {
            places.push(place(&inlined.name, inlined.code_info.as_ref()));
        }
        places.reverse();
        places
    }

    /// The name of a function as its programmer wrote it.
    fn readable(&self, mangled: &str) -> String {
        let name = readable(mangled);
        match self.code.as_ref().filter(|_| is_unnumbered(mangled)) {
            Some(code) => code.closures.get_or_init(|| Closures::of(&code.image)).numbered(mangled, name),
            None => name,
        }
    }

    /// The name of a function that no symbol table lists: Go's own, or one made of its beginning.
    fn unlisted(&self, address: u64, start: Option<u64>) -> Option<NamedPlace> {
        let go = self.code.as_ref().and_then(|code| code.go.as_ref()?.name(address));
        // Which of its functions a thread waits in for the next region says less than whose they are.
        let runtime = || is_openmp(&self.file_name).then(|| "OpenMP runtime".to_owned());
        let procedure = go.or_else(runtime).or_else(|| Some(format!("{}+{:#x}", self.file_name, start?)))?;
        Some(NamedPlace { procedure, file: None, line: 0 })
    }

    /// What a C++ thread executes, where debug information calls it by nothing but its role.
    fn body(&self, function: u64, known: &str) -> Option<&str> {
        let code = self.code.as_ref().filter(|_| thread_bodies::is_nameless(known))?;
        code.thread_bodies.get_or_init(|| ThreadBodies::of(&code.image)).name(function)
    }

    fn exported(&self, function: u64) -> Option<&str> {
        self.code.as_ref()?.exports.name(function)
    }

    /// The symbol that covers an address, from a file with source lines where there is one.
    fn symbol(&self, address: u64, start: Option<u64>) -> Option<ResolvedSym<'_>> {
        let inside = self.code.as_ref().is_none_or(|code| code.image.addresses().contains(&address));
        if !inside || address >= LARGEST_ADDRESS {
            return None;
        }
        let mut best: Option<ResolvedSym<'_>> = None;
        for resolver in &self.resolvers {
            let Some(symbol) = find(resolver, address) else { continue };
            let has_line = symbol.code_info.is_some();
            if covers(&symbol, start) && (best.is_none() || has_line) {
                best = Some(symbol);
            }
            if has_line {
                break;
            }
        }
        best.and_then(|symbol| self.nearest(symbol, address))
    }

    /// What a symbol without a size names: nothing that is too far from it, nor what is behind the beginning of another
    /// function of debug information.
    fn nearest<'a>(&'a self, mut symbol: ResolvedSym<'a>, address: u64) -> Option<ResolvedSym<'a>> {
        let (None, 1..) = (symbol.size, symbol.addr) else { return Some(symbol) };
        if let Some(code) = &self.code {
            let functions = code.debug_functions.get_or_init(|| DebugFunctions::of(&code.image));
            if let Some((start, name)) = functions.last_before(address)
                && start > symbol.addr
            {
                (symbol.addr, symbol.name) = (start, name);
            }
        }
        (!is_too_far(symbol.name, address.saturating_sub(symbol.addr))).then_some(symbol)
    }
}

/// Asks a file for the symbol at an address.
///
/// Damaged debug information must not end the program; where reading it goes out of bounds, the address
/// has no name.
fn find(resolver: &ElfResolver, address: u64) -> Option<ResolvedSym<'_>> {
    let ask = || resolver.find_sym(address, &FindSymOpts::CodeInfoAndInlined);
    catch_unwind(AssertUnwindSafe(ask)).ok()?.ok()?.ok()
}

/// Whether a symbol names the address for sure.
///
/// One without a size and address is a function of several ranges, found by its debug information. One
/// without a size alone comes from the symbol table: it names what follows up to another function.
fn covers(symbol: &ResolvedSym<'_>, function: Option<u64>) -> bool {
    let is_near = symbol.addr == 0 || function.is_none_or(|start| start <= symbol.addr);
    !symbol.name.is_empty() && (symbol.size.is_some() || is_near)
}

/// The file of a module that is known by name, if it is still the same by its build id.
pub(crate) fn reopened(module: &CodeModule) -> Option<Image> {
    let image = match module.kind {
        ModuleKind::Vdso => vdso::image(),
        _ => Image::open(&module.path),
    };
    image.ok().filter(|image| image.build_id() == module.build_id)
}

/// A path under which the image can be opened: its own if that file is still there, else a copy in memory.
fn path_of(image: &Image, path: &Path, copies: &mut Vec<std::fs::File>) -> Option<PathBuf> {
    if FileIdentity::of(path).is_ok_and(|identity| identity == image.identity()) {
        return Some(path.to_owned());
    }
    // SAFETY: the name is a C string, and the call has no other requirement.
    let descriptor = unsafe { libc::memfd_create(c"longpole".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the descriptor was just created and belongs to nobody else.
    let mut copy = unsafe { std::fs::File::from_raw_fd(descriptor) };
    copy.write_all(image.bytes()).ok()?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd()));
    copies.push(copy);
    Some(path)
}

/// Separate debug files kept under the build id.
pub(crate) fn debug_files(build_id: &[u8]) -> Vec<PathBuf> {
    if build_id.len() < 2 {
        return Vec::new();
    }
    let hex = locate::hexadecimal(build_id);
    let systems = DEBUG_FOLDERS.iter().map(|folder| {
        Path::new(folder).join(".build-id").join(&hex[..2]).join(format!("{}.debug", &hex[2..]))
    });
    let fetched = locate::debuginfod_caches().map(|cache| cache.join(&hex).join("debuginfo"));
    let mut files: Vec<PathBuf> = systems.chain(fetched).filter(|path| path.is_file()).collect();
    files.dedup_by_key(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
    files
}

/// Whether a file is named as OpenMP's runtimes are, in whose code threads wait for the next parallel region.
#[must_use]
pub fn is_openmp(file: &str) -> bool {
    ["libgomp.so", "libomp.so", "libiomp5.so"].iter().any(|name| file.starts_with(name))
}
