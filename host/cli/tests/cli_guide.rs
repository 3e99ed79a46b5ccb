//! The commands in `docs/guide`: every page's, in order, in a folder of its own, beside the output that the page shows.
//!
//! `docs/guide/README.md` has the rules. The Rust programs of the guide are documentation tests of the library.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What stands for lines, or the rest of a line, that are left out.
const ELLIPSIS: &str = "...";

/// Floating-point numbers agree to that: rounding differs with the width of vectors and the number of threads.
const TOLERANCE: f64 = 0.05;

/// Below that, residuals and errors are rounding.
const ROUNDING: f64 = 1e-12;

const TIMES: [&str; 5] = ["ns", "us", "ms", "s", "ns/DoF"];
const SIZES: [&str; 4] = ["B", "KiB", "MiB", "GiB"];

/// Something that a page asks for.
#[derive(Debug, PartialEq)]
enum Step {
    File { name: String, text: String },
    Command { line: String, shown: Vec<String> },
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files and commands of a page.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match language {
            "console" => {
                assert!(
                    block.first().is_some_and(|line| line.starts_with("$ ")),
                    "a console block begins with a command: {block:?}"
                );
                for line in block {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(command), _) => steps.push(Step::Command { line: command.to_owned(), shown: Vec::new() }),
                        (None, Some(Step::Command { shown, .. })) => shown.push(line.to_owned()),
                        (None, _) => unreachable!("the first line of a block is a command"),
                    }
                }
            }
            "toml" => {
                let title = block
                    .first()
                    .and_then(|line| line.strip_prefix("# "))
                    .and_then(|title| title.split([':', ' ']).next());
                if let Some(name) = title.filter(|name| name.ends_with(".toml")) {
                    steps.push(Step::File { name: name.to_owned(), text: block.join("\n") });
                }
            }
            _ => {}
        }
    }
    steps
}

/// A number: integers must be equal, others near.
fn same_number(shown: &str, said: &str) -> bool {
    let (Ok(a), Ok(b)) = (shown.parse::<f64>(), said.parse::<f64>()) else { return false };
    let integers = shown.parse::<i64>().is_ok() || said.parse::<i64>().is_ok();
    !integers && ((a - b).abs() <= TOLERANCE * a.abs().max(b.abs()) || a.abs().max(b.abs()) < ROUNDING)
}

fn same_line(shown: &str, said: &str) -> bool {
    let punctuation = |word: &str| word.trim_matches(|c| "(),;:".contains(c)).to_owned();
    let words = |line: &str| line.split_whitespace().map(punctuation).collect::<Vec<_>>();
    let (mut shown, mut said) = (words(shown), words(said));
    if shown.last().is_some_and(|word| word == ELLIPSIS) {
        shown.pop();
        said.truncate(shown.len());
    }
    let unit = |words: &[String], index: usize| {
        let word = words.get(index).map(String::as_str);
        [&TIMES[..], &SIZES[..]].iter().position(|units| word.is_some_and(|word| units.contains(&word)))
    };
    let measured = |index| unit(&shown, index).is_some() && unit(&shown, index) == unit(&said, index);
    let same = |index: usize| {
        let (a, b) = (&shown[index], &said[index]);
        let is_measured = measured(index + 1) && a.parse::<f64>().is_ok() && b.parse::<f64>().is_ok();
        a == b || is_measured || (index > 0 && measured(index)) || same_number(a, b)
    };
    shown.len() == said.len() && (0..shown.len()).all(same)
}

/// Whether `said` is `shown`, where a line `...` stands for any number of lines. Empty lines count for nothing.
fn same_output(shown: &[&str], said: &[&str]) -> bool {
    match shown.split_first() {
        None => said.is_empty(),
        Some((&ELLIPSIS, rest)) => (0..=said.len()).any(|skipped| same_output(rest, &said[skipped..])),
        Some((first, rest)) => {
            said.split_first().is_some_and(|(line, others)| same_line(first, line) && same_output(rest, others))
        }
    }
}

fn without_empty<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    lines.filter(|line| !line.trim().is_empty()).collect()
}

/// Does what a page asks for; what is wrong, if anything.
fn run(page: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("examples").canonicalize().unwrap(), folder.path().join("examples"))
        .unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_patchmg")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut wrong = String::new();
    let steps = steps(&std::fs::read_to_string(page).unwrap());
    for step in steps {
        match step {
            Step::File { name, text } => std::fs::write(folder.path().join(name), text).unwrap(),
            Step::Command { line, shown } => {
                let output = Command::new("bash")
                    .args(["-c", &format!("exec 2>&1\n{line}")])
                    .current_dir(folder.path())
                    .env("PATH", &path)
                    .env("LC_ALL", "C")
                    .env("CUDA_VISIBLE_DEVICES", "")
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&output.stdout);
                let shown = without_empty(shown.iter().map(String::as_str));
                if !output.status.success() || !same_output(&shown, &without_empty(said.lines())) {
                    let page = page.file_name().unwrap().display();
                    let shown = shown.join("\n");
                    writeln!(
                        wrong,
                        "{page}: $ {line}\n{}, the page shows\n{shown}\nbut the output is\n{said}",
                        output.status
                    )
                    .unwrap();
                }
            }
        }
    }
    wrong
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<_> =
        std::fs::read_dir(root().join("docs/guide")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.file_name().unwrap() != "README.md");
    pages.sort();
    pages
}

#[test]
fn commands_of_the_guide_say_what_it_shows() {
    let wrong: String = pages().iter().map(|page| run(page)).collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_index_has_every_page_and_each_page_leads_to_the_next() {
    let pages = pages();
    assert_eq!(pages.len(), 10);
    let names: Vec<_> = pages.iter().map(|page| page.file_name().unwrap().to_str().unwrap()).collect();
    let index = std::fs::read_to_string(root().join("docs/guide/README.md")).unwrap();
    for name in &names {
        assert!(index.contains(&format!("]({name})")), "{name} is not in the index");
    }
    for (page, next) in pages.iter().zip(&names[1..]) {
        let text = std::fs::read_to_string(page).unwrap();
        let last = text.trim_end().lines().last().unwrap();
        assert!(last.starts_with("Next: ") && last.contains(&format!("]({next})")), "{}: {last}", page.display());
    }
}

/// Files and headings that pages of the guide link to are there.
#[test]
fn links_of_the_guide_lead_somewhere() {
    let folder = root().join("docs/guide");
    for page in pages().into_iter().chain([folder.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in
            text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|link| !link.starts_with("http"))
        {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = std::fs::read_to_string(folder.join(file))
                .unwrap_or_else(|error| panic!("{}: {link}: {error}", page.display()));
            let anchor = |line: &str| {
                let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
                title.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect::<String>()
            };
            let found =
                heading.is_empty() || target.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
            assert!(found, "{}: {link}: no such heading", page.display());
        }
    }
}

#[test]
fn what_differs_is_found() {
    let said = ["no GPU", "level  cells", "1  4", "residual 6.117e-10, 2 iterations", "times  setup 2.07 ms, 3.1 KiB"];
    let same = |shown: &[&str]| same_output(shown, &said);
    assert!(same(&["...", "level cells", "1 4", "residual 6.118e-10, 2 iterations", "times setup 900 us, 2 MiB"]));
    assert!(same(&["...", "1 4", "residual ...", "..."]));
    // A line that is not there, another integer, another number, another word, and lines before and behind that are not marked.
    assert!(!same(&["...", "2 16", "..."]));
    assert!(!same(&["...", "residual 6.117e-10, 3 iterations", "..."]));
    assert!(!same(&["...", "residual 7.117e-10, 2 iterations", "..."]));
    assert!(!same(&["...", "reduction 6.117e-10, 2 iterations", "..."]));
    assert!(!same(&["level cells", "..."]));
    assert!(!same(&["...", "1 4"]));
    assert!(!same(&["...", "times setup 2.07 KiB, 3.1 ms"]));
    assert!(same_line("3.0e-16", "9.1e-15") && !same_line("3.0e-10", "9.1e-10"));
}

#[test]
fn files_and_commands_of_a_page_are_found() {
    let page = "text\n```toml\n# a.toml: a file\nx = 1\n```\n```toml\n[dependencies]\n```\n```sh\nno command\n```\n```console\n$ one\nsaid\n$ two\n```\n";
    let command = |line: &str, shown: &[&str]| Step::Command {
        line: line.to_owned(),
        shown: shown.iter().map(|&line| line.to_owned()).collect(),
    };
    let file = Step::File { name: "a.toml".to_owned(), text: "# a.toml: a file\nx = 1".to_owned() };
    assert_eq!(steps(page), [file, command("one", &["said"]), command("two", &[])]);
}
