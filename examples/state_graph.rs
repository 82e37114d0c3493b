//! Records what each node does during one radix sort, for `strata-job trace` to draw (Brewer, manual,
//! §10, Fig 2).
//!
//! Set `STRATA_TRACE=DIR` and, for example, `STRATA_ON=threads:8`; then `strata-job trace DIR --svg
//! FILE`. What comes first, `busy`, is the making of the keys.

use strata_runtime::prelude::*;
use strata_sort::{Options, Pin, sort_with};

/// Keys of each node.
const KEYS: usize = 1 << 18;

fn main() -> Result<(), Error> {
    let pin = Pin::parse("sort=radix:11")?;
    let options = Options::default().pin(pin);
    launch(|node| {
        let mut random = 1 + node.rank() as u64;
        let mut keys: Vec<u32> = std::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 32) as u32
        })
        .take(KEYS)
        .collect();
        node.barrier();
        sort_with(node, &mut keys, &options)?;
        Ok(())
    })?;
    Ok(())
}
