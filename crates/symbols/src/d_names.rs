//! Names of D: `_D4shop5storeFiZv` is `shop.store`.
//!
//! A mangled name is the parts of the qualified name, each with its length before it, and the type. A function that others are nested in
//! has its parameters between:
//!
//! ```text
//!   _D 1d 4main FAAyaZ 14__foreachbody8 MFmKmZ i        d.main.__foreachbody8
//!               ↑ parameters, to Z      ↑ type
//! ```
//! Names with templates stay as they are: where their arguments end is known only to who reads all types, and without what follows them two
//! methods would have one name (D language specification, ABI, name mangling).

/// Parts of a name that are read: a name may be hostile.
const MOST_PARTS: usize = 64;

/// The qualified name; `None` of what is no name of D.
pub(crate) fn of_d(symbol: &str) -> Option<String> {
    if symbol == "_Dmain" {
        return Some("D main".to_owned());
    }
    let mut mangled = MangledName { bytes: symbol.as_bytes(), at: 2 };
    if !symbol.starts_with("_D") || !mangled.is_at_digit() {
        return None;
    }
    let mut parts = Vec::new();
    while parts.len() < MOST_PARTS {
        match mangled.part() {
            Some(part) if part.starts_with("__T") || part.starts_with("__U") => return None,
            Some(part) => parts.push(part),
            None if mangled.begins_template() => return None,
            None if mangled.skip_parameters() => {}
            None => break,
        }
    }
    (!parts.is_empty()).then(|| parts.join("."))
}

struct MangledName<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> MangledName<'a> {
    fn is_at_digit(&self) -> bool {
        self.bytes.get(self.at).is_some_and(u8::is_ascii_digit)
    }

    fn part(&mut self) -> Option<&'a str> {
        if self.bytes.get(self.at) == Some(&b'Q') { self.repeated() } else { self.name() }
    }

    fn begins_template(&self) -> bool {
        self.bytes.get(self.at..self.at + 3).is_some_and(|begin| matches!(begin, b"__T" | b"__U"))
    }

    /// A name with its length before it.
    fn name(&mut self) -> Option<&'a str> {
        let digits = self.bytes.get(self.at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let begin = self.at + digits;
        let length: usize = std::str::from_utf8(&self.bytes[self.at..begin]).ok()?.parse().ok()?;
        let name = std::str::from_utf8(self.bytes.get(begin..begin.checked_add(length)?)?).ok()?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        self.at = begin + length;
        Some(name)
    }

    /// A name that stands so many bytes before: a number to the base of 26, whose last digit is a small letter.
    fn repeated(&mut self) -> Option<&'a str> {
        let (begin, mut back) = (self.at, 0_usize);
        loop {
            self.at += 1;
            let digit = *self.bytes.get(self.at)?;
            let value =
                usize::from(digit.to_ascii_lowercase().checked_sub(b'a').filter(|value| *value < 26)?);
            back = back.checked_mul(26)?.checked_add(value)?;
            if digit.is_ascii_lowercase() {
                break;
            }
        }
        self.at += 1;
        MangledName { bytes: self.bytes, at: begin.checked_sub(back)? }.name()
    }

    /// Goes on behind the parameters of a function in which another one is nested; whether there is one.
    fn skip_parameters(&mut self) -> bool {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte.is_ascii_digit() {
                // The name of a type.
                if self.name().is_none() {
                    return false;
                }
                continue;
            }
            self.at += 1;
            if byte == b'Z' {
                return self.is_at_digit() || self.begins_template();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_names_read_as_written() {
        let cases = [
            ("_Dmain", Some("D main")),
            ("_D1d10scoreBlockFmiZm", Some("d.scoreBlock")),
            ("_D1d4mainFAAyaZ14__foreachbody8MFmKmZi", Some("d.main.__foreachbody8")),
            ("_D4shop5CacheQl3getMFNaNbiZi", Some("shop.Cache.shop.get")),
            ("_D4shop__T5storeTiZQkFiZv", None),
            ("_D4shop12__T5storeTiZ5storeFiZv", None),
            ("_D4shop5storeFS4shop4ItemZ7__innerMFZv", Some("shop.store.__inner")),
            ("_Dynamic", None),
            ("_D99short", None),
            ("_D", None),
            ("main", None),
        ];
        for (symbol, expected) in cases {
            assert_eq!(of_d(symbol).as_deref(), expected, "{symbol}");
        }
    }
}
