//! Instructions of a kernel by kind.

use serde::Serialize;

/// Instructions in the text of a kernel's PTX: one in a loop counts once, and one that a branch skips counts too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InstructionMix {
    pub fma_f32: usize,
    pub fma_f64: usize,
    /// Additions, subtractions and negations.
    pub add_f32: usize,
    pub add_f64: usize,
    pub mul_f32: usize,
    pub mul_f64: usize,
    /// Divisions, reciprocals, roots and the like.
    pub other_f32: usize,
    pub other_f64: usize,
    /// Of the matrix units.
    pub mma: usize,
    pub load_global: usize,
    pub store_global: usize,
    pub load_shared: usize,
    pub store_shared: usize,
    /// Kernel parameters; most become operands of other instructions.
    pub load_parameter: usize,
    /// Of local memory, or through an address whose kind the compiler does not know.
    pub other_memory: usize,
    pub atomic: usize,
    /// Arithmetic and logic of whole numbers and addresses.
    pub integer: usize,
    /// Copies, selections and conversions.
    pub move_convert: usize,
    /// Comparisons and logic of predicates.
    pub predicate: usize,
    /// Branches, calls and returns.
    pub control: usize,
    /// Block-wide.
    pub barrier: usize,
    /// Shuffles, votes and barriers of a warp.
    pub warp: usize,
    pub other: usize,
    /// All of them.
    pub total: usize,
}

impl InstructionMix {
    /// The count that an opcode with its types belongs to.
    fn count(&mut self, opcode: &str) -> &mut usize {
        let mut parts = opcode.split('.');
        let name = parts.next().unwrap_or_default();
        let qualifiers: Vec<_> = parts.collect();
        let has = |qualifier: &str| qualifiers.contains(&qualifier);
        match name {
            "ld" | "ldu" if has("global") => &mut self.load_global,
            "st" if has("global") => &mut self.store_global,
            "ld" | "ldmatrix" if has("shared") => &mut self.load_shared,
            "st" if has("shared") => &mut self.store_shared,
            "ld" if has("param") => &mut self.load_parameter,
            "ld" | "ldu" | "st" | "cp" | "prefetch" => &mut self.other_memory,
            "atom" | "red" => &mut self.atomic,
            "mma" | "wmma" | "wgmma" => &mut self.mma,
            "bar" | "barrier" if !has("warp") => &mut self.barrier,
            "bar" | "shfl" | "vote" | "match" | "activemask" | "redux" => &mut self.warp,
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" => &mut self.control,
            "setp" | "set" => &mut self.predicate,
            _ if has("pred") => &mut self.predicate,
            "mov" | "selp" | "cvt" | "cvta" => &mut self.move_convert,
            "fma" | "mad" if has("f32") => &mut self.fma_f32,
            "fma" | "mad" if has("f64") => &mut self.fma_f64,
            "add" | "sub" | "neg" if has("f32") => &mut self.add_f32,
            "add" | "sub" | "neg" if has("f64") => &mut self.add_f64,
            "mul" if has("f32") => &mut self.mul_f32,
            "mul" if has("f64") => &mut self.mul_f64,
            _ if has("f32") => &mut self.other_f32,
            _ if has("f64") => &mut self.other_f64,
            "add" | "sub" | "mul" | "mad" | "neg" | "abs" | "min" | "max" | "div" | "rem" | "and" | "or" | "xor"
            | "not" | "lop3" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "brev" | "clz" | "popc" | "prmt" | "addc"
            | "subc" | "madc" => &mut self.integer,
            _ => &mut self.other,
        }
    }
}

impl<'a> FromIterator<&'a str> for InstructionMix {
    fn from_iter<I: IntoIterator<Item = &'a str>>(opcodes: I) -> Self {
        let mut mix = Self::default();
        for opcode in opcodes {
            *mix.count(opcode) += 1;
            mix.total += 1;
        }
        mix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_counted_by_kind() {
        let opcodes = [
            "fma.rn.f64",
            "fma.rn.f64",
            "fma.rn.f32",
            "add.rn.f64",
            "sub.rn.f64",
            "neg.f32",
            "mul.rn.f32",
            "rcp.rn.f64",
            "mul.wide.u32",
            "mad.lo.s32",
            "add.s64",
            "or.b32",
            "or.pred",
            "setp.ge.u64",
            "mov.u32",
            "selp.f64",
            "cvt.rn.f32.f64",
            "cvta.to.global.u64",
            "ld.global.nc.f64",
            "ld.global.b64",
            "st.global.b32",
            "ld.shared.f64",
            "st.shared.f32",
            "ld.param.b64",
            "ld.b64",
            "st.local.b32",
            "atom.relaxed.gpu.add.f64",
            "bar.sync",
            "bar.warp.sync",
            "shfl.sync.down.b32",
            "bra",
            "bra.uni",
            "ret",
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
            "nanosleep.u32",
        ];
        let mix: InstructionMix = opcodes.into_iter().collect();
        let expected = InstructionMix {
            fma_f32: 1,
            fma_f64: 2,
            add_f32: 1,
            add_f64: 2,
            mul_f32: 1,
            other_f64: 1,
            mma: 1,
            load_global: 2,
            store_global: 1,
            load_shared: 1,
            store_shared: 1,
            load_parameter: 1,
            other_memory: 2,
            atomic: 1,
            integer: 4,
            move_convert: 4,
            predicate: 2,
            control: 3,
            barrier: 1,
            warp: 2,
            other: 1,
            total: opcodes.len(),
            ..InstructionMix::default()
        };
        assert_eq!(mix, expected);
    }
}
