//! The privileged process of a recorder (`longpole setup`): serves the requests that come through its standard input.

fn main() -> std::process::ExitCode {
    longpole_privileged::serve()
}
