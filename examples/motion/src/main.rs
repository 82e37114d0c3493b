//! Finds what moves in a video of 256 x 240 pixels, scan line by scan line (Warfel 1996, chapter
//! 7): a gateway deals blocks of lines out to workers, another one collects what they find.
//!
//!     STRATA_ON=threads:6 cargo run --release -p strata-motion -- --out target/motion
//!     cargo run --release -p strata-motion -- --iwarp 10 --lines 1
//!     cargo run --release -p strata-motion -- --figures --frames 100
//!     STRATA_ON=threads:6 cargo run --release -p strata-motion -- --report
//!
//! The clip is made up: a bright ball before a slope of grey. With `--out` every frame is written
//! as a picture, what moves in red. The masks are compared with those of a sequential detector.

#![forbid(unsafe_code)]

use clap::Parser;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use strata_motion::{HEIGHT, Motion, Moves, Seen, WIDTH, clip, iwarp, sequential};
use strata_runtime::prelude::*;
use strata_tcs::{Options, Target, run, simulate};

/// Finds what moves in a made-up video.
///
/// Runs on the nodes that `STRATA_ON` or mpirun says, at least 5: a camera, two gateways, a
/// display, and workers.
#[derive(Parser)]
struct Cli {
    /// Scan lines of a block.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=240))]
    lines: u16,
    /// Frames.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    frames: u32,
    /// Simulates iWarp with so many workers, and prints the latency there.
    #[arg(long, value_name = "WORKERS", value_parser = clap::value_parser!(u16).range(1..=60))]
    iwarp: Option<u16>,
    /// Clocks of a task's start and end on iWarp; lines are lost where they do not fit between two.
    #[arg(long, value_name = "CLOCKS", default_values_t = [225.0, 60.0], num_args = 2)]
    costs: Vec<f64>,
    /// Fills and drains a worker in one task, as eight workers need it on iWarp.
    #[arg(long)]
    together: bool,
    /// Simulates every row of the thesis's Figs 7.2 (no pixel moves) and 7.3 (every pixel moves).
    #[arg(long)]
    figures: bool,
    /// Writes the frames there, as PNG files.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Prints what the linker found, and ends.
    #[arg(long)]
    report: bool,
}

fn main() -> Result<(), Error> {
    let cli = Cli::parse();
    let lines = usize::from(cli.lines);
    let frames = cli.frames as usize;
    let moves = if cli.together { Moves::Together } else { Moves::Apart };
    if cli.figures {
        return figures(frames);
    }
    if let Some(workers) = cli.iwarp {
        let motion = Motion::on_iwarp(workers.into(), lines, moves, cli.costs[0], cli.costs[1])?;
        if cli.report {
            print!("{}", motion.image().report());
            return Ok(());
        }
        let run = simulate(motion.image(), |cell| motion.body(cell, frames, clip))?;
        let lost: usize = run.results.iter().map(|ended| ended.lost).sum();
        let busy: f64 = run.results.iter().map(|ended| ended.busy).sum();
        let seen = run.results.into_iter().find_map(|ended| ended.seen).unwrap_or_default();
        check(&seen, frames)?;
        println!(
            "{workers} workers, blocks of {lines} lines: latency {:.0} clocks, workers in use {:.1} %, {lost} lines lost",
            mean(&seen.latencies),
            100.0 * busy / (f64::from(workers) * seen.clocks),
        );
        return cli.out.as_deref().map_or(Ok(()), |out| pictures(&seen, out));
    }
    launch(|node| {
        let Some(workers) = node.size().checked_sub(Motion::OTHERS).filter(|workers| *workers > 0) else {
            return Err(Error::program(format!(
                "{} nodes: take at least 5, for example STRATA_ON=threads:6",
                node.size()
            )));
        };
        let target = Target::here(node);
        let motion = Motion::with(workers, lines, moves, &target, &Options::default())?;
        if node.rank() == 0 && !target.guarantees() {
            eprintln!(
                "note: nothing is reserved: what the links of this machine carry is not known; STRATA_MODELS names \
                 models of `specc calibrate specs/tcs/bandwidth --upper 99%`"
            );
        }
        if cli.report {
            if node.rank() == 0 {
                print!("{}", motion.image().report());
            }
            return Ok(());
        }
        let start = node.now().get();
        let ended = run(node, motion.image(), |cell| motion.body(cell, frames, clip))?;
        let seconds = node.now().get() - start;
        if let Some(seen) = ended.and_then(|ended| ended.seen) {
            check(&seen, frames)?;
            println!(
                "{workers} workers, blocks of {lines} lines: {} frames in {:.1} ms, {:.0} a second",
                frames,
                1e3 * seconds,
                cli.frames as f64 / seconds
            );
            cli.out.as_deref().map_or(Ok(()), |out| pictures(&seen, out))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Rows of Figs 7.2 and 7.3: simulated, and measured on iWarp.
fn figures(frames: usize) -> Result<(), Error> {
    let [start, end] = iwarp::motion::START_END;
    for (figure, rows, frame) in [
        ("7.2, no pixel moves", iwarp::motion::STILL, (|_| vec![7; WIDTH * HEIGHT]) as fn(usize) -> Vec<u8>),
        ("7.3, every pixel moves", iwarp::motion::NOISE, iwarp::motion::noise),
    ] {
        println!("Fig {figure}; {frames} frames, 10 workers: clocks simulated (measured, of 100 frames)\n");
        println!("| lines of a block | latency | completion | workers in use |\n|---|---|---|---|");
        for (lines, measured) in rows {
            let motion = Motion::on_iwarp(10, lines, Moves::Apart, start, end)?;
            let run = simulate(motion.image(), |cell| motion.body(cell, frames, frame))?;
            let busy: f64 = run.results.iter().map(|ended| ended.busy).sum();
            let seen = run.results.into_iter().find_map(|ended| ended.seen).unwrap_or_default();
            let [latency, completion, used] = measured;
            println!(
                "| {lines} | {:.0} ({latency}) | {:.0} ({completion}) | {:.1} % ({used} %) |",
                mean(&seen.latencies),
                seen.clocks,
                100.0 * busy / (10.0 * seen.clocks)
            );
        }
        println!();
    }
    Ok(())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn check(seen: &Seen, frames: usize) -> Result<(), Error> {
    if seen.masks == sequential(frames, clip) {
        return Ok(());
    }
    Err(Error::program("the masks differ from those of a sequential detector"))
}

/// Writes every frame, with what moves in red.
fn pictures(seen: &Seen, folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for (number, masks) in seen.masks.iter().enumerate() {
        let pixels = clip(number);
        let colours = pixels.iter().enumerate().flat_map(|(at, grey)| {
            let moves = masks[at / WIDTH][at % WIDTH / 64] >> (at % 64) & 1 == 1;
            if moves { [220, 30, 30] } else { [*grey; 3] }
        });
        let file = std::fs::File::create(folder.join(format!("frame-{number:03}.png")))?;
        let mut encoder = png::Encoder::new(BufWriter::new(file), WIDTH as u32, HEIGHT as u32);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().map_err(Error::program)?;
        writer.write_image_data(&colours.collect::<Vec<u8>>()).map_err(Error::program)?;
    }
    Ok(())
}
