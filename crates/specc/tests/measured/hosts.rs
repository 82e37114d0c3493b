//! Hosts: a spec with the input `hosts`, measured on a simulated machine of two levels on 1, 2 and
//! 4 hosts, whose models choose by them.

use std::fs;
use std::path::Path;

use super::{ROOT, run};

/// A switch of slow links between hosts of fast ones.
fn platform() -> String {
    let file = fs::read_to_string(Path::new(ROOT).join("crates/sim/platforms/ethernet-25g.toml")).unwrap();
    let (costs, network) = file.split_once("[topology]").unwrap();
    let costs = costs.replace("name = \"ethernet-25g\"", "name = \"two-level\"");
    let costs = costs.replace("latency_ns = 1464", "latency_ns = 100");
    let network = network.replace("latency_ns = 150", "latency_ns = 2000");
    let network = network.replace("bandwidth_mb_per_s = 3125", "bandwidth_mb_per_s = 250");
    format!("{costs}[host]\nnodes = 4\nbandwidth_mb_per_s = 10000\nlatency_ns = 100\n\n[topology]{network}")
}

/// Packing by 3 cycles a byte pays on links between hosts alone.
const SPEC: &str = include_str!("hosts.spec");

/// Exit status and output of `specc` in a folder.
fn specc(folder: &Path, arguments: &str) -> (Option<i32>, String) {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let (status, out, err) = run(folder, env!("CARGO_BIN_EXE_specc"), &arguments);
    (status, out + &err)
}

#[test]
fn choices_follow_the_hosts() {
    // In the workspace, wherever its target is: specs belong to packages.
    let folder = Path::new(ROOT).join("target/hosts");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("two.toml"), platform()).unwrap();
    fs::write(folder.join("sum.spec"), SPEC).unwrap();
    let ok = |arguments: &str| {
        let (status, said) = specc(&folder, arguments);
        assert_eq!(status, Some(0), "{arguments}: {said}");
        said
    };
    let fails = |arguments: &str, why: &str| {
        let (status, said) = specc(&folder, arguments);
        let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
        assert!(status != Some(0) && words.join(" ").contains(why), "{arguments}: {said}");
    };
    ok("platform check two.toml");
    ok("calibrate sum.spec --on sim:two.toml --nodes 1x4,2x2,4x1 --budget 20s -o out");
    let samples = fs::read_to_string(folder.join("out/samples.txt")).unwrap();
    assert!(samples.contains("platform sim:two-level nodes=4 hosts=1-4 "), "{samples:.300}");
    assert!(ok("show out/models.toml Plain").contains("hosts in 1..=4, 4 nodes"));
    for (layout, taken) in [("1x4", "plain"), ("2x2", "packed"), ("4x1", "packed")] {
        let said = ok(&format!("choose out/models.toml sum words=5000 --nodes {layout}"));
        assert!(said.starts_with(&format!("sum: {taken}, predicted")), "{layout}: {said}");
    }
    fails("predict out/models.toml Plain words=5000 --nodes 8x1", "predicts nothing here");
    fails("predict out/models.toml Plain words=5000 hosts=2 --nodes 4x1", "contradicts `hosts=2`");

    // Models without the input hold on the hosts that were measured.
    let plain = SPEC.split("/// Packed").next().unwrap();
    let blind =
        plain.replace(", hosts)", ")").replace("terms words, (1, words) by (hosts > 1, log2(hosts))", "");
    fs::write(folder.join("blind.spec"), blind).unwrap();
    ok("calibrate blind.spec --on sim:two.toml --nodes 1x4 --budget 20s -o blind");
    ok("predict blind/models.toml Plain words=5000 --nodes 1x4");
    fails("predict blind/models.toml Plain words=5000 --nodes 4x1", "are of 1 host, not of 4 hosts");

    fails("calibrate sum.spec --on sim:cm5 --nodes 2x2 -o no", "has no table `[host]`");
    fails("profile blind.spec --on threads --nodes 2x2 -o no", "measured on sim, not on threads");
    for (wrong, why) in [
        ("0x4", "`0` is not in 1..=4096"),
        ("2x", "a number is missing"),
        ("3x-1", "`-1` is not in"),
        ("x", "a number is missing"),
        ("2x2x2", "`2x2` is not in"),
        ("100x100", "more than 4096"),
    ] {
        fails(&format!("choose out/models.toml sum words=5000 --nodes {wrong}"), why);
    }
}
