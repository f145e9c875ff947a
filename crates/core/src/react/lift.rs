//! Functions of several signals: `l2` to `l6`, and `l2_s` to `l6_s` whose functions return promises.
//!
//! `l1` is [`Signal::map`]. The functions of `l2_s` and its relatives see each change of an input, also one
//! after which the tuple is the same again.

use super::signal::{Fresh, Signal};
use super::signal_promises::map_serially;
use crate::{IntoPromise, Promise};
use std::rc::Rc;

macro_rules! lift {
    ($plain:ident, $serial:ident, $many:literal, $($signal:ident $value:ident),+) => {
        #[doc = concat!("`f` of the values of ", $many, " signals, at all times. See [`l2`].")]
        ///
        /// # Panics
        /// If `f` panics on the values as of now.
        #[doc(alias = "lift")]
        pub fn $plain<$($value: 'static,)+ R: PartialEq + 'static>(
            $($signal: &Signal<$value>,)+
            f: impl Fn($(&$value),+) -> R + 'static,
        ) -> Signal<R> {
            Signal::derive(None, |inputs| {
                $(let $signal = inputs.add(&$signal.node);)+
                move || Some(Rc::new(f($(&$signal.value()),+)))
            })
        }

        #[doc = concat!("What `f` of the values of ", $many, " signals promises. See [`Signal::map_s`].")]
        pub fn $serial<$($value: 'static,)+ R: PartialEq + 'static, P: IntoPromise<Value = R>>(
            $($signal: &Signal<$value>,)+
            f: impl Fn($(&$value),+) -> P + 'static,
        ) -> Promise<Signal<R>> {
            let values = Signal::derive(None, |inputs| {
                $(let $signal = inputs.add(&$signal.node);)+
                move || Some(Rc::new(Fresh(($($signal.value(),)+))))
            });
            map_serially(&values, move |values| {
                let ($($signal,)+) = &values.0;
                f($($signal),+).into_promise().map(|value| Some(Rc::new(value)))
            })
        }
    };
}

lift!(l3, l3_s, "three", a A, b B, c C);
lift!(l4, l4_s, "four", a A, b B, c C, d D);
lift!(l5, l5_s, "five", a A, b B, c C, d D, e E);
lift!(l6, l6_s, "six", a A, b B, c C, d D, e E, g G);
lift!(l2, l2_s, "two", a A, b B);
