//! `specc platform run`.

use strata_screen::Failure;

use super::args::RunOf;
use super::machine_load::cores;
use crate::drive::{On, OwnProgram};

/// Builds and runs a package's own program; ends as it does.
pub(super) fn run(args: RunOf) -> Result<(), Failure> {
    let on: On = args.on.parse().map_err(|error| Failure::Usage(format!("--on: {error}")))?;
    let (nodes, hosts) = match args.nodes {
        Some(layout) => (layout.nodes(), layout.hosts()),
        None => (cores(), None),
    };
    on.check(nodes, hosts, args.launcher.as_ref())?;
    let program = OwnProgram {
        manifest: args.manifest_path,
        example: args.example.is_some(),
        name: args.example.or(args.bin),
        features: args.features,
    };
    let status = program.build(&on)?.run(args.launcher.as_ref(), nodes, hosts, &args.arguments)?;
    if status.success() {
        return Ok(());
    }
    let number = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(3);
    Err(Failure::Stage(number, format!("the program ended with {status}")))
}
