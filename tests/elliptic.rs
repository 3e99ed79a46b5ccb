//! Elliptic equations on forests, against deal.II.

#[path = "common/films.rs"]
mod films;
#[path = "common/forests.rs"]
mod forests;

use films::Film;
use forests::{Oracle, check_chain};
use patchmg::backend::cpu::Cpu;
use std::sync::Arc;

fn cpu() -> Arc<Cpu> {
    Arc::new(Cpu::new(None).unwrap())
}

#[test]
fn solutions_and_iterations_are_those_of_deal_ii() {
    let oracles = Oracle::of_rules();
    assert!(oracles.len() > 110);
    let cpu = cpu();
    oracles.iter().for_each(|oracle| oracle.check(&cpu, 0));
}

#[test]
fn meshes_by_kellys_indicator_are_as_good_as_those_of_deal_ii() {
    let chains = Oracle::chains();
    assert!(chains.len() == 9 && chains.concat().len() == 38);
    let cpu = cpu();
    chains.iter().for_each(|chain| check_chain(&cpu, chain));
}

#[test]
fn soap_films_are_those_of_deal_ii() {
    let films = Film::all();
    assert!(films.len() > 10);
    let cpu = cpu();
    films.iter().for_each(|film| film.check(&cpu));
}
