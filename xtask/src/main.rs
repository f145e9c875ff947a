//! The checks of this repository, as one program: `cargo xtask ci` is everything, the rest are its parts.
//!
//! ```text
//!   cargo xtask ci               every check, in order; the last line is «N passed, 0 failed»
//!   cargo xtask tidy [--bless]   the laws that a compiler does not know; --bless rewrites the hashes
//!   cargo xtask golden [DIR]     the programs of DIR, or the recorded ones, their traces compared with Lwt's
//!   cargo xtask behaviours [M…]  the behaviours of Lwt's modules M, or of all: which are shown by a test
//!   cargo xtask faults [A…]      the known faults in the areas A, or in all: which are shown not to be ours
//!   cargo xtask fuzz [TARGET] [--seconds N | FILE]   random inputs to the targets of fuzz/, for a minute
//!                                unless told otherwise; or one input, from a file, to one target
//! ```
//!
//! Not here: anything that a released program needs. No crate may depend on this one.

mod behaviours;
mod ci;
mod coverage;
mod faults;
mod fuzz;
mod lex;
mod step;
mod tidy;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask ci | tidy [--bless] | golden [DIR] | behaviours [MODULE…] | \
                     faults [AREA…] | fuzz [TARGET] [--seconds N | FILE]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = repository();
    let passed = match words.as_slice() {
        ["ci"] => ci::run(&root),
        ["tidy"] => tidy::run(&root, tidy::Hashes::Compare),
        ["tidy", "--bless"] => tidy::run(&root, tidy::Hashes::Rewrite),
        ["golden"] => ci::golden(&root, None),
        ["golden", folder] => ci::golden(&root, Some(folder)),
        ["behaviours", modules @ ..] => behaviours::run(&root, modules),
        ["faults", areas @ ..] => faults::run(&root, areas),
        ["fuzz", rest @ ..] => match fuzz::run(&root, &ci::target_folder(), rest) {
            Some(passed) => passed,
            None => return misused(),
        },
        _ => return misused(),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn misused() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The root of the repository: the folder above this package.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ stands in the repository").to_path_buf()
}
