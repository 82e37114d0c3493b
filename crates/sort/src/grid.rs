//! An exchange of blocks with all nodes in two steps, for sample sort in two levels.
//!
//! The nodes form a grid, of rows as even as the divisors of their number allow. In the first step
//! a node sends, for each row, one message with all blocks for nodes of that row, to the node of
//! that row in its own column; in the second that node sends each node of its row what has come for
//! it. That is about 2√P messages of a node, which are longer, where one step has P - 1: it pays
//! where blocks are short (M. Axtmann, T. Bingmann, P. Sanders and C. Schulz, "Practical massively
//! parallel sorting", SPAA 2015, whose levels sort groups of about √P nodes).
//!
//! **Precondition:** all elements of a message are at most 2^28 - 2 bytes with their counts, and
//! rows and columns together at most 256.

use crate::{mail, pool};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use strata_runtime::{Block, Node};

/// The nodes of a row: the greatest divisor of their number up to its root.
fn columns(nodes: usize) -> usize {
    (1..=nodes.isqrt()).rev().find(|columns| nodes.is_multiple_of(*columns)).unwrap_or(1)
}

/// Whether no message of so many bytes, with what it says of them, is too long.
pub(crate) fn applies(nodes: usize, bytes: usize) -> bool {
    let columns = columns(nodes);
    columns + nodes / columns <= mail::STREAMS && bytes.saturating_add(8 * nodes) <= mail::MOST
}

/// As [`Node::all_to_all_v`]. Collective.
pub(crate) fn all_to_all_v<T: Pod>(node: &mut Node, blocks: Vec<Block<T>>) -> Vec<Block<T>> {
    let (me, nodes) = (node.rank(), node.size());
    let columns = columns(nodes);
    let rows = nodes / columns;
    let (row, column) = (me / columns, me % columns);
    mail::with::<u8, _>(node, rows + columns, |node, mail| {
        // All nodes are ready to receive.
        node.barrier();
        for (to, blocks) in blocks.chunks(columns).enumerate() {
            let parts: Vec<&[T]> = blocks.iter().map(|block| &**block).collect();
            mail.send(node, to * columns + column, row, &pack(&parts));
        }
        blocks.into_iter().for_each(pool::give);
        let passing: Vec<Vec<Block<T>>> = (0..rows).map(|from| unpack(node, mail, from, columns)).collect();
        for to in 0..columns {
            let parts: Vec<&[T]> = passing.iter().map(|blocks| &*blocks[to]).collect();
            mail.send(node, row * columns + to, rows + column, &pack(&parts));
        }
        passing.into_iter().flatten().for_each(pool::give);
        // What has come through each column is ordered by row.
        let mut arrived: Vec<_> =
            (0..columns).map(|from| unpack(node, mail, rows + from, rows).into_iter()).collect();
        (0..nodes).filter_map(|from| arrived[from % columns].next()).collect()
    })
}

/// The lengths of some blocks, and the blocks.
fn pack<T: Pod>(blocks: &[&[T]]) -> Vec<u8> {
    let mut bytes: Vec<u8> = blocks.iter().flat_map(|block| block.len().to_le_bytes()).collect();
    blocks.iter().for_each(|block| bytes.extend_from_slice(cast_slice(block)));
    bytes
}

/// The `count` blocks of a stream.
fn unpack<T: Pod>(node: &mut Node, mail: &mail::Mail<u8>, stream: usize, count: usize) -> Vec<Block<T>> {
    let mut bytes = Vec::new();
    mail.receive(node, stream, &mut bytes);
    let (lens, mut rest) = bytes.split_at(count * size_of::<usize>());
    let next = |len: &[u8; size_of::<usize>()]| {
        let mut block = pool::take::<T>(usize::from_le_bytes(*len));
        let (now, later) = rest.split_at(size_of_val(&*block));
        cast_slice_mut(&mut block).copy_from_slice(now);
        rest = later;
        block
    };
    lens.as_chunks().0.iter().map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_runtime::Machine;

    #[test]
    fn every_block_comes_from_where_it_was_sent() {
        for nodes in [1, 2, 3, 6, 12, 16] {
            let run = Machine::threads(nodes).unwrap().run(|node| {
                let me = node.rank();
                let blocks = (0..nodes).map(|to| Block::from(&*vec![(me * 100 + to) as u32; (me + to) % 3]));
                let arrived = all_to_all_v(node, blocks.collect());
                Ok((0..nodes).all(|from| *arrived[from] == vec![(from * 100 + me) as u32; (me + from) % 3]))
            });
            assert!(run.unwrap().iter().all(|right| *right), "{nodes} nodes");
        }
        assert_eq!([1, 2, 12, 33, 64, 97].map(columns), [1, 1, 3, 3, 8, 1]);
    }
}
