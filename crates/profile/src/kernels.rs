//! Local work of common kinds, which `specs/kernels` times.

/// Relaxes the points of one colour of a grid by successive over-relaxation: those whose row and
/// column (from 1) add up to `colour`, modulo 2.
///
/// `grid` holds `height + 2` rows of `width + 2` values, the outermost being the border. Every
/// point becomes v + `omega`·(mean of its four neighbours − v). The neighbours have the other
/// colour, so the order does not matter. A whole iteration consists of both colours, each with its
/// neighbours' borders.
///
/// # Panics
/// `grid` is shorter than that.
///
/// # Participation
/// Local. Its kernel is `StencilSweep(width, height)`: one colour.
pub fn sweep(grid: &mut [f64], width: usize, height: usize, colour: usize, omega: f64) {
    let row = width + 2;
    for y in 1..=height {
        let (above, rest) = grid[(y - 1) * row..(y + 2) * row].split_at_mut(row);
        let (here, below) = rest.split_at_mut(row);
        let mut x = 1 + (y + 1 + colour) % 2;
        while x <= width {
            let mean = 0.25 * (above[x] + below[x] + here[x - 1] + here[x + 1]);
            here[x] += omega * (mean - here[x]);
            x += 2;
        }
    }
}

/// Copies every `stride`-th element of `source`, beginning with the first, until `packed` is full
/// or `source` ends.
///
/// # Participation
/// Local. Its kernel is `Pack(count, stride)`: `count` elements of 8 bytes. A stride of 0 counts as
/// 1.
pub fn pack<T: Copy>(source: &[T], stride: usize, packed: &mut [T]) {
    packed.iter_mut().zip(source.iter().step_by(stride.max(1))).for_each(|(to, from)| *to = *from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_relaxed_and_the_rest_stays() {
        for (width, height) in [(1, 1), (3, 2), (4, 5)] {
            let row = width + 2;
            let before: Vec<f64> = (0..row * (height + 2)).map(|i| (i * i % 7) as f64).collect();
            for colour in 0..2 {
                let mut grid = before.clone();
                sweep(&mut grid, width, height, colour, 1.5);
                for (at, (new, old)) in grid.iter().zip(&before).enumerate() {
                    let (y, x) = (at / row, at % row);
                    let inside = (1..=height).contains(&y) && (1..=width).contains(&x);
                    let expected = if inside && (x + y) % 2 == colour {
                        let mean =
                            0.25 * (before[at - row] + before[at + row] + before[at - 1] + before[at + 1]);
                        old + 1.5 * (mean - old)
                    } else {
                        *old
                    };
                    assert_eq!(*new, expected, "{x} {y} of {width} x {height}");
                }
            }
        }
        sweep(&mut [], 0, 0, 0, 1.0);
    }

    #[test]
    fn strides_are_packed() {
        let source: Vec<u32> = (0..10).collect();
        let mut packed = [99; 5];
        pack(&source, 3, &mut packed);
        assert_eq!(packed, [0, 3, 6, 9, 99]);
        pack(&source, 0, &mut packed);
        assert_eq!(packed, [0, 1, 2, 3, 4]);
    }
}
