//! What is `Send` and `Sync`, and how large: compiled, not run.

use lisle_core::seq::Seq;
use lisle_core::stream::{BoundedPusher, Pusher, Stream};
use lisle_core::sync::{
    Barrier, Condition, MVar, Mutex, MutexGuard, Permit, Pool, Pooled, Semaphore, Switch,
};
use lisle_core::{Error, Promise, Resolver, Shared};

/// Ambiguous, and so an error, for a type that has the trait: a negative bound.
macro_rules! assert_not {
    ($type:ty: $trait:ident) => {
        const _: fn() = || {
            trait Ambiguous<A> {
                fn check() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Has;
            impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
            let _ = <$type as Ambiguous<_>>::check;
        };
    };
}

assert_not!(Promise<u32>: Send);
assert_not!(Promise<u32>: Sync);
assert_not!(Shared<u32>: Send);
assert_not!(Shared<u32>: Sync);
assert_not!(Resolver<u32>: Send);
assert_not!(Resolver<u32>: Sync);
assert_not!(Stream<u32>: Send);
assert_not!(Pusher<u32>: Send);
assert_not!(BoundedPusher<u32>: Send);
assert_not!(Seq<u32>: Send);
assert_not!(Mutex<u32>: Send);
assert_not!(MutexGuard<u32>: Send);
assert_not!(Condition<u32>: Send);
assert_not!(MVar<u32>: Send);
assert_not!(Semaphore: Send);
assert_not!(Permit: Send);
assert_not!(Barrier: Send);
assert_not!(Pool<u32>: Send);
assert_not!(Pooled<u32>: Send);
assert_not!(Switch: Send);
assert_not!(MutexGuard<u32>: Clone);
assert_not!(Permit: Clone);
assert_not!(Promise<u32>: Clone);
assert_not!(Resolver<u32>: Clone);

const _: fn() = || {
    fn is<T: Send + Sync + Clone + 'static>() {}
    fn unpin<T: Unpin>() {}
    is::<Error>();
    unpin::<Promise<std::marker::PhantomPinned>>();
};

#[test]
fn an_error_a_resolver_and_a_guard_are_two_words() {
    assert!(size_of::<MutexGuard<[u64; 9]>>() <= 2 * size_of::<usize>());
    assert!(size_of::<Error>() <= 2 * size_of::<usize>());
    assert!(size_of::<Resolver<[u64; 9]>>() <= 2 * size_of::<usize>());
}
