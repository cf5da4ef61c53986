//! The frame-pointer chain of a stack, aligned with the frame pointers it was made from.
//!
//! The kernel follows frame pointers from the register and reports return addresses only. With the
//! recorded memory we follow them too, and so know which frame pointer each address belongs to:
//!
//! ```text
//! chain     ip   ra1        ra2        ra3 …
//! pointer        bp         [bp]       beyond the memory
//!                └ ra1 = [bp + 8]
//! ```

/// A chain and the memory beside it.
pub(crate) struct Chain<'a> {
    base: u64,
    memory: &'a [u8],
    chain: &'a [u64],
    bp: u64,
}

impl<'a> Chain<'a> {
    /// The chain of a thread whose stack pointer and frame pointer these are.
    pub fn new(sp: u64, bp: u64, memory: &'a [u8], chain: &'a [u64]) -> Self {
        Chain { base: sp, memory, chain, bp }
    }

    /// The recorded word at an address.
    pub fn read(&self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        let bytes = self.memory.get(start..start.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// The return addresses that the kernel found from frame pointer `bp` on; `None` where it did not
    /// come by that pointer as far as can be known.
    pub fn rest_above(&self, bp: u64) -> Option<&'a [u64]> {
        let mut pointer = self.bp;
        for index in 1..self.chain.len() {
            if pointer == bp {
                return Some(&self.chain[index..]);
            }
            let next = self.read(pointer)?;
            if next <= pointer {
                return None;
            }
            pointer = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames in memory from 0x1000: pointers 0x1010 → 0x1030 → 0x2000, the last beyond the memory.
    fn memory() -> Vec<u8> {
        let words: [u64; 8] = [0, 0, 0x1030, 0xa1, 0, 0, 0x2000, 0xa2];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_rest_of_the_chain_begins_at_the_given_frame_pointer() {
        let memory = memory();
        let addresses = [0xa0, 0xa1, 0xa2, 0xa3, 0xa4];
        let chain = Chain::new(0x1000, 0x1010, &memory, &addresses);
        assert_eq!(chain.rest_above(0x1010), Some(&addresses[1..]));
        assert_eq!(chain.rest_above(0x1030), Some(&addresses[2..]));
        assert_eq!(chain.rest_above(0x2000), Some(&addresses[3..]));
        assert_eq!(chain.rest_above(0x1018), None);
    }

    #[test]
    fn reads_outside_of_the_memory_are_none() {
        let memory = memory();
        let chain = Chain::new(0x1000, 0, &memory, &[]);
        assert_eq!(chain.read(0xff8), None);
        assert_eq!(chain.read(0x1018), Some(0xa1));
        assert_eq!(chain.read(0x1039), None);
        assert_eq!(chain.read(u64::MAX), None);
    }
}
