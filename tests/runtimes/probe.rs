// SPDX-License-Identifier: MIT
//! In a Rust program, whose standard library handles SIGSEGV to report a stack overflow.
extern "C" {
    fn probe_install() -> i32;
    fn probe_owned() -> i32;
    fn probe_all() -> i32;
}

#[allow(unconditional_recursion)]
fn deep(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 100]);
    deep(depth + 1) + room[99]
}

fn main() {
    unsafe {
        assert_eq!((probe_install(), probe_owned(), probe_all()), (0, 1, 0));
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..20).map(|_| probe_all()).sum::<i32>()))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 0);
        }
    }
    println!("good");
    match std::env::args().nth(1).as_deref() {
        Some("full") => println!("{}", deep(0)), // a bug: Rust's message and SIGABRT
        Some("full in a thread") => drop(std::thread::spawn(|| deep(0)).join()),
        _ => (),
    }
}
