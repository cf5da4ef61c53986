//! What a program writes, so that two versions can be compared.

use std::hash::Hasher;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::run::{TrialError, start, wait, words};
use crate::skip::SkippedProcedure;

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

/// Runs a command once, to its end, and reads its output; a skipped procedure returns at once.
///
/// # Errors
/// [`TrialError`].
pub fn digest_output(
    command: &mut Command,
    skipped: Option<&SkippedProcedure>,
) -> Result<OutputDigest, TrialError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let begin = Instant::now();
    let mut child = start(command, skipped)?;
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
    Ok(OutputDigest { bytes, hash: hasher.finish(), status })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(line: &str) -> OutputDigest {
        digest_output(Command::new("sh").args(["-c", line]), None).unwrap()
    }

    #[test]
    fn equal_outputs_have_equal_digests_however_they_are_written() {
        let whole = digest("echo one two");
        assert_eq!((whole, whole.bytes), (digest("printf 'one '; sleep 0.02; echo two"), 8));
        assert_ne!(whole, digest("echo one tow"));
        assert_ne!(whole, digest("echo one two; exit 3"));
    }
}
