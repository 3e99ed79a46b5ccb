//! The attribute `#[kernel]` of `cuda_std`.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a `pub unsafe fn` an entry point of the PTX module.
///
/// The function gets the kernel calling convention, and keeps its name unless an `#[unsafe(export_name = "...")]` of
/// its own gives another. The crate enables `#![feature(abi_ptx)]`. On other machines than `nvptx64` the function is
/// left as it is, so that it can be called from host code.
#[proc_macro_attribute]
pub fn kernel(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(item).unwrap_or_else(|message| parse(&format!("compile_error!({message:?});")))
}

fn expand(item: TokenStream) -> Result<TokenStream, &'static str> {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let function = tokens.iter().position(|token| is_word(token, "fn")).ok_or("#[kernel] belongs on a function")?;
    if function == 0 || !is_word(&tokens[function - 1], "unsafe") {
        return Err("a kernel is a `pub unsafe fn`: nothing checks what it is launched with");
    }
    let named = tokens[..function].iter().any(|token| {
        matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket && names_symbol(group))
    });

    let mut expanded = parse("#[cfg(target_arch = \"nvptx64\")]");
    if !named {
        expanded.extend(parse("#[unsafe(no_mangle)]"));
    }
    expanded.extend(tokens[..function].iter().cloned());
    expanded.extend(parse("extern \"ptx-kernel\""));
    expanded.extend(tokens[function..].iter().cloned());

    expanded.extend(parse("#[cfg(not(target_arch = \"nvptx64\"))]"));
    expanded.extend(tokens);
    Ok(expanded)
}

/// Whether an attribute, `#[...]` or `#[unsafe(...)]`, gives the symbol its name.
fn names_symbol(attribute: &Group) -> bool {
    attribute.stream().into_iter().any(|token| match &token {
        TokenTree::Group(group) => names_symbol(group),
        token => is_word(token, "export_name") || is_word(token, "no_mangle"),
    })
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

fn parse(source: &str) -> TokenStream {
    source.parse().expect("fixed source text is well-formed")
}
