//! The provenance of a report: machine, spec, samples, versions.

use strata_model::samples::{Sample, VERSION as SAMPLES_VERSION};
use strata_model::set::VERSION as SET_VERSION;
use strata_model::{Platform, count};

use crate::Report;
use crate::html::{Escaped, Page};

/// A machine in words.
pub(crate) fn machine(platform: &Platform) -> String {
    let nodes = count(platform.nodes, "node", "nodes");
    let cores = count(platform.cores, "core", "cores");
    format!("{nodes} on {}; {}, {cores}, {} {}", platform.transport, platform.cpu, platform.os, platform.arch)
}

/// The section of provenance.
pub(crate) fn section(page: &mut Page, report: &Report<'_>) {
    let Report { set, samples, .. } = report;
    page.add(format_args!(
        "<section aria-labelledby=\"provenance\">\n<h2 id=\"provenance\">Where this comes from</h2>\n<dl>\n"
    ));
    let mut item = |name: &str, value: &str| {
        page.add(format_args!("<dt>{name}</dt><dd>{}</dd>\n", Escaped(value)));
    };
    match set.platform.as_ref().or(samples.platform.as_ref()) {
        Some(platform) => {
            item("Machine", &machine(platform));
            item("Caches", &platform.cache);
        }
        None => item("Machine", "not told by the samples"),
    }
    if set.busy > 0.0 {
        let busy = format!("other programs kept {:.1} cores busy, which the nodes lacked", set.busy);
        item("Meanwhile", &busy);
    }
    match &set.spec {
        Some(spec) => item("Spec", &format!("{}, sha256 {}", spec.path, spec.sha256)),
        None => item("Spec", "not told by the samples; each column was taken for a term"),
    }
    let rows = || samples.models.iter().flat_map(|m| &m.rows);
    let held_out = rows().filter(|row| row.verify).count();
    let total = |of: fn(&Sample) -> u32| rows().map(|row| u64::from(of(row))).sum::<u64>();
    let hash = if set.samples_sha256.is_empty() {
        String::new()
    } else {
        format!(", sha256 {}", set.samples_sha256)
    };
    item("Samples", &format!("{} to fit, {held_out} held out{hash}", rows().count() - held_out));
    let (repeats, preempted) = (total(|row| row.notes.repeats), total(|row| row.notes.preempted));
    if repeats + preempted > 0 {
        item(
            "Timings",
            &format!(
                "{repeats} count; {preempted} were preempted, which count only where nodes outnumber cores or others are too few"
            ),
        );
    }
    item("Model set", &format!("sha256 {}", set.digest()));
    item(
        "Program",
        &format!(
            "Strata {}; samples of version {SAMPLES_VERSION}, model sets of version {SET_VERSION}",
            env!("CARGO_PKG_VERSION")
        ),
    );
    page.add(format_args!("</dl>\n</section>\n"));
}
