//! Kernels of the list, and reports on them.

use super::{Assembler, Filter, KernelReport, SharedMemory, near, unknown};
use cuda_builder::{ptx, side_by_side};
use patchmg_cli::error::Result;
use patchmg_cli::hashes::module_ptx;
use patchmg_device::kernels::{KernelSpec, Module};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// Kernels of the list, at least one, by the modules that hold them.
#[derive(Clone, Debug)]
pub struct Selection {
    modules: Vec<(Module, Vec<KernelSpec>)>,
}

impl Selection {
    /// Those that a filter lets pass.
    ///
    /// # Errors
    /// [`Library::Unsupported`](patchmg::Error::Unsupported), with similar names, if there is none.
    pub fn of(filter: &Filter) -> Result<Self> {
        let mut modules: Vec<(Module, Vec<KernelSpec>)> = Vec::new();
        for (module, spec) in filter.kernels() {
            match modules.last_mut().filter(|(last, _)| *last == module) {
                Some((_, kernels)) => kernels.push(spec),
                None => modules.push((module, vec![spec])),
            }
        }
        if modules.is_empty() {
            let name = filter.names.first().map_or("", String::as_str);
            return Err(unknown("kernel", &filter.to_string(), near(name)));
        }
        Ok(Self { modules })
    }

    /// The modules that hold them, in the order of the list.
    pub fn modules(&self) -> impl Iterator<Item = Module> {
        self.modules.iter().map(|(module, _)| *module)
    }

    /// In the order of the list.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelSpec> {
        self.modules.iter().flat_map(|(_, kernels)| kernels)
    }

    /// Calls `with` for each kernel, in the order of the list, as soon as it and those before it are known. What the assembler tells is
    /// left out if there is none, or if it does not take the module.
    ///
    /// # Errors
    /// Those of the assembler, and of a file of `PATCHMG_PTX_DIR` that cannot be read.
    pub fn reports(&self, assembler: Option<&Assembler>, with: impl FnMut(KernelReport) + Send) -> Result<()> {
        let reports = Mutex::new(InOrder { next: 0, early: BTreeMap::new(), with });
        // Work is taken from the end.
        let modules: Vec<_> = self.modules.iter().enumerate().rev().collect();
        side_by_side(&modules, |_, (index, (module, kernels))| {
            let found = of_module(*module, kernels, assembler)?;
            reports.lock().unwrap_or_else(PoisonError::into_inner).take(*index, found);
            Ok(())
        })
        .map(drop)
    }
}

/// Reports on kernels of a module.
fn of_module(module: Module, kernels: &[KernelSpec], assembler: Option<&Assembler>) -> Result<Vec<KernelReport>> {
    let wanted: HashSet<_> = kernels.iter().map(|spec| &*spec.name).collect();
    let text = module_ptx(module)?.map(|text| ptx::with_entries(&text, |name| wanted.contains(name)));
    let resources: HashMap<_, _> = match (assembler, &text) {
        (Some(assembler), Some(text)) if ptx::target(text).is_some_and(|target| assembler.takes(target)) => {
            assembler.resources(text)?.into_iter().collect()
        }
        _ => HashMap::new(),
    };
    let mixes: HashMap<_, _> =
        text.iter().flat_map(|text| ptx::entries(text)).map(|entry| (entry.name, entry.opcodes().collect())).collect();
    let report = |spec: &KernelSpec| {
        let (resources, mix) = (resources.get(&spec.name).copied(), mixes.get(&*spec.name).copied());
        KernelReport::new(module, spec, resources, mix, SharedMemory::of(module, spec))
    };
    Ok(kernels.iter().map(report).collect())
}

/// Hands on in order what comes in any order.
struct InOrder<T, F> {
    /// Number of the first group that has not come.
    next: usize,
    /// Groups behind it.
    early: BTreeMap<usize, Vec<T>>,
    with: F,
}

impl<T, F: FnMut(T)> InOrder<T, F> {
    fn take(&mut self, index: usize, group: Vec<T>) {
        self.early.insert(index, group);
        while let Some(group) = self.early.remove(&self.next) {
            group.into_iter().for_each(&mut self.with);
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_handed_on_in_their_order() {
        let mut order = InOrder { next: 0, early: BTreeMap::new(), with: |_| () };
        let mut seen = Vec::new();
        {
            let mut order = InOrder { next: 0, early: BTreeMap::new(), with: |number| seen.push(number) };
            for (index, group) in [(2, vec![5]), (0, vec![1, 2]), (3, vec![]), (1, vec![3, 4]), (4, vec![6])] {
                order.take(index, group);
            }
        }
        assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
        order.take(1, vec![7]);
        assert_eq!(order.early.len(), 1, "the first one is still missing");
    }

    #[test]
    fn a_selection_has_the_kernels_of_the_filter_by_module() {
        let filter = Filter { dim: Some(2), scalar: Some("f64"), ..Filter::default() };
        let selection = Selection::of(&filter).unwrap();
        let names = |kernels: Vec<&KernelSpec>| kernels.iter().map(|spec| spec.name.clone()).collect::<Vec<_>>();
        let listed = filter.kernels();
        assert_eq!(names(selection.kernels().collect()), names(listed.iter().map(|(_, spec)| spec).collect()));
        let modules: Vec<_> = selection.modules().collect();
        assert_eq!(modules.len(), modules.iter().collect::<HashSet<_>>().len());
        let error =
            Selection::of(&Filter { names: vec!["poisson_cg_2d_q4_smoth".into()], ..filter }).unwrap_err().to_string();
        assert!(error.contains("q4_smoth, 2D, f64") && error.contains("q4_smooth"), "{error}");
    }
}
