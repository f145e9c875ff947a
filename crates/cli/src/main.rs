//! The program `lisle`: `bench` measures the library on this machine, `doctor` says which engine it would run
//! on and why.
//!
//! Exit codes: 0 when what was asked for was done, 1 when it could not be, 2 when the question was not
//! understood.

mod alloc;
mod args;
mod bench;
mod doctor;
mod output;

use args::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let answer = match Arguments::parse().command {
        Command::Bench(options) => bench::run(&options),
        Command::Doctor => doctor::run(),
    };
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("lisle: {message}");
            ExitCode::FAILURE
        }
    }
}
