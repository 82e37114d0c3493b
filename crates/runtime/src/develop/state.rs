//! States of a node, for the state graph.

use strata_develop::trace::{STATES, check_name};

/// The state of a node.
///
/// A program may set two freely, six are the run-time's own, and the program names up to 16
/// (Brewer, manual, §10) with [`Node::name_states`](crate::Node::name_states).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(pub(crate) u8);

impl State {
    /// Idle.
    pub const IDLE: Self = Self(0);
    /// Work: the initial state of a program.
    pub const BUSY: Self = Self(1);
    /// Writing a log or a trace.
    pub const LOGGING: Self = Self(2);
    /// Writing queued lines.
    pub const PRINTING: Self = Self(3);
    /// Waiting for messages, or for room for them.
    pub const MESSAGES: Self = Self(4);
    /// In a collective that moves data: broadcast, gather, exchange.
    pub const MOVING: Self = Self(5);
    /// In a collective that combines numbers.
    pub const COMBINING: Self = Self(6);
    /// In a barrier.
    pub const BARRIER: Self = Self(7);
}

/// The names of states.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) all: [Option<String>; STATES],
}

impl Default for Names {
    fn default() -> Self {
        let own = ["idle", "busy", "logging", "printing", "messages", "moving data", "combining", "barrier"];
        Self { all: std::array::from_fn(|i| own.get(i).map(|name| (*name).to_owned())) }
    }
}

impl Names {
    /// The state of this name, created if there is room; otherwise [`State::BUSY`].
    pub(crate) fn state(&mut self, name: &str) -> Result<State, String> {
        check_name(name)?;
        let fits = |slot: &Option<String>| slot.as_deref().is_none_or(|there| there == name);
        let Some(at) = self.all.iter().position(fits) else { return Ok(State::BUSY) };
        self.all[at].get_or_insert_with(|| name.to_owned());
        Ok(State(at as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again_and_bounded() {
        let mut names = Names::default();
        assert_eq!(names.state("barrier"), Ok(State::BARRIER));
        assert_eq!(names.state("count"), Ok(State(8)));
        assert_eq!(names.state("send"), Ok(State(9)));
        assert_eq!(names.state("count"), Ok(State(8)));
        for i in 2..STATES - 8 {
            names.state(&format!("state {i}")).unwrap();
        }
        assert_eq!(names.state("one more"), Ok(State::BUSY));
        assert!(names.state("two\nlines").is_err());
    }
}
