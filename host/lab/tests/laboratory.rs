//! The command line of `patchmg-lab`: suites, comparisons and kernels.

#[path = "../../../tests/common/program.rs"]
mod common;

use assert_cmd::Command;
use common::{SLOWER, USAGE, has_gpu, laboratory, patchmg, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn suite(folder: &Path, arguments: &[&str]) -> Output {
    let start = ["bench", "--suite", "paper1", "--quick", "--backend", "cpu", "--output", folder.to_str().unwrap()];
    laboratory(&[&start[..], arguments].concat())
}

#[test]
fn a_suite_writes_its_files_and_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("new");
    let only = ["--only", "table3", "--max-dofs", "4000"];
    let output = suite(&folder, &only);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("Table 3") && !stdout(&output).contains("earlier run"), "{}", stdout(&output));

    let json = std::fs::read_to_string(folder.join("table3.json")).unwrap();
    let results: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&results["suite"], &results["experiment"], &results["backend"]),
        (&"paper1".into(), &"table3".into(), &"cpu".into())
    );
    let rows = results["rows"].as_array().unwrap();
    let computed = rows.iter().filter(|row| row["skipped"].is_null()).count();
    assert!(0 < computed && computed < rows.len());
    assert_eq!(
        rows.iter().find(|row| row["series"].as_str().unwrap().contains("patches")).unwrap()["paper"]["iterations"],
        6.0
    );
    let csv = std::fs::read_to_string(folder.join("table3.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + rows.len());
    assert!(std::fs::read_to_string(folder.join("table3.svg")).unwrap().contains("Table 3"));
    assert!(std::fs::read_to_string(folder.join("README.md")).unwrap().contains("table3.svg"));

    let again = suite(&folder, &only);
    assert!(stdout(&again).contains(&format!("{computed} of them from an earlier run")), "{}", stdout(&again));
    assert!(std::fs::read_to_string(folder.join("table3.json")).unwrap() == json, "every digit is kept");
    let fresh = suite(&folder, &[&only[..], &["--fresh"]].concat());
    assert!(!stdout(&fresh).contains("earlier run"), "{}", stdout(&fresh));
}

/// Every file of a folder, with its contents.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap_or_default())).collect();
    files.sort();
    files
}

#[test]
fn a_suite_loses_no_results_of_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let only = ["--only", "table2", "--max-dofs", "400", "--threads", "1"];
    let run = |more: &[&str]| suite(folder, &[&only[..], more].concat());
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (json, readme) = (folder.join("table2.json"), folder.join("README.md"));
    let written: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let refused = |more: &[&str], parts: &[&str]| {
        let before = contents(folder);
        let output = run(more);
        assert_eq!(output.status.code(), Some(USAGE), "{more:?}: {}", stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{more:?}: no '{part}' in {}", stderr(&output));
        }
        assert_eq!(contents(folder), before, "{more:?}: something was touched");
    };
    let other_settings = ["table2.json", "--output", "another folder", "--fresh"];
    refused(&["--repetitions", "7"], &[&other_settings[..], &["repetitions 3 there, 7 now"]].concat());
    refused(&["--warmup", "7", "--resume"], &[&other_settings[..], &["warmup 1 there, 7 now"]].concat());
    let not_quick = ["bench", "--suite", "paper1", "--backend", "cpu", "--output", folder.to_str().unwrap()];
    let before = contents(folder);
    let output = laboratory(&[&not_quick[..], &only].concat());
    assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
    assert!(stderr(&output).contains("quick there, full now"), "{}", stderr(&output));
    assert_eq!(contents(folder), before);

    // Of another version, as a program of tomorrow would find them.
    let mut other = written.clone();
    other["version"] = "0.0.1".into();
    other["commit"] = "0123abc".into();
    for row in other["rows"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("origin");
    }
    std::fs::write(&json, other.to_string()).unwrap();
    refused(&[], &["version 0.0.1 there", "commit 0123abc there", "--resume", "--fresh"]);
    let output = run(&["--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("to be recorded again"), "{}", stdout(&output));
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(0), "the rows are those of this program: {}", stderr(&output));

    // Damaged, and of others.
    let whole = std::fs::read(&json).unwrap();
    std::fs::write(&json, &whole[..whole.len() / 2]).unwrap();
    for more in [&[][..], &["--resume"]] {
        refused(more, &["table2.json", "no results of an experiment", "--fresh"]);
    }
    std::fs::remove_file(&json).unwrap();
    refused(&[], &["table2.csv", "--fresh"]);
    std::fs::write(&json, &whole).unwrap();
    std::fs::write(&readme, "# Mine\n").unwrap();
    refused(&[], &["README.md", "no page of a suite"]);
    std::fs::remove_file(&readme).unwrap();
    std::fs::write(&json, "{").unwrap();
    let output = run(&["--fresh"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = suite(folder, &["--fresh", "--resume"]);
    assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
}

#[test]
fn a_page_blames_the_option_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (results, page, nowhere) = (path("results"), path("page.md"), path("nowhere"));
    std::fs::create_dir(&results).unwrap();
    std::fs::write(path("file"), "").unwrap();
    let link = path("link");
    std::os::unix::fs::symlink(&nowhere, &link).unwrap();
    let report =
        |output: &str, page: &str| laboratory(&["bench", "--suite", "paper1", "--output", output, "--report", page]);
    for (output, page, blamed, value) in [
        (&nowhere, &page, "--output", &nowhere),
        (&path("file"), &page, "--output", &path("file")),
        (&link, &page, "--output", &link),
        (&results, &path("nowhere/page.md"), "--report", &path("nowhere/page.md")),
        (&results, &path("file/page.md"), "--report", &path("file/page.md")),
        (&results, &link, "--report", &link),
    ] {
        let found = report(output, page);
        assert_eq!(found.status.code(), Some(USAGE), "{output} {page}: {}", stderr(&found));
        let told = format!("'{value}' for '{blamed}'");
        assert!(stderr(&found).contains(&told), "no '{told}' in {}", stderr(&found));
    }
    let found = laboratory(&["bench", "--suite", "paper1", "--quick", "--backend", "cpu", "--output", &link]);
    assert_eq!(found.status.code(), Some(USAGE), "{}", stderr(&found));
    assert!(stderr(&found).contains("a link that leads nowhere"), "{}", stderr(&found));
    let found = report(&results, &page);
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
}

#[test]
fn a_suite_refuses_what_it_does_not_have() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, parts) in [
        (&["--only", "table4"][..], &["--only", "'table4'", "table3", "figure20"][..]),
        (&["--degree", "3"], &["--suite", "--degree"]),
        (&["--max-dofs", "0"], &["--max-dofs", "at least 1"]),
    ] {
        let output = suite(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {}", stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{arguments:?}: no '{part}' in {}", stderr(&output));
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written on wrong usage");
    for arguments in [&["--suite", "paper9"][..], &["--only", "table3"], &["--quick"]] {
        let output = laboratory(&[&["bench", "--backend", "cpu"][..], arguments].concat());
        assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {}", stderr(&output));
    }
    let output = suite(Path::new("/dev/null/results"), &[]);
    assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
    assert!(stderr(&output).contains("--output"), "{}", stderr(&output));
}

#[test]
fn the_suite_speed_prints_and_writes_one_table_of_all_that_it_measured() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let only = ["operator", "solve", "start", "memory", "forests", "forests_once"].map(|name| ["--only", name]);
    let only = [&only.concat()[..], &["--max-dofs", "4000"]].concat();
    let start = ["bench", "--suite", "speed", "--quick", "--backend", "cpu", "--threads", "2", "--output", folder];
    let output = laboratory(&[&start[..], &only].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(Path::new(folder).join("README.md")).unwrap();
    for part in [
        "measured",
        "floor",
        "ratio",
        "target",
        "least",
        "verdict",
        "kernels kept",
        "GMRES, L = 2",
        "ns/DoF",
        "cycle 1",
    ] {
        assert!(stdout(&output).contains(part) && page.contains(part), "no '{part}' in: {}", stdout(&output));
    }
    let results = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(Path::new(folder).join(name)).unwrap()).unwrap()
    };
    let value = |results: &Value, row: usize, name: &str| results["rows"][row]["values"][name].as_f64();
    let start = results("start.json");
    let [slowest, setup, solve] = ["max", "setup_s", "solve_s"].map(|name| value(&start, 0, name).unwrap());
    assert!(slowest > setup + solve, "a process does more than it says of itself: {start}");
    let memory = results("memory.json");
    // Full multigrid in f64, 1331 unknowns of 12^3 and a guard: no more than six vectors.
    let [measured, allowed] = ["measured", "floor"].map(|name| value(&memory, 2, name).unwrap());
    assert!(1331.0 * 8.0 * 2.0 * 1e-9 < measured && measured < allowed, "{memory}");
    assert!(allowed < 6.0 * 8.0 * 2.0 * 1331.0 * 1e-9, "{memory}");
    let [asked, ratio] = ["asked", "ratio"].map(|name| value(&memory, 2, name).unwrap());
    assert_eq!((asked, ratio), (measured, 100.0 * asked / allowed), "{memory}");
    for (name, rows) in [("forests.json", 4), ("forests_once.json", 2)] {
        let results = results(name);
        assert!((0..rows).all(|row| value(&results, row, "measured").unwrap() > 0.0), "{results}");
    }
    let operator = results("operator.json");
    assert!(value(&operator, 0, "ns_per_dof").unwrap() > 0.0 && value(&operator, 0, "floor").is_none(), "{operator}");
}

#[test]
fn the_suite_of_paper_4_runs_to_its_end_and_says_what_needs_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output =
        laboratory(&["bench", "--suite", "paper4", "--quick", "--backend", "cpu", "--threads", "2", "--output", path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    for name in (2..=4).map(|table| format!("table{table}")).chain((5..=14).map(|figure| format!("figure{figure}"))) {
        assert!(page.contains(&format!("<!-- {name} -->\n")), "{name}");
        for extension in ["json", "csv", "svg"] {
            assert!(folder.path().join(&name).with_extension(extension).is_file(), "{name}.{extension}");
        }
    }
    for part in ["needs a GPU", "register (ours)", "(5361)", "| ours f32 |"] {
        assert!(page.contains(part), "no '{part}' in: {page}");
    }
}

#[test]
fn the_suite_of_paper_2_runs_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output =
        laboratory(&["bench", "--suite", "paper2", "--quick", "--backend", "cpu", "--threads", "2", "--output", path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    let results = |name: &str| -> Value {
        assert!(page.contains(&format!("<!-- {name} -->\n")), "{name}");
        serde_json::from_slice(&std::fs::read(folder.path().join(name).with_extension("json")).unwrap()).unwrap()
    };
    for name in ["steps", "figure4", "figure5", "figure6", "figure8", "figure9", "figure10", "figure13", "table2"] {
        let results = results(name);
        let rows = results["rows"].as_array().unwrap();
        let runs = |row: &Value| row["skipped"].as_str().is_none_or(|why| why.starts_with("needs a GPU"));
        assert!(rows.iter().any(|row| row["skipped"].is_null()) && rows.iter().all(runs), "{results}");
    }
    let value = |results: &Value, row: usize, name: &str| results["rows"][row]["values"][name].as_f64();
    // Table 1, L = 3: Q3 and Q4 by each local solver, which take the same iterations.
    let table = results("table1");
    let [exact, cg] = [0, 2].map(|row| value(&table, row, "nu").unwrap());
    assert!((exact - 3.3).abs() < 0.1 && (exact - cg).abs() < 0.01, "{table}");
    assert!(page.contains("(2.800)") && page.contains("(2.600)"), "{page}");
    let local = results("figure10");
    let [step, residual, solves] = ["time_ms", "residual_ms", "local_ms"].map(|name| value(&local, 0, name).unwrap());
    approx::assert_relative_eq!(step, 4.0 * 2.0 * (residual + solves), max_relative = 1e-9);
}

#[test]
fn the_suite_of_paper_3_runs_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output =
        laboratory(&["bench", "--suite", "paper3", "--quick", "--backend", "cpu", "--threads", "2", "--output", path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    let results = |name: &str| -> Value {
        assert!(page.contains(&format!("<!-- {name} -->\n")), "{name}");
        serde_json::from_slice(&std::fs::read(folder.path().join(name).with_extension("json")).unwrap()).unwrap()
    };
    for name in (1..=7).map(|table| format!("table{table}")).chain((2..=4).map(|figure| format!("figure{figure}"))) {
        let results = results(&name);
        assert!(results["rows"].as_array().unwrap().iter().all(|row| row["skipped"].is_null()), "{results}");
    }
    let value = |results: &Value, row: usize, name: &str| results["rows"][row]["values"][name].as_f64();
    // The ball of 56 cells, as deal.II solves it.
    let table = results("table7");
    for name in ["steps", "residuals", "linear_iterations"] {
        assert_eq!(value(&table, 0, name), value(&table, 0, &format!("dealii_{name}")), "{table}");
    }
    // Mixed precision does what double precision does.
    let table = results("table2");
    let [double, mixed] = [0, 1].map(|row| ["iterations", "l2_error"].map(|name| value(&table, row, name).unwrap()));
    assert_eq!(double[0], mixed[0]);
    approx::assert_relative_eq!(double[1], mixed[1], max_relative = 1e-4);
    assert!(page.contains("on one NVIDIA Tesla P100") && page.contains("- (5.050)"), "{page}");
}

/// Results of a suite, `factor` times as slow, without the rows from `rows` on.
fn slowed(path: &Path, factor: f64, rows: usize) -> String {
    let mut results: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let all = results["rows"].as_array_mut().unwrap();
    all.truncate(rows);
    for row in all {
        row["values"]["measured"] = (factor * row["values"]["measured"].as_f64().unwrap()).into();
    }
    results.to_string()
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let results = file("results");
    let run = ["bench", "--suite", "speed", "--quick", "--backend", "cpu", "--only", "solve", "--output", &*results];
    let output = laboratory(&run);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let measured = folder.path().join("results/solve.json");
    for (name, factor, rows) in [("faster", 0.5, 9), ("slower", 2.0, 9), ("missing", 1.0, 2)] {
        std::fs::write(file(name), slowed(&measured, factor, rows)).unwrap();
    }

    let compare = |earlier: &str, now: &str, more: &[&str]| {
        let output = laboratory(&[&["bench", "--against", earlier, "--result", now], more].concat());
        (output.status.code().unwrap(), stdout(&output).to_string() + stderr(&output))
    };
    let (same, slower) = (measured.to_str().unwrap(), file("slower"));
    for (earlier, now, margin, code, told) in [
        (same, same, "0", 0, "0 slower, 0 faster, 8 same, 0 missing, 0 new"),
        (&*results, same, "10", 0, "8 same"),
        (same, &slower, "10", SLOWER, "4 slower"),
        (same, &slower, "99", SLOWER, "+100.0 %"),
        (same, &slower, "101", 0, "0 slower"),
        (&slower, same, "10", 0, "4 faster"),
        (same, &file("faster"), "10", 0, "4 faster"),
        (same, &file("missing"), "10", SLOWER, "4 missing"),
        (&file("missing"), same, "10", 0, "4 new"),
    ] {
        let (found, text) = compare(earlier, now, &["--margin", margin]);
        assert!(found == code && text.contains(told), "{earlier} {now} {margin}: {found}, no '{told}' in {text}");
    }
    let (_, text) = compare(same, &slower, &[]);
    assert!(text.contains("solve: GMRES, L = 2, 3D, k = 3, L = 2, mixed") && text.contains("ns/DoF"), "{text}");

    // What is kept from the first run is compared as if it was measured again.
    let again = |earlier: &str| laboratory(&[&run[..], &["--against", earlier]].concat()).status.code();
    assert_eq!([again(same), again(&slower), again(&file("faster"))], [Some(0), Some(0), Some(SLOWER)]);
}

#[test]
fn results_that_cannot_be_compared_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let problem = ["bench", "--backend", "cpu", "--dim", "2", "--degree", "2", "--refine", "2", "--repetitions", "1"];
    let (one, text) = (file("one.json"), file("text.json"));
    assert_eq!(laboratory(&[&problem[..], &["--json", &one]].concat()).status.code(), Some(0));
    std::fs::write(&text, "no results").unwrap();
    // A margin that no time exceeds.
    let wide = ["--margin", "1e9"];
    let same = laboratory(&[&problem[..], &["--against", &one], &wide].concat());
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));
    assert!(stdout(&same).contains("7 same") || stdout(&same).contains("faster"), "{}", stdout(&same));

    let suite = ["bench", "--backend", "cpu", "--suite", "speed", "--only", "solve", "--quick", "--output"];
    let results = file("results");
    let (nothing, other) = (file("nothing.json"), [&problem[..9], &["--precision", "f32", "--rtol", "1e-5"]].concat());
    for (arguments, parts) in [
        ([&other[..], &["--against", &one]].concat(), vec!["precision", "f64", "f32"]),
        ([&problem[..], &["--against", &text]].concat(), vec!["text.json", "no result"]),
        ([&problem[..], &["--against", &nothing]].concat(), vec!["nothing.json"]),
        ([&problem[..], &["--against", &one, "--margin", "-1"]].concat(), vec!["--margin", "'-1'", "at least 0"]),
        (
            [&suite[..], &[&results, "--against", &one]].concat(),
            vec!["what was measured", "one problem", "speed, solve"],
        ),
        (vec!["bench", "--result", &one], vec!["--against"]),
        (vec!["bench", "--margin", "3"], vec!["--against"]),
    ] {
        let output = laboratory(&arguments);
        assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {}", stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{arguments:?}: no '{part}' in {}", stderr(&output));
        }
    }
    assert!(!Path::new(&results).join("solve.json").exists(), "refused before it is run");
}

fn kernels(arguments: &[&str]) -> Output {
    laboratory(&[&["kernels"][..], arguments].concat())
}

#[test]
fn kernels_are_listed_with_what_is_known_of_them() {
    let output = kernels(&["cg_3d_q4_smooth", "--dim", "3", "--degree", "4", "--scalar", "f64", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let list: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(list["arch"], "sm_90");
    let listed = list["kernels"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{list}");
    let kernel = &listed[0];
    assert_eq!(kernel["name"], "poisson_cg_3d_q4_smooth_f64");
    for (field, expected) in [("dim", 3), ("degree", 4)] {
        assert_eq!(kernel[field], expected, "{field}");
    }
    let number = |value: &Value| value.as_f64().unwrap();
    // A thread for each of the 7^2 columns of a patch.
    let patches = number(&kernel["patches"]);
    assert!(patches >= 1.0 && number(&kernel["threads"]) == 49.0 * patches, "{kernel}");
    let (block, patch) = (&kernel["shared_memory"]["block"], &kernel["shared_memory"]["patch"]);
    assert!(number(&block["wavefronts"]) > number(&block["excess"]));
    approx::assert_relative_eq!(
        number(&block["wavefronts"]),
        patches * number(&patch["wavefronts"]),
        max_relative = 1e-12
    );
    // Only with an assembler, and only with GPU kernels.
    assert_eq!(kernel["registers"].is_null(), list["ptxas_version"].is_null() || cfg!(not(feature = "cuda")));
    let instructions = &kernel["instructions"];
    assert_eq!(instructions.is_null(), cfg!(not(feature = "cuda")));
    if cfg!(feature = "cuda") {
        assert_eq!((&instructions["barrier"], &instructions["fma_f32"]), (&kernel["barriers"], &Value::from(0)));
        assert!(number(&instructions["fma_f64"]) > number(&instructions["add_f64"]));
    }
}

#[test]
fn the_table_of_kernels_has_a_row_for_each_and_fits_120_columns() {
    let narrow = ["kernel", "regs", "spills", "shared", "bars", "fma", "waves", "confl"];
    let wide = ["kernel", "registers", "shared/B", "spills/B", "barriers", "fma", "wavefronts", "conflicts"];
    for (more, headings) in [(&["divide"][..], narrow), (&["divide", "--wide"], wide)] {
        let output = kernels(more);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        for part in headings.into_iter().chain(["blas1_divide_f32", "blas1_divide_f64", "2 kernels", "ptxas"]) {
            assert!(stdout(&output).contains(part), "no '{part}' in: {}", stdout(&output));
        }
    }
    let output = kernels(&["sm90_contract"]);
    let rows: Vec<_> = stdout(&output).lines().filter(|line| line.contains("contract")).collect();
    assert!(rows.len() > 1 && rows.iter().all(|row| row.len() <= 120), "{rows:?}");
}

#[test]
fn kernels_that_do_not_exist_are_refused_with_similar_ones() {
    for arguments in [&["--ptx", "poisson_cg_3d_q4_smoth_f64"][..], &["--sass", "poisson_cg_3d_q4_smoth_f64"]] {
        let output = kernels(arguments);
        assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).contains("poisson_cg_3d_q4_smooth_f64"), "{}", stderr(&output));
    }
    for arguments in
        [&["--degree", "9", "--dim", "3"][..], &["--arch", "ninety"], &["--dim", "4"], &["--scalar", "f16"]]
    {
        let output = kernels(arguments);
        assert_eq!((output.status.code(), stdout(&output)), (Some(USAGE), ""), "{arguments:?}: {}", stderr(&output));
    }
    let output =
        Command::cargo_bin("patchmg-lab").unwrap().arg("kernels").env("PATCHMG_PTXAS", "/dev/null/ptxas").output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(stderr(&output).contains("PATCHMG_PTXAS"), "{}", stderr(&output));
}

#[test]
fn it_solves_on_a_gpu_also_by_the_papers_kernels() {
    let gpu: &[&str] = &["--backend", "cuda", "--variant", "basic"];
    for (arguments, variant) in [(&["--backend", "cpu"][..], "register"), (gpu, "basic")] {
        if arguments == gpu && !has_gpu() {
            continue;
        }
        let case = [&["solve", "--dim", "2", "--degree", "3", "--refine", "3", "--json", "-"], arguments].concat();
        // `patchmg` hands over where it does not have the kernels.
        for output in [laboratory(&case), patchmg(&case)] {
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let report: Value = serde_json::from_str(stdout(&output)).unwrap();
            assert_eq!((&report["variant"], &report["converged"]), (&variant.into(), &true.into()));
        }
    }
}

#[cfg(feature = "cuda")]
#[test]
fn the_ptx_of_a_kernel_is_printed_alone() {
    let output = kernels(&["--ptx", "poisson_cg_2d_q3_apply_f32"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).matches(".entry ").count(), 1);
    for part in [".target sm_80", ".entry poisson_cg_2d_q3_apply_f32(", "bar.sync"] {
        assert!(stdout(&output).contains(part), "no '{part}' in: {}", stdout(&output));
    }
}

#[test]
fn the_ptx_of_modules_is_written_to_a_folder() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("ptx");
    let output = kernels(&["smooth", "--dim", "2", "--degree", "3", "--ptx-folder", folder.to_str().unwrap()]);
    if cfg!(not(feature = "cuda")) {
        assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // All of a module's kernels, with its coefficients as operands.
    let text = std::fs::read_to_string(folder.join("poisson_cg_2d_q3.ptx")).unwrap();
    assert!(text.contains(".entry poisson_cg_2d_q3_apply_f64("));
    assert!(!text.contains("[poisson_cg_2d_q3_prolongate_add_f32_param_0"));
    let output = kernels(&["smoth", "--ptx-folder", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(USAGE), "{}", stderr(&output));
    std::fs::write(parent.path().join("file"), "").unwrap();
    let output = kernels(&["dots", "--ptx-folder", parent.path().join("file").to_str().unwrap()]);
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("file"), "{}", stderr(&output));
}
