//! The tracing data that `perf record` puts into a file with tracepoints: the format of each.
//!
//! ```text
//! 17 08 44 "tracing" "0.6\0" endian:u8 long:u8 page:u32
//! "header_page\0" size:u64 … "header_event\0" size:u64 …
//! count:u32 then (size:u64 text) per ftrace event
//! count:u32 then per system: name "\0" count:u32 then (size:u64 text) per event
//! ```

use crate::perf::format::TracepointFormat;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The formats of every tracepoint in the section, as far as it can be read.
#[must_use]
pub fn formats(section: &[u8]) -> Vec<TracepointFormat> {
    let mut formats = Vec::new();
    // What was read before the section turns out damaged counts.
    let _ = read(section, &mut formats);
    formats
}

fn read(section: &[u8], formats: &mut Vec<TracepointFormat>) -> Option<()> {
    let mut bytes = section.strip_prefix(MAGIC)?;
    string(&mut bytes)?;
    take(&mut bytes, 1 + 1 + 4)?;
    for name in [&b"header_page\0"[..], b"header_event\0"] {
        bytes = bytes.strip_prefix(name)?;
        sized(&mut bytes)?;
    }
    for _ in 0..number(&mut bytes)? {
        sized(&mut bytes)?;
    }
    for _ in 0..number(&mut bytes)? {
        string(&mut bytes)?;
        for _ in 0..number(&mut bytes)? {
            let text = sized(&mut bytes)?;
            formats.extend(TracepointFormat::parse(&String::from_utf8_lossy(text)));
        }
    }
    Some(())
}

fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = tail;
    Some(head)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*take(bytes, 4)?.first_chunk()?))
}

fn sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = u64::from_le_bytes(*take(bytes, 8)?.first_chunk()?);
    take(bytes, size)
}

fn string(bytes: &mut &[u8]) -> Option<()> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    take(bytes, end as u64 + 1).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(b"0.6\0\0\x08\0\x10\0\0");
        for name in [&b"header_page\0"[..], b"header_event\0"] {
            bytes.extend(name);
            bytes.extend(3_u64.to_le_bytes());
            bytes.extend(b"abc");
        }
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(b"sched\0");
        bytes.extend(2_u32.to_le_bytes());
        for text in ["name: sched_switch\nID: 5\n", "name: sched_waking\nID: 6\n"] {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    #[test]
    fn every_format_is_found() {
        let names: Vec<_> = formats(&section()).into_iter().map(|format| (format.name, format.id)).collect();
        assert_eq!(names, [("sched_switch".to_owned(), 5), ("sched_waking".to_owned(), 6)]);
    }

    #[test]
    fn a_cut_section_yields_the_formats_before_the_cut() {
        let bytes = section();
        for end in 0..bytes.len() {
            assert!(formats(&bytes[..end]).len() < 2);
        }
        assert_eq!(formats(&bytes[..bytes.len() - 1]).len(), 1);
    }
}
