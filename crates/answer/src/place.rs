//! The nodes of the program's tree that a text names, as far as outside series can be of them.

use longpole_event::{MachineId, ThreadId};
use longpole_report::{FoundNodes, NameKind, RecordingNames};
use longpole_series::{OutsideNode, Series, SeriesTree};
use longpole_timeline::CurveNode;
use longpole_trace::Program;

use crate::error::Result;

/// A node that metrics are asked of: looked up once for all of them, as a name's meaning is searched among all names.
#[derive(Clone, Debug)]
pub(crate) struct NamedNode {
    /// Its name.
    pub text: String,
    /// What built-in metrics are of; `None` where the name means nothing to them.
    curve: Option<CurveNode>,
    /// What outside series are of.
    outside: Option<NodesOfName>,
}

impl NamedNode {
    /// What the text names.
    pub fn named(names: &RecordingNames<'_>, text: &str) -> NamedNode {
        NamedNode {
            text: text.to_owned(),
            curve: CurveNode::named(names, text).ok(),
            outside: NodesOfName::named(names, text).ok(),
        }
    }

    /// A node of the program's tree, whatever else has its name.
    pub fn of(program: &Program, node: OutsideNode) -> NamedNode {
        let threads = |is: &dyn Fn(ThreadId) -> bool| {
            let all = (0..program.threads.len()).map(ThreadId::from_index);
            CurveNode::Threads(all.filter(|&id| is(id)).collect())
        };
        let curve = match node {
            OutsideNode::Program => CurveNode::Program,
            OutsideNode::Machine(machine) => threads(&|id| program.machine_of(id) == machine),
            OutsideNode::Process(process) => threads(&|id| program.threads[id.index()].process == process),
            OutsideNode::Thread(thread) => CurveNode::Threads(vec![thread]),
        };
        let outside = Some(NodesOfName { nodes: vec![node], label: None });
        NamedNode { text: node.place(program).node, curve: Some(curve), outside }
    }

    /// What built-in metrics are of.
    ///
    /// # Errors
    /// Those of [`CurveNode::named`].
    pub fn curve(&self, names: &RecordingNames<'_>) -> Result<&CurveNode> {
        let refused = || CurveNode::named(names, &self.text).expect_err("the name means nothing").into();
        self.curve.as_ref().ok_or_else(refused)
    }

    /// What outside series are of.
    ///
    /// # Errors
    /// Those of [`NodesOfName::named`].
    pub fn outside(&self, names: &RecordingNames<'_>) -> Result<&NodesOfName> {
        let refused = || NodesOfName::named(names, &self.text).expect_err("the name means nothing");
        self.outside.as_ref().ok_or_else(refused)
    }
}

/// Nodes that have one name, and the part of them that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodesOfName {
    /// The nodes; none for procedures and objects, of which no series can be.
    pub nodes: Vec<OutsideNode>,
    /// The part of each, where one is named.
    pub label: Option<String>,
}

impl NodesOfName {
    /// What the text names: `program`, `machine:NAME`, what [`RecordingNames::find`] understands, and any of them with `/LABEL`.
    pub fn named(names: &RecordingNames<'_>, text: &str) -> Result<NodesOfName> {
        let whole = nodes(names, text);
        let Some((node, label)) = text.rsplit_once('/').filter(|_| whole.is_err()) else {
            return Ok(NodesOfName { nodes: whole?, label: None });
        };
        match nodes(names, node) {
            Ok(nodes) => Ok(NodesOfName { nodes, label: Some(label.to_owned()) }),
            // What the user meant is more likely a name with a stroke in it.
            Err(_) => whole.map(|nodes| NodesOfName { nodes, label: None }),
        }
    }

    /// The same nodes, or the nearest above them, of which these series are.
    pub fn above_with(
        &self,
        (series, tree): (&[Series], &SeriesTree),
        program: &Program,
    ) -> Option<NodesOfName> {
        let known = tree.nodes();
        let nearest = |&node: &OutsideNode| {
            std::iter::successors(Some(node), |node| node.parent(program)).find(|node| known.contains(node))
        };
        let mut nodes: Vec<OutsideNode> = match self.nodes.as_slice() {
            [] => known.contains(&OutsideNode::Program).then_some(OutsideNode::Program).into_iter().collect(),
            nodes => nodes.iter().filter_map(nearest).collect(),
        };
        nodes.sort_unstable();
        nodes.dedup();
        let label = self.label.clone().filter(|label| series.iter().any(|series| series.label == *label));
        (!nodes.is_empty()).then_some(NodesOfName { nodes, label })
    }
}

fn nodes(names: &RecordingNames<'_>, text: &str) -> Result<Vec<OutsideNode>> {
    if text == "program" {
        return Ok(vec![OutsideNode::Program]);
    }
    if let Some(name) = text.strip_prefix("machine:") {
        let is_it = |at: &usize| names.program.machines[*at].name == name.trim();
        let found: Vec<OutsideNode> = (0..names.program.machines.len())
            .filter(is_it)
            .map(|at| OutsideNode::Machine(MachineId::from_index(at)))
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let known: Vec<&str> = names.program.machines.iter().map(|machine| machine.name.as_str()).collect();
        let error =
            longpole_timeline::Error::NoSuchMachine { name: name.to_owned(), known: known.join(", ") };
        return Err(error.into());
    }
    Ok(match names.find(text, NameKind::ALL)? {
        FoundNodes::Threads(threads) => threads.into_iter().map(OutsideNode::Thread).collect(),
        FoundNodes::Processes(processes) => processes.into_iter().map(OutsideNode::Process).collect(),
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use longpole_event::ProcessId;
    use longpole_testkit::draw;

    use super::*;

    #[test]
    fn a_node_of_the_tree_is_itself_whatever_else_has_its_number() {
        let mut made = draw("one:a/T1 AA\none:a/T2 AA\ntwo:b/T3 AA");
        made.program.threads[2].tid = made.program.threads[0].tid;
        let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
        let all = [
            (OutsideNode::Program, CurveNode::Program),
            (OutsideNode::Machine(MachineId(0)), CurveNode::Threads(vec![ThreadId(0), ThreadId(1)])),
            (OutsideNode::Process(ProcessId(1)), CurveNode::Threads(vec![ThreadId(2)])),
            (OutsideNode::Thread(ThreadId(0)), CurveNode::Threads(vec![ThreadId(0)])),
            (OutsideNode::Thread(ThreadId(2)), CurveNode::Threads(vec![ThreadId(2)])),
        ];
        for (node, curve) in all {
            let found = NamedNode::of(&made.program, node);
            assert_eq!(
                (found.curve(&names).unwrap(), &found.outside(&names).unwrap().nodes),
                (&curve, &vec![node])
            );
        }
        let twice = NamedNode::named(&names, &format!("thread:{}", made.program.threads[0].tid));
        assert!(twice.curve(&names).is_err() && twice.outside(&names).is_err(), "two have that number");
    }

    #[test]
    fn nodes_are_named_as_everywhere_and_parts_behind_a_stroke() {
        let made = draw("one:a/T1 AA\none:a/T2 AA\ntwo:b/T3 AA");
        let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
        let place = |text: &str| NodesOfName::named(&names, text).unwrap();
        let at = |nodes: &[OutsideNode], label: Option<&str>| NodesOfName {
            nodes: nodes.to_vec(),
            label: label.map(str::to_owned),
        };
        assert_eq!(place("program"), at(&[OutsideNode::Program], None));
        assert_eq!(place("machine:two/cpu0"), at(&[OutsideNode::Machine(MachineId(1))], Some("cpu0")));
        assert_eq!(place("thread:T2"), at(&[OutsideNode::Thread(ThreadId(1))], None));
        assert_eq!(place("procedure:A"), at(&[], None));
        assert!(
            NodesOfName::named(&names, "machine:six/cpu0")
                .unwrap_err()
                .to_string()
                .contains("there are one, two")
        );
        for (index, machine) in made.program.machines.iter().enumerate() {
            let node = OutsideNode::Machine(MachineId::from_index(index));
            assert_eq!(place(&node.place(&made.program).node).nodes, [node], "{}", machine.name);
        }
        for index in 0..made.program.threads.len() {
            let node = OutsideNode::Thread(ThreadId::from_index(index));
            assert_eq!(place(&node.place(&made.program).node).nodes, [node]);
        }
    }
}
