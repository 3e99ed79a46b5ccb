//! Results are as docs/result.schema.json says.

#[path = "../../../tests/common/program.rs"]
mod common;

use common::{NOT_CONVERGED, patchmg, stderr, stdout};
use serde_json::{Map, Value, json};

/// The words of JSON Schema that are checked, and those that need no check.
const CHECKED: [&str; 10] = [
    "type",
    "enum",
    "minimum",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
];
const NOTES: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// Where a schema leads to.
fn followed<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => root.pointer(&reference[1..]).unwrap_or_else(|| panic!("{reference} is not there")),
        None => schema,
    }
}

fn list<'a>(schema: &'a Value, word: &str) -> impl Iterator<Item = &'a Value> {
    schema[word].as_array().into_iter().flatten()
}

/// The properties of a schema and of those that it consists of.
fn properties(root: &Value, schema: &Value) -> Map<String, Value> {
    let mut all = schema["properties"].as_object().cloned().unwrap_or_default();
    list(schema, "allOf").for_each(|part| all.extend(properties(root, followed(root, part))));
    all
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

/// What is wrong with a value.
fn check(root: &Value, schema: &Value, value: &Value, place: &str, wrong: &mut Vec<String>) {
    let schema = followed(root, schema);
    for word in schema.as_object().unwrap().keys() {
        assert!(CHECKED.contains(&&**word) || NOTES.contains(&&**word), "{word} is not checked");
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    let is_small = schema["minimum"].as_f64().is_some_and(|least| value.as_f64().is_none_or(|value| value < least));
    let is_other = schema["enum"].as_array().is_some_and(|names| !names.contains(value));
    let is_of_type = types.is_empty() || types.iter().any(|name| is_a(value, name.as_str().unwrap()));
    if is_small || is_other || !is_of_type {
        wrong.push(format!("{place}: {value}"));
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        values.iter().for_each(|value| check(root, items, value, &format!("{place}/*"), wrong));
    }
    let known = properties(root, schema);
    for (name, value) in value.as_object().into_iter().flatten() {
        let place = format!("{place}/{name}");
        match schema["properties"].get(name).or(schema.get("additionalProperties")) {
            Some(property) => check(root, property, value, &place, wrong),
            None if schema["unevaluatedProperties"] == false && !known.contains_key(name) => {
                wrong.push(format!("{place} is not described"));
            }
            None => {}
        }
    }
    let missing = |name: &&Value| value.get(name.as_str().unwrap()).is_none();
    wrong.extend(list(schema, "required").filter(missing).map(|name| format!("{place}: {name} is missing")));
    list(schema, "allOf").for_each(|part| check(root, part, value, place, wrong));
    let fits = |choice: &Value| {
        let mut wrong = Vec::new();
        check(root, choice, value, place, &mut wrong);
        wrong.is_empty()
    };
    if schema["anyOf"].is_array() && !list(schema, "anyOf").any(fits) {
        wrong.push(format!("{place}: none of the choices"));
    }
}

/// That a value is as one of the definitions says, and as the whole.
fn mistakes(value: &Value, definition: &str) -> Vec<String> {
    let root: Value = serde_json::from_str(include_str!("../../../docs/result.schema.json")).unwrap();
    let mut wrong = Vec::new();
    check(&root, &root["$defs"][definition], value, "", &mut wrong);
    check(&root, &root, value, "", &mut wrong);
    wrong
}

fn result(command: &str, arguments: &[&str]) -> Value {
    let output = patchmg(&[&[command, "--backend", "cpu", "--dim", "2", "--json", "-"], arguments].concat());
    assert!([Some(0), Some(NOT_CONVERGED)].contains(&output.status.code()), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

#[test]
fn results_are_as_the_schema_says() {
    let poisson = ["--degree", "2", "--refine", "2"];
    let flow = ["--system", "stokes", "--degree", "1", "--refine", "2", "--solver", "fgmres"];
    let forest = ["--system", "elliptic", "--mesh", "lshape", "--degree", "2", "--refine", "1", "--adapt", "1"];
    let film = ["--system", "elliptic", "--problem", "minimal-surface", "--degree", "2", "--refine", "1"];
    let diverging = ["--smoother", "jacobi", "--damping", "1.99", "--solver", "vcycle"];
    for arguments in [
        &poisson[..],
        &[&poisson[..], &diverging].concat(),
        &[&poisson[..], &["--problem", "one", "--solver", "gmres", "--cells", "2,1"]].concat(),
        &flow,
        &[&flow[..], &["--problem", "cavity", "--local", "schur-cg"]].concat(),
        &forest,
        &film,
        &["--system", "elliptic", "--rhs", "1", "--side", "0=robin:1:x", "--refine", "1"],
    ] {
        assert_eq!(mistakes(&result("solve", arguments), "solve"), [""; 0], "{arguments:?}");
    }
    for arguments in [&poisson[..], &flow] {
        let bench = result("bench", &[arguments, &["--repetitions", "1"]].concat());
        assert_eq!(mistakes(&bench, "bench"), [""; 0], "{arguments:?}");
    }
    for arguments in
        [&["--refine", "1..3"][..], &["--system", "stokes", "--degree", "1,2", "--refine", "2", "--solver", "gmres"]]
    {
        assert_eq!(mistakes(&result("converge", arguments), "converge"), [""; 0], "{arguments:?}");
    }
}

#[test]
fn plans_are_as_the_schema_says() {
    for arguments in [
        &["--refine", "3"][..],
        &["--system", "elliptic", "--refine", "2", "--vtu", "u.vtu"],
        &["--system", "elliptic", "--refine", "18"],
    ] {
        let plan = result("solve", &[arguments, &["--dry-run"]].concat());
        assert_eq!(mistakes(&plan, "plan"), [""; 0], "{arguments:?}");
    }
}

/// The check finds what is wrong.
#[test]
fn other_objects_are_not_as_the_schema_says() {
    let good = result("solve", &["--degree", "1", "--refine", "2"]);
    for (name, value) in [
        ("dofs", json!(-1)),
        ("dofs", json!(1.5)),
        ("solver", json!("lu")),
        ("residual_history", json!([1.0, "x"])),
        ("l2_error", json!("small")),
        ("options", json!({"dim": true})),
        ("speed", json!(1)),
    ] {
        let mut other = good.clone();
        other[name] = value;
        assert!(!mistakes(&other, "solve").is_empty(), "{name}: {}", other[name]);
    }
    let mut short = good.clone();
    short.as_object_mut().unwrap().remove("rtol");
    assert!(!mistakes(&short, "solve").is_empty() && mistakes(&good, "solve").is_empty());
}
