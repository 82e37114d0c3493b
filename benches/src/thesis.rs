//! Models that Brewer (1994) prints, in microseconds on 64 nodes.

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

/// In the order of the figures. The strips of `cm5` are damaged: on large grids they take less than no
/// time.
pub const STENCILS: [Stencil; 4] = [
    Stencil {
        machine: "cm5",
        layouts: [[0.0, 0.0, 0.0, 3.47], [0.2343, 2.47, 19.78, -0.01034], [349.3, 3.753, 1.941, 0.02131]],
        errors: [0.03968, 0.01672, 0.0113],
    },
    Stencil {
        machine: "alewife",
        layouts: [[249.7, -31.09, -31.35, 4.1], [77.91, 0.0, 12.16, 0.04393], [123.1, 2.716, 1.205, 0.04406]],
        errors: [0.06839, 0.02341, 0.01004],
    },
    Stencil {
        machine: "paragon",
        layouts: [
            [231.2, -29.45, -29.56, 3.98],
            [118.2, -0.4669, 13.82, 0.05118],
            [172.6, 3.013, 0.9967, 0.04531],
        ],
        errors: [0.04176, 0.01989, 0.01403],
    },
    Stencil {
        machine: "atm",
        layouts: [
            [247.8, -28.96, -28.61, 3.932],
            [282.7, -0.6255, 15.86, 0.06819],
            [589.4, 15.08, 0.0, 0.0621],
        ],
        errors: [0.04285, 0.01703, 0.01366],
    },
];

impl Stencil {
    /// The machine of this name.
    #[must_use]
    pub fn of(machine: &str) -> Option<&'static Self> {
        STENCILS.iter().find(|stencil| stencil.machine == machine)
    }

    /// What an iteration takes in a layout. Rows are contiguous here, columns in the thesis: its width
    /// is the height.
    #[must_use]
    pub fn microseconds(&self, layout: usize, [width, height]: [usize; 2]) -> f64 {
        let [one, strided, contiguous, area] = self.layouts[layout];
        let (width, height) = (width as f64, height as f64);
        one + strided * height + contiguous * width + area * width * height
    }
}
