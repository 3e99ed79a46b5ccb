//! Functions of a module whose bodies are known only when it is loaded.

use std::ops::Range;

/// Another body for a function of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionBody {
    /// The function's name. Its parameters are `NAME_param_0` and so on, its result is `func_retval0`.
    pub name: String,
    /// Instructions and declarations, without braces.
    pub text: String,
}

/// The module with these bodies, which may call all functions that others see; the name of the first function that it does not define,
/// if there is one.
pub fn with_functions<'a>(ptx: &str, bodies: &'a [FunctionBody]) -> Result<String, &'a str> {
    const SIZE: &str = ".address_size 64\n";
    if bodies.is_empty() {
        return Ok(ptx.to_owned());
    }
    let functions = functions(ptx);
    // A function is declared before it is called; the compiler declares those that it calls itself.
    let is_declared = |name| functions.iter().any(|function| function.name == name && function.body.is_none());
    let visible = functions.iter().filter(|function| function.header.starts_with(".visible"));
    let declarations: String = visible
        .filter(|function| function.body.is_some() && !is_declared(function.name))
        .map(|function| format!("{}\n;\n", function.header.trim_end()))
        .collect();
    let mut replaced = Vec::new();
    for FunctionBody { name, text } in bodies {
        let body = functions.iter().filter(|function| function.name == name).find_map(|function| function.body.clone());
        replaced.push((body.ok_or(name.as_str())?, format!("\n{}", text.trim_end())));
    }
    replaced.sort_by_key(|(body, _)| body.start);
    let mut found = ptx.to_owned();
    for (body, text) in replaced.into_iter().rev() {
        found.replace_range(body, &text);
    }
    let start = found.find(SIZE).map_or(0, |at| at + SIZE.len());
    found.insert_str(start, &declarations);
    Ok(found)
}

/// A function that is declared or defined.
struct Function<'a> {
    name: &'a str,
    /// To the parameters.
    header: &'a str,
    /// Where it is between braces, if it is there.
    body: Option<Range<usize>>,
}

fn functions(ptx: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for (at, word) in ptx.match_indices(".func") {
        let declaration = ptx[at + word.len()..].trim_start();
        let name = match declaration.strip_prefix('(') {
            Some(result) => result.split_once(')').map_or("", |(_, rest)| rest.trim_start()),
            None => declaration,
        };
        let name = name.split(|c: char| c == '(' || c == ';' || c.is_whitespace()).next().unwrap_or_default();
        // A declaration alone ends before a body begins.
        let Some(end) = ptx[at..].find(['{', ';']).map(|length| at + length) else { break };
        let close = ptx[end..].find("\n}").map(|length| end + length);
        let body = close.filter(|_| ptx[end..].starts_with('{')).map(|close| end + 1..close);
        let line = ptx[..at].rfind('\n').map_or(0, |end| end + 1);
        found.push(Function { name, header: &ptx[line..end], body });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0
.address_size 64
.visible .func  (.param .b64 func_retval0) value
(
\t.param .b64 value_param_0
)
;
.visible .func  (.param .b64 func_retval0) value_of(
\t.param .b64 value_of_param_0
)
{
\tret;
}
.visible .func  (.param .b64 func_retval0) value(
\t.param .b64 value_param_0
)
{
\t.reg .b64 \t%rd<2>;
\tret;

}
.func nothing()
{
\tret;
}
";

    fn body(name: &str) -> FunctionBody {
        FunctionBody { name: name.into(), text: "\ttrap;\n".into() }
    }

    #[test]
    fn the_body_of_a_definition_is_replaced() {
        let found = with_functions(PTX, &[body("value")]).unwrap();
        // Declared is what others see and nothing declares.
        let declared = ".visible .func  (.param .b64 func_retval0) value_of(\n\t.param .b64 value_of_param_0\n)\n;\n";
        let expected = PTX.replace("\n\t.reg .b64 \t%rd<2>;\n\tret;\n", "\n\ttrap;");
        assert_eq!(found, expected.replace("size 64\n", &format!("size 64\n{declared}")));
        let found = with_functions(PTX, &[body("nothing"), body("value_of")]).unwrap();
        assert_eq!(found.matches("{\n\ttrap;\n}").count(), 2);
        assert!(found.contains("%rd<2>"));
        assert_eq!(with_functions(PTX, &[]).unwrap(), PTX);
    }

    #[test]
    fn a_function_that_is_not_defined_is_named() {
        assert_eq!(with_functions(PTX, &[body("value"), body("valu")]), Err("valu"));
        assert_eq!(with_functions(&PTX[..PTX.find(';').unwrap() + 1], &[body("value")]), Err("value"));
    }
}
