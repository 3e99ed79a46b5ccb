//! The program `patchmg`.

fn main() -> std::process::ExitCode {
    patchmg_cli::main()
}
