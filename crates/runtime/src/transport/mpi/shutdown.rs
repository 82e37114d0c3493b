//! The end of a program: all nodes leave it, and a node that waits for one that has left is
//! detected.

use super::ffi::{Gathering, World};

/// Rounds between two checks of the other nodes: a check costs a message to each, and usually all
/// nodes leave at about the same time.
const ROUNDS: u32 = 256;

/// The progress of this node's shutdown.
pub(super) struct Shutdown {
    world: &'static World,
    gathering: Option<Gathering>,
    round: u32,
}

impl Shutdown {
    pub(super) fn new(world: &'static World) -> Self {
        Self { world, gathering: None, round: 0 }
    }

    /// Records that this node's program has ended.
    pub(super) fn leave(&mut self) {
        if self.gathering.is_none() {
            self.leave_for_good();
        }
    }

    /// Records that this node sends no more, after all nodes have left.
    pub(super) fn leave_for_good(&mut self) {
        self.gathering = Some(Gathering::start(self.world));
        self.round = 0;
    }

    /// True if all nodes have left. Ends the job if a node has entered a collective after this
    /// node's last one: it waits there, or should have waited, for this node; or other ones.
    pub(super) fn all_left(&mut self) -> bool {
        let Some(gathering) = &mut self.gathering else { return false };
        let was_complete = gathering.was_complete();
        let complete = gathering.is_complete(self.world);
        self.round += 1;
        if (complete && !was_complete) || self.round.is_multiple_of(ROUNDS) {
            let world = self.world;
            for rank in (0..world.size()).filter(|rank| *rank != world.rank()) {
                match world.look_at(rank) {
                    Ok((turn, header)) if turn > world.turn() => {
                        let message = format!("left the program while node {rank} waits in {header}");
                        world.die(world.rank(), message);
                    }
                    Ok(_) => {}
                    Err(error) => world.die(world.rank(), error),
                }
            }
            // No node waits for the last collectives if each went ahead in another one.
            if complete && let Some(failure) = world.unlike() {
                world.die(failure.rank, failure.message);
            }
        }
        complete
    }
}
