//! Functions of Python between the procedures of the interpreter that executes them.
//!
//! In: the native frames of a stack, and what the interpreter says that the thread executes: functions, innermost first, and with which of
//! them the interpreter's loop was entered. Out: one path. A function goes between the loop that executes it and what called the loop:
//!
//! ```text
//!   native          float_mul ◄ loop ◄ PyObject_Call ◄ loop ◄ main
//!   Python                      area ◄ sum│           ◄ report│          │ the loop was entered with it
//!   path            float_mul ◄ loop ◄ area ◄ sum ◄ PyObject_Call ◄ loop ◄ report ◄ main
//! ```
//! Both ends of a stack can lack a part. The innermost loop may not have said yet what it executes; the native stack may be cut where it is
//! deeper than what was copied, or that of Python where it has very many frames. What matches no loop at the outer end is added there.

use std::sync::Arc;

use longpole_event::ModuleKind;
use longpole_symbols::{CodeAddress, CodeModule, PythonLoop};

/// A function of Python.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PythonFunction {
    /// What it is called, with its file's name.
    pub name: String,
    /// Path of the source file, as the interpreter has it.
    pub file: String,
    /// Its first line.
    pub line: u32,
}

/// A frame of Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonFrame {
    /// Its function; `None` for the loop's own frames, and where it could not be read.
    pub function: Option<Arc<PythonFunction>>,
    /// The interpreter's loop was entered with it.
    pub begins_loop: bool,
}

/// What a thread executes of Python.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonStack {
    /// Innermost first.
    pub frames: Vec<PythonFrame>,
    /// There are more frames.
    pub is_cut: bool,
}

/// A frame of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WovenFrame {
    Native(CodeAddress),
    Python(Arc<PythonFunction>),
    /// Frames that could not be recovered.
    Missing,
}

/// Puts functions of Python between native frames.
#[derive(Debug, Default)]
pub(crate) struct PythonWeaver {
    /// The interpreter's loop in each module of the unwinder, as far as these were looked at.
    loops: Vec<Option<PythonLoop>>,
}

impl PythonWeaver {
    /// One path of both, innermost first. `is_whole`: the native frames lead to where the thread began.
    pub(crate) fn weave(
        &mut self,
        modules: &[CodeModule],
        (native, is_whole): (&[CodeAddress], bool),
        python: &PythonStack,
    ) -> Vec<WovenFrame> {
        while self.loops.len() < modules.len() {
            self.loops.push(PythonLoop::of(&modules[self.loops.len()]));
        }
        let runs: Vec<&[PythonFrame]> = python.frames.split_inclusive(|frame| frame.begins_loop).collect();
        let loops = native.iter().filter(|frame| self.is_loop(frame)).count();
        // The innermost loops that have not said yet what they execute.
        let silent = if is_whole && !python.is_cut { loops.saturating_sub(runs.len()) } else { 0 };
        let mut woven = Vec::with_capacity(native.len() + python.frames.len());
        let (mut passed, mut runs, mut native) = (0, runs.into_iter(), native.iter().peekable());
        while let Some(frame) = native.next() {
            woven.push(WovenFrame::Native(*frame));
            if !self.is_loop(frame) {
                continue;
            }
            passed += 1;
            let Some(run) = (passed > silent).then(|| runs.next()).flatten() else { continue };
            extend(&mut woven, run);
            if passed == loops && is_whole {
                // A loop that is not known as one: what it executes was called by what executes that.
                runs.by_ref().for_each(|run| extend(&mut woven, run));
            }
            // With `-X perf` a piece of code made at run time stands for the function, and leads to the loop.
            native.next_if(|next| modules[next.module as usize].kind == ModuleKind::Jit);
        }
        if !is_whole {
            runs.for_each(|run| extend(&mut woven, run));
            woven.extend(python.is_cut.then_some(WovenFrame::Missing));
        }
        woven
    }

    fn is_loop(&self, frame: &CodeAddress) -> bool {
        let of_module = self.loops.get(frame.module as usize).and_then(Option::as_ref);
        of_module.is_some_and(|python_loop| python_loop.contains(frame.address))
    }
}

fn extend(woven: &mut Vec<WovenFrame>, run: &[PythonFrame]) {
    woven.extend(run.iter().filter_map(|frame| frame.function.clone()).map(WovenFrame::Python));
}

#[cfg(test)]
mod tests {
    use longpole_event::ModuleKind;

    use super::*;

    const MADE: u32 = 1;

    /// Modules 0, with a loop of which each address below 10 is a part, and 1, of code made at run time.
    fn weaver() -> (PythonWeaver, Vec<CodeModule>) {
        let module = |kind| CodeModule::new("python3".into(), Vec::new(), kind, None);
        let loops = vec![Some(PythonLoop::of_ranges(std::iter::once(0..10).collect())), None];
        (PythonWeaver { loops }, vec![module(ModuleKind::File), module(ModuleKind::Jit)])
    }

    /// `a b| c|` as the frames of functions, the loop entered with those before a stroke; `|` alone is a frame of the loop's own.
    fn python(drawn: &str, is_cut: bool) -> PythonStack {
        let frame = |word: &str| {
            let name = word.trim_end_matches('|');
            let function = PythonFunction { name: name.to_owned(), file: String::new(), line: 1 };
            let function = (!name.is_empty()).then(|| Arc::new(function));
            PythonFrame { function, begins_loop: word.ends_with('|') }
        };
        PythonStack { frames: drawn.split_whitespace().map(frame).collect(), is_cut }
    }

    /// `L` is the interpreter's loop, `J` code made at run time, `c` another procedure, `…` missing frames.
    fn woven(native: &str, is_whole: bool, python: &PythonStack) -> String {
        let (mut weaver, modules) = weaver();
        let address = |word: &str| match word {
            "L" => CodeAddress { module: 0, address: 1 },
            "J" => CodeAddress { module: MADE, address: 1 },
            _ => CodeAddress { module: 0, address: 100 },
        };
        let native: Vec<CodeAddress> = native.split_whitespace().map(address).collect();
        let name = |frame: WovenFrame| match frame {
            WovenFrame::Native(CodeAddress { module: MADE, .. }) => "J".to_owned(),
            WovenFrame::Native(CodeAddress { address: 1, .. }) => "L".to_owned(),
            WovenFrame::Native(_) => "c".to_owned(),
            WovenFrame::Python(function) => function.name.clone(),
            WovenFrame::Missing => "…".to_owned(),
        };
        let frames = weaver.weave(&modules, (&native, is_whole), python);
        frames.into_iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn functions_stand_between_the_loop_that_executes_them_and_its_caller() {
        assert_eq!(
            woven("c L c L c", true, &python("area sum| report|", false)),
            "c L area sum c L report c"
        );
        // Since Python 3.12 the loop has a frame of its own behind them.
        assert_eq!(
            woven("c L c L c", true, &python("area sum | report |", false)),
            "c L area sum c L report c"
        );
    }

    #[test]
    fn a_loop_that_has_just_been_entered_executes_nothing_yet() {
        assert_eq!(woven("L c L c", true, &python("outer|", false)), "L c L outer c");
        assert_eq!(woven("L c L c", true, &python("| outer |", false)), "L c L outer c");
    }

    #[test]
    fn where_the_native_stack_is_cut_the_functions_go_on() {
        assert_eq!(woven("c L c", false, &python("a| b| c|", false)), "c L a c b c");
        assert_eq!(woven("c", false, &python("a|", false)), "c a");
    }

    #[test]
    fn where_the_functions_are_cut_those_that_are_known_are_the_innermost() {
        assert_eq!(woven("L c L c", true, &python("a|", true)), "L a c L c");
        assert_eq!(woven("L c", false, &python("a b", true)), "L a b c …");
    }

    #[test]
    fn code_that_was_made_for_a_function_does_not_name_it_again() {
        assert_eq!(woven("c L J c L J c J c", true, &python("a| b|", false)), "c L a c L b c J c");
        assert_eq!(woven("L J c", true, &python("", false)), "L J c", "its name is all that is known");
    }
}
