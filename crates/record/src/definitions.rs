//! The system calls and files that a log defines, each once, and not more than a log has room for.

use longpole_event::{CallDefinition, CallId, FileDefinition, IdKind, TextId};
use longpole_recording::{LogBuilder, Result};
use rustc_hash::FxHashMap;

use crate::arguments::essential;

/// Distinct system calls in one log; further ones lose their arguments.
const MOST_CALLS: usize = 100_000;
/// Files that are named; further ones are named by the places of their waits.
const MOST_FILES: usize = 100_000;

/// What a log has defined so far.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    calls: FxHashMap<CallDefinition, CallId>,
    files: FxHashMap<u64, TextId>,
}

impl Definitions {
    /// The id of a system call.
    pub(crate) fn call(&mut self, log: &mut LogBuilder, call: CallDefinition) -> Result<CallId> {
        let mut call = essential(call);
        if let Some(&id) = self.calls.get(&call) {
            return Ok(id);
        }
        // Files and threads that come and go must not use up the room for the addresses of locks.
        if self.calls.len() >= MOST_CALLS / 2 {
            call.arguments[2] = 0;
        }
        if self.calls.len() >= MOST_CALLS {
            call.arguments = [0; 3];
        }
        let id = log.call(call)?;
        self.calls.insert(call, id);
        Ok(id)
    }

    /// Forgets ids that mean nothing any more.
    pub(crate) fn forget_unknown(&mut self, log: &LogBuilder) {
        self.calls.retain(|_, id| log.knows(IdKind::Call, id.0));
    }

    /// Notes the name of a file. A number that gets another name stands for a file that was renamed, or for another
    /// one: its last name counts.
    pub(crate) fn file(&mut self, log: &mut LogBuilder, number: u64, name: &str) -> Result<()> {
        if self.files.len() >= MOST_FILES && !self.files.contains_key(&number) {
            return Ok(());
        }
        let name = log.text(name)?;
        if self.files.insert(number, name) != Some(name) {
            log.file(FileDefinition { number, name })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{FileKind, MachineId};
    use longpole_recording::{LogName, Manifest, RecordingFolder};

    use super::*;

    #[test]
    fn many_files_leave_room_for_the_addresses_of_locks() {
        let folder = tempfile::tempdir().unwrap();
        let recording =
            RecordingFolder::create(&folder.path().join("x.longpole"), &Manifest::default()).unwrap();
        let mut log = LogBuilder::new(recording.create_log(MachineId(0), LogName::Events).unwrap());
        let mut definitions = Definitions::default();
        let read = |file: u64| CallDefinition { number: 0, arguments: [3, 0, file], file: FileKind::Regular };
        let mut call = |call: CallDefinition| definitions.call(&mut log, call).unwrap();
        let last = (1..=2 * MOST_CALLS as u64).map(|file| call(read(file))).last().unwrap();
        assert_eq!(last.index(), MOST_CALLS / 2);
        let lock =
            |address: u64| CallDefinition { number: 202, arguments: [address, 128, 0], file: FileKind::None };
        assert_ne!(call(lock(0x1000)), call(lock(0x2000)));
        assert_eq!(call(lock(0x1000)), call(lock(0x1000)));
    }
}
