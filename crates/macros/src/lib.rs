//! `#[lisle::main]` and `#[lisle::test]`, nothing more.
//!
//! Both keep the function as it is written, as an inner `async fn`, and put a plain function of the same
//! name around it that hands its future to `lisle::__private`. So types, spans and warnings are the user's
//! own.

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, ItemFn, LitStr, ReturnType, Stmt, Token, parse_macro_input, parse_quote};

/// The names of `LISLE_ENGINE`, in the words of `lisle_engine::EngineKind`.
const ENGINES: [&str; 4] = ["io_uring", "epoll", "poll", "select"];

/// What may stand in the parentheses.
#[derive(Default)]
struct Options {
    engine: Option<LitStr>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Options> {
        let mut options = Options::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if name != "engine" {
                return Err(Error::new(name.span(), format!("unknown option `{name}`; there is `engine`")));
            }
            if options.engine.is_some() {
                return Err(Error::new(name.span(), "`engine` is given twice"));
            }
            input.parse::<Token![=]>()?;
            options.engine = Some(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Options {
    /// The engine's name, if one was given and exists, or `others`.
    fn engine(&self, others: &[&str]) -> syn::Result<Option<String>> {
        let Some(given) = &self.engine else { return Ok(None) };
        let name = given.value();
        let names = [&ENGINES, others].concat();
        if names.contains(&name.as_str()) {
            return Ok(Some(name));
        }
        let text = format!("unknown engine `{name}`; there are {}", names.join(", "));
        Err(Error::new(given.span(), text))
    }
}

/// The function must be one that somebody without arguments can call.
fn check(function: &ItemFn, attribute: &str) -> syn::Result<()> {
    let signature = &function.sig;
    let refuse = |tokens: &dyn ToTokens, why: &str| {
        Err(Error::new(tokens.to_token_stream().span(), format!("#[lisle::{attribute}]: {why}")))
    };
    if signature.asyncness.is_none() {
        return refuse(&signature.fn_token, "write `async fn`");
    }
    if let Some(argument) = signature.inputs.first() {
        return refuse(argument, "the function takes no arguments");
    }
    if !signature.generics.params.is_empty() {
        return refuse(&signature.generics, "the function cannot be generic");
    }
    Ok(())
}

/// Awaits a server that is the last word of the function: `listener.serve(…)` without `.await`.
fn await_server(function: &mut ItemFn) {
    if matches!(function.sig.output, ReturnType::Default) {
        return;
    }
    if let Some(Stmt::Expr(last, None)) = function.block.stmts.last_mut()
        && calls_serve(last)
    {
        let server: Expr = parse_quote! {{
            #[allow(unused_imports)]
            use ::lisle::__private::ItselfTail as _;
            ::lisle::__private::Tail(#last).tail().await
        }};
        *last = server;
    }
}

/// Whether one of the calls in a chain of method calls is `serve`.
fn calls_serve(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => call.method == "serve" || calls_serve(&call.receiver),
        _ => false,
    }
}

fn expand(
    options: TokenStream,
    mut function: ItemFn,
    attribute: &str,
    build: impl FnOnce(&Ident, Option<String>) -> syn::Result<proc_macro2::TokenStream>,
    others: &[&str],
) -> TokenStream {
    let expanded = check(&function, attribute)
        .and_then(|()| syn::parse::<Options>(options))
        .and_then(|options| options.engine(others))
        .and_then(|engine| build(&function.sig.ident, engine));
    let body = match expanded {
        Ok(body) => body,
        Err(error) => {
            // With a function of that name, so that this mistake is the only message.
            let (error, name) = (error.into_compile_error(), &function.sig.ident);
            return quote!(#error #[allow(dead_code)] fn #name() {}).into();
        }
    };
    await_server(&mut function);
    let attributes = std::mem::take(&mut function.attrs);
    let visibility = std::mem::replace(&mut function.vis, syn::Visibility::Inherited);
    let (name, output) = (&function.sig.ident, &function.sig.output);
    let test = (attribute == "test").then(|| quote!(#[::core::prelude::v1::test]));
    quote! {
        #test
        #(#attributes)*
        #visibility fn #name() #output {
            #function
            #body
        }
    }
    .into()
}

/// Makes an `async fn main` the program: a runtime is started and runs it.
///
/// The function may return whatever `main` may. If no engine can be started, the program says why and what
/// to do about it, and exits with code 1. `engine = "epoll"` chooses the engine, whatever `LISLE_ENGINE`
/// says. A call of `serve` that is the last expression is awaited.
///
/// ```
/// #[lisle::main(engine = "epoll")]
/// async fn main() -> lisle::Result<()> {
///     lisle::time::sleep(std::time::Duration::from_millis(1)).await
/// }
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    let build = |name: &Ident, engine: Option<String>| {
        if name != "main" {
            return Err(Error::new(name.span(), "#[lisle::main]: the function must be called `main`"));
        }
        let engine = engine.map_or(quote!(None), |engine| quote!(Some(#engine)));
        Ok(quote!(::lisle::__private::main(#engine, #name)))
    };
    expand(options, function, "main", build, &[])
}

/// Makes an `async fn` a test with a runtime of its own.
///
/// `engine = "poll"` chooses the engine; `engine = "all"` runs the test on each engine in turn (one that
/// this machine refuses is left out, with a line that says so). The function may return a `Result`. Other
/// attributes, such as `#[should_panic]` and `#[ignore]`, work as usual.
///
/// ```
/// #[lisle::test(engine = "all")]
/// async fn pausing() -> lisle::Result<()> {
///     lisle::pause().await
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    let returns_nothing = matches!(function.sig.output, ReturnType::Default);
    let build = |name: &Ident, engine: Option<String>| {
        Ok(match engine.as_deref() {
            Some("all") if returns_nothing => quote!(::lisle::__private::test_all(#name)),
            Some("all") => quote!(::lisle::__private::test_all_results(#name)),
            Some(engine) => quote!(::lisle::__private::test(Some(#engine), #name)),
            None => quote!(::lisle::__private::test(None, #name)),
        })
    };
    expand(options, function, "test", build, &["all"])
}
