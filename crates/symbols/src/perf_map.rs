//! Names of code made at run time, from the `perf-PID.map` file that its maker wrote.

use std::io::Read;
use std::path::PathBuf;

use longpole_recording::open_regular;

use crate::symboliser::NamedAddress;

/// Larger files are not read.
const LARGEST_FILE: u64 = 1 << 28;

/// Names absolute addresses of a process.
pub(crate) fn name(pid: u32, addresses: &[u64]) -> Vec<NamedAddress> {
    // Anybody may have put something else there than a file.
    let read = |path: PathBuf| {
        let mut text = Vec::new();
        open_regular(&path).ok()?.take(LARGEST_FILE + 1).read_to_end(&mut text).ok()?;
        (text.len() as u64 <= LARGEST_FILE).then_some(text)
    };
    let text = candidates(pid).into_iter().find_map(read);
    name_by_perf_map(&text.unwrap_or_default(), addresses)
}

/// Where the maker of the code may have written its map: below the root folder it saw, under the pid it saw.
fn candidates(pid: u32) -> Vec<PathBuf> {
    let inner = inner_pid(pid).unwrap_or(pid);
    let mut paths = vec![PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{inner}.map"))];
    for pid in [pid, inner] {
        paths.push(PathBuf::from(format!("/tmp/perf-{pid}.map")));
    }
    paths
}

/// The pid of a living process as it sees itself.
fn inner_pid(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// Names addresses by the text of a `perf-PID.map` file: lines of start, size (both hexadecimal) and name.
///
/// Later lines replace earlier ones where they overlap, since makers reuse memory. Lines that are not of
/// this form are passed over.
#[must_use]
pub fn name_by_perf_map(text: &[u8], addresses: &[u64]) -> Vec<NamedAddress> {
    let mut order: Vec<usize> = (0..addresses.len()).collect();
    order.sort_unstable_by_key(|&index| addresses[index]);
    let mut found: Vec<Option<&[u8]>> = vec![None; addresses.len()];
    for line in text.split(|&byte| byte == b'\n') {
        let Some((start, size, name)) = parse(line) else { continue };
        let first = order.partition_point(|&index| addresses[index] < start);
        let inside = order[first..].iter().take_while(|&&index| addresses[index] - start < size);
        for &index in inside {
            found[index] = Some(name);
        }
    }
    let named = |name: Option<&[u8]>| {
        name.map_or_else(NamedAddress::default, |name| procedure(&String::from_utf8_lossy(name)))
    };
    found.into_iter().map(named).collect()
}

fn parse(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut parts = line.trim_ascii().splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let text = std::str::from_utf8(parts.next()?).ok()?;
        u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = parts.next()?.trim_ascii();
    (size > 0 && !name.is_empty()).then_some((start, size, name))
}

/// Functions of JavaScript and Python, which V8 and CPython write down with their file. V8 has a line for each form of a function,
/// interpreted or compiled; they are one function. Its place stays in the name: one file has many of the same name.
///
/// ```text
///   JS:*sum /src/train.js:2:13      sum train.js:2        (older: LazyCompile:*sum …)
///   py::sum:/src/train.py           sum train.py
/// ```
fn procedure(written: &str) -> NamedAddress {
    let (function, file, line) = match (javascript(written), python(written)) {
        (Some((function, file, line)), _) => (function, file, format!(":{line}")),
        (None, Some((function, file))) => (function, file, String::new()),
        (None, None) => return NamedAddress::procedure(written.to_owned()),
    };
    let short = file.rsplit('/').next().unwrap_or(file);
    let mut named = NamedAddress::procedure(format!("{function} {short}{line}"));
    named.places[0].file = Some(file.strip_prefix("file://").unwrap_or(file).to_owned());
    named
}

/// Function, file and line.
fn javascript(written: &str) -> Option<(&str, &str, &str)> {
    const KINDS: [&str; 5] = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
    let rest =
        KINDS.iter().find_map(|kind| written.strip_prefix(kind))?.trim_start_matches(['*', '~', '^', '+']);
    let (function, place) = rest.split_once(' ')?;
    let (place, column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let function = if function.is_empty() { "(anonymous)" } else { function };
    (is_number(line) && is_number(column) && !file.is_empty()).then_some((function, file, line))
}

/// Function and file.
fn python(written: &str) -> Option<(&str, &str)> {
    let (function, file) = written.strip_prefix("py::")?.split_once(':')?;
    (!function.is_empty() && !file.is_empty()).then_some((function, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, addresses: &[u64]) -> Vec<String> {
        let names = name_by_perf_map(text.as_bytes(), addresses);
        names
            .iter()
            .map(|named| named.places.first().map_or("-", |place| &place.procedure).to_owned())
            .collect()
    }

    #[test]
    fn addresses_are_named_by_the_range_that_holds_them() {
        let text = "1000 20 java.lang.String int hash()\n0x2000 0x10 b\n";
        let expected = ["b", "java.lang.String int hash()", "-", "-"];
        assert_eq!(names(text, &[0x200f, 0x1000, 0x1020, 0xfff]), expected);
    }

    #[test]
    fn reused_memory_has_the_name_written_last() {
        assert_eq!(names("1000 20 old\n1010 20 new\n", &[0x1008, 0x1010]), ["old", "new"]);
    }

    #[test]
    fn functions_of_javascript_and_python_are_called_as_in_their_source() {
        let text = "1000 10 JS:*sum /src/app/j.js:2:13\n2000 10 JS:~sum /src/app/j.js:2:13\n\
                    3000 10 LazyCompile:^ file:///src/m.mjs:7:1\n4000 10 py::compute:/src/train.py\n5000 10 JS:odd";
        let expected = ["sum j.js:2", "sum j.js:2", "(anonymous) m.mjs:7", "compute train.py", "JS:odd"];
        assert_eq!(names(text, &[0x1000, 0x2000, 0x3000, 0x4000, 0x5000]), expected);
        let files = name_by_perf_map(text.as_bytes(), &[0x3000, 0x4000]);
        let file = |index: usize| files[index].places[0].file.as_deref();
        assert_eq!((file(0), file(1)), (Some("/src/m.mjs"), Some("/src/train.py")));
    }

    #[test]
    fn damaged_lines_are_passed_over() {
        let text =
            "zz 10 a\n1000\n1000 10\n1000 0 none\nffffffffffffffff ffffffffffffffff edge\n1000 10 good";
        assert_eq!(names(text, &[0x1000, u64::MAX]), ["good", "edge"]);
    }
}
