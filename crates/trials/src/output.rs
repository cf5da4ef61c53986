//! What a program writes, so that two versions can be compared.

use std::hash::Hasher;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::delay::DelayCounts;
use crate::run::{AppliedChange, TrialError, counts, prepare, start, wait, words};

/// What one run wrote to its standard output, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputDigest {
    /// Bytes.
    pub bytes: u64,
    /// A hash of them.
    pub hash: u64,
    /// The status with which it ended, as `wait` has it.
    pub status: i32,
}

/// Runs a command once, with a change, to its end, and reads its output.
///
/// # Errors
/// [`TrialError`].
pub fn digest_output(
    command: &mut Command,
    change: &AppliedChange,
) -> Result<(OutputDigest, DelayCounts), TrialError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let prepared = prepare(command, change)?;
    let begin = Instant::now();
    let mut child = start(command, change)?;
    // Fixed keys: two digests of this process are comparable.
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
    if let Some(mut output) = child.stdout.take() {
        loop {
            match output.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    bytes += read as u64;
                    hasher.write(&buffer[..read]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(TrialError::Wait { command: words(command), source }),
            }
        }
    }
    let (_, status) = wait(command, &child, begin)?;
    Ok((OutputDigest { bytes, hash: hasher.finish(), status }, counts(prepared.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(line: &str) -> OutputDigest {
        digest_output(Command::new("sh").args(["-c", line]), &AppliedChange::Unchanged).unwrap().0
    }

    #[test]
    fn equal_outputs_have_equal_digests_however_they_are_written() {
        let whole = digest("echo one two");
        assert_eq!((whole, whole.bytes), (digest("printf 'one '; sleep 0.02; echo two"), 8));
        assert_ne!(whole, digest("echo one tow"));
        assert_ne!(whole, digest("echo one two; exit 3"));
    }
}
