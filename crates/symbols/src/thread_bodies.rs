//! Names of what C++ threads execute.
//!
//! ```text
//!   debug information    _M_run
//!   symbol table         std::thread::_State_impl<std::thread::_Invoker<std::tuple<serve(int)::{lambda()#2}> > >::_M_run()
//!   name                 serve(int)::{lambda()#2}
//! ```
//! A lambda has no name that other files could use, so compilers leave out the linkage names of functions that are made for it: all threads
//! of a program then seem to execute one procedure `_M_run`. Its symbol says which lambda it is.

use object::{Object, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use crate::image::Image;
use crate::name::readable;

/// Names of debug information that say nothing.
const NAMELESS: [&str; 4] = ["_M_run", "operator()", "_FUN", "_M_invoke"];
/// What the name of a thread of libstdc++ has before the callable.
const BEFORE: &str = "std::thread::_Invoker<std::tuple<";

/// Whether a name of debug information says nothing of the function.
pub(crate) fn is_nameless(name: &str) -> bool {
    NAMELESS.contains(&name)
}

/// The names of functions that their debug information does not name, by their beginnings.
#[derive(Debug, Default)]
pub(crate) struct ThreadBodies(FxHashMap<u64, String>);

impl ThreadBodies {
    /// Reads the symbols of a file.
    pub fn of(image: &Image) -> Self {
        let Some(elf) = image.elf() else { return ThreadBodies::default() };
        let is_body = |name: &str| name.starts_with("_Z") && (name.contains("Ul") || name.contains("_M_run"));
        let symbols =
            elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        let names = symbols.filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| is_body(name))?;
            Some((symbol.address(), callable(&readable(name))))
        });
        ThreadBodies(names.collect())
    }

    /// The name of the function that begins there, where it is one of them.
    pub fn name(&self, function: u64) -> Option<&str> {
        self.0.get(&function).map(String::as_str)
    }
}

/// The callable that the function with this name executes, where it says so; else the name.
fn callable(name: &str) -> String {
    let first = name.split_once(BEFORE).and_then(|(_, rest)| first_argument(rest));
    let name = first.filter(|first| first.contains('{')).unwrap_or(name);
    // `main::{lambda()#1}::operator()() const` is the lambda.
    let lambda = name.split_once("}::operator()").map(|(lambda, _)| format!("{lambda}}}"));
    lambda.unwrap_or_else(|| name.to_owned())
}

/// Up to the comma or bracket that ends the first of a list of template arguments.
fn first_argument(list: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, letter) in list.char_indices() {
        match letter {
            '<' | '(' | '{' => depth += 1,
            ',' | '>' if depth == 0 => return Some(list[..at].trim_end()),
            '>' | ')' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_by_the_lambda_that_it_executes() {
        let cases = [
            (
                "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#2}> > >::_M_run()",
                "main::{lambda()#2}",
            ),
            (
                "std::thread::_State_impl<std::thread::_Invoker<std::tuple<serve(std::vector<int, long>&, int)::{lambda(int)#1}, int> > >::_M_run()",
                "serve(std::vector<int, long>&, int)::{lambda(int)#1}",
            ),
            ("main::{lambda()#1}::operator()() const", "main::{lambda()#1}"),
            // The function has a frame of its own.
            (
                "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > >::_M_run()",
                "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > >::_M_run()",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(callable(name), expected);
        }
    }

    #[test]
    fn lists_that_do_not_end_have_no_first_argument() {
        for list in ["", "a", "a<b", "(a, b"] {
            assert_eq!(first_argument(list), None, "{list}");
        }
        assert_eq!(first_argument("a<b, c>(d, e), f>"), Some("a<b, c>(d, e)"));
    }
}
