// SPDX-License-Identifier: MIT
//! Finds libholdfast-extern by pkg-config, or compiles the C sources that come with this crate.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the .c files in a folder and its subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {}", folder.display(), error));
    for entry in entries {
        let path = entry.expect("can't read a folder").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().map_or(false, |extension| extension == "c") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Compiles all sources into one archive; the linker takes from it what a program needs.
fn compile() {
    let mut build = cc::Build::new();
    for folder in ["c/src", "c/extern"] {
        build.files(sources(Path::new(folder)));
        println!("cargo:rerun-if-changed={}", folder);
    }
    build
        .include("c/include")
        .define("HF_STATIC_LIBRARY", None)
        .flag("-std=gnu11")
        .flag("-fvisibility=hidden")
        .flag("-pthread")
        .opt_level(2)
        .compile("holdfast-extern");
    println!("cargo:rerun-if-changed=c/include");
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    println!("cargo:rerun-if-env-changed=HOLDFAST_SYS_BUNDLED");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no library
    }
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    assert_eq!(system, "linux", "Holdfast supports only Linux in user space");
    let bundled = env::var_os("CARGO_FEATURE_BUNDLED").is_some()
        || env::var("HOLDFAST_SYS_BUNDLED").map_or(false, |value| value == "1");
    // Before 1.0 a minor version may change what callers rely on.
    let number = |name: &str| -> u32 { env::var(name).unwrap().parse().unwrap() };
    let (major, minor) = (number("CARGO_PKG_VERSION_MAJOR"), number("CARGO_PKG_VERSION_MINOR"));
    let (this, next) = (format!("{}.{}.0", major, minor), format!("{}.{}.0", major, minor + 1));
    let found = !bundled
        && pkg_config::Config::new()
            .range_version(this.as_str()..next.as_str())
            .probe("holdfast-extern")
            .is_ok();
    if !found {
        compile();
    }
}
