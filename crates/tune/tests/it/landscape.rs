//! U6: searches on made-up landscapes of 8 knobs with 35 options each (2.3e12 configurations).

use crate::common::landscape::{Landscape, final_time, quartiles};
use strata_tune::policy::{Generator, Search};

fn finals(search: Search, evaluations: u32) -> Vec<f64> {
    (0..24).map(|seed| final_time(&Landscape::new(seed), search, evaluations, seed)).collect()
}

#[test]
fn rated_quenching_comes_near_the_optimum() {
    let rated = finals(Search::Quench(Generator::Rated), 1500);
    let near = |finals: &[f64]| finals.iter().filter(|time| **time <= 1.15).count();
    assert!(near(&rated) >= 20, "{} of 24: {rated:?}", near(&rated));
    let uniform = finals(Search::Quench(Generator::Uniform), 1500);
    assert!(near(&uniform) <= 6, "the landscape is not easy: {uniform:?}");
    let soon = quartiles(&finals(Search::Quench(Generator::Rated), 500));
    assert!(soon[1] <= quartiles(&uniform)[1], "{soon:?}");
}

#[test]
fn equal_seeds_search_alike() {
    let again = |seed| final_time(&Landscape::new(3), Search::Quench(Generator::Rated), 200, seed);
    assert_eq!(again(1).to_bits(), again(1).to_bits());
    assert_ne!(again(1).to_bits(), again(2).to_bits());
}
