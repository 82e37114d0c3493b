//! The temperature of a plate, hot along its northern edge, cold along the others but for the
//! insulated western one, as a picture.
//!
//! The same program runs on threads (`STRATA_ON=threads:4`), on a simulated machine
//! (`STRATA_ON=sim:cm5:16`) and, built with `--features mpi`, under `mpirun -n 4`.

use clap::Parser;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strata_runtime::prelude::*;
use strata_stencil::{Edge, Grid, Side, snapshot::Snapshot};

/// Compute the temperature of a heated plate on several nodes, and write it as a PNG.
///
/// STRATA_ON=threads:4 says on how many threads to run; without it one for each core. STRATA_PIN
/// fixes the layout, as in STRATA_PIN=stencil=columns:2:1, and STRATA_MODELS=FILE chooses by other
/// models.
///
/// Exit status: 0 done; 1 the plate or a setting is at fault, or the picture cannot be written; 2
/// wrong usage.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 90)]
struct Cli {
    /// Points from west to east.
    width: usize,
    /// Points from north to south.
    height: usize,
    /// The picture to write.
    picture: PathBuf,
    /// Say which layout was chosen, and why.
    #[arg(long)]
    explain: bool,
    /// End when the largest update, in degrees, is below this.
    #[arg(long, default_value_t = 1e-4)]
    threshold: f64,
    /// End after so many iterations at the latest.
    #[arg(long, default_value_t = 20_000)]
    iterations: u64,
    /// Write the temperatures at the end to this file, which `numpy.load` reads, and `--resume`.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Go on from temperatures that `--save` wrote, with whatever number of nodes.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Said before the work, not after it.
    if let Some(folder) = cli.picture.parent().filter(|folder| *folder != Path::new("") && !folder.is_dir()) {
        eprintln!("heat: there is no folder {} for the picture", folder.display());
        return ExitCode::FAILURE;
    }
    match launch(|node| heat(node, &cli)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heat: {error}");
            ExitCode::FAILURE
        }
    }
}

fn heat(node: &mut Node, cli: &Cli) -> Result<(), Error> {
    let before = cli.resume.as_ref().map(Snapshot::<f64>::read).transpose()?;
    if let Some((file, before)) = cli.resume.as_ref().zip(before.as_ref())
        && before.size() != [cli.width, cli.height]
    {
        let [width, height] = before.size();
        return Err(Error::program(format!("{} has {width} by {height} points", file.display())));
    }
    let plate = Grid::new(cli.width, cli.height)
        .initial(|x, y| before.as_ref().map_or(0.0, |before| before.at(x, y)))
        .boundary(Side::North, Edge::value(100.0))
        .boundary(Side::West, Edge::insulated())
        .threshold(cli.threshold)
        .iterations(cli.iterations)
        .check_every(10)
        .progress(|state| {
            if state.iteration % 1000 == 0 {
                eprintln!("{} iterations, largest update {:.2e}", state.iteration, state.residual);
            }
        })
        .solve(node)?;
    if let Some(file) = &cli.save {
        plate.save(node, file)?;
    }
    let temperatures = plate.gather(node);
    if let Some(temperatures) = temperatures {
        if cli.explain
            && let Some(choice) = &plate.choice
        {
            println!("{choice}");
        }
        println!("{plate}");
        let at =
            |error: io::Error| Error::program(format!("cannot write {}: {error}", cli.picture.display()));
        write(&cli.picture, plate.size(), &temperatures).map_err(at)?;
    }
    Ok(())
}

/// Writes temperatures from 0 to 100, row by row, as colours. The picture appears whole or not at
/// all: it is written under another name, which is changed at the end.
fn write(path: &Path, size: [usize; 2], temperatures: &[f64]) -> io::Result<()> {
    let [width, height] = size.map(|points| u32::try_from(points).unwrap_or(u32::MAX));
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let mut file = BufWriter::new(File::create(&partial)?);
    let mut picture = png::Encoder::new(&mut file, width, height);
    picture.set_color(png::ColorType::Rgb);
    let pixels: Vec<u8> = temperatures.iter().flat_map(|temperature| colour(temperature / 100.0)).collect();
    let mut rows = picture.write_header()?;
    rows.write_image_data(&pixels)?;
    rows.finish()?;
    file.flush()?;
    std::fs::rename(&partial, path)
}

/// Black, red, yellow, white, for 0 to 1.
fn colour(heat: f64) -> [u8; 3] {
    [0.0, 1.0, 2.0].map(|from| ((3.0 * heat - from).clamp(0.0, 1.0) * 255.0) as u8)
}
