//! Procedures of Go's library, told by the names of its packages.

/// Packages of Go's library, by the first part of their path. Those of a program are `main`, or begin with the name of its module.
const GO_PACKAGES: &[&str] = &[
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "slices",
    "sort",
    "strconv",
    "strings",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unique",
    "vendor",
    "weak",
];

/// Whether the name is `crypto/sha256.block`, `sort.Ints` or `fmt.(*pp).printArg`. Suffixes that compilers of C add are cut off before.
pub(super) fn is_of_go_library(name: &str) -> bool {
    let Some((package, procedure)) = name.split_once('.') else { return false };
    let is_name = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_".contains(&byte));
    let first = package.split('/').next().unwrap_or_default();
    is_name(package)
        && procedure.starts_with(|c: char| c == '(' || c == '_' || c.is_alphabetic())
        && GO_PACKAGES.contains(&first)
}
