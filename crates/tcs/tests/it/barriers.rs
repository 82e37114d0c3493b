//! Schedules of barriers: correct for every number of members, as many messages as the thesis
//! counts, and the times and skews that it measured.

use proptest::prelude::*;
use strata_tcs::barrier::{Algorithm, Costs, Schedule, ScheduleError, Step};

fn all(n: usize) -> Vec<Algorithm> {
    let mut all = Algorithm::all(None);
    for columns in (2..n).filter(|columns| n.is_multiple_of(*columns)) {
        all.push(Algorithm::Rings(vec![columns, n / columns]));
    }
    use Algorithm::{Broadcast, Combining, CombiningTwice, TreeBroadcast};
    all.extend([Broadcast, TreeBroadcast]);
    // Their n² messages are those of a channel.
    if n <= 40 {
        all.extend([Combining, CombiningTwice]);
    }
    if n == 27 {
        all.push(Algorithm::Rings(vec![3, 3, 3]));
    }
    all
}

#[test]
fn at_exit_all_know_that_all_have_come() {
    for n in 1..=130 {
        for algorithm in all(n) {
            let checked = algorithm.schedule(n).unwrap().check();
            assert!(checked.is_ok(), "{algorithm} of {n}: {checked:?}");
        }
    }
}

/// Fig 4.19, and 26, 156, 34 and 24 messages for 13 members (§4.3).
#[test]
fn messages_are_as_many_as_the_thesis_counts() {
    for n in 2..=130usize {
        let checked = |algorithm: Algorithm| algorithm.schedule(n).unwrap().check().unwrap();
        assert_eq!(checked(Algorithm::Token).messages, 2 * n);
        assert_eq!(checked(Algorithm::Token).rounds, 2 * n);
        assert_eq!(checked(Algorithm::Ring).messages, n * (n - 1));
        assert_eq!(checked(Algorithm::Ring).rounds, n - 1);
        assert_eq!(checked(Algorithm::Tree).messages, 2 * (n - 1));
        let log = n.ilog2() as usize;
        let (inside, up) = (1 << log, n.next_power_of_two().ilog2() as usize);
        let buddies = n - inside;
        assert_eq!(checked(Algorithm::Hypercube).messages, inside * log + 2 * buddies);
        let most = log + if buddies > 0 { 2 } else { 0 };
        assert!((log..=most).contains(&checked(Algorithm::Hypercube).rounds), "{n}");
        assert_eq!(checked(Algorithm::Dissemination).messages, n * up);
        assert_eq!(checked(Algorithm::Dissemination).rounds, up);
        if n > 40 {
            continue;
        }
        // Class P1: 1, N, 2 and log N + 1 message times, and what is told to all at once counts once.
        let sent = |algorithm: Algorithm| algorithm.transmissions(&algorithm.schedule(n).unwrap());
        for (algorithm, rounds, transmissions) in [
            (Algorithm::Combining, 1, n),
            (Algorithm::Broadcast, n, n),
            (Algorithm::CombiningTwice, 2, 2 * n),
            (Algorithm::TreeBroadcast, log + 1, n),
        ] {
            assert_eq!(checked(algorithm.clone()).rounds, rounds, "{algorithm} of {n}");
            assert_eq!(sent(algorithm), transmissions);
        }
    }
    let of_13 = [Algorithm::Token, Algorithm::Ring, Algorithm::Hypercube, Algorithm::Tree];
    assert_eq!(of_13.map(|algorithm| algorithm.schedule(13).unwrap().messages()), [26, 156, 34, 24]);
    assert_eq!(Algorithm::Hypercube.schedule(13).unwrap().check().unwrap().rounds, 5);
    assert_eq!(Algorithm::Rings(vec![8, 8]).schedule(64).unwrap().check().unwrap().rounds, 14);
    assert_eq!(Algorithm::Rings(vec![8, 8]).schedule(63), None);
}

/// With one set of costs: the printed predictions of rings (Fig 4.22), and the skews (Fig 4.23).
#[test]
fn one_set_of_costs_explains_times_and_skews() {
    let costs = |startup| Costs { startup, send: 1.4, latency: 8.7, receive: 1.4, hop: 0.0 };
    let late = |n: usize| {
        let mut entries = vec![0.0; n];
        entries[1] = 2000.0;
        entries
    };
    let price = |algorithm: Algorithm, n: usize, startup: f64, entries: &[f64]| {
        algorithm.schedule(n).unwrap().price(&costs(startup), entries, |_, _| 1).unwrap()
    };
    let near = |found: f64, wanted: f64, by: f64| assert!((found - wanted).abs() <= by, "{found} {wanted}");
    let rows =
        [(4, 110.0, 22.0), (8, 156.0, 63.0), (16, 248.0, 131.0), (32, 432.0, 267.0), (64, 800.0, 547.0)];
    for (n, time, skew) in rows {
        near(price(Algorithm::Ring, n, 75.5, &[]).time(), time, 0.5);
        near(price(Algorithm::Ring, n, 75.5, &late(n)).skew(), skew, 4.2);
        // A token's skew does not depend on who comes late.
        let token = price(Algorithm::Token, n, 68.0, &late(n)).skew();
        near(token, price(Algorithm::Token, n, 68.0, &[]).skew(), 1e-9);
    }
    near(price(Algorithm::Rings(vec![8, 8]), 64, 75.5, &late(64)).skew(), 122.0, 0.5);
}

#[test]
fn wrong_schedules_are_told_apart() {
    use Step::{Receive, Send};
    let check = |steps: Vec<Vec<Step>>| Schedule::new(steps).check();
    assert_eq!(check(vec![vec![Receive(1)], vec![]]), Err(ScheduleError::Stuck { member: 0, from: 1 }));
    assert_eq!(
        check(vec![vec![Send(2)], vec![]]),
        Err(ScheduleError::NoMember { member: 0, with: 2, members: 2 })
    );
    assert_eq!(
        check(vec![vec![Send(0)], vec![]]),
        Err(ScheduleError::NoMember { member: 0, with: 0, members: 2 })
    );
    assert_eq!(check(vec![vec![Send(1)], vec![Receive(0)]]), Err(ScheduleError::Early { member: 0, of: 1 }));
    let extra = vec![vec![Send(1), Receive(1), Send(1)], vec![Send(0), Receive(0)]];
    assert_eq!(check(extra), Err(ScheduleError::LeftOver { from: 0, to: 1 }));
    assert!(check(Vec::new()).is_ok() && check(vec![Vec::new()]).is_ok());
}

proptest! {
    /// Any message left out is noticed, whatever the algorithm.
    #[test]
    fn a_barrier_without_one_message_is_none(n in 2usize..40, which in 0usize..5, lost in any::<prop::sample::Index>()) {
        let schedule = Algorithm::all(None)[which].schedule(n).unwrap();
        let mut steps: Vec<Vec<Step>> = (0..n).map(|member| schedule.steps(member).to_vec()).collect();
        let sends: Vec<(usize, usize)> = (0..n)
            .flat_map(|member| (0..steps[member].len()).map(move |at| (member, at)))
            .filter(|(member, at)| matches!(steps[*member][*at], Step::Send(_)))
            .collect();
        let (member, at) = sends[lost.index(sends.len())];
        steps[member].remove(at);
        prop_assert!(Schedule::new(steps).check().is_err());
    }

    /// Later arrivals never end a barrier earlier.
    #[test]
    fn time_never_runs_backwards(n in 1usize..40, which in 0usize..5, late in 0usize..40, by in 0.0f64..1e4) {
        let schedule = Algorithm::all(None)[which].schedule(n).unwrap();
        let costs = Costs { startup: 10.0, send: 1.0, latency: 5.0, receive: 2.0, hop: 1.0 };
        let mut entries = vec![0.0; n];
        let before = schedule.price(&costs, &entries, |_, _| 1).unwrap();
        entries[late % n] = by;
        let after = schedule.price(&costs, &entries, |_, _| 1).unwrap();
        prop_assert!(before.exits.iter().zip(&after.exits).all(|(before, after)| before <= after));
        prop_assert!(after.exits.iter().all(|exit| *exit >= by));
    }
}
