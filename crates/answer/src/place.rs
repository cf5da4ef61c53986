//! The nodes of the program's tree that a text names, as far as outside series can be of them.

use longpole_report::{FoundNodes, RecordingNames};
use longpole_series::{OutsideNode, Series, SeriesTree};
use longpole_timeline::{CurveNode, SelectedNodes};
use longpole_trace::Program;

use crate::error::{Error, Result};

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
        let whole = SelectedNodes::named(names, text);
        let curve = whole.as_ref().ok().map(|nodes| CurveNode::of(names, nodes));
        let outside = NodesOfName::whole_or_part(names, text, whole.map_err(Error::from)).ok();
        NamedNode { text: text.to_owned(), curve, outside }
    }

    /// A node of the program's tree, whatever else has its name.
    pub fn of(names: &RecordingNames<'_>, node: OutsideNode) -> NamedNode {
        let selected = match node {
            OutsideNode::Program => SelectedNodes::Program,
            OutsideNode::Machine(machine) => SelectedNodes::Machines(vec![machine]),
            OutsideNode::Process(process) => SelectedNodes::Found(FoundNodes::Processes(vec![process])),
            OutsideNode::Thread(thread) => SelectedNodes::Found(FoundNodes::Threads(vec![thread])),
        };
        let curve = Some(CurveNode::of(names, &selected));
        let outside = Some(NodesOfName { nodes: vec![node], label: None });
        NamedNode { text: node.place(names.program).node, curve, outside }
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
    /// What the text names: what [`SelectedNodes::named`] understands, and any of it with `/LABEL`.
    pub fn named(names: &RecordingNames<'_>, text: &str) -> Result<NodesOfName> {
        let whole = SelectedNodes::named(names, text).map_err(Error::from);
        NodesOfName::whole_or_part(names, text, whole)
    }

    /// The same, of a text that means `whole` as it stands.
    fn whole_or_part(
        names: &RecordingNames<'_>,
        text: &str,
        whole: Result<SelectedNodes>,
    ) -> Result<NodesOfName> {
        let of = |selected, label| NodesOfName { nodes: outside_nodes(selected), label };
        let Some((node, label)) = text.rsplit_once('/').filter(|_| whole.is_err()) else {
            return Ok(of(whole?, None));
        };
        match SelectedNodes::named(names, node) {
            Ok(selected) => Ok(of(selected, Some(label.to_owned()))),
            // What the user meant is more likely a name with a stroke in it.
            Err(_) => whole.map(|selected| of(selected, None)),
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

/// Those of which series can be.
fn outside_nodes(selected: SelectedNodes) -> Vec<OutsideNode> {
    match selected {
        SelectedNodes::Program => vec![OutsideNode::Program],
        SelectedNodes::Machines(machines) => machines.into_iter().map(OutsideNode::Machine).collect(),
        SelectedNodes::Found(FoundNodes::Threads(threads)) => {
            threads.into_iter().map(OutsideNode::Thread).collect()
        }
        SelectedNodes::Found(FoundNodes::Processes(processes)) => {
            processes.into_iter().map(OutsideNode::Process).collect()
        }
        SelectedNodes::Found(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{MachineId, ProcessId, ThreadId};
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
            let found = NamedNode::of(&names, node);
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
