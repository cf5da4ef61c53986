//! A node in words: as questions name it, without a doubt which one is meant.

use longpole_event::MachineId;
use longpole_trace::Program;

use crate::outside::OutsideNode;

/// A node in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTitle<'a> {
    /// Name of its machine; `None` of the program, which is on all of them.
    pub machine: Option<&'a str>,
    /// `program`, `machine:NAME`, `process:PID` or `thread:TID`.
    pub node: String,
    /// Its own name; empty of the program.
    pub name: &'a str,
}

impl OutsideNode {
    /// The node in words.
    #[must_use]
    pub fn place(self, program: &Program) -> NodeTitle<'_> {
        let machine = |id: MachineId| program.machines[id.index()].name.as_str();
        match self {
            OutsideNode::Program => NodeTitle { machine: None, node: "program".to_owned(), name: "" },
            OutsideNode::Machine(id) => {
                let name = machine(id);
                NodeTitle { machine: Some(name), node: format!("machine:{name}"), name }
            }
            OutsideNode::Process(id) => {
                let process = &program.processes[id.index()];
                let node = format!("process:{}", process.pid);
                NodeTitle { machine: Some(machine(process.machine)), node, name: &process.name }
            }
            OutsideNode::Thread(id) => {
                let thread = &program.threads[id.index()];
                let node = format!("thread:{}", thread.tid);
                NodeTitle { machine: Some(machine(program.machine_of(id))), node, name: &thread.name }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_event::{ProcessId, ThreadId};
    use longpole_testkit::Drawing;

    use super::*;

    #[test]
    fn every_node_is_named_by_its_number_and_has_its_machine() {
        let drawing = Drawing::parse("web:app/main CC\nweb:app/worker CC\ndata:store/keeper CC\n").unwrap();
        let program = drawing.timelines().program;
        let place = |node: OutsideNode| node.place(&program);
        let told = |node| (place(node).machine, place(node).node, place(node).name);
        assert_eq!(told(OutsideNode::Program), (None, "program".to_owned(), ""));
        assert_eq!(
            told(OutsideNode::Machine(MachineId(1))),
            (Some("data"), "machine:data".to_owned(), "data")
        );
        let (process, thread) = (&program.processes[1], &program.threads[1]);
        let store = (Some("data"), format!("process:{}", process.pid), "store");
        assert_eq!(told(OutsideNode::Process(ProcessId(1))), store);
        let worker = (Some("web"), format!("thread:{}", thread.tid), "worker");
        assert_eq!(told(OutsideNode::Thread(ThreadId(1))), worker);
    }
}
