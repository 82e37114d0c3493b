//! The threads transport against sequential oracles.

use strata_runtime::prelude::*;

/// Fewer nodes than cores, as many, more, odd numbers, and far more than cores.
const NODES: [usize; 7] = [1, 2, 3, 5, 8, 13, 64];

#[test]
fn smoke() {
    for nodes in NODES {
        let machine = Machine::threads(nodes).unwrap();
        for len in [0usize, 1, 5, 27, 28, 1000, 5000] {
            let results = machine
                .run(|node| {
                    let rank = node.rank() as f64;
                    let mut sum: Vec<f64> = (0..len).map(|i| 0.1 * rank + i as f64).collect();
                    let mut scan = sum.clone();
                    node.reduce_add(&mut sum);
                    node.scan_add(&mut scan);
                    let gathered = node.all_gather(&scan);
                    let mut last = scan.clone();
                    node.broadcast(nodes - 1, &mut last);
                    let blocks = (0..nodes).map(|to| Block::from_slice(&vec![rank; to % 3])).collect();
                    let blocks = node.all_to_all_v(blocks);
                    for (from, block) in blocks.iter().enumerate() {
                        assert_eq!(**block, vec![from as f64; node.rank() % 3]);
                    }
                    assert!(node.global_or(node.rank() == nodes / 2));
                    Ok((sum, scan, gathered, last))
                })
                .unwrap();
            let value = |rank: usize, i: usize| 0.1 * rank as f64 + i as f64;
            let mut before = vec![0.0; len];
            let mut all = Vec::new();
            for (rank, result) in results.iter().enumerate() {
                assert_eq!(result.1, before, "scan on node {rank} of {nodes}");
                all.extend_from_slice(&before);
                for (i, b) in before.iter_mut().enumerate() {
                    *b = if rank == 0 { value(0, i) } else { *b + value(rank, i) };
                }
            }
            for result in &results {
                assert_eq!(result.0, before);
                assert_eq!(result.2, all);
                assert_eq!(result.3, results[nodes - 1].1);
            }
        }
    }
}
