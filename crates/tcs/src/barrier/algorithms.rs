//! The steps of each algorithm (Warfel 1996, §4.3.2).

use super::Step::{self, Receive, Send};

/// §4.3.2.2.1.1: 2 N messages, one after the other. The master, member 0, receives the last message
/// and ignores it.
pub(super) fn token(n: usize) -> Vec<Vec<Step>> {
    if n < 2 {
        return vec![Vec::new(); n];
    }
    let of = |member: usize| {
        let (up, down) = ((member + n - 1) % n, (member + 1) % n);
        let once = if member == 0 { [Send(down), Receive(up)] } else { [Receive(up), Send(down)] };
        [once, once].concat()
    };
    (0..n).map(of).collect()
}

/// §4.3.2.2.1.2 and .3: each dimension in turn takes one exchange fewer than its extent.
pub(super) fn rings(extents: &[usize]) -> Vec<Vec<Step>> {
    let n: usize = extents.iter().product();
    let of = |member: usize| {
        let mut steps = Vec::new();
        let mut stride = 1;
        for extent in extents {
            let at = member / stride % extent;
            let base = member - at * stride;
            let (down, up) = ((at + 1) % extent, (at + extent - 1) % extent);
            for _ in 1..*extent {
                steps.extend([Send(base + down * stride), Receive(base + up * stride)]);
            }
            stride *= extent;
        }
        steps
    };
    (0..n).map(of).collect()
}

/// §4.3.2.2.1.4: each member with a number from the largest power of two on has a buddy below it.
pub(super) fn hypercube(n: usize) -> Vec<Vec<Step>> {
    let inside = if n == 0 { 0 } else { 1 << n.ilog2() };
    let of = |member: usize| {
        if member >= inside {
            let buddy = member - inside;
            return vec![Send(buddy), Receive(buddy)];
        }
        let buddy = Some(member + inside).filter(|buddy| *buddy < n);
        let mut steps: Vec<Step> = buddy.map(Receive).into_iter().collect();
        let mut bit = 1;
        while bit < inside {
            steps.extend([Send(member ^ bit), Receive(member ^ bit)]);
            bit *= 2;
        }
        steps.extend(buddy.map(Send));
        steps
    };
    (0..n).map(of).collect()
}

/// §4.3.2.2.1.5: a binomial tree, up and down.
pub(super) fn tree(n: usize) -> Vec<Vec<Step>> {
    let of = |member: usize| {
        // A member's children differ from it in one bit below its lowest set bit; member 0 has all
        // bits.
        let lowest = if member == 0 { n.next_power_of_two() } else { member & member.wrapping_neg() };
        let bits = || (0..lowest.ilog2()).map(|bit| member + (1 << bit)).filter(|child| *child < n);
        let up = bits().map(Receive);
        let turn = (member > 0).then(|| [Send(member - lowest), Receive(member - lowest)]);
        up.chain(turn.into_iter().flatten()).chain(bits().rev().map(Send)).collect()
    };
    (0..n).map(of).collect()
}

/// After round k a member has heard from the 2^(k+1) members before it, itself included.
pub(super) fn dissemination(n: usize) -> Vec<Vec<Step>> {
    let of = |member: usize| {
        let rounds = (0..).map(|round| 1 << round).take_while(|far| *far < n);
        rounds.flat_map(|far: usize| [Send((member + far) % n), Receive((member + n - far) % n)]).collect()
    };
    (0..n).map(of).collect()
}

/// `times` times each member tells all others, and hears from all: what a channel that combines does.
pub(super) fn all_to_all(n: usize, times: usize) -> Vec<Vec<Step>> {
    let of = |member: usize| {
        let others = || (1..n).map(move |by| (member + by) % n);
        let once: Vec<Step> = others().map(Send).chain(others().map(Receive)).collect();
        once.repeat(times)
    };
    (0..n).map(of).collect()
}

/// §4.3.2.1.2: each member tells all others when all before it have.
pub(super) fn broadcasts(n: usize) -> Vec<Vec<Step>> {
    let of = |member: usize| {
        let others = (0..n).filter(|other| *other != member).map(Send);
        (0..member).map(Receive).chain(others).chain((member + 1..n).map(Receive)).collect()
    };
    (0..n).map(of).collect()
}

/// §4.3.2.1.4: up a binomial tree, then from its root to all.
pub(super) fn tree_broadcast(n: usize) -> Vec<Vec<Step>> {
    let of = |member: usize| {
        let up = tree(n).swap_remove(member);
        let root = (1..n).map(Send);
        if member == 0 {
            return up.into_iter().filter(|step| matches!(step, Receive(_))).chain(root).collect();
        }
        // What comes before the member's own message is from its children.
        let own = up.iter().position(|step| matches!(step, Send(_))).map_or(0, |at| at + 1);
        up.into_iter().take(own).chain([Receive(0)]).collect()
    };
    (0..n).map(of).collect()
}
