//! Names of rendezvous: what the cells of a barrier have come to do.
//!
//! Every message of a barrier carries the name, as one word (Warfel 1996, §4.1.2), so cells that
//! have come to different things learn it in the barrier itself.

use crate::link::Image;

/// What a cell has come to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A barrier of an instance's cells.
    Sync(usize),
    /// A switch: the instance, its set and the set's part, and how many switches went before.
    Switch {
        instance: usize,
        set: usize,
        part: usize,
        turn: u64,
    },
    /// The start of an instance, and of those that begin together with it.
    Start(usize),
    End(usize),
}

/// Bits of a set's number, of a part's, and of a turn; an instance has the rest but its kind's two.
const BITS: u32 = 16;

fn low(number: u64) -> u64 {
    number & ((1 << BITS) - 1)
}

impl Place {
    /// The name as a word. No name is 0.
    pub(super) fn word(self) -> u64 {
        let (kind, instance, rest) = match self {
            Self::Sync(instance) => (0, instance, 0),
            Self::Switch { instance, set, part, turn } => {
                let [set, part] = [set, part].map(|number| low(number as u64));
                (1, instance, (low(turn) << BITS | set) << BITS | part)
            }
            Self::Start(instance) => (2, instance, 0),
            Self::End(instance) => (3, instance, 0),
        };
        // Instances from 1, so that no name is 0; the linker makes at most 10,000.
        ((instance as u64 + 1) << 2 | kind) << (3 * BITS) | rest
    }
}

pub(super) fn text(image: &Image, word: u64) -> String {
    let (kind, rest) = (word >> (3 * BITS) & 3, word & ((1 << (3 * BITS)) - 1));
    let instance = (word >> (3 * BITS + 2)).checked_sub(1).and_then(|at| image.instances.get(at as usize));
    let Some(instance) = instance else { return "the beginning of the program".to_owned() };
    let path = &instance.path;
    let set = instance.sets.get(low(rest >> BITS) as usize);
    match (kind, set) {
        (0, _) => format!("a barrier of `{path}`"),
        (1, Some(set)) => {
            let part = if set.parts.len() > 1 { format!(", part {}", low(rest)) } else { String::new() };
            format!("switch {} of `{path}`, to set `{}`{part}", (rest >> (2 * BITS)) + 1, set.name)
        }
        (2, _) => format!("the start of `{path}`"),
        _ => format!("the end of `{path}`"),
    }
}
