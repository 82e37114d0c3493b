//! Patterns that move blocks of one length. Each is described once and carried out by connection
//! sets or by ordinary messages, whichever form models of the machine predict to be faster.

use super::forms::{Form, Kind};
use super::phases::Phase;
use crate::describe::{App, Connection, TaskId};
use crate::link::schedule::Schedule;
use crate::run::{Cell, Sent};
use crate::shape::{Path, square};
use bytemuck::Pod;
use strata_runtime::{Block, Error};

crate::communication! {
    networks {
        /// The connections of a phase of a pattern.
        pub Moves
    }
    sets {
        /// A phase of a pattern.
        pub Move: Moves;
    }
}

/// A pattern of blocks, described in a task whose cells all take part.
///
/// | pattern | a cell gives | and gets |
/// |---|---|---|
/// | [`scatter`](Self::scatter) | cell 0: a block for each cell | a block |
/// | [`gather`](Self::gather) | a block | cell 0: a block of each cell |
/// | [`exchange`](Self::exchange) | a block for each cell | a block of each cell |
/// | [`halo`](Self::halo) | blocks for its neighbours east, west, south and north | theirs, from east, west, south and north |
/// | [`transpose`](Self::transpose) | a block | that of the cell which is mirrored to it |
/// | [`row_broadcast`](Self::row_broadcast), [`column_broadcast`](Self::column_broadcast) | the root of each line: a block | the block |
#[derive(Clone, Debug)]
pub struct Pattern<T> {
    kind: Kind,
    /// By cell: number of blocks that it sends and receives.
    blocks: Vec<[usize; 2]>,
    phases: Vec<Ends<T>>,
    /// The set number of the first phase.
    first: usize,
    /// Blocks that stay on their cell: the cell, and the block's number as sent and as received.
    stay: Vec<[usize; 3]>,
    depth: usize,
}

/// The sends and receives of a phase, by cell.
type Ends<T> = Vec<[Vec<End<T>>; 2]>;

/// One end of a block's transfer.
#[derive(Clone, Copy, Debug)]
struct End<T> {
    other: usize,
    /// The number of the block at this end, and at the other end.
    block: [usize; 2],
    lane: Connection<T, Moves>,
}

/// A move: source cell and block number, target cell and block number, preferred path.
type Moved = ([usize; 2], [usize; 2], Option<Path>);

impl<T: Pod> Pattern<T> {
    /// A block from cell 0 to each cell, itself included.
    pub fn scatter(app: &mut App, task: TaskId, depth: usize) -> Self {
        let cells = app[task].cells();
        let blocks = (0..cells).map(|cell| [if cell == 0 { cells } else { 0 }, 1]).collect();
        let moves = (0..cells).map(|to| ([0, to], [to, 0], None)).collect();
        Self::new(app, task, Kind::Scatter, blocks, vec![moves], depth)
    }

    /// A block from each cell to cell 0.
    pub fn gather(app: &mut App, task: TaskId, depth: usize) -> Self {
        let cells = app[task].cells();
        let blocks = (0..cells).map(|cell| [1, if cell == 0 { cells } else { 0 }]).collect();
        let moves = (0..cells).map(|from| ([from, 0], [0, from], None)).collect();
        Self::new(app, task, Kind::Gather, blocks, vec![moves], depth)
    }

    /// A block from each cell to each (personalised all-to-all), in these phases: see
    /// [`phases::best`](super::phases::best).
    pub fn exchange(app: &mut App, task: TaskId, phases: &[Phase], depth: usize) -> Self {
        let cells = app[task].cells();
        let moved =
            |(from, to, path): &(usize, usize, Option<Path>)| ([*from, *to], [*to, *from], path.clone());
        let mut moves: Vec<Vec<Moved>> =
            phases.iter().map(|phase| phase.iter().map(moved).collect()).collect();
        moves.push((0..cells).map(|cell| ([cell, cell], [cell, cell], None)).collect());
        Self::new(app, task, Kind::Exchange, vec![[cells, cells]; cells], moves, depth)
    }

    /// Blocks between neighbours in a grid of `width` columns, by rows; a torus if it `wraps`. A
    /// cell at an edge receives zeros from outside.
    pub fn halo(app: &mut App, task: TaskId, width: usize, wraps: bool, depth: usize) -> Self {
        let cells = app[task].cells();
        let [width, height] = grid(cells, width);
        let step = |at: usize, by: isize, n: usize| {
            let to = at as isize + by;
            let inside = (0..n as isize).contains(&to);
            (inside || wraps).then(|| to.rem_euclid(n as isize) as usize)
        };
        let mut moves = Vec::new();
        for cell in 0..cells {
            let (x, y) = (cell % width, cell / width);
            let to = [
                step(x, 1, width).map(|x| (x, y)),
                step(x, -1, width).map(|x| (x, y)),
                step(y, 1, height).map(|y| (x, y)),
                step(y, -1, height).map(|y| (x, y)),
            ];
            for (way, to) in to.into_iter().enumerate() {
                // A block sent east is received from the west.
                let place = way ^ 1;
                moves.extend(to.map(|(x, y)| ([cell, way], [y * width + x, place], None)));
            }
        }
        Self::new(app, task, Kind::Halo, vec![[4, 4]; cells], vec![moves], depth)
    }

    /// Transposes a grid of blocks: the block in column x and row y, of `width` columns, moves to
    /// column y and row x.
    pub fn transpose(app: &mut App, task: TaskId, width: usize, depth: usize) -> Self {
        let cells = app[task].cells();
        let [width, height] = grid(cells, width);
        let moved = |cell: usize| ([cell, 0], [cell % width * height + cell / width, 0], None);
        let moves = (0..cells).map(moved).collect();
        Self::new(app, task, Kind::Transpose, vec![[1, 1]; cells], vec![moves], depth)
    }

    /// A block from the cell in column `root` of each row of a grid to the others of the row.
    pub fn row_broadcast(app: &mut App, task: TaskId, width: usize, root: usize, depth: usize) -> Self {
        let cells = app[task].cells();
        let [width, _] = grid(cells, width);
        let from = |cell: usize| cell - cell % width + root.min(width - 1);
        Self::broadcast(app, task, Kind::Row, from, depth)
    }

    /// A block from the cell in row `root` of each column of a grid to the others of the column.
    pub fn column_broadcast(app: &mut App, task: TaskId, width: usize, root: usize, depth: usize) -> Self {
        let cells = app[task].cells();
        let [width, height] = grid(cells, width);
        let from = |cell: usize| root.min(height - 1) * width + cell % width;
        Self::broadcast(app, task, Kind::Column, from, depth)
    }

    fn broadcast(
        app: &mut App,
        task: TaskId,
        kind: Kind,
        from: impl Fn(usize) -> usize,
        depth: usize,
    ) -> Self {
        let cells = app[task].cells();
        let blocks = (0..cells).map(|cell| [usize::from(from(cell) == cell), 1]).collect();
        let moves = (0..cells).map(|cell| ([from(cell), 0], [cell, 0], None)).collect();
        Self::new(app, task, kind, blocks, vec![moves], depth)
    }

    fn new(
        app: &mut App,
        task: TaskId,
        kind: Kind,
        blocks: Vec<[usize; 2]>,
        phases: Vec<Vec<Moved>>,
        depth: usize,
    ) -> Self {
        let cells = blocks.len();
        let task = &mut app[task];
        task.use_messages();
        let first = task.unused::<Move>();
        let mut this = Self { kind, blocks, phases: Vec::new(), first, stay: Vec::new(), depth };
        for moves in phases {
            let number = first + this.phases.len();
            let mut ends: Ends<T> = vec![Default::default(); cells];
            for ([from, given], [to, got], path) in moves {
                if from == to {
                    this.stay.push([from, given, got]);
                    continue;
                }
                let lane = task.connect_in(number, from, to);
                task.depth(lane, depth);
                if let Some(path) = path {
                    task.prefer(lane, path);
                }
                ends[from][0].push(End { other: to, block: [given, got], lane });
                ends[to][1].push(End { other: from, block: [got, given], lane });
            }
            if ends.iter().any(|[sends, _]| !sends.is_empty()) {
                task.set_in::<Move>(number);
                this.phases.push(ends);
            }
        }
        this
    }

    /// The kind of the pattern.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The numbers of blocks that a cell sends and receives.
    #[must_use]
    pub fn blocks(&self, cell: usize) -> [usize; 2] {
        self.blocks.get(cell).copied().unwrap_or_default()
    }

    /// Its schedule, as the linker made it.
    ///
    /// # Participation
    /// Local. The job ends if the pattern was described in another task.
    #[must_use]
    #[track_caller]
    pub fn schedule(&self, cell: &mut Cell<'_>) -> Schedule {
        cell.schedule::<Move>(self.first..self.first + self.phases.len())
    }

    /// Moves blocks of `length` elements: sends the blocks in `data`, and returns those received.
    /// Uses the [form](Kind::choose) that is predicted to be the fastest; any if all blocks stay on
    /// their cells.
    ///
    /// # Participation
    /// Collective over the task's cells, with the same length.
    ///
    /// # Errors
    /// If `data` does not hold the number of blocks that this cell sends, or a setting is invalid.
    #[track_caller]
    pub fn run(&self, cell: &mut Cell<'_>, data: &[T], length: usize) -> Result<Block<T>, Error> {
        if self.phases.is_empty() {
            return self.run_by(cell, Form::Sets, data, length);
        }
        let schedule = self.schedule(cell);
        let form = self.kind.choose(cell, &schedule, length * size_of::<T>())?;
        self.run_by(cell, form, data, length)
    }

    /// As [`run`](Self::run), in this form.
    ///
    /// # Participation
    /// As [`run`](Self::run), with the same form on all cells.
    ///
    /// # Errors
    /// If `data` does not hold the number of blocks that this cell sends.
    #[track_caller]
    pub fn run_by(
        &self,
        cell: &mut Cell<'_>,
        form: Form,
        data: &[T],
        length: usize,
    ) -> Result<Block<T>, Error> {
        let me = cell.id();
        let [gives, gets] = self.blocks(me);
        if data.len() != gives * length || cell.cells() != self.blocks.len() {
            return Err(Error::program(format!(
                "{}: {} elements, where cell {me} of {} gives {gives} blocks of {length}",
                self.kind,
                data.len(),
                self.blocks.len()
            )));
        }
        let mut result = Block::zeroed(gets * length);
        for [_, given, got] in self.stay.iter().filter(|[cell, ..]| *cell == me) {
            result[got * length..][..length].copy_from_slice(&data[given * length..][..length]);
        }
        if length == 0 {
            return Ok(result);
        }
        match form {
            Form::Sets => self.by_sets(cell, data, length, &mut result)?,
            Form::Messages => result = self.by_messages(cell, data, length, result),
        }
        Ok(result)
    }

    #[track_caller]
    fn by_sets(&self, cell: &mut Cell<'_>, data: &[T], length: usize, result: &mut [T]) -> Result<(), Error> {
        let me = cell.id();
        // If a block fits the buffer, its sender continues before it is received.
        let fits = length * size_of::<T>() <= self.depth;
        for (number, ends) in (self.first..).zip(&self.phases) {
            let [sends, receives] = &ends[me];
            cell.phases_in::<Move>(number, |net| {
                let active = |end: &&End<T>| net.has(end.lane);
                let here: Vec<&End<T>> = receives.iter().filter(active).collect();
                let there: Vec<&End<T>> = sends.iter().filter(active).collect();
                let mut spools = Vec::new();
                if !fits && !there.is_empty() {
                    spools.extend(
                        here.iter().map(|end| net.spool_receive(end.lane, vec![T::zeroed(); length])),
                    );
                }
                for end in there {
                    net.send(end.lane, &data[end.block[0] * length..][..length]);
                }
                let mut spools = spools.into_iter();
                for end in here {
                    let place = &mut result[end.block[0] * length..][..length];
                    match spools.next() {
                        Some(spool) => place.copy_from_slice(&net.finish(spool)),
                        None => net.receive(end.lane, place),
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    #[track_caller]
    fn by_messages(&self, cell: &mut Cell<'_>, data: &[T], length: usize, result: Block<T>) -> Block<T> {
        let me = cell.id();
        let ends = |way: usize| self.phases.iter().flat_map(move |ends| &ends[me][way]);
        let expected = ends(1).count() * length;
        let sent = |end: &End<T>| {
            let [from, at] = end.block.map(|block| block * length);
            Sent { to: end.other, from, at }
        };
        let blocks: Vec<Sent> = ends(0).map(sent).collect();
        cell.deposit((data, length), &blocks, result, expected)
    }
}

/// Columns and rows of a grid of this many cells; the number of columns changes if the cells do not
/// fill rows of `width`.
fn grid(cells: usize, width: usize) -> [usize; 2] {
    let fits = width > 0 && cells.is_multiple_of(width);
    if fits { [width, cells / width] } else { square(cells) }
}
