// SPDX-License-Identifier: MIT
// Trees, threads, sorting and panics that are caught: 30 seconds of it.
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

enum Tree {
    Leaf,
    Node(Box<Tree>, u64, Box<Tree>),
}

fn grow(depth: u32, seed: u64) -> Tree {
    if depth == 0 {
        return Tree::Leaf;
    }
    let next = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    Tree::Node(Box::new(grow(depth - 1, next)), seed, Box::new(grow(depth - 1, next ^ 1)))
}

fn sum(tree: &Tree) -> u64 {
    match tree {
        Tree::Leaf => 1,
        Tree::Node(left, value, right) => sum(left).wrapping_add(*value).wrapping_add(sum(right)),
    }
}

fn words(n: u64) -> usize {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for i in 0..n {
        *counts.entry(format!("word{}", i % 97)).or_default() += i;
    }
    let sorted: BTreeMap<_, _> = counts.into_iter().collect();
    let mut keys: Vec<_> = sorted.keys().cloned().collect();
    keys.sort_by(|a, b| b.cmp(a));
    keys.len()
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let end = Instant::now() + Duration::from_secs(30);
    let threads: Vec<_> = (0..2)
        .map(|seed| {
            std::thread::spawn(move || {
                let mut total = 0u64;
                while Instant::now() < end {
                    total = total.wrapping_add(sum(&grow(12, seed)));
                    total = total.wrapping_add(words(2000) as u64);
                    let caught = std::panic::catch_unwind(|| {
                        if sum(&grow(3, 1)) != 0 && cfg!(panic = "unwind") {
                            panic!("caught");
                        }
                    });
                    total += caught.is_err() as u64;
                }
                total
            })
        })
        .collect();
    for thread in threads {
        println!("{}", thread.join().unwrap());
    }
}
