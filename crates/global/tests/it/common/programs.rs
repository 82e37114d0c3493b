//! The programs of `examples/`, which test their own results.

#[path = "../../../../../examples/global_product.rs"]
mod global_product;
#[path = "../../../../../examples/global_sort.rs"]
mod global_sort;

use strata_runtime::prelude::*;

pub(crate) fn check(node: &mut Node) -> Result<(), Error> {
    for (keys, bits) in [(0, 8), (1, 16), (300, 8), (777, 11)] {
        global_sort::seconds(node, keys, bits)?;
    }
    for n in [1, 2, 9, 24] {
        global_product::mflops(node, n)?;
    }
    Ok(())
}
