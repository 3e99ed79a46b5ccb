//! Programs as PTX, operation by operation as on the host. Instructions name their rounding, so that the assembler does not contract
//! them to multiply-adds; functions that are no instructions are those of the module.

use crate::backend::{Function, Operation, Program, Step};
use cuda_builder::ptx::FunctionBody;
use std::collections::HashMap;
use std::fmt::Write;

/// `f(x, y, z)`.
pub(super) fn value(f: &Program) -> FunctionBody {
    function("patchmg_value", f, false)
}

/// The derivative of `f` along a vector, whose components come after the coordinates.
pub(super) fn derivative(f: &Program) -> FunctionBody {
    function("patchmg_derivative", f, true)
}

fn function(name: &str, f: &Program, derived: bool) -> FunctionBody {
    let mut code = Code::default();
    let mut parameter = |index: usize| code.write("ld.param.b64", &[&format!("[{name}_param_{index}]")]);
    let point =
        [0, 1, 2].map(|d| Number { value: parameter(d), constant: None, slope: derived.then(|| parameter(3 + d)) });
    let mut stack = Vec::new();
    for step in f.steps() {
        match *step {
            Step::Constant(value) => stack.push(code.constant(value)),
            Step::Coordinate(coordinate) => stack.push(point[coordinate].clone()),
            Step::One(function) => {
                let x = pop(&mut stack);
                stack.push(code.one(function, &x));
            }
            Step::Two(operation) => {
                let (b, a) = (pop(&mut stack), pop(&mut stack));
                stack.push(code.two(operation, &a, &b));
            }
        }
    }
    let Number { value, slope, .. } = pop(&mut stack);
    let result = if derived { slope.unwrap_or_else(|| code.number(0.0)) } else { value };
    let Code { text, registers, predicates, .. } = code;
    let declarations = format!("\t.reg .f64 \t%d<{}>;\n\t.reg .pred \t%p<{}>;\n", registers + 1, predicates + 1);
    let text = format!("{declarations}{text}\tst.param.b64 \t[func_retval0], {result};\n\tret;\n");
    FunctionBody { name: name.into(), text }
}

fn pop(stack: &mut Vec<Number>) -> Number {
    stack.pop().expect("steps of a program find their arguments")
}

/// A register, and what else is known of the number in it.
#[derive(Clone)]
struct Number {
    value: String,
    constant: Option<f64>,
    /// The derivative, unless it is zero everywhere.
    slope: Option<String>,
}

/// Instructions, each for a register of its own.
#[derive(Default)]
struct Code {
    text: String,
    registers: usize,
    predicates: usize,
    /// The registers by what was written to them, so that nothing is computed twice.
    written: HashMap<String, String>,
}

impl Code {
    /// An instruction, if it is not there, and its register.
    fn write(&mut self, instruction: &str, operands: &[&str]) -> String {
        let key = format!("{instruction} {}", operands.join(", "));
        if let Some(register) = self.written.get(&key) {
            return register.clone();
        }
        let register = if instruction.starts_with("setp") || instruction.ends_with(".pred") {
            self.predicates += 1;
            format!("%p{}", self.predicates)
        } else {
            self.registers += 1;
            format!("%d{}", self.registers)
        };
        let _ = writeln!(self.text, "\t{instruction} \t{register}, {};", operands.join(", "));
        self.written.insert(key, register.clone());
        register
    }

    /// The result of a function of the module, if it is not there.
    fn call(&mut self, function: &str, arguments: &[&str]) -> String {
        let key = format!("{function} {}", arguments.join(", "));
        if let Some(register) = self.written.get(&key) {
            return register.clone();
        }
        self.registers += 1;
        let register = format!("%d{}", self.registers);
        self.text += "\t{\n\t.param .b64 result;\n";
        for (index, argument) in arguments.iter().enumerate() {
            let _ =
                write!(self.text, "\t.param .b64 argument{index};\n\tst.param.b64 \t[argument{index}], {argument};\n");
        }
        let names: Vec<_> = (0..arguments.len()).map(|index| format!("argument{index}")).collect();
        let _ = write!(
            self.text,
            "\tcall.uni (result), {function}, ({});\n\tld.param.b64 \t{register}, [result];\n\t}}\n",
            names.join(", ")
        );
        self.written.insert(key, register.clone());
        register
    }

    fn number(&mut self, value: f64) -> String {
        self.write("mov.f64", &[&format!("0d{:016x}", value.to_bits())])
    }

    fn constant(&mut self, value: f64) -> Number {
        Number { value: self.number(value), constant: Some(value), slope: None }
    }

    fn add(&mut self, a: &str, b: &str) -> String {
        self.write("add.rn.f64", &[a, b])
    }

    fn multiply(&mut self, a: &str, b: &str) -> String {
        self.write("mul.rn.f64", &[a, b])
    }

    fn divide(&mut self, a: &str, b: &str) -> String {
        self.write("div.rn.f64", &[a, b])
    }

    fn negative(&mut self, x: &str) -> String {
        self.write("neg.f64", &[x])
    }

    /// `a^b`.
    fn power(&mut self, a: &str, b: &str, constant: Option<f64>) -> String {
        match constant {
            Some(0.0) => self.number(1.0),
            Some(1.0) => a.into(),
            Some(2.0) => self.multiply(a, a),
            _ => self.call("patchmg_pow", &[a, b]),
        }
    }

    /// A derivative that does not count may be infinite.
    fn times(&mut self, slope: &str, derivative: &str) -> String {
        let zero = self.number(0.0);
        let (product, is_zero) = (self.multiply(slope, derivative), self.write("setp.eq.f64", &[derivative, &zero]));
        self.write("selp.f64", &[&zero, &product, &is_zero])
    }

    /// By the chain rule.
    fn sum(&mut self, a: Option<String>, b: Option<String>) -> Option<String> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.add(&a, &b)),
            (a, b) => a.or(b),
        }
    }

    fn one(&mut self, function: Function, argument: &Number) -> Number {
        let x = &*argument.value;
        let value = match function {
            Function::Negative => self.negative(x),
            Function::Sin => self.call("patchmg_sin", &[x]),
            Function::Cos => self.call("patchmg_cos", &[x]),
            Function::Tan => self.call("patchmg_tan", &[x]),
            Function::Exp => self.call("patchmg_exp", &[x]),
            Function::Log => self.call("patchmg_log", &[x]),
            Function::Sqrt => self.write("sqrt.rn.f64", &[x]),
            Function::Abs => self.write("abs.f64", &[x]),
        };
        let constant = argument.constant.filter(|_| function == Function::Negative).map(|constant| -constant);
        let Some(derivative) = &argument.slope else { return Number { value, constant, slope: None } };
        let slope = match function {
            Function::Negative => None,
            Function::Sin => Some(self.call("patchmg_cos", &[x])),
            Function::Cos => {
                let sine = self.call("patchmg_sin", &[x]);
                Some(self.negative(&sine))
            }
            Function::Tan => {
                let (one, square) = (self.number(1.0), self.multiply(&value, &value));
                Some(self.add(&one, &square))
            }
            Function::Exp => Some(value.clone()),
            Function::Log => {
                let one = self.number(1.0);
                Some(self.divide(&one, x))
            }
            Function::Sqrt => {
                let half = self.number(0.5);
                Some(self.divide(&half, &value))
            }
            Function::Abs => {
                let one = self.number(1.0);
                let sign = self.write("copysign.f64", &[x, &one]);
                let is_number = self.write("setp.eq.f64", &[x, x]);
                Some(self.write("selp.f64", &[&sign, x, &is_number]))
            }
        };
        let slope = match slope {
            Some(slope) => self.times(&slope, derivative),
            None => self.negative(derivative),
        };
        Number { value, constant, slope: Some(slope) }
    }

    fn two(&mut self, operation: Operation, first: &Number, second: &Number) -> Number {
        let (a, b) = (&*first.value, &*second.value);
        let value = match operation {
            Operation::Add => self.add(a, b),
            Operation::Subtract => self.write("sub.rn.f64", &[a, b]),
            Operation::Multiply => self.multiply(a, b),
            Operation::Divide => self.divide(a, b),
            Operation::Power => self.power(a, b, second.constant),
            Operation::Atan2 => self.call("patchmg_atan2", &[a, b]),
            Operation::Min | Operation::Max => return self.choose(operation, first, second),
        };
        let of_first = first.slope.as_ref().map(|derivative| {
            let slope = match operation {
                Operation::Add | Operation::Subtract => return derivative.clone(),
                Operation::Multiply => b.into(),
                Operation::Divide => {
                    let one = self.number(1.0);
                    self.divide(&one, b)
                }
                Operation::Power => {
                    let one = self.number(1.0);
                    let exponent = self.write("sub.rn.f64", &[b, &one]);
                    let power = self.power(a, &exponent, second.constant.map(|constant| constant - 1.0));
                    self.multiply(b, &power)
                }
                _ => {
                    let square = self.square_of_distance(a, b);
                    self.divide(b, &square)
                }
            };
            self.times(&slope, derivative)
        });
        let of_second = second.slope.as_ref().map(|derivative| {
            let slope = match operation {
                Operation::Add => return derivative.clone(),
                Operation::Subtract => return self.negative(derivative),
                Operation::Multiply => a.into(),
                Operation::Power => {
                    let logarithm = self.call("patchmg_log", &[a]);
                    self.multiply(&value, &logarithm)
                }
                _ => {
                    let divisor = if operation == Operation::Divide {
                        self.multiply(b, b)
                    } else {
                        self.square_of_distance(a, b)
                    };
                    let negative = self.negative(a);
                    self.divide(&negative, &divisor)
                }
            };
            self.times(&slope, derivative)
        });
        Number { value, constant: None, slope: self.sum(of_first, of_second) }
    }

    fn square_of_distance(&mut self, a: &str, b: &str) -> String {
        let (a, b) = (self.multiply(a, a), self.multiply(b, b));
        self.add(&a, &b)
    }

    /// The lesser or the greater one, or the one that is not a number.
    fn choose(&mut self, operation: Operation, first: &Number, second: &Number) -> Number {
        let (a, b) = (&*first.value, &*second.value);
        let comparison = if operation == Operation::Min { "setp.le.f64" } else { "setp.ge.f64" };
        let (is_less, is_nan) = (self.write(comparison, &[a, b]), self.write("setp.nan.f64", &[a, a]));
        let is_first = self.write("or.pred", &[&is_less, &is_nan]);
        let value = self.write("selp.f64", &[a, b, &is_first]);
        let zero = self.number(0.0);
        let slope = (first.slope.is_some() || second.slope.is_some()).then(|| {
            let [a, b] = [first, second].map(|number| number.slope.clone().unwrap_or_else(|| zero.clone()));
            self.write("selp.f64", &[&a, &b, &is_first])
        });
        Number { value, constant: None, slope }
    }
}

#[cfg(test)]
mod tests;
