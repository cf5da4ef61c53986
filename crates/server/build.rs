//! The page's files are embedded; new ones, too, have to lead to a new build.

fn main() {
    let _ = std::io::Write::write_all(&mut std::io::stdout(), b"cargo::rerun-if-changed=../../ui\n");
}
