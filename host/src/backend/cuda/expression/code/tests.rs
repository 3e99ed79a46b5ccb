//! The code is run line by line on the host, and assembled where there is an assembler.

use super::*;
use crate::backend::cuda::ptx;
use cuda_builder::ptx::with_functions;
use glam::DVec3;
use std::process::Command;

const X: Step = Step::Coordinate(0);
const Y: Step = Step::Coordinate(1);

/// Every function, of one coordinate, of two, and with a constant on either side.
fn programs() -> Vec<Program> {
    let constants = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0].map(Step::Constant);
    let one = Function::ALL.iter().flat_map(|&function| {
        [vec![X, Step::One(function)], vec![X, Y, Step::Two(Operation::Multiply), Step::One(function)]]
    });
    let two = Operation::ALL.iter().flat_map(|&operation| {
        let pairs = constants.iter().flat_map(|&constant| [[X, constant], [constant, X]]);
        let pairs = pairs.chain([[X, Y], [X, X]]);
        pairs.map(move |[a, b]| vec![a, b, Step::Two(operation)])
    });
    // sin(x y) exp(-1 z) + sin(x y)^(-2): parts that come twice, and an exponent with a sign.
    let sine = [X, Y, Step::Two(Operation::Multiply), Step::One(Function::Sin)];
    let decay = [
        Step::Constant(1.0),
        Step::One(Function::Negative),
        Step::Coordinate(2),
        Step::Two(Operation::Multiply),
        Step::One(Function::Exp),
        Step::Two(Operation::Multiply),
    ];
    let power = [Step::Constant(2.0), Step::One(Function::Negative), Step::Two(Operation::Power)];
    let sum = [&sine[..], &decay, &sine, &power, &[Step::Two(Operation::Add)]].concat();
    one.chain(two).chain([sum, vec![Step::Constant(3.0)]]).map(|steps| Program::new(steps).unwrap()).collect()
}

/// What the code of a body computes.
fn run(body: &FunctionBody, parameters: &[f64]) -> f64 {
    let (mut numbers, mut predicates) = (HashMap::new(), HashMap::new());
    let (mut arguments, mut called) = (Vec::new(), f64::NAN);
    for line in body.text.lines().map(str::trim).filter(|line| !line.starts_with(['.', '{', '}'])) {
        let line = line.trim_end_matches(';');
        if line == "ret" {
            break;
        }
        let (instruction, operands) = line.split_once(char::is_whitespace).unwrap();
        let operands: Vec<_> = operands.split(", ").map(str::trim).collect();
        let number = |index: usize| -> f64 { numbers[operands[index]] };
        let predicate = |index: usize| -> bool { predicates[operands[index]] };
        let index = |name: &str| name.trim_end_matches(']').rsplit('_').next().unwrap().parse::<usize>().unwrap();
        let result = match instruction {
            "ld.param.b64" if operands[1] == "[result]" => called,
            "ld.param.b64" => parameters[index(operands[1])],
            "st.param.b64" if operands[0] == "[func_retval0]" => return number(1),
            "st.param.b64" => {
                arguments.push(number(1));
                continue;
            }
            "call.uni" => {
                called = match (operands[1], &arguments[..]) {
                    ("patchmg_sin", [x]) => x.sin(),
                    ("patchmg_cos", [x]) => x.cos(),
                    ("patchmg_tan", [x]) => x.tan(),
                    ("patchmg_exp", [x]) => x.exp(),
                    ("patchmg_log", [x]) => x.ln(),
                    ("patchmg_pow", [x, y]) => x.powf(*y),
                    ("patchmg_atan2", [y, x]) => y.atan2(*x),
                    call => panic!("{call:?}"),
                };
                arguments.clear();
                continue;
            }
            "mov.f64" => f64::from_bits(u64::from_str_radix(operands[1].strip_prefix("0d").unwrap(), 16).unwrap()),
            "add.rn.f64" => number(1) + number(2),
            "sub.rn.f64" => number(1) - number(2),
            "mul.rn.f64" => number(1) * number(2),
            "div.rn.f64" => number(1) / number(2),
            "neg.f64" => -number(1),
            "abs.f64" => number(1).abs(),
            "sqrt.rn.f64" => number(1).sqrt(),
            // The sign of the first operand, the magnitude of the second.
            "copysign.f64" => number(2).copysign(number(1)),
            "selp.f64" => {
                if predicate(3) {
                    number(1)
                } else {
                    number(2)
                }
            }
            "setp.eq.f64" | "setp.le.f64" | "setp.ge.f64" | "setp.nan.f64" | "or.pred" => {
                let result = match instruction {
                    "setp.eq.f64" => number(1) == number(2),
                    "setp.le.f64" => number(1) <= number(2),
                    "setp.ge.f64" => number(1) >= number(2),
                    "setp.nan.f64" => number(1).is_nan() || number(2).is_nan(),
                    _ => predicate(1) || predicate(2),
                };
                assert!(predicates.insert(operands[0].to_owned(), result).is_none(), "{line}");
                continue;
            }
            other => panic!("{other}"),
        };
        assert!(numbers.insert(operands[0].to_owned(), result).is_none(), "{line}");
    }
    panic!("no result");
}

fn is_same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-15 * b.abs()
}

#[test]
fn code_computes_what_the_host_does() {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.5, 1e6, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for f in programs() {
        let (of_value, of_derivative) = (value(&f), derivative(&f));
        for point in numbers.iter().flat_map(|&x| numbers.map(|y| DVec3::new(x, y, 0.25))) {
            let (found, expected) = (run(&of_value, &point.to_array()), f.value(point));
            assert!(is_same(found, expected), "{f:?} at {point}: {found}, {expected}\n{}", of_value.text);
            for d in 0..3 {
                let along = DVec3::AXES[d];
                let found = run(&of_derivative, &[point.to_array(), along.to_array()].concat());
                let expected = f.gradient(point)[d];
                assert!(
                    is_same(found, expected),
                    "{f:?}, {d}, at {point}: {found}, {expected}\n{}",
                    of_derivative.text
                );
            }
        }
    }
}

#[test]
fn parts_that_come_twice_are_computed_once() {
    let sine = [X, Step::One(Function::Sin)];
    let f = Program::new([&sine[..], &sine, &[Step::Two(Operation::Multiply)]].concat()).unwrap();
    assert_eq!(value(&f).text.matches("patchmg_sin").count(), 1);
    assert_eq!(derivative(&f).text.matches("patchmg_cos").count(), 1);
}

/// By `ptxas`, where `PATCHMG_PTXAS` says where it is; with `PATCHMG_REQUIRE_ASSEMBLER` it must be there.
#[test]
fn code_assembles() {
    let Some(ptxas) = std::env::var_os("PATCHMG_PTXAS") else {
        assert!(std::env::var_os("PATCHMG_REQUIRE_ASSEMBLER").is_none(), "no PATCHMG_PTXAS");
        return;
    };
    let module = ptx("expression").unwrap();
    // One function of everything: the sum of all programs.
    let all = programs();
    let sums = (1..all.len()).map(|_| Step::Two(Operation::Add));
    let steps = all.iter().flat_map(|f| f.steps().iter().copied()).chain(sums);
    let f = Program::new(steps).unwrap();
    let text = with_functions(&module, &[value(&f), derivative(&f)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (source, cubin) = (folder.path().join("expression.ptx"), folder.path().join("cubin"));
    std::fs::write(&source, text).unwrap();
    for architecture in ["sm_80", "sm_90"] {
        let mut command = Command::new(&ptxas);
        let output = command.arg(format!("-arch={architecture}")).arg(&source).arg("-o").arg(&cubin).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
