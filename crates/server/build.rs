//! The page's files are embedded; new ones, too, have to lead to a new build.

fn main() {
    #[expect(clippy::disallowed_methods, reason = "a build script tells cargo through it")]
    let _ = std::io::Write::write_all(&mut std::io::stdout(), b"cargo::rerun-if-changed=../../ui\n");
}
