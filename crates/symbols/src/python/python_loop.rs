//! The code of the interpreter's loop, which executes the functions of Python.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, FlowControl, OpKind};
use object::{Object, ObjectSymbol};

use crate::functions::Functions;
use crate::image::Image;
use crate::module::CodeModule;
use crate::python::is_interpreter;

/// The loop's names: since Python 3.6, and before.
const NAMES: [&str; 2] = ["_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx"];

/// The code of the loop in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonLoop {
    ranges: Vec<Range<u64>>,
}

impl PythonLoop {
    /// The loop in a module's file, if it is an interpreter of Python.
    #[must_use]
    pub fn of(module: &CodeModule) -> Option<PythonLoop> {
        if is_interpreter(&module.path) { PythonLoop::in_image(module.image()?) } else { None }
    }

    /// A loop of this code.
    #[must_use]
    pub fn of_ranges(ranges: Vec<Range<u64>>) -> PythonLoop {
        PythonLoop { ranges }
    }

    fn in_image(image: &Image) -> Option<PythonLoop> {
        let elf = image.elf()?;
        let named = |wanted: &str| {
            elf.dynamic_symbols().find(|symbol| symbol.name() == Ok(wanted) && symbol.is_definition())
        };
        let symbol = NAMES.into_iter().find_map(named)?;
        let functions = Functions::of(image);
        let known = symbol.address()..symbol.address().saturating_add(symbol.size());
        let hot = if known.is_empty() { functions.range_of(symbol.address())? } else { known };
        let mut ranges = vec![hot.clone()];
        for target in left_for(image, &hot) {
            let Some(range) = functions.range_of(target) else { continue };
            if !ranges.contains(&range) {
                ranges.push(range);
            }
        }
        Some(PythonLoop { ranges })
    }

    /// Whether the address in the file is in the loop.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&address))
    }
}

/// Where jumps in a function lead that leave it: compilers put what is seldom executed elsewhere. A jump on a condition is no call, and
/// one that always jumps may be one only where it leads to a function's beginning.
fn left_for(image: &Image, range: &Range<u64>) -> Vec<u64> {
    let length = usize::try_from(range.end - range.start).unwrap_or(0);
    let code = image.code(range.start, length);
    let decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
    let leaving = |instruction: iced_x86::Instruction| {
        let is_near = instruction.op_count() == 1 && instruction.op0_kind() == OpKind::NearBranch64;
        let is_conditional = instruction.flow_control() == FlowControl::ConditionalBranch;
        let target = instruction.near_branch_target();
        (is_near && is_conditional && !range.contains(&target)).then_some(target)
    };
    let mut targets: Vec<u64> = decoder.into_iter().filter_map(leaving).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}
