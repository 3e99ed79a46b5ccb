//! Quantities as a person reads them.

/// Bytes with a unit and three digits, for example `1.21 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power = (count.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
    if power == 0 {
        return format!("{count} bytes");
    }
    let value = count as f64 / (1u64 << (10 * power)) as f64;
    format!("{} {}", three_digits(value), UNITS[power as usize])
}

/// Seconds with a unit and three digits, for example `12.3 ms`.
pub fn seconds(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        v if v >= 1.0 => (1.0, "s"),
        v if v >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "us"),
    };
    format!("{} {unit}", three_digits(value * scale))
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_units() {
        assert_eq!(bytes(17), "17 bytes");
        assert_eq!(bytes(1 << 10), "1.00 KiB");
        assert_eq!(bytes(1_300_000_000), "1.21 GiB");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(2.5e-6), "2.50 us");
        assert_eq!(seconds(61.0), "61.0 s");
    }
}
