//! Devices, memory, time, and what is refused.

use super::compare::{downloaded, random, uploaded};
use crate::{Outcome, Suite};
use libtest_mimic::Failed;
use patchmg::Error;
use patchmg::backend::Backend;
use patchmg::backend::cuda::{Cuda, Event, devices};
use patchmg::mesh::Mesh;
use patchmg::space::Space;
use patchmg::system::Runs;
use patchmg::system::poisson::{Paper1, Poisson};
use std::fmt::Debug;
use std::sync::Arc;

pub fn add(suite: &mut Suite) {
    suite.test("backend::info_is_that_of_the_device", info);
    suite.test("backend::kernels_that_were_launched_are_named_once", launched);
    suite.test("backend::announced_work_is_not_done", announced);
    suite.test("backend::recorded_work_is_done_when_it_is_repeated", recorded);
    suite.test("backend::a_recording_is_renewed_when_memory_was_freed", renewed);
    suite.test("backend::work_that_reads_a_result_is_not_recorded", not_recorded);
    suite.test("backend::a_device_that_is_not_there_is_refused", absent);
    suite.test("backend::too_large_a_vector_is_refused", too_large);
    suite.test("backend::memory_is_freed_by_any_thread", freed);
    suite.test("backend::any_thread_may_call", threads);
    suite.test("backend::events_measure_time", events);
    suite.test("backend::wrong_lengths_are_refused", lengths);
    suite.test("backend::vectors_of_another_backend_are_refused", foreign);
    suite.test("backend::colors_and_levels_that_are_not_there_are_refused", levels);
    suite.test("backend::discontinuous_elements_refuse_what_they_have_not", discontinuous);
}

fn require(holds: bool, what: impl Debug) -> Outcome {
    if holds { Ok(()) } else { Err(Failed::from(format!("{what:?}"))) }
}

fn info(gpu: &Arc<Cuda>) -> Outcome {
    let (info, devices) = (gpu.info(), devices()?);
    require(info.name == devices[0].name && info.units == devices[0].units, (&info, &devices))?;
    require(info.units > 0 && info.memory > 0 && (1..=info.memory).contains(&info.memory_free), &info)?;
    require(info.architecture.starts_with("sm_"), &info)?;
    // 580.159.04 and 13.0, not the other way round.
    let numbers = |version: &Option<String>| -> Option<Vec<u32>> {
        version.as_ref()?.split('.').map(|part| part.parse().ok()).collect()
    };
    let (driver, api) = (numbers(&info.driver), numbers(&info.cuda_api));
    require(driver.is_some_and(|driver| driver[0] >= 450), &info)?;
    require(api.is_some_and(|api| api.len() == 2 && (11..100).contains(&api[0])), &info)
}

/// On a device of its own: other tests launch kernels, too.
fn launched(_: &Arc<Cuda>) -> Outcome {
    let gpu = Arc::new(Cuda::new(0)?);
    let space = Space::new(Mesh::unit_cube(2, 3)?, 3)?;
    let level = gpu.level::<f64>(&Poisson::from(&space))?;
    let (x, mut y) = (gpu.zeros::<f64>(space.storage())?, gpu.zeros::<f64>(space.storage())?);
    let names = gpu.take_launched();
    require(names.is_empty(), names)?;
    level.apply(&x, &mut y)?;
    level.apply(&x, &mut y)?;
    level.patches()?.smooth_color(0, &x, &mut y)?;
    let names = gpu.take_launched();
    require(names == ["poisson_cg_2d_q3_apply_f64", "poisson_cg_2d_q3_smooth_f64"], names)?;
    let names = gpu.take_launched();
    require(names.is_empty(), names)
}

/// On a device of its own: nothing of it is compiled yet.
fn announced(_: &Arc<Cuda>) -> Outcome {
    let gpu = Cuda::new(0)?;
    let (x, mut y) = (uploaded(&gpu, &[1.0, 2.0])?, uploaded(&gpu, &[3.0, 4.0])?);
    let mut single = gpu.zeros::<f32>(2)?;
    let (mut recording, mut calls) = (None, 0);
    gpu.announce(&mut || {
        calls += 1;
        gpu.set_zero(&mut y)?;
        gpu.axpby(1.0, &x, 1.0, &mut y)?;
        gpu.convert(1.0, &x, &mut single)?;
        gpu.repeat(&mut recording, &mut || gpu.combine(&[1.0], &[&x], 0.0, &mut y))?;
        // Within announced work, more changes nothing.
        gpu.announce(&mut || Err(Error::NoDevice { reason: "asked twice".into() }))?;
        gpu.norm(&x).map(|_| ())
    })?;
    require(calls == 1 && recording.is_none(), calls)?;
    let names = gpu.take_launched();
    require(names.is_empty(), names)?;
    require(downloaded::<_, f64>(&gpu, &y, 2)? == [3.0, 4.0], "done when announced")?;
    gpu.axpby(2.0, &x, 1.0, &mut y)?;
    gpu.convert(1.0, &y, &mut single)?;
    let (found, rounded) = (downloaded::<_, f64>(&gpu, &y, 2)?, downloaded::<_, f32>(&gpu, &single, 2)?);
    require(found == [5.0, 8.0] && rounded == [5.0, 8.0], (found, rounded))?;
    let names = gpu.take_launched();
    require(names == ["blas1_axpby_f64", "blas1_convert_f32"], names)?;
    let outcome = gpu.announce(&mut || Err(Error::NoDevice { reason: "none".into() }));
    require(matches!(outcome, Err(Error::NoDevice { .. })), outcome)?;
    let norm = gpu.norm(&y)?;
    require((norm - 89_f64.sqrt()).abs() < 1e-14, norm)
}

/// On a device of its own: a recording is valid until memory is freed, by whomever.
fn recorded(_: &Arc<Cuda>) -> Outcome {
    let gpu = Cuda::new(0)?;
    let (x, mut y) = (uploaded(&gpu, &[1.0, 2.0])?, uploaded(&gpu, &[0.0, 0.0])?);
    let (mut recording, mut calls) = (None, 0);
    gpu.record(&mut recording, &mut || {
        calls += 1;
        gpu.axpby(1.0, &x, 1.0, &mut y)
    })?;
    require(calls == 1 && recording.is_some(), calls)?;
    let names = gpu.take_launched();
    require(names.is_empty(), names)?;
    require(downloaded::<_, f64>(&gpu, &y, 2)? == [0.0, 0.0], "done when recorded")?;
    for _ in 0..3 {
        gpu.repeat(&mut recording, &mut || Err(Error::NoDevice { reason: "asked again".into() }))?;
    }
    let names = gpu.take_launched();
    require(names == ["blas1_axpby_f64"], names)?;
    let found = downloaded::<_, f64>(&gpu, &y, 2)?;
    require(found == [3.0, 6.0], found)
}

fn renewed(_: &Arc<Cuda>) -> Outcome {
    let gpu = Cuda::new(0)?;
    let mut y = uploaded(&gpu, &[0.0])?;
    let mut recording = None;
    for value in [1.0, 10.0] {
        // At the address of the vector before it, perhaps.
        let x = uploaded(&gpu, &[value])?;
        let mut calls = 0;
        for _ in 0..2 {
            gpu.repeat(&mut recording, &mut || {
                calls += 1;
                gpu.axpby(1.0, &x, 1.0, &mut y)
            })?;
        }
        require(calls == 1, calls)?;
    }
    let found = downloaded::<_, f64>(&gpu, &y, 1)?;
    require(found == [22.0], found)
}

fn not_recorded(_: &Arc<Cuda>) -> Outcome {
    let gpu = Cuda::new(0)?;
    let x = uploaded(&gpu, &[3.0])?;
    let mut recording = None;
    let outcome = gpu.record(&mut recording, &mut || gpu.norm(&x).map(|_| ()));
    require(matches!(outcome, Err(Error::Driver { .. })) && recording.is_none(), outcome)?;
    let norm = gpu.norm(&x)?;
    require(norm == 3.0, norm)
}

fn absent(_: &Arc<Cuda>) -> Outcome {
    let count = devices()?.len();
    match Cuda::new(count) {
        Err(Error::NoDevice { reason }) => require(reason.contains(&count.to_string()), reason),
        other => Err(format!("{:?}", other.err()).into()),
    }
}

fn too_large(gpu: &Arc<Cuda>) -> Outcome {
    for len in [1_usize << 45, usize::MAX] {
        match gpu.zeros::<f64>(len).err() {
            Some(Error::OutOfMemory { needed, available, .. }) => require(needed > available, (needed, available))?,
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok(())
}

/// A quarter of what is free at a time, more in all than there is.
fn freed(gpu: &Arc<Cuda>) -> Outcome {
    let len = gpu.info().memory_free as usize / 4 / 8;
    for _ in 0..8 {
        let vector = gpu.zeros::<f64>(len)?;
        std::thread::spawn(move || drop(vector)).join().map_err(|_| "the thread panicked")?;
    }
    Ok(())
}

fn threads(gpu: &Arc<Cuda>) -> Outcome {
    let work = |seed: u64| {
        let gpu = gpu.clone();
        std::thread::spawn(move || -> patchmg::Result<f64> {
            let x = uploaded(&*gpu, &random::<f64>(seed, 10_000))?;
            (0..50).map(|_| gpu.dot(&x, &x)).sum()
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    for (seed, thread) in threads.into_iter().enumerate() {
        let found = thread.join().map_err(|_| "the thread panicked")??;
        let expected: f64 = 50.0 * random::<f64>(seed as u64, 10_000).iter().map(|x| x * x).sum::<f64>();
        require((found - expected).abs() < 1e-10 * expected, (found, expected))?;
    }
    Ok(())
}

fn events(gpu: &Arc<Cuda>) -> Outcome {
    let mut x = gpu.zeros::<f64>(1 << 24)?;
    let start = Event::record(gpu)?;
    gpu.set_zero(&mut x)?;
    let middle = Event::record(gpu)?;
    gpu.set_zero(&mut x)?;
    let end = Event::record(gpu)?;
    let (all, half) = (end.milliseconds_since(&start)?, middle.milliseconds_since(&start)?);
    require(half > 0.0 && all > half, (half, all))
}

fn lengths(gpu: &Arc<Cuda>) -> Outcome {
    let refused = |result: patchmg::Result<()>| match result {
        Err(Error::SizeMismatch { .. }) => Ok(()),
        other => Err(Failed::from(format!("{other:?}"))),
    };
    let space = Space::new(Mesh::unit_cube(2, 2)?, 1)?;
    let level = gpu.level::<f64>(&Poisson::from(&space))?;
    let (mut right, wrong) = (gpu.zeros::<f64>(space.storage())?, gpu.zeros::<f64>(space.storage() + 1)?);
    let mut other = gpu.zeros::<f64>(space.storage())?;
    refused(gpu.upload(&[0.0], &mut right))?;
    refused(gpu.download(&right, &mut [0.0]))?;
    refused(gpu.axpby(1.0, &wrong, 1.0, &mut right))?;
    refused(gpu.convert(1.0, &wrong, &mut right))?;
    refused(gpu.convert(1.0, &wrong, &mut gpu.zeros::<f32>(space.storage())?))?;
    refused(gpu.dots(&[&right, &wrong], &right).map(|_| ()))?;
    refused(gpu.combine(&[1.0], &[&wrong], 1.0, &mut right))?;
    refused(gpu.combine(&[1.0, 2.0], &[&other], 1.0, &mut right))?;
    refused(gpu.combine_dots(&[1.0], &[&wrong], &mut right).map(|_| ()))?;
    refused(gpu.combine_dots(&[1.0, 2.0], &[&other], &mut right).map(|_| ()))?;
    refused(gpu.norm_rounded(&right, &mut gpu.zeros(1)?).map(|_| ()))?;
    refused(level.apply(&wrong, &mut right))?;
    refused(level.residual(&wrong, &other, &mut right))?;
    refused(level.residual(&other, &wrong, &mut right))?;
    refused(level.residual_norm(&wrong, &other, &mut right).map(|_| ()))?;
    refused(level.patches()?.smooth_color(0, &wrong, &mut right))?;
    refused(level.restrict_residual(&right, &wrong, &mut other))?;
    refused(level.restrict_residual(&right, &wrong, &mut gpu.zeros(4)?))?;
    refused(level.prolongate_add(&wrong, &mut right))?;
    // Nothing was touched.
    let zeros = downloaded(&**gpu, &right, space.storage())?;
    require(zeros.iter().all(|&value| value == 0.0), zeros)
}

fn foreign(gpu: &Arc<Cuda>) -> Outcome {
    let other = Cuda::new(0)?;
    let (x, mut y) = (other.zeros::<f64>(10)?, gpu.zeros::<f64>(10)?);
    let result = gpu.axpby(1.0, &x, 1.0, &mut y);
    require(matches!(result, Err(Error::InvalidArgument { .. })), result)
}

fn levels(gpu: &Arc<Cuda>) -> Outcome {
    let space = Space::new(Mesh::unit_cube(2, 1)?, 2)?;
    let level = gpu.level::<f64>(&Poisson::from(&space))?;
    let (b, mut x) = (gpu.zeros::<f64>(space.storage())?, gpu.zeros::<f64>(space.storage())?);
    let result = level.patches()?.smooth_color(4, &b, &mut x);
    require(matches!(result, Err(Error::InvalidArgument { name: "color", .. })), result)?;
    // One patch: the other colors have none.
    for color in 0..4 {
        level.patches()?.smooth_color(color, &b, &mut x)?;
    }
    let result = level.prolongate_add(&b, &mut x);
    require(matches!(result, Err(Error::InvalidArgument { name: "level", .. })), result)
}

fn discontinuous(gpu: &Arc<Cuda>) -> Outcome {
    let space = Space::discontinuous(Mesh::unit_cube(2, 1)?, 2)?;
    let level = gpu.level::<f64>(&Poisson::from(&space))?;
    let (b, mut x) = (gpu.zeros::<f64>(space.storage())?, gpu.zeros::<f64>(space.storage())?);
    let result = level.point_gauss_seidel(&b, &mut x, false);
    require(matches!(result, Err(Error::Unsupported { backend: "cuda", .. })), result)?;
    // One patch: the other colors have none.
    for color in 0..4 {
        level.patches()?.smooth_color(color, &b, &mut x)?;
    }
    for kernels in Paper1::all(2, 2) {
        let refused = gpu.level::<f64>(&Poisson::from(&space).with_kernel(kernels.by_default())).map(|_| ());
        require(matches!(refused, Err(Error::Unsupported { backend: "cuda", .. })), refused)?;
    }
    Ok(())
}
