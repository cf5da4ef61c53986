//! The fields of a tracepoint, found by the `format` text that the kernel publishes for it.

/// One field of a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// The field's value as an unsigned integer; `None` where the bytes end before it.
    #[must_use]
    pub fn value(self, raw: &[u8]) -> Option<u64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut value = [0; 8];
        value.get_mut(..self.size)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(value))
    }

    /// The field as text that ends at a zero byte.
    #[must_use]
    pub fn text(self, raw: &[u8]) -> Option<String> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// The format of one tracepoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracepointFormat {
    /// Its name, without its system.
    pub name: String,
    /// Its number on the machine that recorded; `config` of the perf event.
    pub id: u64,
    fields: Vec<(String, Field)>,
    flags: Vec<(u64, String)>,
}

impl TracepointFormat {
    /// Reads the text; `None` when it names no tracepoint.
    #[must_use]
    pub fn parse(text: &str) -> Option<TracepointFormat> {
        let mut format = TracepointFormat::default();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("name: ") {
                name.trim().clone_into(&mut format.name);
            } else if let Some(id) = line.strip_prefix("ID: ") {
                format.id = id.trim().parse().ok()?;
            } else if let Some(declaration) = line.trim().strip_prefix("field:") {
                format.fields.extend(field(declaration));
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                format.flags = flags(print);
            }
        }
        (!format.name.is_empty() && format.id != 0).then_some(format)
    }

    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(candidate, _)| candidate == name).map(|&(_, field)| field)
    }

    /// The value of the flag with that letter, as the text's `__print_flags` tells it.
    #[must_use]
    pub fn flag(&self, letter: &str) -> Option<u64> {
        self.flags.iter().find(|(_, candidate)| candidate == letter).map(|&(value, _)| value)
    }
}

/// `char prev_comm[16]; offset:8; size:16; signed:0;`
fn field(declaration: &str) -> Option<(String, Field)> {
    let mut parts = declaration.split(';').map(str::trim);
    let name = parts.next()?.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?.to_owned();
    let (mut offset, mut size) = (None, None);
    for part in parts {
        if let Some(value) = part.strip_prefix("offset:") {
            offset = value.parse().ok();
        } else if let Some(value) = part.strip_prefix("size:") {
            size = value.parse().ok();
        }
    }
    Some((name, Field { offset: offset?, size: size? }))
}

/// Every `{ 0x1, "S" }` of the text.
fn flags(print: &str) -> Vec<(u64, String)> {
    print
        .split('{')
        .skip(1)
        .filter_map(|part| {
            let (value, letter) = part.split('}').next()?.split_once(',')?;
            let value = value.trim();
            let value = match value.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok()?,
                None => value.parse().ok()?,
            };
            Some((value, letter.trim().trim_matches('"').to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:const char * text;\toffset:28;\tsize:8;\tsigned:1;\n\n\
        print fmt: \"%s\", __print_flags(REC->prev_state, \"|\", { 0x00000001, \"S\" }, { 2, \"D\" })\n";

    #[test]
    fn fields_are_found_by_name() {
        let format = TracepointFormat::parse(TEXT).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("sched_switch", 372));
        let mut raw = vec![0; 28];
        raw[8..12].copy_from_slice(b"ping");
        raw[24] = 0x39;
        raw[25] = 0x30;
        assert_eq!(format.field("prev_pid").unwrap().value(&raw), Some(12345));
        assert_eq!(format.field("prev_comm").unwrap().text(&raw).as_deref(), Some("ping"));
        assert_eq!(format.field("text").unwrap().value(&raw), None);
        assert_eq!(format.field("next_pid"), None);
    }

    #[test]
    fn state_letters_come_from_the_text() {
        let format = TracepointFormat::parse(TEXT).unwrap();
        assert_eq!((format.flag("S"), format.flag("D"), format.flag("Z")), (Some(1), Some(2), None));
    }

    #[test]
    fn a_text_without_name_or_number_is_none() {
        assert_eq!(TracepointFormat::parse(""), None);
        assert_eq!(TracepointFormat::parse("name: x\n"), None);
        assert_eq!(TracepointFormat::parse("name: x\nID: many\n"), None);
    }
}
