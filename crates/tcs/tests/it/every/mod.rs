//! Every pattern in a task, and what is to come of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic, its helpers too")]

use strata_runtime::Error;
use strata_tcs::patterns::{Form, Pattern, ReduceBroadcast, phases};
use strata_tcs::{App, Cell, Image, Options, Target, TaskId, link_with};

/// All patterns of a task.
pub(crate) struct All {
    pub(crate) image: Image,
    pub(crate) patterns: Vec<Pattern<u32>>,
    pub(crate) tree: ReduceBroadcast<u32>,
    pub(crate) cells: usize,
    pub(crate) width: usize,
}

pub(crate) fn width(cells: usize) -> usize {
    (1..=cells.isqrt()).rev().find(|height| cells.is_multiple_of(*height)).map_or(1, |height| cells / height)
}

pub(crate) fn describe(
    app: &mut App,
    task: TaskId,
    depth: usize,
) -> (Vec<Pattern<u32>>, ReduceBroadcast<u32>) {
    let cells = app[task].cells();
    let width = width(cells);
    let patterns = vec![
        Pattern::scatter(app, task, depth),
        Pattern::gather(app, task, depth),
        Pattern::exchange(app, task, &phases::shift(cells), depth),
        Pattern::halo(app, task, width, true, depth),
        Pattern::halo(app, task, width, false, depth),
        Pattern::transpose(app, task, width, depth),
        Pattern::row_broadcast(app, task, width, 1, depth),
        Pattern::column_broadcast(app, task, width, 0, depth),
    ];
    let tree = ReduceBroadcast::new(app, task, depth);
    (patterns, tree)
}

pub(crate) fn all(target: &Target, depth: usize) -> All {
    let mut app = App::new("patterns");
    let root = app.task("root", target.cells);
    let (patterns, tree) = describe(&mut app, root, depth);
    let options = Options { split: true, ..Options::default() };
    let image = link_with(&app, root, target, &options).unwrap();
    All { image, patterns, tree, cells: target.cells, width: width(target.cells) }
}

/// What cell `cell` gives as its block number `block`.
fn value(cell: usize, block: usize) -> u32 {
    (cell * 1000 + block) as u32
}

impl All {
    /// By pattern: what each cell is to get, its blocks' source and number there; `None` where
    /// nothing comes.
    fn expected(&self, pattern: usize, me: usize) -> Vec<Option<(usize, usize)>> {
        let (cells, width) = (self.cells, self.width);
        let height = cells / width;
        let (x, y) = (me % width, me / width);
        match pattern {
            0 => vec![Some((0, me))],
            1 if me == 0 => (0..cells).map(|from| Some((from, 0))).collect(),
            1 => Vec::new(),
            2 => (0..cells).map(|from| Some((from, me))).collect(),
            3 | 4 => {
                let wraps = pattern == 3;
                let neighbour = |dx: isize, dy: isize, way: usize| {
                    let (to_x, to_y) = (x as isize + dx, y as isize + dy);
                    let inside = (0..width as isize).contains(&to_x) && (0..height as isize).contains(&to_y);
                    let at = to_y.rem_euclid(height as isize) as usize * width
                        + to_x.rem_euclid(width as isize) as usize;
                    (wraps || inside).then_some((at, way))
                };
                // The eastern neighbour's western block, and so on.
                vec![neighbour(1, 0, 1), neighbour(-1, 0, 0), neighbour(0, 1, 3), neighbour(0, -1, 2)]
            }
            5 => {
                vec![(0..cells).find(|from| from % width * height + from / width == me).map(|from| (from, 0))]
            }
            6 => vec![Some((y * width + 1.min(width - 1), 0))],
            _ => vec![Some((x, 0))],
        }
    }

    pub(crate) fn check(&self, cell: &mut Cell<'_>, form: Option<Form>, length: usize) -> Result<(), Error> {
        let me = cell.id();
        for (number, pattern) in self.patterns.iter().enumerate() {
            let blocks = pattern.blocks(me)[0];
            let data: Vec<u32> = (0..blocks).flat_map(|block| vec![value(me, block); length]).collect();
            let came = match form {
                Some(form) => pattern.run_by(cell, form, &data, length)?,
                None => pattern.run(cell, &data, length)?,
            };
            let expected = self
                .expected(number, me)
                .into_iter()
                .flat_map(|from| vec![from.map_or(0, |(cell, block)| value(cell, block)); length]);
            assert_eq!(came.to_vec(), expected.collect::<Vec<_>>(), "{} at cell {me}", pattern.kind());
        }
        let mut values = vec![me as u32 + 1; length];
        let sum = |a: u32, b: u32| a.wrapping_mul(3).wrapping_add(b);
        match form {
            Some(form) => self.tree.reduce_by(cell, form, &mut values, sum)?,
            None => self.tree.reduce(cell, &mut values, sum)?,
        }
        // The same as up the tree by hand.
        fn up(at: usize, cells: usize, sum: &impl Fn(u32, u32) -> u32) -> u32 {
            let children = (at + 1..cells).filter(|child| child & (child - 1) == at);
            children.fold(at as u32 + 1, |value, child| sum(value, up(child, cells, sum)))
        }
        assert_eq!(values, vec![up(0, self.cells, &sum); length]);
        Ok(())
    }
}
