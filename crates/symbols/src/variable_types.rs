//! Elements and fields of variables, as the debug information of a file has them (`DW_TAG_variable`).
//!
//! In: a module. Out: for each variable with a fixed address the bytes of an element, if it is an array, and the fields of an
//! element, if that is a struct. Without debug information: nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, Operation, Unit, UnitOffset};

use crate::debug_units::{Bytewise, each_unit};
use crate::elf_names::{debug_files, reopened};
use crate::image::Image;
use crate::module::CodeModule;

/// Types that a type is made of, at most: a damaged file may have circles.
const DEEPEST: usize = 32;
/// Fields of one struct, with those of structs in it.
const MOST_FIELDS: usize = 256;

type Entry<'a> = DebuggingInformationEntry<Bytewise<'a>>;

/// What a variable is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableType {
    /// Bytes of an element of an array (of one with several dimensions, of what is not an array any more); else of all of it.
    pub element: u64,
    /// Fields of an element, by their offsets; those of a struct within a struct have both names: `head.next`.
    pub fields: Vec<TypeField>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeField {
    /// Name.
    pub name: String,
    /// Bytes from the begin of the struct.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The types of a module's variables, by their addresses in the file's own address space.
#[must_use]
pub fn variable_types(module: &CodeModule) -> BTreeMap<u64, VariableType> {
    let own = module.image().cloned().or_else(|| reopened(module).map(Arc::new));
    let separate = debug_files(&module.build_id).into_iter().filter_map(|path| Image::open(&path).ok());
    let mut types = BTreeMap::new();
    for image in own.into_iter().chain(separate.map(Arc::new)) {
        add_types(&image, &mut types);
    }
    types
}

fn add_types(image: &Image, types: &mut BTreeMap<u64, VariableType>) {
    each_unit(image, |dwarf, unit| {
        let unit = TypeUnit { dwarf, unit };
        let mut entries = unit.unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() == gimli::DW_TAG_variable
                && let Some(address) = unit.address_of(entry)
                && let Some(found) = unit.type_of(entry, 0).and_then(|at| unit.variable_type(at))
            {
                types.insert(address, found);
            }
        }
    });
}

/// A unit of debug information.
struct TypeUnit<'a> {
    dwarf: &'a Dwarf<Bytewise<'a>>,
    unit: Unit<Bytewise<'a>>,
}

impl<'a> TypeUnit<'a> {
    fn entry(&self, at: UnitOffset) -> Option<Entry<'a>> {
        self.unit.entry(at).ok()
    }

    /// The fixed address of a variable.
    fn address_of(&self, entry: &Entry<'a>) -> Option<u64> {
        let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location) else {
            return None;
        };
        let mut operations = expression.operations(self.unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(&self.unit, index).ok()?,
            _ => return None,
        };
        operations.next().ok()?.is_none().then_some(address)
    }

    /// The type of an entry, or of the declaration that it completes.
    fn type_of(&self, entry: &Entry<'a>, depth: usize) -> Option<UnitOffset> {
        if let Some(AttributeValue::UnitRef(at)) = entry.attr_value(gimli::DW_AT_type) {
            return Some(at);
        }
        let other = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
        let other = other.into_iter().find_map(|name| entry.attr_value(name))?;
        let AttributeValue::UnitRef(at) = other else { return None };
        (depth < DEEPEST).then(|| self.type_of(&self.entry(at)?, depth + 1))?
    }

    fn variable_type(&self, at: UnitOffset) -> Option<VariableType> {
        let element = self.element(at, 0)?;
        let mut fields = Vec::new();
        self.add_fields(element, (String::new(), 0), &mut fields, 0);
        fields.sort_by_key(|field: &TypeField| field.offset);
        Some(VariableType { element: self.size(element, 0)?, fields })
    }

    /// The type without names and qualifiers.
    fn plain(&self, mut at: UnitOffset) -> Option<Entry<'a>> {
        for _ in 0..DEEPEST {
            let entry = self.entry(at)?;
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => at = self.type_of(&entry, 0)?,
                _ => return Some(entry),
            }
        }
        None
    }

    /// The innermost element of an array; a struct that holds nothing but an array is one.
    fn element(&self, at: UnitOffset, depth: usize) -> Option<UnitOffset> {
        let entry = self.plain(at)?;
        if depth > DEEPEST {
            return None;
        }
        if entry.tag() == gimli::DW_TAG_array_type {
            return self.element(self.type_of(&entry, 0)?, depth + 1);
        }
        let members = self.members(&entry);
        if let [(_, 0, member)] = members.as_slice()
            && self.size(*member, 0) == self.size(entry.offset(), 0)
            && self.plain(*member)?.tag() != gimli::DW_TAG_union_type
            && (self.plain(*member)?.tag() == gimli::DW_TAG_array_type
                || self.element(*member, depth + 1)? != self.plain(*member)?.offset())
        {
            return self.element(*member, depth + 1);
        }
        Some(entry.offset())
    }

    /// The bytes of a type.
    fn size(&self, at: UnitOffset, depth: usize) -> Option<u64> {
        let entry = self.plain(at)?;
        if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size).and_then(|size| size.udata_value()) {
            return Some(size);
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
                Some(self.unit.encoding().address_size.into())
            }
            gimli::DW_TAG_array_type if depth < DEEPEST => {
                let element = self.size(self.type_of(&entry, 0)?, depth + 1)?;
                element.checked_mul(self.count(&entry)?)
            }
            _ => None,
        }
    }

    /// Elements of an array, over all its dimensions.
    fn count(&self, array: &Entry<'a>) -> Option<u64> {
        let mut product = 1_u64;
        for dimension in self.children(array.offset()) {
            if dimension.tag() != gimli::DW_TAG_subrange_type {
                continue;
            }
            let number = |name| dimension.attr_value(name).and_then(|value| value.udata_value());
            let count = match (number(gimli::DW_AT_count), number(gimli::DW_AT_upper_bound)) {
                (Some(count), _) => count,
                (None, Some(upper)) => {
                    (upper + 1).checked_sub(number(gimli::DW_AT_lower_bound).unwrap_or(0))?
                }
                (None, None) => return None,
            };
            product = product.checked_mul(count)?;
        }
        Some(product)
    }

    fn children(&self, at: UnitOffset) -> Vec<Entry<'a>> {
        let mut children = Vec::new();
        let Ok(mut tree) = self.unit.entries_tree(Some(at)) else { return children };
        let Ok(root) = tree.root() else { return children };
        let mut nodes = root.children();
        while let Ok(Some(node)) = nodes.next() {
            children.push(node.entry().clone());
        }
        children
    }

    /// Names, offsets and types of the data members of a struct or class, those of its bases among them.
    fn members(&self, entry: &Entry<'a>) -> Vec<(String, u64, UnitOffset)> {
        if !matches!(entry.tag(), gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type) {
            return Vec::new();
        }
        let member = |child: &Entry<'a>| {
            if !matches!(child.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
                return None;
            }
            let offset = child.attr_value(gimli::DW_AT_data_member_location)?.udata_value()?;
            let name = child
                .attr_value(gimli::DW_AT_name)
                .and_then(|name| self.dwarf.attr_string(&self.unit, name).ok());
            let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Some((name, offset, self.type_of(child, 0)?))
        };
        self.children(entry.offset()).iter().filter_map(member).collect()
    }

    fn add_fields(
        &self,
        at: UnitOffset,
        (prefix, base): (String, u64),
        fields: &mut Vec<TypeField>,
        depth: usize,
    ) {
        let Some(entry) = self.plain(at).filter(|_| depth < DEEPEST) else { return };
        for (name, offset, of) in self.members(&entry) {
            if fields.len() >= MOST_FIELDS {
                return;
            }
            let name = match (prefix.as_str(), name.as_str()) {
                (_, "") => prefix.clone(),
                ("", _) => name,
                _ => format!("{prefix}.{name}"),
            };
            let is_struct = self.plain(of).is_some_and(|entry| !self.members(&entry).is_empty());
            let (Some(size), offset) = (self.size(of, 0), base.saturating_add(offset)) else { continue };
            if is_struct {
                self.add_fields(of, (name, offset), fields, depth + 1);
            } else if !name.is_empty() && size > 0 {
                fields.push(TypeField { name, offset, size });
            }
        }
    }
}
