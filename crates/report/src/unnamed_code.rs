//! CPU time in code that has no names: how much, and what would name it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_metrics::Charge;
use longpole_trace::{PathId, Procedure};

use crate::findings::threshold::UNNAMED;
use crate::input::ReportTables;
use crate::quantity::{percent, percent_text};

/// Interpreters whose functions no collector reads, by the begin of the module that holds them, and their language.
const INTERPRETERS: [(&str, &str); 10] = [
    ("libruby", "Ruby"),
    ("libperl", "Perl"),
    ("perl", "Perl"),
    ("liblua", "Lua"),
    ("lua", "Lua"),
    ("php", "PHP"),
    ("libphp", "PHP"),
    ("libR.so", "R"),
    ("liboctinterp", "Octave"),
    ("libguile", "Guile"),
];

/// What makes the names of an answer less than a reader may take them for.
pub(crate) fn warnings(input: &ReportTables<'_>) -> impl Iterator<Item = String> {
    [without_names(input), python_without_names(input), in_interpreter(input)].into_iter().flatten()
}

fn without_names(input: &ReportTables<'_>) -> Option<String> {
    let (share, modules) = share(input);
    let modules: Vec<&str> = modules.into_iter().filter(|&module| module != "[unknown]").take(2).collect();
    let share_text = percent_text(share);
    match modules.first() {
        _ if share <= UNNAMED => None,
        None => Some(format!("{share_text} of the CPU time has no call path")),
        Some(&Procedure::PROBES) => Some(format!(
            "{share_text} of the CPU time is in the recorder's probes of the C library (where threads end and are joined), without which the run is shorter"
        )),
        Some(&"[jit]") => Some(format!(
            "{share_text} of the CPU time is in code made at run time; a perf map names it (Java: -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, Node: --perf-basic-prof, Python: -X perf)"
        )),
        Some(_) => {
            let modules = modules.join(" and ");
            Some(format!(
                "{share_text} of the CPU time is in code without names, most in {modules}; debug symbols would name it"
            ))
        }
    }
}

/// Whether most of what has no names is code made at run time, and that is worth saying.
pub(crate) fn is_mostly_made_at_run_time(input: &ReportTables<'_>) -> bool {
    let (share, modules) = share(input);
    share > UNNAMED && modules.into_iter().find(|&module| module != "[unknown]") == Some("[jit]")
}

/// CPython executes functions in a loop of its own. The collector `bpf` reads which ones; others do not.
fn python_without_names(input: &ReportTables<'_>) -> Option<String> {
    let procedure = |path: PathId| {
        input.paths.innermost(path).map(|place| input.paths.procedure_named_by(place.procedure))
    };
    let is_of_interpreter = |charge: &&Charge| {
        let mut callers = std::iter::successors(Some(charge.path), |&path| input.paths.caller(path));
        procedure(charge.path).is_some_and(Procedure::is_of_python)
            && !callers.any(|path| procedure(path).is_some_and(Procedure::is_jit))
    };
    let charges = input.analysis.charges.iter();
    let time: u64 = charges.filter(is_of_interpreter).map(|charge| charge.measures.cpu()).sum();
    let share = percent(time as f64, input.totals().cpu() as f64);
    let why = if input.evidence.collector == "bpf" {
        "without a function of Python: before the interpreter was found, or of a version that cannot be read (`--view evidence`)"
    } else {
        "where functions of Python have no names here; the collector `bpf` reads them (`longpole doctor`), and Python 3.12 and later name them with `python3 -X perf`"
    };
    let share_text = percent_text(share);
    (share > UNNAMED).then(|| format!("{share_text} of the CPU time is in the Python interpreter, {why}"))
}

/// An interpreter executes functions in loops of its own: its procedures say little of the program.
fn in_interpreter(input: &ReportTables<'_>) -> Option<String> {
    let mut languages: BTreeMap<&str, u64> = BTreeMap::new();
    for charge in &input.analysis.charges {
        let place = input.paths.innermost(charge.path);
        let module = place.map(|place| input.paths.procedure_named_by(place.procedure).module.as_str());
        if let Some(language) = module.and_then(language) {
            *languages.entry(language).or_default() += charge.measures.cpu();
        }
    }
    let (language, time) = languages.into_iter().max_by_key(|&(language, time)| (time, Reverse(language)))?;
    let share = percent(time as f64, input.totals().cpu() as f64);
    let share_text = percent_text(share);
    (share > UNNAMED).then(|| {
        format!("{share_text} of the CPU time is in the interpreter of {language}: which functions of {language} it executes is not known")
    })
}

/// The language whose interpreter this module is.
fn language(module: &str) -> Option<&'static str> {
    let is_version = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphabetic() || next == '_');
    let is_its = |begin: &str| module.strip_prefix(begin).is_some_and(is_version);
    INTERPRETERS.iter().find(|(begin, _)| is_its(begin)).map(|&(_, language)| language)
}

/// Share of CPU time in procedures without a name, percent, and their modules, the largest first.
pub(crate) fn share<'a>(input: &ReportTables<'a>) -> (f64, Vec<&'a str>) {
    let mut modules: BTreeMap<&str, u64> = BTreeMap::new();
    for charge in &input.analysis.charges {
        let procedure =
            input.paths.innermost(charge.path).map(|place| input.paths.procedure_named_by(place.procedure));
        let module = match procedure {
            Some(procedure) if is_unnamed(procedure) => procedure.module.as_str(),
            Some(_) => continue,
            None => "[unknown]",
        };
        *modules.entry(module).or_default() += charge.measures.cpu();
    }
    let unnamed: u64 = modules.values().sum();
    let mut modules: Vec<(&str, u64)> = modules.into_iter().collect();
    modules.sort_by_key(|&(module, time)| (std::cmp::Reverse(time), module));
    let share = percent(unnamed as f64, input.totals().cpu() as f64);
    (share, modules.into_iter().map(|(module, _)| module).collect())
}

/// Whether a procedure is known by its address alone, or not at all.
fn is_unnamed(procedure: &Procedure) -> bool {
    procedure.name.starts_with('[') || procedure.is_address()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_modules_and_nothing_else_is() {
        let modules = ["libruby-3.1.so.3.1.2", "perl5.36.0", "perl", "php-fpm8.2", "lua5.4", "libR.so"];
        let found = modules.map(|module| language(module).unwrap());
        assert_eq!(found, ["Ruby", "Perl", "Perl", "PHP", "Lua", "R"]);
        let others = ["perlin", "luabench", "php_like", "libRtools.so", "python3.11", ""];
        assert_eq!(others.map(language), [None; 6]);
    }
}
