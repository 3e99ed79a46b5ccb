//! Passes through shared memory of a kernel's block, line by line of its source, with those that bank conflicts cause:
//!
//! ```text
//! cargo run --release --package patchmg-emulation --example conflicts -- poisson_cg_3d_q3_smooth_f64
//! ```

use cuda_std::emulate::Wavefronts;
use patchmg_device::kernels::Module;
use patchmg_emulation::Kernel;
use std::collections::BTreeMap;

fn main() -> Result<(), String> {
    let wanted: Vec<_> = std::env::args().skip(1).collect();
    for name in &wanted {
        let list = |module: Module| module.kernels().into_iter().map(move |spec| (module, spec));
        let found = Module::all().into_iter().flat_map(list).find(|(_, spec)| spec.name == *name);
        let (module, spec) = found.ok_or_else(|| format!("there is no kernel {name}: see `patchmg kernels`"))?;
        let patches = spec.patches;
        let trace = Kernel::new(module, spec).ok_or_else(|| format!("{name} is not emulated"))?.trace();
        let mut lines = BTreeMap::<_, Vec<Wavefronts>>::new();
        for (instruction, request) in trace.requests() {
            let line = (instruction.phase, instruction.location.line(), instruction.store, instruction.location.file());
            lines.entry(line).or_default().push(request.wavefronts());
        }
        println!(
            "{name}: {patches} patches a block\nphase  line                         requests  wavefronts  conflicts"
        );
        for ((phase, line, store, file), requests) in lines {
            let (count, all) = (requests.len(), requests.into_iter().sum::<Wavefronts>());
            let file = file.rsplit('/').next().unwrap_or(file);
            let place = format!("{file}:{line} {}", if store { "store" } else { "load" });
            println!("{phase:>5}  {place:<27} {count:>9} {:>11} {:>10}", all.total, all.excess());
        }
        let all = trace.wavefronts();
        println!("all of them {:>45} {:>10}", all.total, all.excess());
    }
    Ok(())
}
