//! The simulation of a recording, for its answer.

use longpole_coherence::{
    CoherenceSettings, CommunicationResult, FlowOrigin, TransferRange, VirtualRun, VirtualRunSetup,
};
use longpole_event::MachineId;
use longpole_recording::{AccessSample, LogName, LogReader, RecordingFolder};

use crate::answer::{AccessThread, RecordedCommunication};
use crate::chains::{RECORDS, RequestChains};
use crate::classes::UnitClass;
use crate::error::{Error, Result};
use crate::graphs::ObjectCausality;
use crate::log::LoggedProcess;
use crate::names::ProcessNames;
use crate::numbered::AnswerNames;
use crate::sample::{SampleInUse, rule_of};
use crate::settings::{CommunicationDemand, CommunicationOptions};
use crate::streams::ProcessStreams;

/// What is simulated.
#[derive(Clone, Copy)]
pub(crate) struct AnswerRun<'a> {
    pub(crate) folder: &'a RecordingFolder,
    pub(crate) process: &'a LoggedProcess,
    pub(crate) options: CommunicationOptions,
    /// Which units were followed; `None`: all.
    pub(crate) sample: Option<AccessSample>,
}

impl AnswerRun<'_> {
    /// The answer; `reader` is of the log.
    pub(crate) fn answer(
        &self,
        reader: LogReader,
        demand: CommunicationDemand,
    ) -> Result<RecordedCommunication> {
        let AnswerRun { process, options, .. } = *self;
        let settings = options.settings();
        let sample = self.sample.map(|sample| SampleInUse::of(sample, process, settings.unit)).transpose()?;
        let streams = self.streams(reader);
        let setup = streams.setup(settings, options.step_costs());
        let mut run = VirtualRun::of_recorded(streams.steps(process), &setup)?;
        let mut words = match demand.words {
            true => self.again((moved(&run.communication), Vec::new()))?.1,
            false => None,
        };
        let shared = streams.shared.borrow();
        let accesses = streams.accesses.borrow();
        if let Some(sample) = &sample
            && shared.followed == 0
        {
            return Err(Error::NothingFollowed {
                accesses: accesses.iter().sum(),
                one_of: sample.rule.one_of,
            });
        }
        let mut namer = AnswerNames::new(ProcessNames::new(process, &shared));
        let recorded = match demand.chains {
            true => self.recorded(&run.communication, &mut namer)?,
            false => None,
        };
        let unweighed = (run.communication.range(), run.communication.upgrades());
        let (TransferRange { necessary, possible }, upgrades) = match &sample {
            Some(sample) => sample.range_and_upgrades(&run.communication),
            None => unweighed,
        };
        namer.sample = sample;
        weigh(&mut namer, (&mut run.communication, words.as_mut()), process);
        let result = &run.communication;
        let (flows, flow_of) = namer.flows(result, settings.unit);
        let units = namer.units(result);
        let classes = UnitClass::all(result, (demand.words, words.as_ref()), (settings.unit, &mut namer));
        let is_moved = |origin| origin != FlowOrigin::Cold;
        let moved = result.flows.iter().filter(|flow| is_moved(flow.key.origin));
        let transfers = moved.map(|flow| flow.totals.requests).sum();
        let chains = demand.chains.then(|| RequestChains::of(result, recorded, (&flow_of, &mut namer)));
        let graphs = match demand.graphs {
            true => ObjectCausality::all(&mut run.communication, &mut namer),
            false => Vec::new(),
        };
        let tid = |thread: u32| process.threads.get(&thread).map_or(0, |one| one.tid);
        Ok(RecordedCommunication {
            unit: settings.unit,
            sample: namer.sample.map(|sample| sample.ended(shared.followed)),
            protocol: options.protocol().name(),
            threads: (0..)
                .zip(accesses.iter())
                .map(|(thread, &accesses)| AccessThread { tid: tid(thread), accesses })
                .collect(),
            requests: run.communication.total_requests,
            transfers,
            low: necessary,
            high: possible,
            upgrades,
            elapsed: run.ends.iter().copied().max().unwrap_or(0),
            unfollowed: run.unfollowed,
            lost_blocks: shared.lost_blocks,
            ignored: shared.ignored,
            flows,
            units,
            classes,
            graphs,
            chains,
            places: namer.places.names,
            objects: namer.objects.names,
            synchronisations: namer.synchronisations.names,
            ..RecordedCommunication::default()
        })
    }

    fn streams(&self, reader: LogReader) -> ProcessStreams {
        ProcessStreams::of(reader, self.process).with_sample(self.sample.map(rule_of))
    }

    /// The run with records of the requests of some units, so that chains can be followed.
    fn recorded(
        &self,
        result: &CommunicationResult,
        namer: &mut AnswerNames<'_>,
    ) -> Result<Option<CommunicationResult>> {
        let (_, flow_of) = namer.flows(result, self.options.settings().unit);
        Ok(self.again((Vec::new(), RequestChains::units(result, &flow_of)))?.0)
    }

    /// The same run once more, which gives everything the same numbers: with the words of some units as units of their own, and
    /// with records of the requests of some units. Neither where no unit is named.
    fn again(
        &self,
        (words_of, records_of): (Vec<u64>, Vec<u64>),
    ) -> Result<(Option<CommunicationResult>, Option<CommunicationResult>)> {
        let reader = self.folder.open_log(MachineId(0), LogName::Accesses)?;
        let Some(reader) = reader.filter(|_| !words_of.is_empty() || !records_of.is_empty()) else {
            return Ok((None, None));
        };
        let streams = self.streams(reader);
        let records = if records_of.is_empty() { 0 } else { RECORDS };
        let settings = CoherenceSettings { records, ..self.options.settings() };
        let setup =
            VirtualRunSetup { words_of, records_of, ..streams.setup(settings, self.options.step_costs()) };
        let run = VirtualRun::of_recorded(streams.steps(self.process), &setup)?;
        Ok((Some(run.communication), run.words))
    }
}

/// First addresses of the units with transfers.
fn moved(result: &CommunicationResult) -> Vec<u64> {
    let moved = result.units.iter().filter(|unit| unit.patterns.transfers().requests > 0);
    moved.map(|unit| unit.address).collect()
}

/// Lets what was counted stand for all units, where not all are followed.
fn weigh(
    namer: &mut AnswerNames<'_>,
    (result, words): (&mut CommunicationResult, Option<&mut CommunicationResult>),
    process: &LoggedProcess,
) {
    let Some(mut sample) = namer.sample.take() else { return };
    sample.weigh(result);
    if let Some(words) = words {
        words.weigh(|key| sample.weight(key));
    }
    sample.name_highest(process, |address| namer.object(result.object_at(address)));
    namer.sample = Some(sample);
}
