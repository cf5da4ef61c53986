//! Reads the file of definitions.

use crate::anchor::TraceAnchor;
use crate::bytes::ContentBytes;
use crate::definitions::{
    CallingContext, CommunicatorDefinition, GroupDefinition, GroupKind, LocationDefinition, LocationKind,
    LocationProcess, Paradigm, RegionDefinition, RegionRole, SystemNode, TraceClock, TraceDefinitions,
};
use crate::error::{TraceError, TraceResult};
use crate::files::{TraceFile, TraceFiles};
use crate::records::RecordReader;

/// Bytes of the file in memory.
const WINDOW: usize = 256 << 10;
/// Definitions that are read.
const MOST_DEFINITIONS: u64 = 1 << 22;
/// Bytes of texts that are read.
const MOST_TEXT: u64 = 128 << 20;
/// Members of all groups that are read.
const MOST_MEMBERS: u64 = 1 << 24;
/// The number that stands for none.
const NONE: u32 = u32::MAX;
/// The domain of nodes whose processes share memory.
const SHARED_MEMORY: u8 = 1;

/// Reads all definitions of a trace.
///
/// # Errors
/// [`TraceError::Read`], [`TraceError::Definitions`], [`TraceError::TooMany`].
pub fn read_definitions(files: &mut impl TraceFiles, anchor: &TraceAnchor) -> TraceResult<TraceDefinitions> {
    let file = TraceFile::Definitions;
    let failed = |error| TraceError::Read { file, error };
    let reader = RecordReader::open(files, file, (anchor.definition_chunk, WINDOW)).map_err(failed)?;
    let Some(mut reader) = reader else {
        return Err(TraceError::Definitions { file, reason: "there is no such file" });
    };
    let mut builder = DefinitionReader::default();
    while let Some(record) = reader.next(files).map_err(failed)? {
        let mut content = reader.content(record);
        if builder.take(record.kind, &mut content).is_none() {
            builder.definitions.damaged += 1;
        }
        builder.check()?;
    }
    let mut definitions = builder.definitions;
    definitions.damaged += reader.damage.chunks + u64::from(reader.damage.is_cut);
    if definitions.clock.resolution == 0 {
        return Err(TraceError::Definitions { file, reason: "it does not say how fast the clock is" });
    }
    if definitions.locations.is_empty() {
        return Err(TraceError::Definitions { file, reason: "it has no locations" });
    }
    Ok(definitions)
}

#[derive(Debug, Default)]
struct DefinitionReader {
    definitions: TraceDefinitions,
    count: u64,
    text_bytes: u64,
    members: u64,
}

impl DefinitionReader {
    fn check(&mut self) -> TraceResult<()> {
        self.count += 1;
        let limits = [
            (self.count, MOST_DEFINITIONS, "definitions"),
            (self.text_bytes, MOST_TEXT, "bytes of texts"),
            (self.members, MOST_MEMBERS, "members of groups"),
        ];
        match limits.iter().find(|(count, most, _)| count > most) {
            Some(&(_, most, what)) => Err(TraceError::TooMany { what, most }),
            None => Ok(()),
        }
    }

    /// Takes a definition; `None` where it cannot be read. Kinds that are not needed are passed over.
    fn take(&mut self, kind: u8, content: &mut ContentBytes<'_>) -> Option<()> {
        match kind {
            5 => self.clock(content),
            10 => self.text(content),
            12 => self.node(content),
            13 => self.process(content),
            14 => self.location(content),
            15 => self.region(content),
            18 => self.group(content),
            22 => self.communicator(content, false),
            27 => self.domain(content),
            34 => self.calling_context(content),
            43 => self.communicator(content, true),
            _ => Some(()),
        }
    }

    fn clock(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (resolution, offset, length) = (content.u64()?, content.u64()?, content.u64()?);
        // Older writers do not say it.
        let realtime = content.u64().filter(|&realtime| realtime != 0 && realtime != u64::MAX);
        self.definitions.clock = TraceClock { resolution, offset, length, realtime };
        Some(())
    }

    fn text(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (number, text) = (content.u32()?, content.text()?);
        self.text_bytes += text.len() as u64;
        self.definitions.texts.insert(number, text);
        Some(())
    }

    fn node(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (number, name, class) = (content.u32()?, content.u32()?, content.u32()?);
        let parent = Some(content.u32()?).filter(|&parent| parent != NONE);
        let node = SystemNode { name, class, parent, shares_memory: false };
        self.definitions.nodes.insert(number, node);
        Some(())
    }

    fn domain(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (number, domain) = (content.u32()?, content.u8()?);
        self.definitions.nodes.get_mut(&number)?.shares_memory |= domain == SHARED_MEMORY;
        Some(())
    }

    fn process(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (number, name) = (content.u32()?, content.u32()?);
        let process = LocationProcess { name, is_process: content.u8()? != 2, node: content.u32()? };
        self.definitions.processes.insert(number, process);
        Some(())
    }

    fn location(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (number, name) = (content.u64()?, content.u32()?);
        let kind = LocationKind::numbered(content.u8()?);
        let (events, process) = (content.u64()?, content.u32()?);
        self.definitions.locations.push(LocationDefinition { number, name, kind, events, process });
        Some(())
    }

    fn region(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (number, name) = (content.u32()?, content.u32()?);
        let (_description, _type) = (content.u32()?, content.u8()?);
        let (file, line, _last_line) = (content.u32()?, content.u32()?, content.u32()?);
        let _canonical_name = content.u32()?;
        let role = RegionRole::numbered(content.u8()?);
        let paradigm = Paradigm::numbered(content.u8()?);
        self.definitions.regions.insert(number, RegionDefinition { name, file, line, role, paradigm });
        Some(())
    }

    fn group(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        const GLOBAL_MEMBERS: u32 = 1;
        let (number, _name, _old_kind) = (content.u32()?, content.u32()?, content.u8()?);
        let count = content.u32()? as usize;
        // Each member is a byte at least.
        if count > content.left() {
            return None;
        }
        let members: Option<Vec<u64>> = (0..count).map(|_| content.u64()).collect();
        let members = members?;
        self.members += members.len() as u64;
        let (kind, paradigm) = (GroupKind::numbered(content.u8()?), Paradigm::numbered(content.u8()?));
        let has_locations = content.u32()? & GLOBAL_MEMBERS != 0;
        self.definitions.groups.insert(number, GroupDefinition { kind, paradigm, members, has_locations });
        Some(())
    }

    fn communicator(&mut self, content: &mut ContentBytes<'_>, has_remote: bool) -> Option<()> {
        let (number, name, group) = (content.u32()?, content.u32()?, content.u32()?);
        let remote = if has_remote { Some(content.u32()?) } else { None };
        self.definitions.communicators.insert(number, CommunicatorDefinition { name, group, remote });
        Some(())
    }

    fn calling_context(&mut self, content: &mut ContentBytes<'_>) -> Option<()> {
        let (number, region, _place) = (content.u32()?, content.u32()?, content.u32()?);
        let caller = Some(content.u32()?).filter(|&caller| caller != NONE);
        self.definitions.calling_contexts.insert(number, CallingContext { region, caller });
        Some(())
    }
}
