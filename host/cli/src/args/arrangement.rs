//! The order of the help: `-h` has the options that people use, `--help` all of them, under headings.

use super::case::PAPERS;
use clap::Arg;

/// What `-h` shows, of the commands that have it.
const FIRST: [&str; 20] = [
    "file",
    "system",
    "dim",
    "degree",
    "refine",
    "problem",
    "mesh",
    "solver",
    "precision",
    "rtol",
    "backend",
    "json",
    "csv",
    "latex",
    "vtu",
    "npz",
    "plot",
    "name",
    "repetitions",
    "against",
];

/// Headings, each with its options; others stand under none, or under that of their group.
const HEADINGS: [(&str, &[&str]); 7] = [
    ("Boxes", &["cells", "size", "diffusion", "reaction", "grading", "direct_nodes"]),
    ("Data", &["rhs", "coefficient", "boundary", "exact", "side"]),
    ("Method", &["restart", "cycle", "smoother", "smoother_degree", "damping", "max_iters", "start_from"]),
    (PAPERS, &["kernel", "variant", "local", "thread_structure", "patches_per_block"]),
    ("Files", &["vtu_scalar"]),
    ("Machine", &["device", "threads", "dry_run", "no_errors", "verbose", "quiet"]),
    (
        "Suites and comparisons",
        &["only", "output", "quick", "max_dofs", "report", "resume", "fresh", "result", "margin", "warmup"],
    ),
];

/// Where an argument stands.
pub fn arranged(argument: Arg) -> Arg {
    let id = argument.get_id().to_string();
    let is_first = FIRST.contains(&&*id);
    let heading = HEADINGS.iter().find(|(_, ids)| ids.contains(&&*id)).map(|(heading, _)| *heading);
    let argument = argument.hide_short_help(!is_first);
    match heading {
        Some(heading) => argument.help_heading(heading),
        None if is_first => argument.help_heading(None::<&str>),
        None => argument,
    }
}
