//! Every order of events of every mode of switching; and of some that must not be.

use strata_tcs::switch::SwitchStep::{Arm, AwaitReady, Barrier, Drain, TellReady};
use strata_tcs::switch::{Ensured, Mode, SwitchError, check};

const RING: [(usize, usize); 3] = [(0, 1), (1, 2), (2, 0)];
/// Cells 0 and 2 are not neighbours: one may be a set ahead of the other.
const RING_OF_4: [(usize, usize); 4] = [(0, 1), (1, 2), (2, 3), (3, 0)];
const PAIRS: [(usize, usize); 4] = [(0, 1), (1, 0), (1, 2), (2, 1)];

#[test]
fn no_mode_lets_data_come_early() {
    for mode in Mode::ALL {
        for connections in [&RING[..], &PAIRS, &[(0, 2)], &[]] {
            let ensured = check(mode.steps(), 3, connections);
            assert!(ensured.is_ok(), "{mode}: {ensured:?}");
        }
        assert!(check(mode.steps(), 1, &[]).is_ok() && check(mode.steps(), 2, &[(0, 1), (1, 0)]).is_ok());
    }
}

#[test]
fn only_barriers_keep_sets_apart() {
    for mode in Mode::ALL {
        let isolated = mode != Mode::Neighbour;
        assert_eq!(check(mode.steps(), 4, &RING_OF_4), Ok(Ensured { isolated }), "{mode}");
    }
    assert_eq!(Mode::ALL.map(Mode::barriers), [3, 2, 1, 0]);
}

#[test]
fn broken_modes_are_found() {
    let early = |steps: &[_]| matches!(check(steps, 3, &RING), Err(SwitchError::Early { .. }));
    // No barrier after arming, whatever was before it.
    assert!(early(&[Arm]) && early(&[Barrier, Arm]) && early(&[Barrier, Barrier, Arm]));
    // Told, and not waited for.
    assert!(early(&[Drain, Arm, TellReady]));
    // Ready before it is.
    assert!(early(&[TellReady, AwaitReady, Arm]));
    // Never told.
    assert!(matches!(check(&[Arm, AwaitReady], 3, &RING), Err(SwitchError::Stuck(_))));
}
