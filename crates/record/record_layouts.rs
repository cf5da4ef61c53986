//! Readers of the kernel programs' records, made of the C header that declares these.
//!
//! In: `bpf/records.h`, which holds what this reads and nothing else: numbers by `#define`, enumerations, and structures of
//! integers, texts, and other structures, laid out as C does on x86-64. Out: Rust, a constant for each number and a type for
//! each structure, whose methods are its fields: `None` where the record ends before one. The field at the end whose
//! length is an expression is all that is left of the record.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How large a type is, and what its address is a multiple of; bytes.
#[derive(Clone, Copy)]
struct LayoutExtent {
    size: usize,
    align: usize,
}

/// How a field is read.
enum LayoutFieldKind {
    Integer(&'static str),
    Words(usize),
    Text(usize),
    Structure(String, usize),
    Rest,
}

struct LayoutField {
    name: String,
    offset: usize,
    kind: LayoutFieldKind,
}

#[derive(Default)]
struct RecordsHeader {
    numbers: BTreeMap<String, usize>,
    structures: BTreeMap<String, LayoutExtent>,
    code: String,
    rows: String,
}

/// The Rust that reads what this header declares.
pub fn readers_of(header: &str) -> String {
    let mut tokens = HeaderTokens::of(header);
    let mut parsed = RecordsHeader::default();
    while let Some(token) = tokens.next() {
        match token.as_str() {
            "#define" => parsed.define(&mut tokens),
            "enum" => parsed.enumeration(&mut tokens),
            "struct" => parsed.structure(&mut tokens),
            other => panic!("unknown in the header of records: {other}"),
        }
    }
    let RecordsHeader { code, rows, .. } = parsed;
    format!(
        "{code}/// Structure, field, and its offset in bytes.\n#[cfg(test)]\npub(super) const OFFSETS: &[(&str, &str, usize)] = &[\n{rows}];\n"
    )
}

impl RecordsHeader {
    fn define(&mut self, tokens: &mut HeaderTokens) {
        let name = tokens.word();
        let number = tokens.number();
        self.constant(&name, "usize", number);
        self.numbers.insert(name, number);
    }

    fn enumeration(&mut self, tokens: &mut HeaderTokens) {
        if tokens.word() != "{" {
            tokens.expect("{");
        }
        while let Some(name) = tokens.next().filter(|token| token != "}") {
            tokens.expect("=");
            let number = tokens.number();
            self.constant(&name, "u8", number);
            if tokens.peek() == "," {
                tokens.word();
            }
        }
        tokens.expect(";");
    }

    fn constant(&mut self, name: &str, kind: &str, number: usize) {
        writeln!(self.code, "#[allow(dead_code)]\npub(super) const {name}: {kind} = {number};")
            .expect("texts grow");
    }

    fn structure(&mut self, tokens: &mut HeaderTokens) {
        let name = tokens.word();
        tokens.expect("{");
        let (fields, extent) = self.fields(tokens, 0);
        tokens.expect(";");
        self.emit(&name, &fields);
        self.structures.insert(name, extent);
    }

    /// The fields up to the closing brace, the first at this offset.
    fn fields(&self, tokens: &mut HeaderTokens, begin: usize) -> (Vec<LayoutField>, LayoutExtent) {
        let (mut fields, mut end, mut most) = (Vec::new(), begin, 1);
        while tokens.peek() != "}" {
            let (mut found, LayoutExtent { size, align }) = self.field(tokens, end);
            most = most.max(align);
            end = end.next_multiple_of(align) + size;
            fields.append(&mut found);
        }
        tokens.expect("}");
        (fields, LayoutExtent { size: end.next_multiple_of(most) - begin, align: most })
    }

    /// One field that comes after `end`, or the fields of a union.
    fn field(&self, tokens: &mut HeaderTokens, end: usize) -> (Vec<LayoutField>, LayoutExtent) {
        let kind = tokens.word();
        if kind == "union" {
            tokens.expect("{");
            return self.union(tokens, end);
        }
        let structure = (kind == "struct").then(|| tokens.word());
        let name = tokens.word();
        let count = self.dimension(tokens);
        let one = match (&structure, kind.as_str()) {
            (Some(structure), _) => self.structures[structure],
            (None, kind) => {
                let size = integer(kind).map_or(1, |(_, size)| size);
                LayoutExtent { size, align: size }
            }
        };
        let (kind, many) = match (structure, integer(&kind), count) {
            (Some(structure), _, None) => (LayoutFieldKind::Structure(structure, one.size), 1),
            (None, Some((kind, _)), None) => (LayoutFieldKind::Integer(kind), 1),
            (None, Some(("u64", _)), Some(Some(count))) => (LayoutFieldKind::Words(count), count),
            (None, None, Some(Some(count))) => (LayoutFieldKind::Text(count), count),
            (None, Some(_), Some(None)) => (LayoutFieldKind::Rest, 0),
            _ => panic!("the field {name} has a type that no reader is made for"),
        };
        let field = LayoutField { name, offset: end.next_multiple_of(one.align), kind };
        (vec![field], LayoutExtent { size: one.size * many, ..one })
    }

    fn union(&self, tokens: &mut HeaderTokens, end: usize) -> (Vec<LayoutField>, LayoutExtent) {
        let (mut fields, mut whole) = (Vec::new(), LayoutExtent { size: 0, align: 1 });
        while tokens.peek() != "}" {
            // Every member of these unions begins where the union does.
            let (mut found, LayoutExtent { size, align }) = self.field(tokens, end);
            fields.append(&mut found);
            whole = LayoutExtent { size: whole.size.max(size), align: whole.align.max(align) };
        }
        let begin = end.next_multiple_of(whole.align);
        fields.iter_mut().for_each(|field| field.offset = begin);
        tokens.expect("}");
        tokens.expect(";");
        (fields, whole)
    }

    /// The number of elements of an array, where it is one and that is a number; reads the semicolon.
    fn dimension(&self, tokens: &mut HeaderTokens) -> Option<Option<usize>> {
        let mut expression = Vec::new();
        let is_array = tokens.peek() == "[";
        while tokens.peek() != ";" {
            expression.push(tokens.word());
        }
        tokens.expect(";");
        let count = match expression.as_slice() {
            [_, count, _] => count.parse().ok().or_else(|| self.numbers.get(count).copied()),
            _ => None,
        };
        is_array.then_some(count)
    }

    fn emit(&mut self, name: &str, fields: &[LayoutField]) {
        let kind = type_name(name);
        writeln!(
            self.code,
            "#[derive(Clone, Copy)]\npub(super) struct {kind}<'a>(pub(super) &'a [u8]);\n#[allow(dead_code)]\nimpl<'a> {kind}<'a> {{"
        )
        .expect("texts grow");
        for LayoutField { name: field, offset, kind } in fields.iter().filter(|field| field.name != "unused")
        {
            let (gives, how) = match kind {
                LayoutFieldKind::Integer(kind) => {
                    (format!("Option<{kind}>"), format!("array(self.0, {offset}).map({kind}::from_ne_bytes)"))
                }
                LayoutFieldKind::Words(count) => {
                    (format!("Option<[u64; {count}]>"), format!("words(self.0, {offset})"))
                }
                LayoutFieldKind::Text(count) => {
                    ("Option<&'a [u8]>".to_owned(), format!("self.0.get({offset}..{})", offset + count))
                }
                LayoutFieldKind::Structure(name, size) => {
                    let name = type_name(name);
                    (
                        format!("Option<{name}<'a>>"),
                        format!("self.0.get({offset}..{}).map({name})", offset + size),
                    )
                }
                LayoutFieldKind::Rest => ("Option<&'a [u8]>".to_owned(), format!("self.0.get({offset}..)")),
            };
            writeln!(self.code, "    pub(super) fn {field}(self) -> {gives} {{\n        {how}\n    }}")
                .expect("texts grow");
            writeln!(self.rows, "    (\"{name}\", \"{field}\", {offset}),").expect("texts grow");
        }
        self.code.push_str("}\n");
    }
}

/// The type of Rust for an integer of the header, and its bytes.
fn integer(kind: &str) -> Option<(&'static str, usize)> {
    Some(match kind {
        "u8" => ("u8", 1),
        "u16" => ("u16", 2),
        "s16" => ("i16", 2),
        "u32" => ("u32", 4),
        "u64" => ("u64", 8),
        "char" | "struct" => return None,
        other => panic!("the header of records has a type that no reader is made for: {other}"),
    })
}

/// `switch_record` is `SwitchRecord`.
fn type_name(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

/// The words and signs of a header, without comments, includes and guards.
struct HeaderTokens {
    all: Vec<String>,
    next: usize,
}

impl HeaderTokens {
    fn of(header: &str) -> HeaderTokens {
        let mut code = String::new();
        let mut rest = header;
        while let Some((before, comment)) = rest.split_once("/*") {
            code.push_str(before);
            rest = comment.split_once("*/").expect("comments end").1;
        }
        code.push_str(rest);
        // The guard's definition has no number.
        let is_code = |line: &&str| match line.strip_prefix('#') {
            Some(directive) => directive.starts_with("define") && line.split_whitespace().count() == 3,
            None => true,
        };
        let mut all: Vec<String> = Vec::new();
        for line in code.lines().filter(is_code) {
            let mut goes_on = false;
            for letter in line.chars() {
                let is_word = letter.is_ascii_alphanumeric() || letter == '_' || letter == '#';
                match all.last_mut() {
                    Some(word) if is_word && goes_on => word.push(letter),
                    _ if letter.is_whitespace() => {}
                    _ => all.push(letter.to_string()),
                }
                goes_on = is_word;
            }
        }
        HeaderTokens { all, next: 0 }
    }

    fn next(&mut self) -> Option<String> {
        let token = self.all.get(self.next).cloned();
        self.next += 1;
        token
    }

    fn peek(&self) -> &str {
        self.all.get(self.next).map_or("", String::as_str)
    }

    fn word(&mut self) -> String {
        self.next().expect("the header of records ends with a whole declaration")
    }

    fn number(&mut self) -> usize {
        self.word().parse().expect("what is declared in the header of records is a number")
    }

    fn expect(&mut self, sign: &str) {
        let found = self.word();
        assert_eq!(found, sign, "in the header of records");
    }
}
