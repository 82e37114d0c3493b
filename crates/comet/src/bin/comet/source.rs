//! Where the benchmark's specs are: in the sources that this program was built from, else written
//! out of the program itself.

use std::fs;
use std::path::{Path, PathBuf};

use specc::cli::measure::write;
use strata_comet::suite::Kernel;
use strata_model::codegen::toml_string;
use strata_screen::Failure;

/// The spec files of these kernels.
///
/// A spec is compiled in the package whose folder holds it. Where this program was built from a
/// clone of Strata that still lies there, that is the benchmark's own package; otherwise specs and
/// a package that depends on the benchmark are written into the output folder.
pub(crate) fn files(kernels: &[&Kernel], output: &Path) -> Result<Vec<PathBuf>, Failure> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let specs = sources.join("specs");
    let same =
        |kernel: &&Kernel| fs::read_to_string(specs.join(file(kernel))).is_ok_and(|text| text == kernel.spec);
    if sources.join("Cargo.toml").is_file() && kernels.iter().all(same) {
        return Ok(kernels.iter().map(|kernel| specs.join(file(kernel))).collect());
    }
    written(kernels, output, &dependency(sources))
}

fn file(kernel: &Kernel) -> String {
    format!("{}.spec", kernel.name)
}

/// Where the written package has the benchmark from.
fn dependency(sources: &Path) -> String {
    if sources.join("Cargo.toml").is_file() {
        return format!("path = {}", toml_string(&sources.to_string_lossy()));
    }
    format!("version = {}", toml_string(&format!("={}", env!("CARGO_PKG_VERSION"))))
}

fn written(kernels: &[&Kernel], output: &Path, dependency: &str) -> Result<Vec<PathBuf>, Failure> {
    let package = output.join("package");
    for folder in [package.join("src"), package.join("specs")] {
        fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    }
    let manifest = format!(
        "# Written by `comet`: the package in which the benchmark's specs are compiled.\n[package]\n\
         name = \"comet-here\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\nstrata-comet = {{ {dependency} }}\n"
    );
    write(&package.join("Cargo.toml"), &manifest)?;
    write(&package.join("src/lib.rs"), "//! The benchmark's specs lie in `specs`.\n")?;
    let mut paths = Vec::new();
    for kernel in kernels {
        let path = package.join("specs").join(file(kernel));
        write(&path, kernel.spec)?;
        paths.push(path);
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_comet::suite::KERNELS;

    #[test]
    fn specs_lie_beside_the_sources_or_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<&Kernel> = KERNELS.iter().collect();
        let here = files(&all, folder.path()).unwrap();
        assert!(here.iter().all(|path| path.is_file()) && !folder.path().join("package").exists());
        let out = written(&all, folder.path(), "version = \"=0.1.0\"").unwrap();
        assert!(out.iter().all(|path| path.is_file()));
        let manifest = fs::read_to_string(folder.path().join("package/Cargo.toml")).unwrap();
        assert!(manifest.contains("strata-comet = { version = \"=0.1.0\" }"), "{manifest}");
        assert!(dependency(Path::new("/nowhere/strata-comet-0.1.0")).starts_with("version = \"="));
    }
}
