//! Files of options: a TOML file whose keys are the names of options, or the JSON of a result, which has them under `options`.
//!
//! They become arguments in front of those of the command line, so that the parser of the command line checks their values.

use crate::error::Error;
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Argument that names the file.
const FILE: &str = "file";

/// Bytes that a file may have: histories of many cycles are far from it.
const MOST_BYTES: u64 = 64 << 20;

/// The arguments of a process, with what the file among them has and the command line does not.
///
/// # Errors
/// A file that cannot be read or that holds something else, keys that are no options, and values that no option has.
pub fn expanded(command: &Command, given: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    // Mistakes are found later, with the arguments of the file.
    let Ok(matches) = command.clone().ignore_errors(true).try_get_matches_from(&given) else { return Ok(given) };
    let Some((name, matches)) = matches.subcommand() else { return Ok(given) };
    let (Some(subcommand), Ok(Some(path))) = (command.find_subcommand(name), matches.try_get_one::<PathBuf>(FILE))
    else {
        return Ok(given);
    };
    let is_given = |arg: &Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let refused = |reason: String| Error::Input { path: path.clone(), reason };
    let mut arguments = Vec::new();
    for (key, value) in &read(path)? {
        let option = option(command, subcommand, key).map_err(|reason| {
            let is_table = value.is_object();
            refused(if is_table { format!("'{key}' is a table; options stand in none") } else { reason })
        })?;
        if !is_given(option) {
            arguments.extend(of_option(option, key, value)?.into_iter().map(OsString::from));
        }
    }
    // The program and its command come first.
    let (head, rest) = given.split_at(2);
    Ok([head, &arguments, rest].concat())
}

/// The options in a file.
fn read(path: &Path) -> Result<Map<String, Value>, Failure> {
    let refused = |reason: &dyn ToString| Error::Input { path: path.to_owned(), reason: reason.to_string() };
    let mut text = String::new();
    let file = File::open(path).map_err(|reason| refused(&reason))?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|reason| refused(&reason))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(refused(&format!("has more than {} MiB", MOST_BYTES >> 20)).into());
    }
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(toml::from_str(&text).map_err(|reason| refused(&reason))?);
    }
    let mut keys: Map<String, Value> = serde_json::from_str(&text).map_err(|reason| refused(&reason))?;
    match keys.remove("options") {
        Some(Value::Object(options)) => Ok(options),
        Some(_) => Err(refused(&"'options' must be an object").into()),
        None => Ok(keys),
    }
}

/// The option of a name.
fn option<'a>(command: &Command, subcommand: &'a Command, key: &str) -> Result<&'a Arg, String> {
    let named = |subcommand: &'a Command| subcommand.get_arguments().find(|arg| arg.get_long() == Some(key));
    if let Some(option) = named(subcommand) {
        return Ok(option);
    }
    let has_it = |other: &&Command| other.get_arguments().any(|arg| arg.get_long() == Some(key));
    if let Some(other) = command.get_subcommands().find(has_it) {
        let [this, other] = [subcommand, other].map(Command::get_name);
        return Err(format!("the option '{key}' belongs to {other}, and this is {this}"));
    }
    let names = subcommand.get_arguments().filter_map(Arg::get_long);
    let nearest = names.min_by_key(|name| strsim::damerau_levenshtein(name, key));
    let nearest = nearest.map_or(String::new(), |name| format!("; the nearest one is '{name}'"));
    Err(format!("there is no option '{key}'{nearest}"))
}

/// A key and its value as arguments.
fn of_option(option: &Arg, key: &str, value: &Value) -> Result<Vec<String>, Failure> {
    let refused = |allowed: &str| Failure::usage(key, value, format_args!("must be {allowed}"));
    let is_flag = !option.get_action().takes_values();
    match value {
        Value::Bool(true) if is_flag => return Ok(vec![format!("--{key}")]),
        Value::Bool(false) if is_flag => return Ok(Vec::new()),
        _ if is_flag => return Err(refused("true or false")),
        _ => {}
    }
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let values: Option<Vec<String>> = match value {
        Value::Array(values) => values.iter().map(text).collect(),
        one => text(one).map(|text| vec![text]),
    };
    let mut values = values.ok_or_else(|| refused("a number, a text or a list of them"))?;
    // Others take their values with commas between them, or none but one.
    let is_repeated = matches!(option.get_action(), ArgAction::Append) && option.get_value_delimiter().is_none();
    if !is_repeated {
        values = vec![values.join(",")];
    }
    Ok(values.into_iter().map(|value| format!("--{key}={value}")).collect())
}
