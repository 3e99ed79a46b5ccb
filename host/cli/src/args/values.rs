//! Values of arguments.

use patchmg::measure::Protocol;

pub fn dimension(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|dim| [2, 3].contains(dim)).ok_or_else(|| String::from("must be 2 or 3"))
}

pub fn damping(text: &str) -> Result<f64, String> {
    let allowed = |damping: &f64| *damping > 0.0 && *damping < 2.0;
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number above 0 and below 2"))
}

/// Any; the library says which are allowed.
pub fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| String::from("must be a number"))
}

pub fn tolerance(text: &str) -> Result<f64, String> {
    let allowed = |rtol: &f64| *rtol > 0.0 && *rtol < 1.0;
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number above 0 and below 1"))
}

pub fn length(text: &str) -> Result<f64, String> {
    let allowed = |length: &f64| *length > 0.0 && length.is_finite();
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number above 0"))
}

pub fn percent(text: &str) -> Result<f64, String> {
    let allowed = |percent: &f64| (0.0..f64::INFINITY).contains(percent);
    text.parse().ok().filter(allowed).ok_or_else(|| String::from("must be a number of percent, at least 0"))
}

pub fn whole(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| String::from("must be a whole number"))
}

pub fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| String::from("must be a whole number, at least 1"))
}

pub fn warmup(text: &str) -> Result<usize, String> {
    times(text, 0)
}

pub fn repetitions(text: &str) -> Result<usize, String> {
    times(text, 1)
}

fn times(text: &str, least: usize) -> Result<usize, String> {
    let allowed = least..=Protocol::MOST;
    let refused = || format!("must be a whole number from {least} to {}", Protocol::MOST);
    text.parse().ok().filter(|times| allowed.contains(times)).ok_or_else(refused)
}
