//! The gates at which the recorders of all hosts wait until all are ready: one more connection to each host.
//!
//! ```text
//!   over there   waits for FOLDER/ready, says `ready`, waits for a word, writes it into FOLDER/gate
//!   here         all are ready: `go` to each; one is not: no word to any, and each recorder ends without its program
//! ```

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What waits on a host. A recorder that has ended will never be ready, and one that has not begun in two minutes neither.
const WAIT: &str = "rounds=0; until [ -e \"$folder/ready\" ]; do rounds=$((rounds + 1)); [ $rounds -gt 6000 ] && exit 1; \
                    [ -e \"$folder/pid\" ] && { kill -0 \"$(cat \"$folder/pid\")\" 2>/dev/null || exit 1; }; sleep 0.02; done; \
                    echo ready; read -r word; printf %s \"$word\" >\"$folder/gate\"";

/// The script for a host whose recorder has this folder, which is quoted.
pub fn script(folder: &str) -> String {
    format!("folder={folder}; {WAIT}")
}

/// The gates of all hosts.
pub struct HostGates {
    gates: Vec<Child>,
    /// Where words go.
    words: Vec<Option<ChildStdin>>,
    said: Receiver<(usize, bool)>,
    says: Sender<(usize, bool)>,
    is_ready: Vec<Option<bool>>,
}

impl HostGates {
    /// Of no host yet.
    pub fn new() -> HostGates {
        let (says, said) = channel();
        HostGates { gates: Vec::new(), words: Vec::new(), said, says, is_ready: Vec::new() }
    }

    /// Waits at the gate of one more host, by this command.
    pub fn watch(&mut self, mut command: Command) {
        let index = self.is_ready.len();
        self.is_ready.push(None);
        self.words.push(None);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut gate) = started else {
            self.is_ready[index] = Some(false);
            return;
        };
        self.words[index] = gate.stdin.take();
        let output = gate.stdout.take();
        let says = self.says.clone();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = output.map(|output| BufReader::new(output).read_line(&mut line));
            // Whoever listened may have gone.
            let _ = says.send((index, read.is_some_and(|read| read.is_ok()) && line.trim_end() == "ready"));
        });
        self.gates.push(gate);
    }

    /// The host's command has ended: it will never be ready.
    pub fn ended(&mut self, index: usize) {
        self.is_ready[index].get_or_insert(false);
    }

    /// Hosts that are not ready and never will be.
    pub fn lost(&mut self) -> Vec<usize> {
        while let Ok((index, is_ready)) = self.said.try_recv() {
            self.is_ready[index].get_or_insert(is_ready);
        }
        let lost = self.is_ready.iter().enumerate().filter(|(_, is_ready)| **is_ready == Some(false));
        lost.map(|(index, _)| index).collect()
    }

    /// Whether all hosts wait for the word.
    pub fn are_ready(&mut self) -> bool {
        self.lost().is_empty() && self.is_ready.iter().all(Option::is_some)
    }

    /// Lets all programs start.
    pub fn open(&mut self) {
        for word in self.words.iter_mut().flatten() {
            // One whose connection broke just now has no recording, and that is said then.
            let _ = word.write_all(b"go\n");
        }
        self.words.clear();
    }

    /// Lets no program start.
    pub fn refuse(&mut self) {
        self.words.clear();
    }
}

impl Drop for HostGates {
    fn drop(&mut self) {
        self.words.clear();
        for gate in &mut self.gates {
            // Those of hosts that never were ready may wait for long.
            let _ = gate.kill();
            let _ = gate.wait();
        }
    }
}
