//! Kernel arguments that are known before a module is compiled, written into its instructions.

use super::entries;
use std::fmt::Write;

/// What the first parameter of an entry point begins with at every launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Entry point.
    pub entry: String,
    /// As they lie in memory.
    pub bytes: Vec<u8>,
}

/// The module with loads of 4-byte words of these bytes replaced by the words: as operands of its instructions they take
/// no register, and nothing loads them. Parameters stay, and so do loads of what is behind the bytes, or of 8-byte words,
/// for which an instruction has no room.
pub fn with_constants(ptx: &str, constants: &[Constants]) -> String {
    let (mut text, mut copied) = (String::with_capacity(ptx.len()), 0);
    for entry in entries(ptx) {
        let Some(known) = constants.iter().find(|known| known.entry == entry.name) else { continue };
        let body = entry.body.as_ptr() as usize - ptx.as_ptr() as usize;
        text.push_str(&ptx[copied..body]);
        for line in entry.body.split_inclusive('\n') {
            match words(line, known) {
                Some(moves) => text.push_str(&moves),
                None => text.push_str(line),
            }
        }
        copied = body + entry.body.len();
    }
    text.push_str(&ptx[copied..]);
    text
}

/// `mov` instructions in place of a load, `ld.param.b32 %r1, [entry_param_0+4];` or one of two or four registers.
fn words(line: &str, known: &Constants) -> Option<String> {
    let (kind, operands) = line.trim().strip_prefix("ld.param.")?.split_once(char::is_whitespace)?;
    if !matches!(kind, "b32" | "f32" | "v2.b32" | "v2.f32" | "v4.b32" | "v4.f32") {
        return None;
    }
    let (registers, address) = operands.strip_suffix("];")?.rsplit_once(", [")?;
    let offset = address.strip_prefix(&*known.entry)?.strip_prefix("_param_0")?;
    let offset: usize = if offset.is_empty() { 0 } else { offset.strip_prefix('+')?.parse().ok()? };
    let registers: Vec<_> = registers.trim().trim_matches(['{', '}']).split(',').map(str::trim).collect();
    let (words, _) = known.bytes.get(offset..offset + 4 * registers.len())?.as_chunks();
    let mut moves = String::new();
    for (register, word) in registers.into_iter().zip(words) {
        writeln!(moves, "\tmov.b32 \t{register}, 0x{:08x};", u32::from_le_bytes(*word)).ok()?;
    }
    Some(moves)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.visible .entry first(
\t.param .align 4 .b8 first_param_0[24]
)
{
\tld.param.b32 \t%r1, [first_param_0];
\tld.param.v2.b32 \t{%r2, %r3}, [first_param_0+8];
\tld.param.b32 \t%r4, [first_param_0+16];
\tld.param.v2.b32 \t{%r5, %r6}, [first_param_0+12];
\tld.param.b64 \t%rd1, [first_param_0+8];
\tld.param.b32 \t%r7, [first_param_1+4];
\tret;
}
.visible .entry second(
\t.param .b32 second_param_0
)
{
\tld.param.b32 \t%r1, [second_param_0];
\tret;
}
";

    #[test]
    fn loads_of_known_words_alone_are_replaced() {
        let bytes = [1.0_f32, 2.0, -0.5, 1e-30].iter().flat_map(|word| word.to_le_bytes()).collect();
        let constants = [Constants { entry: "first".into(), bytes }];
        let expected = PTX.replacen("ld.param.b32 \t%r1, [first_param_0];", "mov.b32 \t%r1, 0x3f800000;", 1).replace(
            "ld.param.v2.b32 \t{%r2, %r3}, [first_param_0+8];",
            "mov.b32 \t%r2, 0xbf000000;\n\tmov.b32 \t%r3, 0x0da24260;",
        );
        assert_eq!(with_constants(PTX, &constants), expected);
        assert_eq!(with_constants(PTX, &[]), PTX);
    }
}
