//! Functions of a module whose bodies are known only when it is loaded.

/// Another body for a function of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionBody {
    /// The function's name. Its parameters are `NAME_param_0` and so on, its result is `func_retval0`.
    pub name: String,
    /// Instructions and declarations, without braces.
    pub text: String,
}

/// The module with these bodies; the name of the first function that it does not define, if there is one.
pub fn with_functions<'a>(ptx: &str, bodies: &'a [FunctionBody]) -> Result<String, &'a str> {
    let mut text = ptx.to_owned();
    for FunctionBody { name, text: body } in bodies {
        let Some((open, close)) = body_of(&text, name) else { return Err(name) };
        text.replace_range(open..close, &format!("\n{}", body.trim_end()));
    }
    Ok(text)
}

/// Where the body of a function is, between its braces.
fn body_of(ptx: &str, wanted: &str) -> Option<(usize, usize)> {
    const FUNCTION: &str = ".func";
    let mut at = 0;
    while let Some(found) = ptx[at..].find(FUNCTION) {
        at += found + FUNCTION.len();
        let declaration = ptx[at..].trim_start();
        let name = match declaration.strip_prefix('(') {
            Some(result) => result.split_once(')')?.1.trim_start(),
            None => declaration,
        };
        let name = name.split(|c: char| c == '(' || c == ';' || c.is_whitespace()).next();
        // A declaration alone ends before a body begins.
        let end = at + ptx[at..].find(['{', ';'])?;
        if name == Some(wanted) && ptx[end..].starts_with('{') {
            return Some((end + 1, end + ptx[end..].find("\n}")?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
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
        assert_eq!(found, PTX.replace("\n\t.reg .b64 \t%rd<2>;\n\tret;\n", "\n\ttrap;"));
        let found = with_functions(PTX, &[body("nothing"), body("value_of")]).unwrap();
        assert_eq!(found.matches("{\n\ttrap;\n}").count(), 2);
        assert!(found.contains("%rd<2>"));
    }

    #[test]
    fn a_function_that_is_not_defined_is_named() {
        assert_eq!(with_functions(PTX, &[body("value"), body("valu")]), Err("valu"));
        assert_eq!(with_functions(&PTX[..PTX.find(';').unwrap() + 1], &[body("value")]), Err("value"));
    }
}
