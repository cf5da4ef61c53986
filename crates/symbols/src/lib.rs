//! Unwinding of stacks and naming of addresses.
//!
//! While a program runs, [`Unwinder`] is told of its mappings and turns registers, stack memory and chains
//! into [`CodeAddress`]es. When it has ended, [`Symboliser`] turns these into procedures, files and lines,
//! and tells which lie in loops that only wait.
//!
//! ```
//! use longpole_symbols::{Registers, Symboliser, Unwinder, UserStack};
//!
//! let mut unwinder = Unwinder::new();
//! unwinder.load_maps(std::process::id())?;
//! let here = longpole_symbols::has_frame_pointers as *const () as u64;
//! let stack = UserStack { registers: Some(Registers { ip: here, sp: 0x7000, bp: 0 }), ..Default::default() };
//! let mut frames = Vec::new();
//! unwinder.unwind(std::process::id(), &stack, &mut frames);
//! let module = &unwinder.modules()[frames[0].module as usize];
//! let names = Symboliser::new().symbolise(module, &[frames[0].address]);
//! assert!(names[0].places[0].procedure.contains("has_frame_pointers"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod build_folders;
mod callees;
mod cfi;
mod chain;
mod closures;
mod d_names;
mod debug_functions;
mod debug_units;
mod elf_names;
mod exports;
mod frame_pointers;
mod functions;
mod go_functions;
mod image;
mod imports;
mod instrumentation;
mod kernel_names;
mod locate;
mod mapping;
mod maps;
mod module;
mod name;
mod perf_map;
mod polling;
mod process;
mod python;
mod skipped;
mod spin;
mod subprograms;
mod symboliser;
mod thread_bodies;
mod unwinder;
mod variable_types;
mod variables;
mod vdso;

pub use build_folders::build_folders;
pub use callees::name_callees;
pub use elf_names::is_openmp;
pub use frame_pointers::{FramePointers, has_frame_pointers, needed_libraries};
pub use imports::imports_any;
pub use instrumentation::{AccessInstrumentation, access_instrumentation};
pub use kernel_names::{kernel_symbols, set_kernel_symbols};
pub use mapping::{Mapping, Registers};
pub use maps::{mappings_in, maps_of};
pub use module::{CodeModule, PROBES};
pub use perf_map::name_by_perf_map;
pub use polling::{PlaceWords, PollingCode};
pub use python::{LoopFrames, MappedPython, PythonFiles, PythonLayout, PythonLoop, UnreadablePython};
pub use spin::{AccessedWord, PolledState, PolledWord};
pub use symboliser::{NamedAddress, NamedPlace, Symboliser};
pub use unwinder::{CodeAddress, DataAddress, Unwinder, UserStack};
pub use variable_types::{TypeField, VariableType, variable_types};
pub use variables::{FileVariable, NamedVariable, name_variables, variables_of};
