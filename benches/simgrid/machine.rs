//! One machine, as described to both simulators.

use std::fmt::Write as _;

use strata_runtime::simulation::SimulatedMachine;

/// Bytes that SMPI adds to each message, and our interface to each packet.
const ENVELOPE: usize = 16;

/// Nodes at a switch of the fat tree, and switches above each.
const ARITY: usize = 4;

/// The parameters of LogGP.
#[derive(Clone, Copy)]
pub(crate) struct Costs {
    /// Processor time to send a message, in ns: o of the sender.
    pub(crate) send: f64,
    /// To receive one: o of the receiver.
    pub(crate) receive: f64,
    /// Latency of one link, in ns; L is the sum over the path.
    pub(crate) latency: f64,
    /// Bandwidth of each link, in MB/s: 1/G.
    pub(crate) bandwidth: f64,
}

/// How nodes are connected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topology {
    /// A link into the crossbar and one out of it for each node.
    Crossbar,
    /// Switches with as many links up as down.
    FatTree,
}

impl Topology {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Crossbar => "crossbar",
            Self::FatTree => "fat tree",
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) topology: Topology,
    pub(crate) costs: Costs,
    /// For the fat tree, a power of 4.
    pub(crate) nodes: usize,
}

impl Machine {
    /// The platform for our simulator. What is not in LogGP costs nothing: failed polls, calls of
    /// handlers, set-up of blocks. The queues are longer than any pattern fills them, as SMPI's are
    /// unlimited.
    pub(crate) fn platform(&self) -> Result<SimulatedMachine, String> {
        let Costs { send, receive, latency, bandwidth } = self.costs;
        let topology = match self.topology {
            Topology::Crossbar => "kind = \"crossbar\"".to_owned(),
            Topology::FatTree => format!(
                "kind = \"fat-tree\"\narity = {ARITY}\nparents = [{ARITY}]\nbandwidths_mb_per_s = [{bandwidth}]"
            ),
        };
        let text = format!(
            "name = \"loggp\"\nsummary = \"plain LogGP\"\n\
             [cpu]\nfrequency_mhz = 1e6\nkernel_factor = 1\n\
             [interface]\nsend_ns = {send}\nsend_byte_ns = 0\nafter_send_ns = 0\n\
             receive_ns = {receive}\nreceive_byte_ns = 0\nfailed_poll_ns = 0.001\ndispatch_ns = 0\n\
             block_setup_ns = 0\ncombine_word_ns = 0\npacket_bytes = 65536\nheader_bytes = {ENVELOPE}\n\
             latency_ns = 0\nsend_queue_packets = 256\nreceive_queue_packets = 256\n\
             [topology]\n{topology}\n\
             [link]\nbandwidth_mb_per_s = {bandwidth}\nlatency_ns = {latency}\nbuffer_packets = 256\n\
             switching = \"cut-through\"\n"
        );
        SimulatedMachine::parse("loggp.toml", text.as_bytes()).map_err(|error| error.to_string())
    }

    /// The platform for SimGrid: a cluster without a backbone, whose nodes have a link each way, or
    /// its fat tree.
    pub(crate) fn xml(&self) -> String {
        let Costs { latency, bandwidth, .. } = self.costs;
        let tree = match self.topology {
            Topology::Crossbar => String::new(),
            Topology::FatTree => {
                let levels = self.nodes.ilog(ARITY) as usize;
                let list = |first: usize, others: usize| {
                    let mut list = first.to_string();
                    (1..levels).for_each(|_| {
                        let _ = write!(list, ",{others}");
                    });
                    list
                };
                // Levels; children at each; parents at each, of which a node has one; parallel
                // links.
                let (children, parents) = (list(ARITY, ARITY), list(1, ARITY));
                let parameters = format!("{levels};{children};{parents};{}", list(1, 1));
                format!(" topology=\"FAT_TREE\" topo_parameters=\"{parameters}\"")
            }
        };
        format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\">\n <cluster id=\"machine\" prefix=\"n\" suffix=\"\" radical=\"0-{last}\" \
             speed=\"1Gf\" bw=\"{bandwidth}MBps\" lat=\"{latency}ns\" sharing_policy=\"SPLITDUPLEX\"{tree}/>\n\
             </platform>\n",
            last = self.nodes - 1
        )
    }

    /// Options that reduce SMPI's calibrated model of TCP to LogGP: no factors on latency and
    /// bandwidth by message size, no window, no acknowledgement traffic, clocks that cost nothing;
    /// every message is eager, with our overheads.
    pub(crate) fn options(&self) -> Vec<String> {
        let seconds = |ns: f64| format!("0:{:e}:0", ns * 1e-9);
        let (send, receive) = (seconds(self.costs.send), seconds(self.costs.receive));
        let mut options: Vec<String> = [
            "smpi/simulate-computation:no",
            "smpi/lat-factor:0:1",
            "smpi/bw-factor:0:1",
            "smpi/wtime:0",
            "smpi/async-small-thresh:65536",
            "smpi/send-is-detached-thresh:65536",
            "network/weight-S:0",
            "network/TCP-gamma:0",
            "network/crosstraffic:0",
        ]
        .map(|option| format!("--cfg={option}"))
        .into();
        for (name, value) in [("os", &send), ("ois", &send), ("or", &receive)] {
            options.push(format!("--cfg=smpi/{name}:{value}"));
        }
        options.push("--log=root.thresh:warning".to_owned());
        options
    }
}
