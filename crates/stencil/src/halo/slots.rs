//! The ports and message numbers of the halos that a node has.

use std::rc::Rc;

use strata_runtime::Node;

use super::HaloError;
use super::shape::MOST_AXES;
use crate::exchange::Numbers;
use crate::links;

/// The most halos at a time.
const MOST: usize = 64;

/// Two sides of each axis.
const SIDES: usize = 2 * MOST_AXES;

/// The port after those of all halos: the sorts' and connection sets' ports come next.
const END_OF_PORTS: usize = 3840;

/// The slots of a node's halos: equal on all nodes, as all prepare the same halos.
#[derive(Default)]
struct Slots(Vec<Slot>);

#[derive(Default)]
struct Slot {
    /// Shared with the halo that has the slot.
    holder: Rc<()>,
    /// Its open ports.
    ports: Vec<usize>,
}

/// The first free slot: its holder and its numbers. Ports that a dropped halo left open are closed:
/// everything sent to them has arrived, as all of its exchanges were finished.
///
/// # Errors
/// If there are too many halos.
pub(super) fn take(node: &mut Node) -> Result<(Rc<()>, usize, Numbers), HaloError> {
    let slots = &mut node.local::<Slots>().0;
    let free = slots.iter().position(|slot| Rc::strong_count(&slot.holder) == 1);
    let index = free.unwrap_or(slots.len());
    if index >= MOST {
        return Err(HaloError::TooMany(MOST));
    }
    if free.is_none() {
        slots.push(Slot::default());
    }
    let holder = Rc::clone(&slots[index].holder);
    close(node, &holder);
    let numbers = Numbers {
        first_port: END_OF_PORTS - 2 * SIDES * (index + 1),
        first_message: links::MESSAGES + 2 * SIDES * index,
        sides: SIDES,
    };
    Ok((holder, index, numbers))
}

/// Whether this node's halo has the slot.
pub(super) fn is_of(node: &mut Node, holder: &Rc<()>) -> bool {
    node.local::<Slots>().0.iter().any(|slot| Rc::ptr_eq(&slot.holder, holder))
}

/// Records the ports that a holder has opened.
pub(super) fn opened(node: &mut Node, holder: &Rc<()>, ports: Vec<usize>) {
    let slots = &mut node.local::<Slots>().0;
    if let Some(slot) = slots.iter_mut().find(|slot| Rc::ptr_eq(&slot.holder, holder)) {
        slot.ports = ports;
    }
}

/// Closes a holder's ports.
pub(super) fn close(node: &mut Node, holder: &Rc<()>) {
    let slots = &mut node.local::<Slots>().0;
    let slot = slots.iter_mut().find(|slot| Rc::ptr_eq(&slot.holder, holder));
    for port in slot.map(|slot| std::mem::take(&mut slot.ports)).unwrap_or_default() {
        node.close_port::<u8>(port);
    }
}
