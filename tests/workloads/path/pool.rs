// SPDX-License-Identifier: MIT
// pool: two workers take jobs from a queue; one job takes longer than all others.
use std::hint::black_box;
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

fn burn(rounds: u64) {
    let mut x: u64 = 88172645463325252;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        black_box(x);
    }
}

#[inline(never)]
fn index_page(rounds: u64) {
    burn(rounds);
}

#[inline(never)]
fn index_archive(rounds: u64) {
    burn(rounds);
}

#[inline(never)]
fn merge_indexes(rounds: u64) {
    burn(rounds);
}

fn take_jobs(queue: &Mutex<Receiver<u32>>) {
    loop {
        let job = queue.lock().unwrap().recv();
        match job {
            Ok(0) => index_archive(200_000_000),
            Ok(_) => index_page(4_000_000),
            Err(_) => return,
        }
    }
}

fn main() {
    let (sender, receiver) = channel();
    let queue = Arc::new(Mutex::new(receiver));
    let workers: Vec<_> = (0..2)
        .map(|i| {
            let queue = queue.clone();
            Builder::new().name(format!("worker{i}")).spawn(move || take_jobs(&queue)).unwrap()
        })
        .collect();
    for job in (0..12).rev() {
        sender.send(job).unwrap();
    }
    drop(sender);
    for worker in workers {
        worker.join().unwrap();
    }
    merge_indexes(20_000_000);
}
