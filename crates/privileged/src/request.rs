//! What the privileged process can be asked for, and its answers, as bytes.

use crate::breakpoints::WatchedMemory;
use crate::programs::{KernelFacts, ProgramSettings};

/// A request to the privileged process. There are no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PrivilegedRequest {
    /// Load and attach the programs, once. Answered with [`KernelFacts`] and three maps.
    Open(ProgramSettings),
    /// Record this task, and whatever it creates.
    Track {
        /// Its process, into which the caller may look.
        pid: u32,
        /// The task.
        tid: u32,
    },
    /// Hand on the mappings of this process, and of those that it creates.
    Follow {
        /// A process into which the caller may look.
        pid: u32,
    },
    /// Hand on the mappings since the last round, and give the clocks other intervals.
    Round,
    /// Watch another word for stores.
    Watch {
        /// Which of the words that are watched.
        index: u32,
        /// The word, in user memory.
        word: WatchedMemory,
    },
    /// Let each processor tell so many more stores into a watched word.
    Allow {
        /// Which of the words that are watched.
        index: u32,
        /// By processor, at most [`crate::MOST_STORES`].
        stores: Vec<u32>,
    },
    /// Watch the word no longer.
    Pause {
        /// Which of the words that are watched.
        index: u32,
    },
    /// Detach the programs, and hand on the last mappings.
    End,
    /// Open the list of the kernel's symbols, before the programs are loaded.
    KernelSymbols,
}

impl PrivilegedRequest {
    /// Words of 64 bits, the first of which says which request it is.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let words = match self {
            PrivilegedRequest::Open(ProgramSettings { hertz, stack_bytes, frame_pointers }) => {
                vec![0, u64::from(*hertz), u64::from(*stack_bytes), u64::from(*frame_pointers)]
            }
            PrivilegedRequest::Track { pid, tid } => vec![1, u64::from(*pid), u64::from(*tid)],
            PrivilegedRequest::Follow { pid } => vec![2, u64::from(*pid)],
            PrivilegedRequest::Round => vec![3],
            PrivilegedRequest::Watch { index, word } => vec![4, u64::from(*index), word.address, word.bytes],
            PrivilegedRequest::Allow { index, stores } => {
                [5, u64::from(*index)].into_iter().chain(stores.iter().map(|&stores| stores.into())).collect()
            }
            PrivilegedRequest::Pause { index } => vec![6, u64::from(*index)],
            PrivilegedRequest::End => vec![7],
            PrivilegedRequest::KernelSymbols => vec![8],
        };
        words.into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    /// The request that these bytes are, if they are one.
    pub(crate) fn parse(bytes: &[u8]) -> Option<PrivilegedRequest> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let small = |word: u64| u32::try_from(word).ok();
        Some(match *words.as_slice() {
            [0, hertz, stack_bytes, frame_pointers @ (0 | 1)] => PrivilegedRequest::Open(ProgramSettings {
                hertz: small(hertz)?,
                stack_bytes: small(stack_bytes)?,
                frame_pointers: frame_pointers == 1,
            }),
            [1, pid, tid] => PrivilegedRequest::Track { pid: small(pid)?, tid: small(tid)? },
            [2, pid] => PrivilegedRequest::Follow { pid: small(pid)? },
            [3] => PrivilegedRequest::Round,
            [4, index, address, bytes] => {
                PrivilegedRequest::Watch { index: small(index)?, word: WatchedMemory { address, bytes } }
            }
            [5, index, ref stores @ ..] => PrivilegedRequest::Allow {
                index: small(index)?,
                stores: stores.iter().map(|&stores| small(stores)).collect::<Option<_>>()?,
            },
            [6, index] => PrivilegedRequest::Pause { index: small(index)? },
            [7] => PrivilegedRequest::End,
            [8] => PrivilegedRequest::KernelSymbols,
            _ => return None,
        })
    }
}

impl KernelFacts {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.knows_interrupts.into(), self.has_accounts.into()];
        bytes.extend(self.watched_words.to_ne_bytes());
        bytes.extend(self.unseen.join("\n").into_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<KernelFacts> {
        let (&[knows_interrupts, has_accounts, a, b, c, d], unseen) = bytes.split_first_chunk()?;
        let unseen = std::str::from_utf8(unseen).ok()?;
        Some(KernelFacts {
            knows_interrupts: knows_interrupts != 0,
            has_accounts: has_accounts != 0,
            watched_words: u32::from_ne_bytes([a, b, c, d]),
            unseen: unseen.lines().map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<PrivilegedRequest> {
        let word = WatchedMemory { address: 0x7fff_1234_5678, bytes: 8 };
        vec![
            PrivilegedRequest::Open(ProgramSettings { hertz: 499, stack_bytes: 1024, frame_pointers: true }),
            PrivilegedRequest::Track { pid: 5, tid: 6 },
            PrivilegedRequest::Follow { pid: 7 },
            PrivilegedRequest::Round,
            PrivilegedRequest::Watch { index: 2, word },
            PrivilegedRequest::Allow { index: 1, stores: vec![0, 24, 3] },
            PrivilegedRequest::Pause { index: 0 },
            PrivilegedRequest::End,
            PrivilegedRequest::KernelSymbols,
        ]
    }

    #[test]
    fn requests_and_facts_survive_the_socket() {
        for request in requests() {
            assert_eq!(PrivilegedRequest::parse(&request.to_bytes()), Some(request));
        }
        let unseen = vec!["joins".to_owned(), "reads of pipes".to_owned()];
        let facts = KernelFacts { knows_interrupts: true, has_accounts: false, watched_words: 3, unseen };
        assert_eq!(KernelFacts::parse(&facts.to_bytes()), Some(facts));
        assert_eq!(KernelFacts::parse(&KernelFacts::default().to_bytes()), Some(KernelFacts::default()));
    }

    #[test]
    fn what_is_no_request_is_none() {
        assert_eq!(PrivilegedRequest::parse(&[]), None);
        for request in requests() {
            let bytes = request.to_bytes();
            for end in 1..8 {
                assert_eq!(PrivilegedRequest::parse(&bytes[..bytes.len() - end]), None, "{request:?}");
            }
            let longer = [&bytes[..], &[0; 8]].concat();
            let is_list = matches!(request, PrivilegedRequest::Allow { .. });
            assert_eq!(PrivilegedRequest::parse(&longer).is_some(), is_list, "{request:?}");
        }
        assert_eq!(PrivilegedRequest::parse(&9_u64.to_ne_bytes()), None);
        assert_eq!(PrivilegedRequest::parse(&u64::MAX.to_ne_bytes()), None);
        let large = [1, u64::MAX, 1].map(u64::to_ne_bytes).concat();
        assert_eq!(PrivilegedRequest::parse(&large), None, "no pid is that large");
    }
}
