//! Models that Brewer (1994) prints, in microseconds on 64 nodes.

use chacha20::ChaCha8Rng;
use rand::RngExt as _;

/// A time that differs from a model's normally, by so much on average.
pub fn erring(modelled: f64, error: f64, random: &mut ChaCha8Rng) -> f64 {
    let [u, v] = [0; 2].map(|_| random.random_range(f64::MIN_POSITIVE..1.0));
    let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
    modelled * (1.0 + error * (std::f64::consts::PI / 2.0).sqrt() * normal)
}

/// A machine of figures 4-9 and 4-10.
#[derive(Clone, Copy, Debug)]
pub struct Stencil {
    /// Its name.
    pub machine: &'static str,
    /// An iteration on one node, in strips and in squares: the coefficients of 1, of the side whose
    /// edges are strided in memory, of the other one, and of their product.
    pub layouts: [[f64; 4]; 3],
    /// Their mean relative errors.
    pub errors: [f64; 3],
}

const fn stencil(machine: &'static str, layouts: [[f64; 4]; 3], errors: [f64; 3]) -> Stencil {
    Stencil { machine, layouts, errors }
}

/// In the order of the figures. The strips of `cm5` are damaged: on large grids they take less than no
/// time.
pub const STENCILS: [Stencil; 4] = [
    stencil(
        "cm5",
        [[0.0, 0.0, 0.0, 3.47], [0.2343, 2.47, 19.78, -0.01034], [349.3, 3.753, 1.941, 0.02131]],
        [0.03968, 0.01672, 0.0113],
    ),
    stencil(
        "alewife",
        [[249.7, -31.09, -31.35, 4.1], [77.91, 0.0, 12.16, 0.04393], [123.1, 2.716, 1.205, 0.04406]],
        [0.06839, 0.02341, 0.01004],
    ),
    stencil(
        "paragon",
        [[231.2, -29.45, -29.56, 3.98], [118.2, -0.4669, 13.82, 0.05118], [172.6, 3.013, 0.9967, 0.04531]],
        [0.04176, 0.01989, 0.01403],
    ),
    stencil(
        "atm",
        [[247.8, -28.96, -28.61, 3.932], [282.7, -0.6255, 15.86, 0.06819], [589.4, 15.08, 0.0, 0.0621]],
        [0.04285, 0.01703, 0.01366],
    ),
];

impl Stencil {
    /// The machine of this name.
    pub fn of(machine: &str) -> Option<&'static Self> {
        STENCILS.iter().find(|stencil| stencil.machine == machine)
    }

    /// What an iteration takes in a layout. Rows are contiguous here, columns in the thesis: its width
    /// is the height.
    pub fn microseconds(&self, layout: usize, [width, height]: [usize; 2]) -> f64 {
        let [one, strided, contiguous, area] = self.layouts[layout];
        let (width, height) = (width as f64, height as f64);
        one + strided * height + contiguous * width + area * width * height
    }
}

/// A machine of figures 4-15 and 4-16.
#[derive(Clone, Copy, Debug)]
pub struct Sorts {
    /// Its name.
    pub machine: &'static str,
    /// Radix sort: the coefficients of 1, of the passes, of a digit's values, of both, and of passes and
    /// keys a node.
    radix: [f64; 5],
    /// Sample sort but for the sort of its samples: of 1 and of the keys.
    sample: [f64; 2],
    /// Their mean relative errors.
    pub errors: [f64; 2],
}

const fn sorts(machine: &'static str, radix: [f64; 5], sample: [f64; 2], errors: [f64; 2]) -> Sorts {
    Sorts { machine, radix, sample, errors }
}

/// The radix sort of `paragon`, printed again for `atm`.
const PARAGON: [f64; 5] = [502.0, 67.78, 0.0, 18.84, 28.16];

/// In the order of table 4-4.
pub const SORTS: [Sorts; 4] = [
    sorts("alewife", [481.0, 57.83, 0.0, 18.51, 6.41], [11_651.0, 15.02], [0.0181, 0.0302]),
    sorts("cm5", [464.16, 0.0, 11.41, 0.0, 9.92], [26_344.0, 16.79], [0.0133, 0.0286]),
    sorts("paragon", PARAGON, [16_663.0, 36.8], [0.0196, 0.0322]),
    sorts("atm", PARAGON, [16_515.0, 70.86], [0.0221, 0.0344]),
];

impl Sorts {
    /// What a sort of `keys` keys a node takes, by digits of so many bits or else by samples.
    pub fn microseconds(&self, bits: Option<u32>, keys: usize, width: u32) -> f64 {
        let Some(bits) = bits else {
            return self.microseconds(Some(8), 64, 32) + self.sample[0] + self.sample[1] * keys as f64;
        };
        let (passes, bins) = (f64::from(width.div_ceil(bits)), f64::from(1 << bits));
        let terms = [1.0, passes, bins, passes * bins, passes * keys as f64];
        self.radix.iter().zip(terms).map(|(coefficient, term)| coefficient * term).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{SORTS, STENCILS};

    /// Up to how many keys a node radix sort by 4 bits and then by 10 bits is predicted to be the fastest,
    /// by table 4-4. Its other four rows are not what the printed models say.
    #[test]
    fn the_printed_models_give_table_4_4_and_no_fixed_sort_does() {
        for (machine, width, ends) in [
            ("alewife", 24, [1295, 0]),
            ("alewife", 32, [817, 0]),
            ("cm5", 16, [580, 6597]),
            ("cm5", 24, [386, 1551]),
            ("cm5", 32, [290, 879]),
            ("paragon", 8, [661, 10_000]),
            ("paragon", 16, [553, 0]),
            ("paragon", 32, [215, 0]),
        ] {
            let sorts = SORTS.iter().find(|sorts| sorts.machine == machine).unwrap();
            let ways = [Some(4), Some(10), None];
            let best = |keys: &usize| {
                let times = ways.map(|way| sorts.microseconds(way, *keys, width));
                (0..3).min_by(|a, b| times[*a].total_cmp(&times[*b])).unwrap()
            };
            let last = |way: usize| (1..=10_000).rev().find(|keys| best(keys) == way).unwrap_or(0);
            let found = [0, 1].map(last);
            let near = |at: usize| found[at].abs_diff(ends[at]) <= 1;
            assert!(near(0) && near(1), "{machine}, {width} bits: {found:?}, {ends:?}");
            assert!((1..=10_000).map(|keys| best(&keys)).any(|way| way != 0), "{machine}, {width} bits");
        }
    }

    /// Figures 4-9 and 4-10: long grids in strips, square ones in squares, small ones on one node.
    #[test]
    fn no_fixed_layout_is_the_best_on_all_grids() {
        for stencil in STENCILS.iter().filter(|stencil| stencil.machine != "cm5") {
            let best = |grid| {
                let times = [0, 1, 2].map(|layout| stencil.microseconds(layout, grid));
                (0..3).min_by(|a, b| times[*a].total_cmp(&times[*b])).unwrap()
            };
            let found = [[8, 8], [64, 4000], [2000, 2000]].map(best);
            assert_eq!(found, [0, 1, 2], "{}", stencil.machine);
        }
    }
}
