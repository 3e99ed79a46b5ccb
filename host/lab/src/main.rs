//! The program `patchmg-lab`.

fn main() -> std::process::ExitCode {
    patchmg_lab::commands::main()
}
