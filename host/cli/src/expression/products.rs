//! Expressions as sums of products of functions of one variable each.

use super::{Function, Node, Operation};
use glam::DVec3;
use patchmg::backend::Program;
use patchmg::problem::Factors;

/// The most products of a sum.
const MOST: usize = 16;

/// A function of x times one of y times one of z.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Product([Node; 3]);

/// A [`Product`], to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Separated([Program; 3]);

impl From<Product> for Separated {
    fn from(Product(factors): Product) -> Self {
        Self(factors.map(|factor| factor.program()))
    }
}

impl Factors for Separated {
    fn factor(&self, direction: usize, x: f64) -> f64 {
        self.0[direction].value(DVec3::splat(x))
    }

    fn factor_derivative(&self, direction: usize, x: f64) -> f64 {
        self.0[direction].gradient(DVec3::splat(x))[direction]
    }
}

impl Product {
    /// A function of that variable alone.
    fn of_one(variable: usize, node: Node) -> Self {
        let mut factors = [const { Node::Constant(1.0) }; 3];
        factors[variable] = node;
        Self(factors)
    }

    fn negative(&self) -> Self {
        let mut product = self.clone();
        product.0[0] = one(Function::Negative, &self.0[0]);
        product
    }

    /// The operation factor by factor.
    fn combined(&self, other: &Self, operation: Operation) -> Self {
        Self([0, 1, 2].map(|d| two(operation, &self.0[d], &other.0[d])))
    }

    /// The variable and the product, if it has no more than one.
    fn of_one_variable(&self) -> Option<(usize, Node)> {
        let [x, y, z] = &self.0;
        let node = two(Operation::Multiply, &two(Operation::Multiply, x, y), z);
        Some((node.variable()?, node))
    }
}

fn two(operation: Operation, a: &Node, b: &Node) -> Node {
    match (operation, a, b) {
        (Operation::Multiply, Node::Constant(1.0), other) => other.clone(),
        (Operation::Multiply | Operation::Divide, other, Node::Constant(1.0)) => other.clone(),
        _ => Node::Two(operation, a.clone().into(), b.clone().into()),
    }
}

fn one(function: Function, node: &Node) -> Node {
    Node::One(function, node.clone().into())
}

/// The products whose sum an expression is, if they are few. They are found in sums and products, quotients by one product, whole
/// powers, absolute values of one product, and exponentials, sines and cosines of sums of functions of one variable.
pub(super) fn of(node: &Node) -> Option<Vec<Product>> {
    if let Some(variable) = node.variable() {
        return Some(vec![Product::of_one(variable, node.clone())]);
    }
    let negative = |products: Vec<Product>| products.iter().map(Product::negative).collect::<Vec<_>>();
    let products = match node {
        Node::One(Function::Negative, node) => negative(of(node)?),
        Node::Two(Operation::Add, a, b) => [of(a)?, of(b)?].concat(),
        Node::Two(Operation::Subtract, a, b) => [of(a)?, negative(of(b)?)].concat(),
        Node::Two(Operation::Multiply, a, b) => pairs(&of(a)?, &of(b)?),
        Node::Two(Operation::Divide, a, b) => {
            let divisor = single(of(b)?)?;
            of(a)?.iter().map(|product| product.combined(&divisor, Operation::Divide)).collect()
        }
        Node::Two(Operation::Power, base, exponent) => power(of(base)?, exponent)?,
        Node::One(Function::Abs, node) => vec![Product(single(of(node)?)?.0.map(|factor| one(Function::Abs, &factor)))],
        Node::One(Function::Exp, node) => {
            let terms = terms(node)?;
            vec![Product(terms.map(|term| term.map_or(Node::Constant(1.0), |term| one(Function::Exp, &term))))]
        }
        Node::One(function @ (Function::Sin | Function::Cos), node) => wave(*function, &terms(node)?),
        _ => return None,
    };
    (products.len() <= MOST).then_some(products)
}

fn single(mut products: Vec<Product>) -> Option<Product> {
    products.pop().filter(|_| products.is_empty())
}

fn pairs(a: &[Product], b: &[Product]) -> Vec<Product> {
    a.iter().flat_map(|a| b.iter().map(|b| a.combined(b, Operation::Multiply))).collect()
}

/// Whole powers: of one product any, of a sum those with few products.
fn power(base: Vec<Product>, exponent: &Node) -> Option<Vec<Product>> {
    let whole = exponent.constant().filter(|exponent| exponent.fract() == 0.0)?;
    if let [Product(factors)] = &base[..] {
        return Some(vec![Product(factors.clone().map(|factor| two(Operation::Power, &factor, exponent)))]);
    }
    if !(1.0..=MOST as f64).contains(&whole) {
        return None;
    }
    (1..whole as usize)
        .try_fold(base.clone(), |power, _| Some(pairs(&power, &base)).filter(|products| products.len() <= MOST))
}

/// The functions of x, of y and of z whose sum an expression is.
fn terms(node: &Node) -> Option<[Option<Node>; 3]> {
    let mut sums = [const { None::<Node> }; 3];
    for product in of(node)? {
        let (variable, term) = product.of_one_variable()?;
        sums[variable] = Some(match &sums[variable] {
            Some(sum) => two(Operation::Add, sum, &term),
            None => term,
        });
    }
    Some(sums)
}

/// `sin(a + b + c)` or `cos(a + b + c)`, by their addition theorems: the sum over all choices of an odd or an even number of sines and
/// cosines otherwise, with the sign of every other pair of sines.
fn wave(function: Function, terms: &[Option<Node>; 3]) -> Vec<Product> {
    let is_sine = function == Function::Sin;
    let present = |d: usize| terms[d].is_some();
    let has_sine = |choice: u32, d: usize| choice >> d & 1 == 1;
    let choices = (0..8u32).filter(|&choice| {
        (choice.count_ones() % 2 == 1) == is_sine && (0..3).all(|d| present(d) || !has_sine(choice, d))
    });
    let product = |choice: u32| {
        let factors = [0, 1, 2].map(|d| match &terms[d] {
            None => Node::Constant(1.0),
            Some(term) => one(if has_sine(choice, d) { Function::Sin } else { Function::Cos }, term),
        });
        let product = Product(factors);
        if choice.count_ones() / 2 % 2 == 1 { product.negative() } else { product }
    };
    choices.map(product).collect()
}

#[cfg(test)]
mod tests {
    use crate::expression::Expression;
    use approx::assert_relative_eq;
    use patchmg::problem::Field;

    fn parsed(text: &str) -> Expression {
        text.parse().unwrap()
    }

    #[test]
    fn sums_of_products_have_the_values_and_gradients_of_the_expression() {
        for (text, products) in [
            ("3", 1),
            ("sin(exp(z)) / z", 1),
            ("3*pi^2*sin(pi*x)*sin(pi*y)*sin(pi*z)", 1),
            ("exp(x)*sin(3*pi*y)", 1),
            ("x + y*z - 2", 3),
            ("-(x - y)*z", 2),
            ("(x + y^2)/(z*y)", 2),
            ("x*y/z/(2*z)", 1),
            ("(x*y)^3 + (x*z)^-2", 2),
            ("(x - y)^2", 4),
            ("(x + y + z)^2", 9),
            ("(x + y)^4", 16),
            ("(x + y)^1*2", 2),
            ("abs(x*y*(z - 2))", 1),
            ("exp(-10*((x - 0.5)^2 + (y + z^2)/3))", 1),
            ("sin(pi*(x + y))", 2),
            ("cos(x - 2*y + 1)", 2),
            ("sin(x + y + z) - cos(x - y - z)", 8),
            ("sin(x*z)*0 + y", 0),
            ("max(x, y)", 0),
            ("sqrt(x*y)", 0),
            ("1/(x + y)", 0),
            ("(x + y)^5", 0),
            ("(x + y)^0.5", 0),
            ("x^y", 0),
            ("exp(x*y)", 0),
            ("abs(x + y)", 0),
        ] {
            let expression = parsed(text);
            let Some(found) = expression.products() else {
                assert_eq!(products, 0, "{text}");
                continue;
            };
            assert_eq!(found.len(), products, "{text}");
            let point = [0.3, 0.7, 1.9];
            let sum = |along: Option<usize>| -> f64 {
                let factor = |product: usize, d: usize| match along {
                    Some(along) if along == d => found[product].factor_derivative(d, point[d]),
                    _ => found[product].factor(d, point[d]),
                };
                (0..found.len()).map(|product| (0..3).map(|d| factor(product, d)).product::<f64>()).sum()
            };
            assert_relative_eq!(sum(None), expression.value(point), max_relative = 1e-13);
            for (d, slope) in expression.gradient(point).into_iter().enumerate() {
                assert_relative_eq!(sum(Some(d)), slope, max_relative = 1e-13, epsilon = 1e-14);
            }
        }
    }
}
