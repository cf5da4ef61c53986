//! What the addresses in a log of accesses mean: code, and the variables of the files that it lies in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use longpole_access::format::{MessageHeader, NAMES, PROTOCOL};
use longpole_recording::{
    AccessField, AccessNames, AccessPlaceName, AccessProcedureName, AccessVariable, LogWriter, Result,
};
use longpole_symbols::{
    CodeModule, Mapping, Symboliser, TypeField, VariableType, mappings_in, variable_types, variables_of,
};

use crate::accesses::AccessProcess;

/// Names of one block: far below what a block takes.
const NAMES_OF_A_BLOCK: usize = 2000;

/// A file of the process: from its first to its last mapped byte.
#[derive(Debug)]
struct MappedFile {
    path: PathBuf,
    start: u64,
    end: u64,
}

/// Writes the names of a process.
pub(crate) fn write(log: &mut LogWriter, pid: u32, process: &AccessProcess) -> Result<()> {
    let files = mapped_files(&process.maps);
    let mut symboliser = Symboliser::new();
    for file in &files {
        let code: Vec<u64> = process.code.range(file.start..file.end).copied().collect();
        if code.is_empty() {
            continue;
        }
        let Ok(module) = CodeModule::of_file(&file.path) else { continue };
        let Some(first) = module.first_address() else { continue };
        let shift = file.start.wrapping_sub(first);
        write_places(log, pid, &name_code(&mut symboliser, &module, shift, &code))?;
        let mut types = variable_types(&module);
        let variables = variables_of(&module).into_iter().map(|variable| {
            let known = types.remove(&variable.address).filter(|known| known.element <= variable.size);
            let VariableType { element, fields } = known.unwrap_or_default();
            let field = |one: TypeField| AccessField { name: one.name, offset: one.offset, size: one.size };
            AccessVariable {
                address: variable.address.wrapping_add(shift),
                size: variable.size,
                name: variable.name,
                element,
                fields: fields.into_iter().map(field).collect(),
            }
        });
        for part in variables.collect::<Vec<_>>().chunks(NAMES_OF_A_BLOCK) {
            push(log, pid, &AccessNames { variables: part.to_vec(), ..AccessNames::default() })?;
        }
    }
    Ok(())
}

fn name_code(
    symboliser: &mut Symboliser,
    module: &CodeModule,
    shift: u64,
    code: &[u64],
) -> Vec<AccessPlaceName> {
    // A return address is behind the call; the call is at the line that is meant.
    let addresses: Vec<u64> = code.iter().map(|address| address.wrapping_sub(shift) - 1).collect();
    let name = module.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let named = symboliser.symbolise(module, &addresses);
    code.iter()
        .zip(named)
        .map(|(&address, named)| AccessPlaceName {
            address,
            module: name.clone(),
            procedures: (named.places.into_iter())
                .map(|place| AccessProcedureName {
                    name: place.procedure,
                    file: place.file.unwrap_or_default(),
                    line: place.line,
                })
                .collect(),
        })
        .collect()
}

fn write_places(log: &mut LogWriter, pid: u32, places: &[AccessPlaceName]) -> Result<()> {
    places
        .chunks(NAMES_OF_A_BLOCK)
        .try_for_each(|part| push(log, pid, &AccessNames { places: part.to_vec(), ..AccessNames::default() }))
}

fn push(log: &mut LogWriter, pid: u32, names: &AccessNames) -> Result<()> {
    let text = serde_json::to_vec(names).expect("names have only JSON types");
    let bytes = u32::try_from(text.len()).expect("a block of names is far below 4 GiB");
    let header = MessageHeader { protocol: PROTOCOL, kind: NAMES, pid, bytes, ..MessageHeader::default() };
    log.push_block(&[&header.encode()[..], &text].concat())
}

/// The files of a text of mappings, each with where the loader put its beginning.
fn mapped_files(maps: &[u8]) -> Vec<MappedFile> {
    let mut files: BTreeMap<u64, MappedFile> = BTreeMap::new();
    for Mapping { start, end, file_offset, path, .. } in mappings_in(maps) {
        if !path.is_absolute() {
            continue;
        }
        if file_offset == 0 {
            let known = files.entry(start).or_insert(MappedFile { path, start, end });
            known.end = known.end.max(end);
        } else if let Some((_, file)) = files.range_mut(..=start).next_back()
            && file.path == path
        {
            file.end = file.end.max(end);
        }
    }
    files.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_begin_where_their_first_byte_is_mapped() {
        let maps = "\
55e000000000-55e000001000 r--p 00000000 fe:00 42 /bin/with blank\n\
55e000001000-55e000002000 r-xp 00001000 fe:00 42 /bin/with blank\n\
55e000003000-55e000004000 rw-p 00002000 fe:00 42 /bin/with blank\n\
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [heap]\n\
7f0000002000-7f0000003000 r--p 00000000 fe:00 43 /lib/c.so\n\
55e000000000-55e000001000 r--p 00000000 fe:00 42 /bin/with blank\n";
        let files = mapped_files(maps.as_bytes());
        let found: Vec<_> =
            files.iter().map(|one| (one.path.to_str().unwrap(), one.start, one.end)).collect();
        assert_eq!(
            found,
            [
                ("/bin/with blank", 0x55e0_0000_0000, 0x55e0_0000_4000),
                ("/lib/c.so", 0x7f00_0000_2000, 0x7f00_0000_3000)
            ]
        );
    }
}
