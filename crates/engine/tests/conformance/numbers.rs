//! Descriptor numbers: reused, beyond a poller's range, and all closed in the end.

use crate::rig::{Rig, bytes, descriptors_open, failure, in_own_process, pair, write};
use lisle_engine::readiness::BEYOND_SELECT;
use lisle_engine::{EngineKind, Fd, Interest, Op, Outcome};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes the engine know a descriptor well: watched, with a guess about its readiness.
fn acquaint(rig: &mut Rig, a: &Fd, b: &Fd) {
    for _ in 0..3 {
        let token = rig.recv(b, 64);
        rig.settle();
        write(a, b"hello");
        assert_eq!(bytes(rig.finish(token)), b"hello");
    }
}

on_every_engine!(a_reused_number_starts_afresh, |rig| {
    let kind = rig.kind();
    in_own_process(|| {
        let mut rig = Rig::open(kind, Default::default()).unwrap();
        let (far, near) = pair();
        acquaint(&mut rig, &far, &near);
        let number = near.raw();
        drop(near);
        let (other_far, other_near) = reuse(number);
        // The guess about the former owner ("nothing to read") must not hold back the new one.
        write(&other_far, b"waiting already");
        assert_eq!(rig.received(&other_near, 64), b"waiting already");
        acquaint(&mut rig, &other_far, &other_near);
    });
});

/// A fresh pair whose second end has this number.
fn reuse(number: i32) -> (Fd, Fd) {
    let (far, near) = pair();
    let [high_far, high_near] = [&far, &near].map(|fd| rustix::io::fcntl_dupfd_cloexec(fd, 200).unwrap());
    drop((far, near));
    let near = Fd::new(rustix::io::fcntl_dupfd_cloexec(&high_near, number).unwrap());
    assert_eq!(near.raw(), number, "the number is free in a process of one's own");
    (Fd::new(high_far), near)
}

on_every_engine!(events_for_the_former_owner_reach_nobody, |rig| {
    let kind = rig.kind();
    in_own_process(|| {
        let mut rig = Rig::open(kind, Default::default()).unwrap();
        let (far, near) = pair();
        acquaint(&mut rig, &far, &near);
        // A duplicate keeps the file open, and with it whatever the engine registered in the kernel.
        let number = near.raw();
        let near = near.try_into_owned().unwrap();
        let ghost = rustix::io::fcntl_dupfd_cloexec(&near, 100).unwrap();
        drop(near);
        let (other_far, other_near) = reuse(number);
        let token = rig.recv(&other_near, 64);
        let looking = rig.start(Op::Ready { fd: other_near.clone(), interest: Interest::Read });
        rig.settle();
        write(&far, b"for the ghost");
        let before = rig.engine.counters();
        rig.settle();
        assert!(rig.is_open(token) && rig.is_open(looking));
        let after = rig.engine.counters();
        assert!(after.system_calls - before.system_calls <= after.turns - before.turns, "it tried");
        write(&other_far, b"for the living");
        assert_eq!(bytes(rig.finish(token)), b"for the living");
        write(&other_far, b"x");
        assert!(matches!(rig.finish(looking), Outcome::Done));
        drop(ghost);
    });
});

on_every_engine!(given_out_and_taken_over_again, |rig| {
    let (far, near) = pair();
    acquaint(rig, &far, &near);
    write(&far, b"meanwhile");
    let near = Fd::new(near.try_into_owned().unwrap());
    assert_eq!(rig.received(&near, 64), b"meanwhile");
    let token = rig.recv(&near, 64);
    rig.settle();
    write(&far, b"later");
    assert_eq!(bytes(rig.finish(token)), b"later");
});

on_every_engine!(dropping_with_receives_pending_closes_all, |rig| {
    let kind = rig.kind();
    in_own_process(|| {
        // One life first, for what is opened once per process.
        drop(Rig::open(kind, Default::default()).unwrap());
        let before = descriptors_open();
        let mut rig = Rig::open(kind, Default::default()).unwrap();
        let mut far_ends = Vec::new();
        for _ in 0..100 {
            let (far, near) = pair();
            rig.recv(&near, 64);
            far_ends.push(far);
        }
        rig.settle();
        assert!(descriptors_open() >= before + 200);
        drop(rig);
        assert_eq!(descriptors_open(), before + 100);
        // The near ends are closed for good: their peers see it.
        for far in &far_ends {
            assert_eq!(rustix::net::recv(far, &mut [0; 1], rustix::net::RecvFlags::empty()).unwrap().1, 0);
        }
    });
});

on_every_engine!(an_operation_keeps_its_descriptor_open, |rig| {
    let (far, near) = pair();
    let token = rig.recv(&near, 64);
    drop(near);
    rig.settle();
    write(&far, b"still there");
    assert_eq!(bytes(rig.finish(token)), b"still there");
    rig.settle();
    assert_eq!(rustix::net::recv(&far, &mut [0; 1], rustix::net::RecvFlags::empty()).unwrap().1, 0);
});

on_every_engine!(numbers_beyond_1024, |rig| {
    let kind = rig.kind();
    in_own_process(|| {
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(4096), maximum: limit.maximum }).unwrap();
        let mut rig = Rig::open(kind, Default::default()).unwrap();
        let (far, near) = pair();
        for number in [1023, 1024, 3000] {
            let near = Fd::new(rustix::io::fcntl_dupfd_cloexec(&near, number).unwrap());
            write(&far, b"high up");
            let token = rig.recv(&near, 64);
            if kind == EngineKind::Select && number >= 1024 {
                let (error, buf) = failure(rig.finish(token));
                assert_eq!(error, BEYOND_SELECT);
                assert_eq!(buf.map(|buf| buf.capacity()), Some(64));
                continue;
            }
            assert_eq!(bytes(rig.finish(token)), b"high up");
            let token = rig.recv(&near, 64);
            rig.settle();
            write(&far, b"waited for");
            assert_eq!(bytes(rig.finish(token)), b"waited for");
        }
    });
});
